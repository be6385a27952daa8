"""NIC: a captioner that sees the image once, before the first word (Vinyals et al., "Show and Tell", 2015 and 2016).

    x_{−1} = W_I · I                       the image, the first input of an LSTM
    x_t    = W_e · w_t                     the words read so far, START first
    P(w_{t+1}) = softmax of the words over LSTM(x_t)

Paper 004 measures its identifier against it: the caption that it writes for each image is compared with the query, by
the cosine of their mean word vectors (`seesay.evaluation.identification`).

The image enters the recurrent state, so a sentence is read anew for every image: it writes captions and gives a
sentence its likelihood under one image, and does not score all images and sentences of a collection.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from seesay.errors import SeesayError
from seesay.images.features import Features, FeatureSpec
from seesay.layers.sequences import Sequences
from seesay.models.base import NORMALISATIONS, Captioner, State
from seesay.models.registry import register_model
from seesay.system.progress import Progress
from seesay.system.tables import check_config
from seesay.text.vocabulary import Vocabulary


@dataclass(frozen=True)
class NICConfig:
    """The shape of the model.

    Attributes:
        embedding: Of the words, and of the image as the LSTM reads it.
        hidden: Units of the LSTM.
        image_dim: Of the image's vector.
        dropout: On what goes into the LSTM and what comes out of it.
    """

    embedding: int = 512
    hidden: int = 512
    image_dim: int = 1280
    dropout: float = 0.3

    def __post_init__(self) -> None:
        check_config(self, counts=("embedding", "hidden", "image_dim"), shares=("dropout",))


@register_model("nic")
class NIC(Captioner):
    """The neural image captioner."""

    config_type = NICConfig
    config: NICConfig

    def __init__(self, config: NICConfig, vocabulary: Vocabulary, features: FeatureSpec) -> None:
        super().__init__(config, vocabulary, features)
        self.embedding = nn.Embedding(len(vocabulary), config.embedding)
        self.project = nn.Linear(config.image_dim, config.embedding)
        self.lstm = nn.LSTM(config.embedding, config.hidden, batch_first=True)
        self.words = nn.Linear(config.hidden, len(vocabulary))
        self.dropout = nn.Dropout(config.dropout)

    def initialise(self, seed: int) -> None:
        nn.init.uniform_(self.embedding.weight, -0.1, 0.1)
        counts = torch.tensor(self.vocabulary.counts, dtype=torch.float32).clamp(min=0.1)
        self.words.bias.data.copy_((counts / counts.sum()).log())

    @property
    def can_score(self) -> bool:
        return False

    def encode_images(self, features: Features) -> Tensor:
        """The first input: (n, embedding)."""
        self.check_features("image_dim", features.pooled)
        first: Tensor = self.project(features.pooled)
        return first

    def refine(self, images: Tensor) -> Tensor:
        return images

    def word_vectors(self) -> Tensor:
        return self.embedding.weight

    def start(self, images: Tensor) -> State:
        """The memory after the image was seen: h and c, (n, H) each."""
        _, (h, c) = self.lstm(self.dropout(images).unsqueeze(1))
        return h[0], c[0]

    def step(self, state: State, words: Tensor) -> tuple[Tensor, State]:
        hidden, (h, c) = self.lstm(self.embedding(words).unsqueeze(1), _as_memory(state))
        return F.log_softmax(self.predict(hidden.squeeze(1)), dim=-1), (h[0], c[0])

    def read(self, images: Tensor, words: Tensor) -> Tensor:
        outputs, _ = self.lstm(self.dropout(self.embedding(words)), _as_memory(self.start(images)))
        hidden: Tensor = self.dropout(outputs)
        return hidden

    def predict(self, hidden: Tensor) -> Tensor:
        logits: Tensor = self.words(hidden)
        return logits

    def encode_texts(self, sentences: Sequence[str]) -> Sequences:
        """The words to be predicted; what the LSTM makes of them depends on the image."""
        _, wanted, lengths = self.predicted_rows(sentences)
        return Sequences(wanted.new_zeros(*wanted.shape, 0, dtype=torch.float32), wanted, lengths)

    def score(
        self, images: Tensor, texts: Any, *, normalise: str = NORMALISATIONS[0], on_progress: Progress | None = None
    ) -> Tensor:
        raise SeesayError(
            "nic reads a sentence again for every image and has no scores of images and sentences",
            allowed="captions, and `log_prob` of a sentence under its image",
            hint="seesay models lists weights that match",
        )


def _as_memory(state: State) -> tuple[Tensor, Tensor]:
    h, c = state
    return h.unsqueeze(0), c.unsqueeze(0)
