"""DVSA's caption RNN: a sentence about an image or a region (Karpathy & Fei-Fei 2015, section 3.2, and supplement).

    b_v = W_hi · CNN(I)                                            the image, or [region ; full frame]
    h_t = f(W_hx · x_t + W_hh · h_{t−1} + b_h + 1(t = 1) · b_v)    f is a ReLU
    y_t = softmax(W_oh · h_t + b_o)

It learns from whole images with their sentences and, where a recipe wants it, from regions with the phrases that the
alignment model assigned to them (`seesay.training.snippets`). The supplement's tricks are choices: an LSTM in place of
the RNN (`cell`), biases b_o that start at the logarithms of the words' frequencies (`frequency_bias`), the full frame
beside the region (`context`); RMSProp and clipping every element of a gradient are the recipe's. Word vectors are
learned from random ones, or from known ones (`word_vectors`), which may stay as they are (`fixed_words`).

Where we depart from the paper. b_v is added to the first word's vector, from where W_hx takes it, so that any cell will
do; `glances = "every"` adds it to all words. A whole image is its own full frame, and with nothing but that to learn
from a region could never speak for itself: training hides the full frame of some images (`hide_context`). W_oh may
read words off their vectors, through one learned map (`shared`). W_hx starts large: with torch's own numbers a short
word vector hardly moves an LSTM, and the first epoch is spent on finding that out.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from seesay.errors import SeesayError
from seesay.images.features import Features, FeatureSpec
from seesay.images.regions import Boxes
from seesay.models.base import NORMALISATIONS, Captioner, State
from seesay.models.pretrained import load_kind
from seesay.models.registry import register_model
from seesay.system.progress import Progress
from seesay.system.tables import check_config
from seesay.text.vocabulary import Vocabulary

_WORD = 0.1  # of each number of a word's vector, before training
CELLS = ("rnn", "lstm")
GLANCES = ("first", "every")


@dataclass(frozen=True)
class DVSACaptionsConfig:
    """The shape of the model.

    Attributes:
        embedding: Of the word vectors.
        hidden: Of the recurrent layer.
        cell: The paper's `rnn` with ReLUs, or an `lstm`.
        glances: At which words the image is seen: the `first` only, as in the paper, or `every` one.
        context: See the full frame beside the region.
        hide_context: Share of the images whose full frame training hides.
        frequency_bias: Start the biases of the softmax at the logarithms of the words' frequencies.
        shared: Let the softmax read words off their vectors, through one learned map.
        word_vectors: What word vectors start from: a name or file for `seesay.text.vectors`, or nothing for random.
        fixed_words: Leave them as they are.
        image_dim: Of a region's vector.
        dropout: On word vectors and states.
        image_dropout: On the vectors of regions and frames.
    """

    embedding: int = 256
    hidden: int = 256
    cell: str = "rnn"
    glances: str = "first"
    context: bool = True
    hide_context: float = 0.5
    frequency_bias: bool = True
    shared: bool = False
    word_vectors: str = ""
    fixed_words: bool = False
    image_dim: int = 1280
    dropout: float = 0.0
    image_dropout: float = 0.0

    def __post_init__(self) -> None:
        check_config(
            self,
            one_of={"cell": CELLS, "glances": GLANCES},
            counts=("embedding", "hidden", "image_dim"),
            shares=("hide_context", "dropout", "image_dropout"),
        )
        if self.fixed_words and not self.word_vectors:
            raise SeesayError("config.fixed_words is true and there are no word_vectors", allowed="one or the other")


@register_model("dvsa-captions")
class DVSACaptions(Captioner):
    """A recurrent network that is shown a region, and then writes."""

    config_type = DVSACaptionsConfig
    paper = "dvsa"
    graph_kinds = ("captions", "regions", "texts", "score")
    weak_points = (
        "The phrases of its training regions were assigned by a model, and many of them wrongly: it names what "
        "is usual in such an image and guesses the rest. Read a description as a guess.",
        "Small regions: the network's map has ten by ten cells.",
        "Counting, colours, text inside images, named people and places.",
        "The captions carry their writers' guesses about the age, gender and intentions of people.",
    )
    config: DVSACaptionsConfig

    def __init__(self, config: DVSACaptionsConfig, vocabulary: Vocabulary, features: FeatureSpec) -> None:
        super().__init__(config, vocabulary, features)
        n_words, embedding, hidden = len(vocabulary), config.embedding, config.hidden
        self.embedding = nn.Embedding(n_words, embedding)
        self.W_hi = nn.Linear((1 + config.context) * config.image_dim, embedding)
        self.recurrence: nn.RNNBase = (
            nn.LSTM(embedding, hidden, batch_first=True)
            if config.cell == "lstm"
            else nn.RNN(embedding, hidden, batch_first=True, nonlinearity="relu")
        )
        self.to_embedding = nn.Linear(hidden, embedding, bias=False) if config.shared else None
        self.W_oh = None if config.shared else nn.Linear(hidden, n_words, bias=False)
        self.b_o = nn.Parameter(torch.zeros(n_words))
        self.dropout = nn.Dropout(config.dropout)
        self.image_dropout = nn.Dropout(config.image_dropout)
        self.embedding.requires_grad_(not config.fixed_words)

    def initialise(self, seed: int) -> None:
        nn.init.normal_(self.embedding.weight, std=_WORD)
        if self.config.word_vectors:
            self.start_words(self.embedding, self.config.word_vectors, seed)
            self.embedding.weight.data *= _WORD / self.embedding.weight.data.std()  # as large as random ones
        W_hx, W_hh = (self.recurrence.get_parameter(f"weight_{part}_l0") for part in ("ih", "hh"))
        nn.init.normal_(W_hx, std=0.5 / (_WORD * math.sqrt(self.config.embedding)))  # h moves by about a half
        for gate in W_hh.data.chunk(len(W_hh) // self.config.hidden):
            nn.init.orthogonal_(gate)
        if self.config.cell == "lstm":
            _, forget, _, _ = self.recurrence.get_parameter("bias_ih_l0").data.chunk(4)
            forget.fill_(1.0)
        if self.to_embedding is not None:
            nn.init.normal_(self.to_embedding.weight, std=0.2)
        if self.config.frequency_bias:
            counts = torch.tensor(self.vocabulary.counts, dtype=torch.float32).clamp(min=0.1)
            self.b_o.data.copy_((counts / counts.sum()).log())

    @property
    def can_score(self) -> bool:
        return False

    def encode_images(self, features: Features) -> Tensor:
        """b_v: (n, embedding). What has one part is a region (`cut_regions`); a whole image is its own full frame."""
        frames = features.pooled  # (n, C)
        regions = frames if features.parts is None else features.parts[:, 0]
        self.check_features("image_dim", regions)
        if self.config.context:
            if self.training:
                frames = frames * (torch.rand(len(frames), 1) >= self.config.hide_context)
            regions = torch.cat([regions, frames], -1)
        seen: Tensor = self.W_hi(self.image_dropout(regions))
        return seen

    def encode_regions(self, features: Features, boxes: Boxes) -> Tensor:
        """b_v of any regions of images whose maps are given, each beside the full frame: (n, N, embedding)."""
        regions = features.regions(boxes)  # (n, N, C)
        frames = features.pooled.unsqueeze(1).expand(-1, regions.shape[1], -1)
        rows = Features(frames.flatten(0, 1), parts=regions.flatten(0, 1).unsqueeze(1))
        return self.encode_images(rows).view(*regions.shape[:2], -1)

    def refine(self, images: Tensor) -> Tensor:
        return images

    def word_vectors(self) -> Tensor:
        return self.embedding.weight.detach()

    def start(self, images: Tensor) -> State:
        n_states = 2 if self.config.cell == "lstm" else 1
        return (images, *(images.new_zeros(len(images), self.config.hidden) for _ in range(n_states)))

    def step(self, state: State, words: Tensor) -> tuple[Tensor, State]:
        seen, *memory = state
        x = (self.embedding(words) + seen).unsqueeze(1)
        before = tuple(part.unsqueeze(0) for part in memory)
        h, after = self.recurrence(x, before if len(before) == 2 else before[0])
        memory = [part.squeeze(0) for part in (after if isinstance(after, tuple) else (after,))]
        log_probs = F.log_softmax(self.predict(h.squeeze(1)), dim=-1)
        if self.config.glances == "first":
            seen = torch.zeros_like(seen)  # 1(t = 1)
        return log_probs, (seen, *memory)

    def read(self, images: Tensor, words: Tensor) -> Tensor:
        seen = images.unsqueeze(1)  # (n, 1, embedding)
        if self.config.glances == "first":
            seen = F.pad(seen, (0, 0, 0, words.shape[1] - 1))  # 1(t = 1)
        x = self.dropout(self.embedding(words)) + seen  # (n, T, embedding)
        hidden: Tensor = self.dropout(self.recurrence(x)[0])  # (n, T, hidden)
        return hidden

    def predict(self, hidden: Tensor) -> Tensor:
        if self.to_embedding is not None:
            return F.linear(self.to_embedding(hidden), self.embedding.weight, self.b_o)
        assert self.W_oh is not None
        return F.linear(hidden, self.W_oh.weight, self.b_o)

    def encode_texts(self, sentences: Sequence[str]) -> NoReturn:
        _refuse_scores()

    def score(
        self,
        images: Tensor,
        texts: object,
        *,
        normalise: str = NORMALISATIONS[0],
        on_progress: Progress | None = None,
    ) -> NoReturn:
        _refuse_scores()


def cut_regions(features: Features, boxes: Boxes) -> Features:
    """The regions of one image whose map is given, each beside the full frame: what captions can be written for.

    Example:
        >>> from seesay.images.regions import windows
        >>> image = Features(torch.zeros(1, 3), torch.zeros(1, 2, 2, 3))
        >>> regions = cut_regions(image, windows(5))
        >>> regions.pooled.shape, regions.parts.shape
        (torch.Size([5, 3]), torch.Size([5, 1, 3]))
    """
    if len(features) != 1:
        raise ValueError(f"regions are of one image, not of {len(features)}")
    return Features(features.pooled.expand(len(boxes), -1), parts=features.regions(boxes)[0].unsqueeze(1))


def load_describer(name: str | Path) -> DVSACaptions:
    """Load trained weights that write captions for regions.

    Raises:
        SeesayError: The weights do something else; those that can are named.
    """
    return load_kind(name, DVSACaptions, "describes no regions")


def _refuse_scores() -> NoReturn:
    raise SeesayError(
        "dvsa-captions sees the image before it reads, and has no scores of all images and sentences",
        allowed="captions, and log_prob of a sentence about an image",
        hint="seesay models",
    )
