"""m-RNN: sentences about images, word by word (Mao et al., ICLR 2015, "Deep captioning with multimodal RNNs").

    w(t) = word-embedding layers I and II of the word read at t
    r(t) = ReLU(U_r · r(t−1) + w(t))                          Eq. 2
    m(t) = g(V_w · w(t) + V_r · r(t) + V_I · I)               Eq. 3
    g(x) = 1.7159 · tanh(2x / 3)                              Eq. 4
    y(t) = softmax of the words over m(t)

The image enters at the multimodal layer only, so what a sentence says is read once for all images. P(w | I) finds
images, P(w | I) / P(w) finds sentences (Eq. 7); among the images of one sentence the two give the same order. Both are
exact probabilities, divided by the sum over the vocabulary; `softmax="logits"` leaves that sum out.

Where the paper is silent: layer II is linear; U_r starts orthogonal; the biases of the softmax start at the logarithms
of the words' frequencies, as DVSA's do. Dropout is ours. In `visInRnn-both-shared` one V_I reaches the embedding layer
II and the multimodal layer, which needs them equally wide: that wiring takes `multimodal` for all three.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from seesay.errors import SeesayError
from seesay.images.features import Features, FeatureSpec
from seesay.layers.dropout import without_dropout
from seesay.layers.likelihood import log_likelihoods
from seesay.layers.recurrent import relu_states
from seesay.layers.sequences import Sequences
from seesay.models.base import NORMALISATIONS, Captioner, State
from seesay.models.registry import register_model
from seesay.models.starting import learn_on_from
from seesay.system.progress import Progress
from seesay.system.tables import check_config
from seesay.text.vocabulary import Vocabulary

WIRINGS = (
    "m-rnn", "no-emb-input", "one-layer-emb", "emb-one-input", "vis-in-rnn", "vis-in-rnn-both",
    "vis-in-rnn-both-shared", "rnn-base",
)  # fmt: skip
"""The seven of Table 9, and the language model without an image of Table 1."""
CELLS = {"relu": nn.Linear, "gru": nn.GRU, "lstm": nn.LSTM}
SOFTMAXES = ("exact", "logits")
"""How `score` comes to the probability of a word: by Eq. 7's softmax, or without its sum over the vocabulary."""


@dataclass(frozen=True)
class MRNNConfig:
    """The shape of the model.

    Attributes:
        embedding: Of the word-embedding layer I.
        recurrent: Of the word-embedding layer II and the recurrent layer.
        multimodal: Of the multimodal layer.
        wiring: Which layers are connected (Table 9, Figure 5).
        cell: The paper's `relu`, or a `gru` or `lstm` in its place.
        shared: m-RNN-shared: the softmax reads words off the embedding layer I, through one learned map.
        image_dim: Of the image's vector.
        n_marginal: Training images that stand for P(I) when sentences are normalised.
        self_normalise: Weight of (log Z)² in training: where it is not 0, `score` can leave out the sum over the
            words (`softmax="logits"`), which is faster and ranks worse.
        dropout: On the embedding layer II and the multimodal layer.
        image_dropout: On the image's vector.
        start_from: Weights of an m-RNN of the same shape to learn on from; what it sees, only of the same network.
    """

    embedding: int = 128
    recurrent: int = 256
    multimodal: int = 512
    wiring: str = "m-rnn"
    cell: str = "relu"
    shared: bool = False
    image_dim: int = 1280
    n_marginal: int = 100
    self_normalise: float = 0.0
    dropout: float = 0.0
    image_dropout: float = 0.0
    start_from: str = ""

    def __post_init__(self) -> None:
        check_config(
            self,
            one_of={"wiring": WIRINGS, "cell": tuple(CELLS)},
            counts=("embedding", "recurrent", "multimodal", "image_dim", "n_marginal"),
            shares=("dropout", "image_dropout"),
            amounts=("self_normalise",),
        )
        if self.wiring == "vis-in-rnn-both-shared":
            object.__setattr__(self, "recurrent", self.multimodal)
        if self.wiring == "one-layer-emb":
            object.__setattr__(self, "embedding", self.recurrent)

    @property
    def sees_at_words(self) -> bool:
        """Whether the image enters at the embedding layer II."""
        return self.wiring.startswith("vis-in-rnn")

    @property
    def sees_at_multimodal(self) -> bool:
        """Whether the image enters at the multimodal layer."""
        return self.wiring not in ("vis-in-rnn", "rnn-base")


def g(x: Tensor) -> Tensor:
    """The scaled hyperbolic tangent (Eq. 4).

    Example:
        >>> g(torch.tensor([0.0, 1.5]))
        tensor([0.0000, 1.3068])
    """
    return 1.7159 * torch.tanh(x * (2 / 3))  # Eq. 4


def g_(x: Tensor) -> Tensor:
    """`g` in place, for the many pairs of images and sentences that are scored at once."""
    return x.mul_(2 / 3).tanh_().mul_(1.7159)


@register_model("mrnn")
class MRNN(Captioner):
    """The multimodal recurrent network, in any of its wirings."""

    config_type = MRNNConfig
    tasks = ("captions", "retrieval", "phrases")
    paper = "mrnn"
    stage = "captions"
    softmaxes = SOFTMAXES
    starts_from: ClassVar[Mapping[str, str]] = {"start_from": "mrnn"}
    weak_points = (
        "It says what is usual: a man in a blue shirt where the shirt is green, a dog where the animal is rare. Read a "
        "caption as a guess.",
        "Counting, text inside images, named people and places, and whatever its few thousand words cannot say.",
        "The captions carry their writers' guesses about the age, gender and intentions of people.",
    )
    config: MRNNConfig
    marginal_images: Tensor
    mean_image: Tensor

    def __init__(self, config: MRNNConfig, vocabulary: Vocabulary, features: FeatureSpec) -> None:
        super().__init__(config, vocabulary, features)
        n_words, r, m = len(vocabulary), config.recurrent, config.multimodal
        one_layer = config.wiring == "one-layer-emb"
        self.embedding = nn.Embedding(n_words, config.embedding)
        self.second = nn.Identity() if one_layer else nn.Linear(config.embedding, r)
        self.recurrence: nn.Module = (
            nn.Linear(r, r, bias=False) if config.cell == "relu" else CELLS[config.cell](r, r, batch_first=True)
        )
        w = {"no-emb-input": 0, "emb-one-input": config.embedding}.get(config.wiring, r)
        self.V_w = nn.Linear(w, m, bias=False) if w else None
        self.V_r = nn.Linear(r, m)
        self.n_seen = {"vis-in-rnn": r, "vis-in-rnn-both": r + m, "rnn-base": 0}.get(config.wiring, m)
        self.V_I = nn.Linear(config.image_dim, self.n_seen, bias=False) if self.n_seen else None
        self.to_embedding = nn.Linear(m, config.embedding, bias=False) if config.shared else None
        self.words = None if config.shared else nn.Linear(m, n_words, bias=False)
        self.bias = nn.Parameter(torch.zeros(n_words))
        self.dropout = nn.Dropout(config.dropout)
        self.image_dropout = nn.Dropout(config.image_dropout)
        self.register_buffer("marginal_images", torch.zeros(config.n_marginal, self.n_seen))
        self.register_buffer("mean_image", torch.zeros(1, self.n_seen))

    def initialise(self, seed: int) -> None:
        nn.init.uniform_(self.embedding.weight, -0.1, 0.1)
        if isinstance(self.recurrence, nn.Linear):
            nn.init.orthogonal_(self.recurrence.weight)
        counts = torch.tensor(self.vocabulary.counts, dtype=torch.float32).clamp(min=0.1)
        self.bias.data.copy_((counts / counts.sum()).log())
        if self.config.start_from:
            learn_on_from(self, "start_from", sees="V_I", bias="bias")

    @property
    def self_normalise(self) -> float:
        return self.config.self_normalise

    @property
    def can_score(self) -> bool:
        return self.config.sees_at_multimodal and not self.config.sees_at_words

    def finalize(self, features: Features) -> None:
        """Keep what normalising needs of training images: the first `n_marginal`, and the mean of all."""
        with torch.inference_mode(), without_dropout(self):
            encoded = self.encode_images(features)
        rows = torch.arange(self.config.n_marginal) % len(encoded)
        self.marginal_images.copy_(encoded[rows])
        self.mean_image.copy_(encoded.mean(0, keepdim=True))

    @classmethod
    def view_dim_for(cls, config: MRNNConfig) -> int:
        return config.multimodal

    def encode_images(self, features: Features) -> Tensor:
        self.check_features("image_dim", features.pooled)
        seen: Tensor = features.pooled[:, :0] if self.V_I is None else self.V_I(self.image_dropout(features.pooled))
        return seen

    def refine(self, images: Tensor) -> Tensor:
        return g(images)  # section 8.1: I_r = g(V_I · I)

    def word_vectors(self) -> Tensor:
        vectors: Tensor = self.second(self.embedding.weight)
        return vectors

    def start(self, images: Tensor) -> State:
        n_states = 2 if self.config.cell == "lstm" else 1
        return (images, *(images.new_zeros(len(images), self.config.recurrent) for _ in range(n_states)))

    def step(self, state: State, words: Tensor) -> tuple[Tensor, State]:
        images, *memory = state
        language, memory = self._read(images, words.unsqueeze(1), memory)
        hidden = self._join(language, images).squeeze(1)
        return F.log_softmax(self.predict(hidden), dim=-1), (images, *memory)

    def read(self, images: Tensor, words: Tensor) -> Tensor:
        language, _ = self._read(images, words, list(self.start(images)[1:]))
        hidden: Tensor = self.dropout(self._join(language, images))
        return hidden

    def predict(self, hidden: Tensor) -> Tensor:
        return F.linear(hidden if self.to_embedding is None else self.to_embedding(hidden), *self._output())

    def _output(self) -> tuple[Tensor, Tensor]:
        return (self.embedding.weight if self.words is None else self.words.weight), self.bias

    def _read(self, images: Tensor, words: Tensor, memory: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
        """What words (n, T) add to the multimodal layer (n, T, M), and the memory after the last of them."""
        first = self.embedding(words)  # (n, T, embedding)
        w = self.second(first)  # (n, T, r)
        if self.config.sees_at_words:
            w = w + images[:, : self.config.recurrent].unsqueeze(1)
        w = self.dropout(w)
        r, memory = self._recur(w, memory)
        language = self.V_r(r)
        if self.V_w is not None:
            language = language + self.V_w(first if self.config.wiring == "emb-one-input" else w)
        return language, memory

    def _recur(self, w: Tensor, memory: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
        if isinstance(self.recurrence, nn.Linear):
            states = relu_states(w, memory[0], self.recurrence.weight)  # Eq. 2
            return states, [states[:, -1]]
        before = [part.unsqueeze(0) for part in memory]
        states, after = self.recurrence(w, tuple(before) if len(before) == 2 else before[0])
        return states, [part.squeeze(0) for part in (after if isinstance(after, tuple) else (after,))]

    def _join(self, language: Tensor, images: Tensor) -> Tensor:
        """The multimodal layer (Eq. 3): (n, T, M)."""
        if self.config.sees_at_multimodal:
            language = language + images[:, -self.config.multimodal :].unsqueeze(1)
        return g(language)

    def encode_texts(self, sentences: Sequence[str]) -> Sequences:
        """What each word adds to the multimodal layer, beside the words that are to be predicted."""
        read, wanted, lengths = self.predicted_rows(sentences)
        nobody = read.new_zeros(len(read), self.n_seen, dtype=torch.float32)
        language, _ = self._read(nobody, read, list(self.start(nobody)[1:]))
        return Sequences(language, wanted, lengths)

    @torch.inference_mode()
    def score(
        self,
        images: Tensor,
        texts: Sequences,
        *,
        normalise: str = NORMALISATIONS[0],
        softmax: str = SOFTMAXES[0],
        on_progress: Progress | None = None,
    ) -> Tensor:
        """log P(w | I) − log P(w) (Eq. 7): (n_images, n_texts); `mean-image` is Kiros et al. 2014's way to P(w).

        Args:
            softmax: `exact`, or `logits`: take logits for log-probabilities. For weights that were trained with
                `self_normalise` that is an approximation, which costs no sum over the vocabulary.
        """
        for what, given, allowed in (("normalisation", normalise, NORMALISATIONS), ("softmax", softmax, SOFTMAXES)):
            if given not in allowed:
                raise SeesayError(f"there is no {what} {given!r}", allowed=allowed)
        if softmax == "logits" and not self.config.self_normalise:
            raise SeesayError("logits need weights that were trained with config.self_normalise", allowed="exact")
        if not self.can_score:
            raise SeesayError(
                f"the wiring {self.config.wiring} has no scores of images and sentences",
                allowed="wirings that see the image at the multimodal layer only: " + ", ".join(WIRINGS[:4]),
            )
        others = {"marginal": self.marginal_images, "mean-image": self.mean_image, "none": images[:0]}[normalise]
        weight, bias = self._output()
        scores = log_likelihoods(
            torch.cat([images, others]), texts, g_, weight, bias,
            project=None if self.to_embedding is None else self.to_embedding.weight,
            normalised=softmax == "exact",
            on_progress=on_progress,
        )  # fmt: skip
        likelihoods, reference = scores[: len(images)], scores[len(images) :]
        if normalise == "none":
            return likelihoods
        return likelihoods - (reference.logsumexp(0) - math.log(len(reference)))
