"""A joint embedding of images and sentences (VSE), the baseline of the papers.

Frome et al. 2013 (DeViSE): a sentence is the mean of its word vectors. Kiros et al. 2014 (UVS/MNLM): a recurrent
encoder, trained with a hinge over mismatched pairs. Faghri et al. 2018 (VSE++): only the hardest mismatch counts.
sm-LSTM and HM-LSTM take this model as the base line and sm-LSTM starts its global context from it.

An image is one linear layer on the network's features, a sentence the states of its encoder pooled over time; both are
scaled to unit length, so that their inner product is a cosine.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from seesay.images.features import Features, FeatureSpec
from seesay.images.regions import windows
from seesay.layers.dropout import drop_words
from seesay.layers.pooling import AttentionPool, masked_max, masked_mean
from seesay.layers.recurrent import Recurrent
from seesay.models.base import Matcher
from seesay.models.registry import register_model
from seesay.models.starting import learn_on_from
from seesay.system.tables import check_config, check_directions
from seesay.text.vocabulary import PAD, Vocabulary

ENCODERS = ("mean", "gru", "lstm")
TEXT_POOLINGS = ("max", "mean", "last")
IMAGE_POOLINGS = ("pooled", "attention")


@dataclass(frozen=True)
class VSEConfig:
    """The shape of the model.

    Attributes:
        dim: Of the joint space.
        word_dim: Of the word vectors, which are learned.
        encoder: `mean` of words (DeViSE), `gru` or `lstm`.
        bidirectional: Two encoders of half the size, one from each end.
        text_pooling: What becomes of the states over time: their `max`, their `mean`, or the `last`.
        image_pooling: `pooled` takes the network's one vector; `attention` adds `heads` learned means over regions.
        n_regions: Windows that the attention chooses from.
        image_dim: Of the network's vector: 1,280 for EfficientNet-Lite, 2,048 for ResNet-50, 4,096 for AlexNet and VGG.
        map_dim: Of the network's map: as the vector for EfficientNet-Lite and ResNet-50, 256 for AlexNet, 512 for VGG.
        word_vectors: What word vectors start from: a name or file for `seesay.text.vectors`, or nothing for random.
        start_from: Weights of this family and shape to learn on from (`seesay.models.starting.learn_on_from`).
        dropout: On word vectors and on the pooled states.
        image_dropout: On the image's features.
        word_dropout: Share of words that training replaces by the unknown word.
    """

    dim: int = 1024
    word_dim: int = 300
    encoder: str = "gru"
    bidirectional: bool = True
    text_pooling: str = "max"
    image_pooling: str = "pooled"
    heads: int = 1
    n_regions: int = 20
    image_dim: int = 1280
    map_dim: int = 1280
    word_vectors: str = ""
    start_from: str = ""
    dropout: float = 0.2
    image_dropout: float = 0.2
    word_dropout: float = 0.0

    def __post_init__(self) -> None:
        check_config(
            self,
            one_of={"encoder": ENCODERS, "text_pooling": TEXT_POOLINGS, "image_pooling": IMAGE_POOLINGS},
            counts=("dim", "word_dim", "heads", "n_regions", "image_dim", "map_dim"),
            shares=("dropout", "image_dropout", "word_dropout"),
        )
        if self.bidirectional:
            check_directions(self.dim)
        if self.encoder == "mean" and self.text_pooling != "mean":
            object.__setattr__(self, "text_pooling", "mean")


@register_model("vse")
class VSE(Matcher):
    """Images and sentences as unit vectors of one space."""

    is_embedding = True
    config_type = VSEConfig
    tasks: ClassVar[tuple[str, ...]] = ("retrieval", "phrases")
    explainers: ClassVar[tuple[str, ...]] = ("alignment",)
    stage: ClassVar[str | None] = "first"
    starts_from: ClassVar[Mapping[str, str]] = {"start_from": "vse"}
    weak_points = (
        "Counting, left and right, and who does what to whom: an image is one vector, and two sentences with the same "
        "words in another order are nearly the same to it.",
        "Text inside images, named people and places, and words that captions of everyday photos do not use.",
        "People of kinds that Flickr's photos of 2004–2014 show rarely; the captions carry their writers' guesses "
        "about age and gender.",
    )
    config: VSEConfig

    def __init__(self, config: VSEConfig, vocabulary: Vocabulary, features: FeatureSpec) -> None:
        super().__init__(config, vocabulary, features)
        self.embedding = nn.Embedding(len(vocabulary), config.word_dim, padding_idx=PAD)
        self.encoder = _encoder(config)
        self.dropout = nn.Dropout(config.dropout)
        self.image_dropout = nn.Dropout(config.image_dropout)
        attends = config.image_pooling == "attention"
        self.pool = AttentionPool(config.map_dim, config.heads) if attends else None
        self.project = nn.Linear(config.image_dim + (config.heads * config.map_dim if attends else 0), config.dim)
        self.boxes = windows(config.n_regions if attends else 1)

    def initialise(self, seed: int) -> None:
        """Start the word vectors where the configuration says; the rest keeps torch's own initialisation."""
        self.start_words(self.embedding, self.config.word_vectors, seed)
        if self.config.start_from:
            learn_on_from(self, "start_from", sees="project")

    @classmethod
    def outputs_for(cls, config: VSEConfig) -> tuple[str, ...]:
        return ("pooled", "map") if config.image_pooling == "attention" else ("pooled",)

    def encode_images(self, features: Features) -> Tensor:
        vector = features.pooled
        self.check_features("image_dim", vector)
        if self.pool is not None:
            regions = features.regions(self.boxes)  # (n, N, C)
            self.check_features("map_dim", regions)
            vector = torch.cat([vector, self.pool(regions)], 1)  # (n, D + heads · C)
        return F.normalize(self.project(self.image_dropout(vector)), dim=1)

    def encode_texts(self, sentences: Sequence[str]) -> Tensor:
        if not sentences:  # a process whose share of a small batch is nothing
            return self.embedding.weight[:0, :1].expand(0, self.config.dim)
        return self.encode_words(*self.word_rows(sentences))

    def score(self, images: Tensor, texts: Tensor) -> Tensor:
        return images @ texts.T

    def encode_words(self, words: Tensor, lengths: Tensor) -> Tensor:
        """Encode rows of word numbers (n, T), padded, with their lengths (n,)."""
        mask = torch.arange(words.shape[1]) < lengths.unsqueeze(1)  # (n, T)
        if self.training:
            words = drop_words(words, mask, self.config.word_dropout)
        embedded = self.dropout(self.embedding(words))  # (n, T, word_dim)
        if not isinstance(self.encoder, Recurrent):
            return F.normalize(self.encoder(masked_mean(embedded, mask)), dim=1)
        states = self.encoder(embedded, lengths)  # (n, T, dim)
        if self.config.text_pooling == "last":
            pooled = self.encoder.final(states, lengths)
        else:
            pooled = (masked_max if self.config.text_pooling == "max" else masked_mean)(states, mask)
        return F.normalize(self.dropout(pooled), dim=1)


def _encoder(config: VSEConfig) -> nn.Module:
    if config.encoder == "mean":
        return nn.Linear(config.word_dim, config.dim)
    hidden = config.dim // 2 if config.bidirectional else config.dim
    return Recurrent(config.encoder, config.word_dim, hidden, bidirectional=config.bidirectional)
