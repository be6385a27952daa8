"""The verbs that models answer, and the registry of model families.

The command line, the evaluation and the web page know these verbs only and never ask for a model's name.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, TypeVar, cast

import torch
from PIL import Image
from torch import Tensor, nn

from seesay.errors import SeesayError
from seesay.images.backbones import Backbone
from seesay.images.features import Features, FeatureSpec, compute
from seesay.images.io import open_image
from seesay.text.vocabulary import Vocabulary

FAMILIES = {"vse": "seesay.models.vse:VSE"}
"""Model family → where its class lies; a family is imported when it is asked for."""

Picture = Path | str | bytes | Image.Image
ConfigType = TypeVar("ConfigType")


@dataclass(frozen=True)
class Weights:
    """A folder of trained weights and what its config.json says."""

    folder: Path
    about: dict[str, Any]

    @property
    def name(self) -> str:
        return str(self.about["name"])

    @property
    def figures(self) -> dict[str, Any]:
        """Measured reports by `data/split`."""
        figures: dict[str, Any] = self.about.get("figures", {})
        return figures

    @property
    def size(self) -> int:
        """Bytes of the weights file."""
        path = self.folder / "model.safetensors"
        try:
            return path.stat().st_size
        except OSError as error:
            raise SeesayError(f"cannot read the weights {path}: {error.strerror or error}") from error


class Matcher(nn.Module, ABC):
    """A model that says how well a sentence fits a picture.

    Attributes:
        family: Its name in the registry.
        config: Its own frozen dataclass.
        weights: Where its weights came from; None before it is trained.
    """

    family: ClassVar[str]
    config_type: ClassVar[type[Any]]
    weights: Weights | None = None

    def __init__(self, config: Any, vocabulary: Vocabulary, features: FeatureSpec) -> None:
        super().__init__()
        self.config = config
        self.vocabulary = vocabulary
        self.feature_spec = features
        self._backbone: list[Backbone] = []  # in a list, so that it is no submodule and not part of the weights

    def initialise(self, seed: int) -> None:
        """Give the weights their values before training; torch's own are a good default."""

    @property
    def temperature(self) -> float:
        """What scores are divided by before a softmax over them says anything: the loss's own, as trained."""
        recipe = self.weights.about.get("recipe", {}) if self.weights else {}
        return float(recipe.get("loss", {}).get("temperature", 1.0))

    @property
    def outputs(self) -> tuple[str, ...]:
        """Which features it needs of a picture (see `seesay.images.features.OUTPUTS`)."""
        return self.outputs_for(self.config)

    @classmethod
    def outputs_for(cls, config: Any) -> tuple[str, ...]:
        """Which features a model of this configuration needs of a picture."""
        return ("pooled",)

    @abstractmethod
    def encode_images(self, features: Features) -> Tensor:
        """What the model keeps of each picture: (n_images, …)."""

    @abstractmethod
    def encode_texts(self, sentences: Sequence[str]) -> Tensor:
        """What the model keeps of each sentence: (n_texts, …). An empty sentence counts as one unknown word."""

    def score(self, images: Tensor, texts: Tensor) -> Tensor:
        """How well each sentence fits each picture, from what the two encoders gave: (n_images, n_texts)."""
        return images @ texts.T

    def features(self, images: Sequence[Picture]) -> Features:
        """Open pictures and run the backbone on them, one after the other, without any store."""
        if not self._backbone:
            self._backbone.append(self.feature_spec.load_backbone())
        backbone, spec = self._backbone[0], self.feature_spec
        rows = [compute([open_image(image, at_least=spec.pixels)], backbone, spec.crop) for image in images]
        return Features(*(torch.cat([torch.from_numpy(row[name]).float() for row in rows]) for name in self.outputs))

    @torch.inference_mode()
    def match(self, images: Picture | Sequence[Picture], sentences: str | Sequence[str]) -> Tensor:
        """Score every sentence against every picture.

        Args:
            images: Paths, file contents or opened pictures; one or several.
            sentences: One or several.

        Returns:
            (n_images, n_texts); for a joint embedding the cosine, in [-1, 1].

        Example:
            >>> from seesay.models.pretrained import load
            >>> meadow = Image.new("RGB", (64, 64), "green")
            >>> load("vse").match(meadow, ["a green meadow", "a red bus"]).shape
            torch.Size([1, 2])
        """
        pictures = [images] if isinstance(images, Path | str | bytes | Image.Image) else list(images)
        texts = [sentences] if isinstance(sentences, str) else list(sentences)
        if not pictures or not texts:
            missing = "pictures" if not pictures else "sentences"
            raise SeesayError(f"there are no {missing} to match", allowed="one or more pictures and sentences")
        return self.score(self.encode_images(self.features(pictures)), self.encode_texts(texts))


def family_class(family: str) -> type[Matcher]:
    """The class of a model family; an unknown name is answered with the list."""
    if family not in FAMILIES:
        raise SeesayError(f"there is no model family {family!r}", allowed=FAMILIES)
    module, _, name = FAMILIES[family].partition(":")
    return cast(type[Matcher], getattr(import_module(module), name))


def read_config(config_type: type[ConfigType], table: dict[str, Any], origin: str) -> ConfigType:
    """A model's frozen dataclass from a table; an unknown key is answered with the valid ones.

    Example:
        >>> from dataclasses import dataclass
        >>> @dataclass(frozen=True)
        ... class Config:
        ...     dim: int = 8
        >>> read_config(Config, {"dim": 4}, "config.json")
        Config(dim=4)
    """
    valid = {field.name: field for field in fields(config_type)}  # type: ignore[arg-type]
    for key, value in table.items():
        if key not in valid:
            raise SeesayError(f"{origin}: there is no key {key!r} for this model", allowed=valid)
        wanted = cast(type, valid[key].type)
        fits = isinstance(value, wanted) or (wanted is float and isinstance(value, int))
        if not fits or (isinstance(value, bool) and wanted is not bool):  # a bool is an int to Python
            raise SeesayError(f"{origin}: {key} is {value!r}", allowed=f"a value of type {wanted.__name__}")
    with named_in_errors(origin):
        return config_type(**table)


@contextmanager
def named_in_errors(origin: str) -> Iterator[None]:
    """Put the file or section at fault in front of what an error says."""
    try:
        yield
    except SeesayError as error:
        raise SeesayError(f"{origin}: {error.what}", allowed=error.allowed, hint=error.hint) from error


def config_table(model: Matcher) -> dict[str, Any]:
    """A model's configuration as a plain table."""
    return asdict(model.config)
