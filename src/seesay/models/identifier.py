"""Identifier: does a sentence describe an image? (Paper 004, "image identification by natural language".)

    x_0 = ReLU(FC(I))                      the image, the first input
    x_t = ReLU(W_w · w_t + b_w)            the words of the query, one after the other
    h_t = ReLU-LSTM(x_t, h_{t−1})
    P(match) = σ(w · h_T + b)

Trained with cross-entropy on pairs of which half do not belong together; convolutions stay fixed. Nothing between the
network's last map and h_T is negative, which excitation backprop (`seesay.excitation.match`) requires.

Where the paper is silent: the FC and the layer of the words end in a ReLU, for that reason; the FC is batch-normalised,
which is a linear layer again after training; word vectors start as GloVe, or as those of a joint embedding, and are
learned. An image is the mean over
EfficientNet-Lite's last map; VGG16's fully connected layers have their place in `fully_connected`. Temperatures and an
offset, fitted on dev after training, turn logits into calibrated probabilities.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from seesay.errors import SeesayError
from seesay.images.features import Features, FeatureSpec
from seesay.layers.dropout import drop_words
from seesay.layers.relu_lstm import ReLULSTM
from seesay.layers.sequences import Sequences
from seesay.models.base import Matcher
from seesay.models.pretrained import load_kind
from seesay.models.registry import register_model
from seesay.models.starting import load_source
from seesay.system.tables import check_config
from seesay.text.vocabulary import PAD, SPECIAL, Vocabulary

PAIRS_AT_ONCE = 4096
WORD_SIZE = 0.35
"""Deviation of the numbers of words that start as another model's: about that of GloVe."""


@dataclass(frozen=True)
class IdentifierConfig:
    """The shape of the model, and what it is told apart from in training.

    Attributes:
        dim: Of the first input and of the words as the LSTM reads them.
        hidden: Units of the LSTM.
        word_dim: Of the word vectors.
        word_vectors: Where they start: a name or file of `seesay.text.vectors`; random where empty.
        words_from: Weights of a joint embedding whose words they start as, on their first principal axes, instead.
        fully_connected: Units of a further layer between the image's vector and the first input; 0 for none.
        image_dim: Of the image's vector.
        mismatches: Images that a sentence does not belong to, for each one that it does.
        hard: Share of these that are drawn from the most similar images instead of all.
        n_similar: How many images count as the most similar.
        choice: Share of the loss that asks for the right image among its mismatches; the rest asks for a match.
        parts: Share of the sentences of which only a part is read in training: some words that follow each other.
        dropout: On the words that the LSTM reads and on its last output.
        image_dropout: On the image's vector.
        word_dropout: Share of words that are replaced by the unknown one.
    """

    dim: int = 300
    hidden: int = 300
    word_dim: int = 300
    word_vectors: str = "glove-6b-50d"
    words_from: str = ""
    fully_connected: int = 0
    image_dim: int = 1280
    mismatches: int = 1
    hard: float = 0.0
    n_similar: int = 100
    choice: float = 0.0
    parts: float = 0.0
    dropout: float = 0.0
    image_dropout: float = 0.0
    word_dropout: float = 0.0

    def __post_init__(self) -> None:
        check_config(
            self,
            counts=("dim", "hidden", "word_dim", "image_dim", "mismatches", "n_similar"),
            shares=("dropout", "image_dropout", "word_dropout"),
            amounts=("fully_connected",),
        )
        for key in ("hard", "choice", "parts"):
            if not 0 <= getattr(self, key) <= 1:
                raise SeesayError(f"config.{key} is {getattr(self, key)}", allowed="0 to 1")


@register_model("identifier")
class Identifier(Matcher):
    """A sentence read by an LSTM that has seen the image first."""

    config_type = IdentifierConfig
    learning_task = "identification"
    tasks = ("retrieval", "identification")
    measured_by = "seesay evaluate {name} --data flickr8k --task identification"
    paper = "identifier"
    explainers = ("contrastive", "excitation")
    tuning = ("calibration",)
    graph_kinds = ("saliency", "texts", "choose")
    starts_from: ClassVar[Mapping[str, str]] = {"words_from": "vse"}
    weak_points = (
        "Images that look alike: it tells any two apart far better than two near ones.",
        "Its maps show what in the image supports a match, which is not always the region of a word.",
        "Counting, text inside images, named people and places.",
    )
    config: IdentifierConfig
    calibration: Tensor

    def __init__(self, config: IdentifierConfig, vocabulary: Vocabulary, features: FeatureSpec) -> None:
        super().__init__(config, vocabulary, features)
        widths = [config.image_dim, *([config.fully_connected] if config.fully_connected else []), config.dim]
        layers: list[nn.Module] = []
        for width, after in pairwise(widths):
            layers += [nn.Dropout(config.image_dropout), nn.Linear(width, after), nn.BatchNorm1d(after), nn.ReLU()]
        self.image_layers = nn.Sequential(*layers)
        self.embedding = nn.Embedding(len(vocabulary), config.word_dim, padding_idx=PAD)
        self.word_layer = nn.Linear(config.word_dim, config.dim)
        self.lstm = ReLULSTM(config.dim, config.hidden)
        self.output = nn.Linear(config.hidden, 1)
        self.dropout = nn.Dropout(config.dropout)
        # Temperature and offset of `match_probability`, temperature of `choice_probability`.
        self.register_buffer("calibration", torch.tensor([1.0, 0.0, 1.0]))

    def initialise(self, seed: int) -> None:
        self.start_words(self.embedding, self.config.word_vectors, seed)
        if self.config.words_from:
            self._take_words(load_source(self, "words_from"))
        nn.init.kaiming_normal_(self.word_layer.weight)

    def _take_words(self, source: Matcher) -> None:
        if source.config.word_dim < self.config.word_dim:
            raise SeesayError(
                f"config.word_dim is {self.config.word_dim}, the words of {self.config.words_from} have "
                f"{source.config.word_dim} numbers",
                allowed=f"1 to {source.config.word_dim}",
            )
        rows = source.vocabulary.encode(self.vocabulary.words[len(SPECIAL) :])
        words = source.get_parameter("embedding.weight").data[rows]
        words = words - words.mean(0)
        _, axes = torch.linalg.eigh(words.T @ words)  # the last ones vary most
        words = words @ axes[:, -self.config.word_dim :]
        self.embedding.weight.data[len(SPECIAL) :] = words * (WORD_SIZE / words.std())

    @property
    def temperature(self) -> float:
        return float(self.calibration[2])

    def encode_images(self, features: Features) -> Tensor:
        """The first input: (n, dim)."""
        self.check_features("image_dim", features.pooled)
        first: Tensor = self.image_layers(features.pooled)
        return first

    def encode_texts(self, sentences: Sequence[str]) -> Sequences:
        """The words as the LSTM reads them: states (n, T, dim)."""
        words, lengths = self.word_rows(sentences)
        read = words
        if self.training:
            read = drop_words(words, words != PAD, self.config.word_dropout)
        return Sequences(self.dropout(F.relu(self.word_layer(self.embedding(read)))), words, lengths)

    def choose(self, images: Tensor, texts: Sequences) -> Tensor:
        """The logit of P(match) of every sentence with each of its own candidates: (n, k, dim), n sentences → (n, k).

        What a word pushes is the same for all candidates and computed once.
        """
        n, k, _ = images.shape
        if not n * k:
            return images.new_zeros(n, k)
        first, memory = self.lstm.read(self.lstm.inputs(images.flatten(0, 1)).unsqueeze(1), self.lstm.start(n * k))
        pushes = self.lstm.inputs(texts.states)  # (n, T, 4 · H)
        after, _ = self.lstm.read(pushes.repeat_interleave(k, 0), memory)
        outputs = torch.cat([first, after], 1)  # (n · k, T + 1, H)
        last = outputs[torch.arange(n * k), texts.lengths.repeat_interleave(k)]  # the image was read before the words
        logits: Tensor = self.output(self.dropout(last)).view(n, k)
        return logits

    def score(self, images: Tensor, texts: Sequences) -> Tensor:
        """The logit of P(match) of every image with every sentence: (n_images, n_texts).

        An LSTM has to read every sentence once for every image, which for thousands of both takes minutes.
        """
        if not len(images) or not len(texts):
            return images.new_zeros(len(images), len(texts))
        parts = []
        order = texts.lengths.argsort(stable=True)  # sentences that are read together are about equally long
        for some in torch.split(images, PAIRS_AT_ONCE):
            found = [
                self.choose(some.expand(len(rows), -1, -1), texts[rows]).T
                for rows in torch.split(order, max(1, PAIRS_AT_ONCE // len(some)))
            ]
            parts.append(torch.cat(found, 1)[:, order.argsort()])
        return torch.cat(parts)

    def match_probability(self, logits: Tensor) -> Tensor:
        """P(match), where half of all pairs match: for images that stand alone."""
        return (logits / self.calibration[0] + self.calibration[1]).sigmoid()

    def choice_probability(self, logits: Tensor) -> Tensor:
        """The probability of each image, the candidates of a sentence in the last dimension, to be the one meant."""
        return (logits / self.calibration[2]).softmax(-1)


def load_identifier(name: str | Path) -> Identifier:
    """Load trained weights that can say whether a sentence describes an image.

    Raises:
        SeesayError: The weights are of a model that gives no probability of a match; those that can are named.
    """
    return load_kind(name, Identifier, "gives no probability of a match")
