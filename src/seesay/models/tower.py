"""Published towers: one that sees, one that reads, in one space (CLIP, Radford et al. 2021; SigLIP, Zhai et al. 2023).

The image tower of a `tower` is the network (`seesay.images.tower`): what it makes of a photo is its vector in the joint
space. The text tower is the model. `seesay models add` makes weights of this family of a folder that the user has.

A `clip` is learned here from pixels, at a size that minutes are enough for, as every matcher is
(`seesay.training.ranking`), with a fixed temperature. Beside its weights lies the folder `published` in the layout of
`transformers`, which `seesay models add` takes like any other.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from torch import Tensor, nn

from seesay.catalogue.weights import read_about
from seesay.errors import SeesayError
from seesay.images.features import Features, FeatureSpec
from seesay.images.regions import Boxes
from seesay.models.base import Matcher
from seesay.models.registry import register_model
from seesay.system.tables import check_config, key
from seesay.text.pieces import MARKS, Pieces, learn_pieces
from seesay.text.tokenizer import Tokenizer
from seesay.towers.folder import WEIGHTS
from seesay.towers.pair import open_run, run_text
from seesay.towers.shapes import WIDEST, LayersShape, TextShape, VisionShape
from seesay.towers.text import TextTower
from seesay.towers.vision import VisionTower
from seesay.towers.writing import write_clip

N_READ = 64
"""Sentences that are read at once."""


@dataclass(frozen=True)
class TowerConfig:
    """The towers.

    Attributes:
        published: Which architecture they are, as `transformers` calls it.
        dim: Of the joint space.
        text: The shape of the text tower.
        scale: What cosines were multiplied by in the loss.
        bias: What was added to them (SigLIP).
        pair: Whether they are a published pair of ONNX files, which is run as it is.
    """

    published: str
    text: TextShape
    dim: int = field(metadata={"at_least": 1, "at_most": WIDEST})
    scale: float = key(100.0, above=0)
    bias: float = 0.0
    pair: bool = False


class TextReader:
    """Of models that read rows of a tower's tokens: sentences of like length go together."""

    tokenizer: Tokenizer
    view_dim: int

    @classmethod
    def tuning_steps(cls) -> set[str]:
        """No tags: its network has none of ImageNet's classes."""
        return {"hubness", "calibration"}

    @property
    def pieces(self) -> Pieces:
        """The tokenizer."""
        assert isinstance(self.tokenizer, Pieces)
        return self.tokenizer

    def text_inputs(self, sentences: Sequence[str]) -> dict[str, Tensor]:
        """What `encode_inputs` takes: sentences as rows of numbers."""
        return {"subwords": torch.from_numpy(self.pieces.rows(sentences)[0])}

    def encode_inputs(self, subwords: Tensor) -> Tensor:
        """What `encode_texts` gives, from `text_inputs`."""
        raise NotImplementedError

    def encode_texts(self, sentences: Sequence[str]) -> Tensor:
        if not sentences:
            return torch.zeros(0, self.view_dim)
        # Sentences of like length go together, as rows of a causal tower are as long as the longest of them.
        order = sorted(range(len(sentences)), key=lambda place: len(sentences[place]))
        found = [
            self.encode_inputs(**self.text_inputs([sentences[place] for place in order[start : start + N_READ]]))
            for start in range(0, len(order), N_READ)
        ]
        return torch.cat(found)[torch.tensor(order).argsort()]


@register_model("tower")
class Tower(TextReader, Matcher):
    """Photos and sentences as unit vectors of one space."""

    is_embedding = True
    in_half = False
    stage = "first"
    config_type = TowerConfig
    tokenizer_type = Pieces
    explainers = ("alignment", "crops")
    graph_kinds = ("regions", "texts", "score")
    starting_point = (
        "These are published towers that were added from a folder of the user's. What they learned from, and on which "
        "terms they may be used, is said where they were published."
    )
    weak_points = (
        "What its publishers say of it; nothing was learned here.",
        "Counting, left and right, and who does what to whom: an image is one vector.",
    )
    config: TowerConfig

    def __init__(self, config: TowerConfig, tokenizer: Tokenizer, features: FeatureSpec) -> None:
        super().__init__(config, tokenizer, features)
        self.text = None if config.pair else TextTower(config.text)
        if config.pair:
            self.register_buffer("digests", torch.zeros(64, dtype=torch.uint8))

    @property
    def temperature(self) -> float:
        return 1 / self.config.scale

    def encode_images(self, features: Features) -> Tensor:
        return F.normalize(features.pooled, dim=1)

    def encode_regions(self, features: Features, boxes: Boxes) -> Tensor:
        """Unit vectors of any regions, of the mean of the tower's places inside: (n, N, dim)."""
        return F.normalize(features.regions(boxes), dim=2)

    def encode_inputs(self, subwords: Tensor) -> Tensor:
        assert self.text is not None
        return F.normalize(self.text(subwords), dim=1)

    def encode_texts(self, sentences: Sequence[str]) -> Tensor:
        if not self.config.pair or not sentences:
            return super().encode_texts(sentences)
        rows = [self.pieces.rows(sentences[start : start + N_READ]) for start in range(0, len(sentences), N_READ)]
        return torch.from_numpy(np.concatenate([run_text(*self._published, *each) for each in rows]))

    @cached_property
    def _published(self) -> tuple[Any, str]:
        """The session of a published text graph, and its output."""
        assert self.weights is not None
        entry = self.weights.about["graphs"]["files"]["texts"]
        return open_run(self.weights.folder / Path(entry["file"]).name), str(entry["published"]["output"])

    def score(self, images: Tensor, texts: Tensor) -> Tensor:
        return images @ texts.T


ACTIVATION = "quick_gelu"
PUBLISHED = "published"


@dataclass(frozen=True)
class ClipConfig:
    """The shape of both towers.

    Attributes:
        dim: Of the joint space.
        patch: Side of a patch in pixels; the side of a photo is that of the features.
        width: Of the states of the image tower.
        n_layers: Of the image tower.
        heads: Of both towers.
        text_width: Of the states of the text tower.
        text_layers: Of the text tower.
        n_subwords: Tokens that are learned from the training sentences.
        longest: Tokens of a sentence that are read.
        dropout: On the vectors of photos and sentences, before they are scaled.
        mirrors: Whether half of the photos are mirrored while it learns.
    """

    dim: int = 128
    patch: int = 8
    width: int = 128
    n_layers: int = 3
    heads: int = 4
    text_width: int = 128
    text_layers: int = 3
    n_subwords: int = 4000
    longest: int = 32
    dropout: float = 0.1
    mirrors: bool = True

    def __post_init__(self) -> None:
        counts = ("dim", "patch", "width", "n_layers", "heads", "text_width", "text_layers", "n_subwords", "longest")
        check_config(self, counts=counts, shares=("dropout",))

    def vision(self, size: int) -> VisionShape:
        """The image tower for photos of a side."""
        if size % self.patch:
            raise SeesayError(f"features.size is {size}, config.patch {self.patch}", allowed="a multiple of the patch")
        layers = LayersShape(self.width, self.n_layers, self.heads, 4 * self.width, ACTIVATION)
        grid = size // self.patch
        return VisionShape(layers, self.patch, grid, first_norm=True, patch_bias=False, out_dim=self.dim)

    def text(self, n_subwords: int, end: int) -> TextShape:
        """The text tower for a tokenizer."""
        layers = LayersShape(self.text_width, self.text_layers, self.heads, 4 * self.text_width, ACTIVATION)
        return TextShape(layers, n_subwords, self.longest, self.dim, end=end)


@register_model("clip")
class Clip(TextReader, Matcher):
    """Photos and sentences as unit vectors of one space, from pixels and from subwords."""

    is_embedding = True
    in_half = False
    stage = "first"
    config_type = ClipConfig
    tokenizer_type = Pieces
    weak_points = (
        "Almost everything: it has seen as many photos as were there, and a published one some hundred millions.",
    )
    config: ClipConfig

    def __init__(self, config: ClipConfig, tokenizer: Tokenizer, features: FeatureSpec) -> None:
        super().__init__(config, tokenizer, features)
        if features.backbone != "pixels":
            raise SeesayError(f"features.backbone is {features.backbone!r}", allowed="pixels, which a CLIP learns from")
        end = self.pieces.tokens.index(MARKS[1])
        self.vision = VisionTower(config.vision(features.size))
        self.text = TextTower(config.text(len(tokenizer), end))
        self.dropout = nn.Dropout(config.dropout)

    def initialise(self, seed: int) -> None:
        """As CLIP does it: small normal numbers, smaller for deeper towers."""
        torch.manual_seed(seed)
        for tower, width, depth in (
            (self.vision, self.config.width, self.config.n_layers),
            (self.text, self.config.text_width, self.config.text_layers),
        ):
            for name, parameter in tower.named_parameters():
                if parameter.ndim < 2:
                    continue
                deviation = width**-0.5
                if name.endswith(("out_proj.weight", "fc2.weight")):
                    deviation *= (2 * depth) ** -0.5
                elif "embedding" in name and "patch" not in name:
                    deviation = 0.02
                nn.init.normal_(parameter, std=deviation)

    @classmethod
    def outputs_for(cls, config: ClipConfig) -> tuple[str, ...]:
        return "pooled", "map"

    @classmethod
    def tokenizer_from(cls, config: ClipConfig, sentences: Sequence[str]) -> Pieces:
        return learn_pieces(sentences, config.n_subwords, config.longest)

    def encode_images(self, features: Features) -> Tensor:
        assert features.map is not None
        pixels = features.map.permute(0, 3, 1, 2)  # (n, 3, H, W)
        if self.training and self.config.mirrors:
            mirrored = torch.rand(pixels.shape[0], 1, 1, 1) < 0.5
            pixels = torch.where(mirrored, pixels.flip(3), pixels)
        return F.normalize(self.dropout(self.vision(pixels)[1]), dim=1)

    def encode_inputs(self, subwords: Tensor) -> Tensor:
        return F.normalize(self.dropout(self.text(subwords)), dim=1)

    def score(self, images: Tensor, texts: Tensor) -> Tensor:
        return images @ texts.T

    def save_extras(self, folder: Path) -> None:
        """Write the same towers as `transformers` writes a CLIP."""
        temperature = float(read_about(folder).about["recipe"]["loss"]["temperature"])
        target = folder / PUBLISHED
        target.mkdir(exist_ok=True)
        tensors = {
            name: tensor.detach().contiguous()
            for tower in (self.vision, self.text)
            for name, tensor in tower.state_dict().items()
        }
        save_file({**tensors, "logit_scale": torch.tensor(-math.log(temperature))}, target / WEIGHTS)
        marks = {
            mark: (token, self.pieces.tokens.index(token))
            for mark, token in zip(("bos_token", "eos_token"), MARKS, strict=True)
        }
        size = self.feature_spec.size
        write_clip(target, self.vision.shape, self.text.shape, size, self.pieces.text, marks)
