"""Published towers: one that sees, one that reads, in one space (CLIP, Radford et al. 2021; SigLIP, Zhai et al. 2023).

The image tower is the network (`seesay.images.tower`): what it makes of a photo is its vector in the joint space. The
text tower is the model. `seesay models add` makes weights of this family of a folder that the user has.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from seesay.images.features import Features, FeatureSpec
from seesay.models.base import Matcher
from seesay.models.registry import register_model
from seesay.system.tables import key
from seesay.text.pieces import Pieces
from seesay.text.tokenizer import Tokenizer
from seesay.towers.pair import open_run, run_text
from seesay.towers.shapes import WIDEST, TextShape
from seesay.towers.text import TextTower

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

    def encode_regions(self, features: Features, boxes: "np.ndarray[tuple[int, ...], np.dtype[np.float32]]") -> Tensor:
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
