"""CLIP (Radford et al. 2021), learned here from pixels, at a size that minutes are enough for.

The same two towers as published ones, and saved as those are: beside its weights lies the folder `published` in the
layout of `transformers`, which `seesay models add` takes like any other. It is learned as every matcher is
(`seesay.training.ranking`), with a fixed temperature.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from torch import Tensor, nn

from seesay.errors import SeesayError
from seesay.images.features import Features, FeatureSpec
from seesay.models.base import Matcher
from seesay.models.registry import register_model
from seesay.models.tower import TextReader
from seesay.system.tables import check_config
from seesay.text.pieces import MARKS, Pieces, learn_pieces
from seesay.text.tokenizer import Tokenizer
from seesay.towers.folder import CONFIG, PREPROCESSOR, TOKENIZER, TOKENIZER_CONFIG, WEIGHTS
from seesay.towers.shapes import LayersShape, TextShape, VisionShape
from seesay.towers.text import TextTower
from seesay.towers.vision import VisionTower

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
        target = folder / PUBLISHED
        target.mkdir(exist_ok=True)
        size, config, shape = self.feature_spec.size, self.config, self.text.shape
        tensors = {
            name: tensor.detach().contiguous()
            for tower in (self.vision, self.text)
            for name, tensor in tower.state_dict().items()
        }
        save_file({**tensors, "logit_scale": torch.tensor(math.log(1 / self.temperature))}, target / WEIGHTS)
        marks = dict(zip(("bos_token", "eos_token"), MARKS, strict=True))
        vision = _layers(self.vision.shape.layers) | {"image_size": size, "patch_size": config.patch}
        text = _layers(shape.layers) | {"vocab_size": shape.n_subwords, "max_position_embeddings": shape.longest}
        text |= {f"{mark}_id": self.pieces.tokens.index(token) for mark, token in marks.items()}
        common = {"model_type": "clip", "architectures": ["CLIPModel"], "projection_dim": config.dim}
        _write(target / CONFIG, {**common, "text_config": text, "vision_config": vision})
        square = {"height": size, "width": size}
        scale = {"do_rescale": True, "rescale_factor": 1 / 255, "do_normalize": True}
        colours = {"image_mean": [0.5] * 3, "image_std": [0.5] * 3}
        crop = {"do_resize": True, "size": square, "resample": 3, "do_center_crop": False}
        _write(target / PREPROCESSOR, {"image_processor_type": "CLIPImageProcessor", **crop, **scale, **colours})
        (target / TOKENIZER).write_text(self.pieces.text, encoding="utf-8")
        words = {"tokenizer_class": "CLIPTokenizer", "pad_token": MARKS[1], "unk_token": MARKS[1], **marks}
        _write(target / TOKENIZER_CONFIG, {**words, "model_max_length": shape.longest})


def _layers(shape: LayersShape) -> dict[str, int | float | str]:
    return {
        "hidden_size": shape.dim, "intermediate_size": shape.inner, "num_hidden_layers": shape.n_layers,
        "num_attention_heads": shape.heads, "hidden_act": shape.activation, "layer_norm_eps": shape.eps,
    }  # fmt: skip


def _write(path: Path, table: dict[str, object]) -> None:
    path.write_text(json.dumps(table, indent=2) + "\n", encoding="utf-8")
