"""The eye with a sentence encoder over whole words: what a learning eye gives to a model that has read captions alone.

The joint embedding `vse` (`seesay.models.vse`) whose image network learns: the lower half stays that of ImageNet, the
upper half is a part of the model. Its sentence encoder starts from nothing, from word vectors, or from a `vse` on the
same network with all of that frozen (`start_from`). No text transformer takes part, so that weights learned from a
paper's training split alone may stand beside that paper's.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from seesay.errors import SeesayError
from seesay.images.features import Features, FeatureSpec
from seesay.models.base import ImageLike
from seesay.models.eye.upper import Eye, upper_half
from seesay.models.pretrained import find
from seesay.models.registry import register_model
from seesay.models.starting import initialise_from_parts, load_source, read_data
from seesay.models.vse import VSE, VSEConfig
from seesay.system.tables import check_config
from seesay.text.vocabulary import Vocabulary


@dataclass(frozen=True)
class EyeWordsConfig(VSEConfig):
    """The shape of the embedding (`VSEConfig`), and how the eye learns.

    Attributes:
        learns_eye: Whether the eye's upper half learns.
        eye_rate: Its rate, as a share of the recipe's.
        eye_in_half: Whether it computes in bfloat16 in training, which takes two thirds of the time.
        n_captions: Sentences of a photo in a batch.
        mirrors: Whether every other photo of a batch is mirrored, and left and right in its captions changed over.
        smallest_view: How much of each side of a photo a batch looks at, at least, as a share; 1 looks at the whole.
    """

    learns_eye: bool = True
    eye_rate: float = 0.3
    eye_in_half: bool = False
    n_captions: int = 5
    mirrors: bool = False
    smallest_view: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_config(self, one_of={"image_pooling": ("pooled",)}, counts=("n_captions",), amounts=("eye_rate",))
        if not 0.5 <= self.smallest_view <= 1:
            raise SeesayError(f"config.smallest_view is {self.smallest_view}", allowed="from 0.5 to 1")


@register_model("eye-words")
class EyeWords(Eye, VSE):
    """Photos and sentences as unit vectors of one space, from the lower half's activations and from whole words."""

    n_dev_images = 250
    config_type = EyeWordsConfig
    learning_task = "eye-words"
    tasks = ("retrieval",)
    explainers = ()
    stage = None
    graph_kinds = ()
    config: EyeWordsConfig

    def __init__(self, config: EyeWordsConfig, vocabulary: Vocabulary, features: FeatureSpec) -> None:
        super().__init__(config, vocabulary, features)
        self.upper = upper_half(features.load_backbone(), learns=config.learns_eye)

    def initialise(self, seed: int) -> None:
        """Start the sentence side and the linear layer where the configuration says, the eye from ImageNet."""
        self.start_words(self.embedding, self.config.word_vectors, seed)
        if self.config.start_from:
            source = load_source(self, "start_from")
            if source.feature_spec != self.feature_spec:
                raise SeesayError(
                    f"{self.config.start_from} uses the network {source.feature_spec.name}",
                    allowed=self.feature_spec.name,
                )
            initialise_from_parts(self, source, {part: part for part in ("embedding", "encoder", "project")})

    @property
    def rate_scales(self) -> Mapping[str, float]:
        """Parts that learn at a share of the recipe's rate: the one that comes trained."""
        return {"upper": self.config.eye_rate}

    @classmethod
    def earlier_data(cls, config: EyeWordsConfig) -> list[dict[str, Any]]:
        return read_data(find(config.start_from).folder) if config.start_from else []

    @classmethod
    def outputs_for(cls, config: VSEConfig) -> tuple[str, ...]:
        return ("lower",)

    @property
    def without_graphs(self) -> dict[str, str]:
        return {"images": "its network is its own: it is trained and measured with torch"}

    def features(self, images: Sequence[ImageLike]) -> Features:
        return Features.of_lower(self.activations(images))

    def feature_map(self, activations: Tensor) -> Tensor:
        with torch.autocast("cpu", torch.bfloat16, enabled=self.training and self.config.eye_in_half):
            return super().feature_map(activations).float()

    def encode_images(self, features: Features) -> Tensor:
        if features.lower is None:
            raise ValueError("these features hold no activations: ask for the output 'lower'")
        return self.embed_images(self.feature_map(features.lower).mean((2, 3)))

    def embed_images(self, pooled: Tensor) -> Tensor:
        """Unit vectors (n, dim) of the eye's vectors (n, C)."""
        return super().encode_images(Features(pooled))
