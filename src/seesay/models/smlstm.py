"""sm-LSTM: several attention steps over image and sentence (Huang, Wang & Wang, CVPR 2017, "Instance-aware image and
sentence matching with selective multimodal LSTM").

Regions a_i of the network's final map and words w_j, states of a bidirectional recurrent network, are candidates for
what is compared (section 3.1). The image as a whole, m, and the sentence as a whole, n, are the global context. At
each of T steps an attention on both sides chooses a pair of instances, whose likeness an LSTM aggregates; its last
state gives the score (Eqs. 1 to 5, `seesay.layers.selective_lstm`).

Two equations cannot work as published. In Eq. 2 context and previous state cancel in the softmax; the joint form is the
default, `attention = "paper"` is as published (`seesay.layers.attention`). Eq. 7 is a constant; its squared form is
used, weighed by `stochastic`, λ of the paper.

Choices of ours. The map is that of an EfficientNet, 10 × 10 cells at 300 pixels, where the paper has 14 × 14 of VGG;
`grid = 14` resizes it. Contexts start as a joint embedding has them (`start_from`), words and regions as that or as an
aligner has them (`words_from`). With `fixed` all of them stay so and only what looks at pairs learns: parts that have
learned from the same images before overfit, and learning on makes that worse. Contexts take part in what is compared
(`seesay.layers.selective_lstm`) unless `compare_contexts` is false. `similarity = "sum"` is the plain two-way MLP; the
default compares dimension by dimension. Padding is never attended to.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from seesay.errors import SeesayError
from seesay.images.arrays import Looked
from seesay.images.features import Features, FeatureSpec
from seesay.layers.attention import FORMS, Side
from seesay.layers.dropout import drop_words
from seesay.layers.pooling import masked_max, masked_mean
from seesay.layers.recurrent import CELLS, Recurrent
from seesay.layers.selective_lstm import SIMILARITIES, VARIANTS, SelectiveLSTM
from seesay.layers.sequences import Sequences
from seesay.models.base import Matcher
from seesay.models.pretrained import load
from seesay.models.registry import register_model
from seesay.models.starting import initialise_from_parts, initialise_identity, load_source
from seesay.models.vse import TEXT_POOLINGS
from seesay.system.progress import Progress
from seesay.system.tables import check_config, check_directions
from seesay.text.tokenizer import Tokenizer
from seesay.text.vocabulary import END, PAD, Vocabulary


@dataclass(frozen=True)
class SMLSTMConfig:
    """The shape of the model.

    Attributes:
        dim: Of regions, words and contexts.
        hidden: H, of the LSTM that aggregates.
        n_steps: T.
        units: Of the attention.
        similarity_dim: Of the local similarity s_t.
        variant: `full`, `att` (no context), `ctx` (no attention), or `mean` (neither).
        attention: `joint`, or as in the `paper`.
        similarity: `product`, or the `sum` of a two-way MLP.
        compare_contexts: With `full`, compare the contexts with each other, too; as published they steer the attention,
            and no more.
        stochastic: λ of Eq. 7, which asks for every region and word to be looked at.
        word_dim: Of the word vectors, which are learned.
        cell: Of the words' and of the sentences' network: `lstm`, `gru` or `rnn`.
        text_pooling: What of the latter's states is the sentence: their `max`, their `mean`, or the `last`.
        grid: The map is resized to so many rows and columns; 0 leaves it as the network gives it.
        image_dim: Of the network's vector, as for `vse`.
        map_dim: Of the network's map, as for `vse`.
        word_vectors: What word vectors start from: a name or file for `seesay.text.vectors`, or nothing for random.
        start_from: Weights of a joint embedding (`vse`) of the same shape whose vectors the contexts start as.
        words_from: Weights of an aligner (`dvsa`) of the same shape whose words and regions these start as; where none
            are named they start as states of the joint embedding and as it sees images.
        fixed: Contexts, words and regions stay as they started.
        dropout: On word vectors and states.
        image_dropout: On the image's features.
        region_dropout: Share of the regions that training leaves out of a batch.
        word_dropout: Share of words that training replaces by the unknown word.
    """

    dim: int = 768
    hidden: int = 256
    n_steps: int = 3
    units: int = 64
    similarity_dim: int = 96
    variant: str = "full"
    attention: str = "joint"
    similarity: str = "product"
    compare_contexts: bool = True
    stochastic: float = 0.0
    word_dim: int = 300
    cell: str = "lstm"
    text_pooling: str = "last"
    grid: int = 0
    image_dim: int = 1280
    map_dim: int = 1280
    word_vectors: str = ""
    start_from: str = ""
    words_from: str = ""
    fixed: bool = False
    dropout: float = 0.2
    image_dropout: float = 0.2
    region_dropout: float = 0.0
    word_dropout: float = 0.0

    def __post_init__(self) -> None:
        if self.attention == "printed":  # its name in weights and recipes of older releases
            object.__setattr__(self, "attention", "paper")
        choices = {"variant": VARIANTS, "attention": FORMS, "similarity": SIMILARITIES}
        check_config(
            self,
            one_of={**choices, "cell": tuple(CELLS), "text_pooling": TEXT_POOLINGS},
            counts=("dim", "hidden", "n_steps", "units", "similarity_dim", "word_dim", "image_dim", "map_dim"),
            shares=("dropout", "image_dropout", "region_dropout", "word_dropout"),
            amounts=("grid", "stochastic"),
        )
        check_directions(self.dim)
        if self.fixed and not self.start_from:
            raise SeesayError(
                "config.fixed is true, and there is nothing to start from", hint="--set config.start_from=vse"
            )
        n_kinds = 2 if self.variant == "full" and self.compare_contexts else 1
        if self.similarity == "product" and (self.similarity_dim % n_kinds or n_kinds * self.dim % self.similarity_dim):
            raise SeesayError(
                f"config.similarity_dim is {self.similarity_dim}",
                allowed=f"a divisor of config.dim, {self.dim}, or for the variant full twice a divisor",
            )


@register_model("smlstm")
class SMLSTM(Matcher):
    """Images and sentences as candidates and context, compared pair by pair."""

    config_type = SMLSTMConfig
    tasks = ("retrieval", "attention")
    paper = "smlstm"
    explainers = ("attention",)
    graph_kinds = ("texts", "look")
    starts_from: ClassVar[Mapping[str, str]] = {"start_from": "vse", "words_from": "dvsa"}
    weak_points = (
        "A score is of one image with one sentence: it is slow over many images, and meant for a short list.",
        "It attends to what helps it to match, which is not always the region of a word.",
        "Counting, text inside images, named people and places, and words that captions of everyday photos do not use.",
    )
    n_dev_images = 300
    config: SMLSTMConfig

    def __init__(self, config: SMLSTMConfig, vocabulary: Vocabulary, features: FeatureSpec) -> None:
        super().__init__(config, vocabulary, features)
        # Whole sentences are read by one network, their words by another.
        self.embedding, self.word_embedding = (
            nn.Embedding(len(vocabulary), config.word_dim, padding_idx=PAD) for _ in range(2)
        )
        self.encoder, self.word_encoder = (
            Recurrent(config.cell, config.word_dim, config.dim // 2, bidirectional=True) for _ in range(2)
        )
        self.project_words = nn.Linear(config.dim, config.dim)
        self.project_regions = nn.Linear(config.map_dim, config.dim)
        self.project_image = nn.Linear(config.image_dim, config.dim)
        self.pairs = SelectiveLSTM(
            config.dim, config.hidden, config.units, config.similarity_dim, config.n_steps,
            variant=config.variant, form=config.attention, similarity=config.similarity,
            compare_contexts=config.compare_contexts,
        )  # fmt: skip
        self.dropout = nn.Dropout(config.dropout)
        self.image_dropout = nn.Dropout(config.image_dropout)
        if config.fixed:
            for part in (*_GLOBAL_PARTS, *_WORD_PARTS):
                getattr(self, part).requires_grad_(False)

    @property
    def shared_parts(self) -> dict[str, tuple[str, ...]]:
        config = self.config
        if config.fixed and config.words_from:
            return {config.start_from: _GLOBAL_PARTS, config.words_from: _WORD_PARTS}
        return {config.start_from: (*_GLOBAL_PARTS, *_WORD_PARTS)} if config.fixed else {}

    def share_from(self, source: str) -> None:
        self._initialise_from("words_from" if source == self.config.words_from else "start_from")

    def initialise(self, seed: int) -> None:
        """Start where the configuration says; the rest keeps torch's own initialisation."""
        for embedding in (self.embedding, self.word_embedding):
            self.start_words(embedding, self.config.word_vectors, seed)
        if self.config.similarity == "product":
            self.pairs.initialise_as_cosine()
        for key in self.starts_from:
            if getattr(self.config, key):
                self._initialise_from(key)

    def _initialise_from(self, key: str) -> None:
        source = load_source(self, key)
        of_words = {"word_embedding": "embedding", "word_encoder": "encoder"}
        if key == "words_from":
            initialise_from_parts(self, source, of_words | {"project_words": "W_d", "project_regions": "W_m"})
            return
        initialise_from_parts(
            self, source, {"embedding": "embedding", "encoder": "encoder", "project_image": "project"}
        )
        if not self.config.words_from:
            initialise_from_parts(self, source, of_words | {"project_regions": "project"})
            initialise_identity(self.project_words)

    @classmethod
    def tokenizer_for(cls, config: SMLSTMConfig) -> Tokenizer | None:
        return load(config.start_from).tokenizer if config.fixed else None

    @classmethod
    def outputs_for(cls, config: SMLSTMConfig) -> tuple[str, ...]:
        return ("pooled",) if config.variant == "ctx" else ("pooled", "map")

    def encode_images(self, features: Features) -> Tensor:
        """The context and the regions of each image: (n, 1 + I, dim)."""
        pooled = features.pooled
        self.check_features("image_dim", pooled)
        m = F.normalize(self.project_image(self.image_dropout(pooled)), dim=1).unsqueeze(1)
        if self.config.variant == "ctx":
            return m
        if features.map is None:
            raise ValueError("sm-LSTM looks at the cells of a map: ask the store for the output 'map'")
        self.check_features("map_dim", features.map)
        cells = features.grid(self.config.grid, self.config.grid) if self.config.grid else features.map
        cells = cells.flatten(1, 2)  # (n, I, C)
        if self.training and self.config.region_dropout:
            n_kept = max(1, round(cells.shape[1] * (1 - self.config.region_dropout)))
            cells = cells[:, torch.randperm(cells.shape[1])[:n_kept]]
        # A feature is dropped from all regions of an image, or the attention would learn where the most are left.
        kept = self.image_dropout(torch.ones_like(cells[:, :1]))  # (n, 1, C)
        regions = self.project_regions(cells * kept)
        average = regions.square().sum(-1).mean(1).clamp(min=1e-12).sqrt()
        return torch.cat([m, regions / average[:, None, None]], 1)

    def encode_texts(self, sentences: Sequence[str]) -> Sequences:
        """The words of each sentence, and after the last of them its context."""
        if not sentences:
            return Sequences.none(self.embedding.weight, self.config.dim)
        words, lengths = self.word_rows(sentences)
        mask = torch.arange(words.shape[1]) < lengths.unsqueeze(1)  # (n, J)
        shown = drop_words(words, mask, self.config.word_dropout) if self.training else words
        h = self.encoder(self.dropout(self.embedding(shown)), lengths)  # (n, J, dim)
        if self.config.text_pooling == "last":
            whole = self.encoder.final(h, lengths)
        else:
            whole = (masked_max if self.config.text_pooling == "max" else masked_mean)(h, mask)
        n = F.normalize(self.dropout(whole), dim=1)  # (n, dim)
        h = self.word_encoder(self.dropout(self.word_embedding(shown)), lengths)
        w = self.project_words(self.dropout(h))
        average = masked_mean(w.square().sum(-1, keepdim=True), mask).clamp(min=1e-12).sqrt()  # (n, 1)
        states = F.pad(w / average.unsqueeze(1), (0, 0, 0, 1))
        rows = torch.arange(len(words))
        words = F.pad(words, (0, 1), value=PAD)
        words[rows, lengths] = END
        return Sequences(states.index_put((rows, lengths), n), words, lengths + 1)

    def score(self, images: Tensor, texts: Sequences, *, on_progress: Progress | None = None) -> Tensor:
        return self.pairs.score(*sides(images, texts), on_progress=on_progress)

    def judge(self, images: Tensor, texts: Sequences, positives: Tensor) -> tuple[Tensor, Tensor | None]:
        both = sides(images, texts)
        looked = self.pairs.look(*both)
        if not self.config.stochastic:
            return looked.scores, None
        return looked.scores, self.config.stochastic * self.pairs.unevenness(looked, both[1])

    def map_shape(self, features: Features) -> tuple[int, int]:
        """Rows and columns of the regions."""
        assert features.map is not None
        grid, (_, height, width, _) = self.config.grid, features.map.shape
        return (grid, grid) if grid else (height, width)

    def look(self, images: Tensor, texts: Sequences) -> Looked[Tensor]:
        """The attention of every pair of a few images and a few sentences: p over regions and q over words (Eq. 2)."""
        return self.pairs.look(*sides(images, texts))


def sides(images: Tensor, texts: Sequences) -> tuple[Side, Side]:
    """What the encoders gave, as candidates and contexts."""
    if isinstance(images, Sequences):
        raise SeesayError(
            "sm-LSTM compares sentences with images, not with sentences", hint="leave sentences_only out of the data"
        )
    rows = torch.arange(len(texts))
    mask = torch.arange(texts.words.shape[1] - 1) < (texts.lengths - 1).unsqueeze(1)
    return (
        Side(images[:, 1:], images[:, 0]),
        Side(texts.states[:, :-1], texts.states[rows, texts.lengths - 1], mask),
    )


_GLOBAL_PARTS = ("embedding", "encoder", "project_image")
_WORD_PARTS = ("word_embedding", "word_encoder", "project_words", "project_regions")
