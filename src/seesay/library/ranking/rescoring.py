"""Trained weights as later stages of search; torch is loaded when the first photo needs it."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from seesay.library.ranking.cascade import Blend, Boxes, Rescorer
from seesay.library.ranking.encoding import Encoder, WeightsEncoder
from seesay.library.types import Fingerprint, Tags, Vector
from seesay.models import weights
from seesay.models.tuning import check_digests, tuned_table
from seesay.settings.blend import NORMALISATION

if TYPE_CHECKING:
    from PIL import Image

    from seesay.images.features import Features
    from seesay.library.ranking.sentences import LikelihoodScorer, WordScorer
    from seesay.models.aligner import Aligner
    from seesay.models.base import Captioner


def read_blend(found: weights.Weights) -> Blend:
    """How a stage counts, as its config.json says.

    Raises:
        SeesayError: There is no such table, or it was chosen beside other weights.
    """
    table = tuned_table(found, "cascade")
    blend = Blend.from_table(table, str(found.folder / "config.json"))
    if blend.calibration:
        check_digests(found, "calibration")
    return blend


class WeightsRescorer(ABC):
    """Trained weights, by name or folder; `blend` is for those whose config.json has none."""

    stage: ClassVar[str]

    def __init__(self, name: str | Path, blend: Blend | None = None) -> None:
        self.encoder = WeightsEncoder(name)
        self.blend = blend or read_blend(self.encoder.weights)

    @property
    def fingerprint(self) -> Fingerprint:
        return self.encoder.fingerprint

    @property
    def pixels(self) -> int:
        return self.encoder.pixels

    def at_work(self) -> AbstractContextManager[Callable[[], None]]:
        return self.encoder.at_work()

    def encode_photos(self, images: "Sequence[Image.Image]") -> NDArray[np.float16]:
        return self.encode_features(self.encoder.features_of(images))

    @abstractmethod
    def encode_features(self, features: "Features") -> NDArray[np.float16]:
        """The views of photos that the network has seen, (n, N, D)."""

    @abstractmethod
    def score(self, views: Vector, text: str) -> Vector:
        """How well photos whose views are given, (n, N, D), fit a sentence: (n,)."""


class AlignerRescorer(WeightsRescorer):
    """What words speak of is looked for in the regions of photos."""

    stage = "regions"

    @cached_property
    def aligner(self) -> "Aligner":
        from seesay.models.aligner import Aligner, load_aligner

        matcher = self.encoder.matcher
        return matcher if isinstance(matcher, Aligner) else load_aligner(self.encoder.folder)  # which says why not

    def encode_features(self, features: "Features") -> NDArray[np.float16]:
        import torch

        with torch.inference_mode():
            return np.asarray(self.aligner.encode_images(features).numpy(), np.float16)

    @cached_property
    def _without_torch(self) -> "WordScorer | None":
        from seesay.library.ranking.sentences import WordScorer

        about = self.encoder.about
        return WordScorer(self.encoder.folder, about, self.encoder.vocabulary) if WordScorer.knows(about) else None

    def score(self, views: Vector, text: str) -> Vector:
        if self._without_torch is not None:
            return self._without_torch(views, text)
        import torch

        with torch.inference_mode():
            scores = self.aligner.score(torch.from_numpy(views).float(), self.aligner.encode_texts([text]))
        return np.asarray(scores[:, 0].numpy(), np.float32)

    def point(self, views: Vector, text: str) -> tuple[Vector, Boxes]:
        """The region of each photo that fits a phrase best: their similarity (n,) and its box (n, 4)."""
        if self._without_torch is not None:
            from seesay.images.regions import fixed_regions

            scores, best = self._without_torch.point(views, text)
            return scores, fixed_regions(self.encoder.about["config"]["regions"])[best]
        import torch

        with torch.inference_mode():
            phrase = torch.nn.functional.normalize(self.aligner.encode_texts([text]).states[0].sum(0), dim=0)
            products = (torch.from_numpy(views).float() @ phrase).numpy()  # (n, N)
        return products.max(1), self.aligner.boxes[products.argmax(1)]


class CaptionerRescorer(WeightsRescorer):
    """A captioner says how much likelier a sentence is for a photo than for none in particular."""

    stage = "captions"

    @cached_property
    def fingerprint(self) -> Fingerprint:
        return replace(self.encoder.fingerprint, dim=int(self.encoder.about["config"]["multimodal"]))

    @cached_property
    def captioner(self) -> "Captioner":
        from seesay.models.base import Captioner
        from seesay.models.pretrained import load_captioner

        matcher = self.encoder.matcher
        return matcher if isinstance(matcher, Captioner) else load_captioner(self.encoder.folder)  # which says why not

    def encode_features(self, features: "Features") -> NDArray[np.float16]:
        import torch

        with torch.inference_mode():
            return np.asarray(self.captioner.encode_images(features).unsqueeze(1).numpy(), np.float16)

    @cached_property
    def _without_torch(self) -> "LikelihoodScorer | None":
        from seesay.library.ranking.sentences import LikelihoodScorer

        about, vocabulary = self.encoder.about, self.encoder.vocabulary
        return LikelihoodScorer(self.encoder.folder, about, vocabulary) if LikelihoodScorer.knows(about) else None

    def score(self, views: Vector, text: str) -> Vector:
        if self._without_torch is not None:
            return self._without_torch(views[:, 0], text)
        import torch

        with torch.inference_mode():
            texts = self.captioner.encode_texts([text])
            scores = self.captioner.score(torch.from_numpy(views[:, 0]).float(), texts, normalise=NORMALISATION)
        return np.asarray(scores[:, 0].numpy(), np.float32)


DEFAULTS: tuple[tuple[str, type[WeightsRescorer]], ...] = (("dvsa", AlignerRescorer), ("mrnn", CaptionerRescorer))
"""The weights of the later stages in their order, where they are installed."""


def find_stages(first: str) -> tuple[WeightsRescorer, ...]:
    """The later stages that are installed for the weights of a first one."""
    installed = {found.folder.name: found for found in weights.installed()}
    stages: list[WeightsRescorer] = []
    for name, kind in DEFAULTS:
        if name in installed and installed[name].about.get("cascade"):
            blend = read_blend(installed[name])
            if blend.after == (first, *(stage.fingerprint.model for stage in stages)):
                stages.append(kind(name, blend))
    return tuple(stages)


def encode_all(
    first: Encoder, stages: Sequence[Rescorer], images: "Sequence[Image.Image]"
) -> tuple[Vector, list[Tags], dict[str, NDArray[np.float16]]]:
    """What all stages keep of opened photos, which a network that they share looks at once."""
    later = [stage for stage in stages if isinstance(stage, WeightsRescorer)]
    if isinstance(first, WeightsEncoder) and len(later) == len(stages):
        encoders = [first, *(stage.encoder for stage in later)]
        widest = max(encoders, key=lambda encoder: len(encoder.matcher.outputs))
        same = all(encoder.fingerprint.features == first.fingerprint.features for encoder in encoders)
        if same and all(set(encoder.matcher.outputs) <= set(widest.matcher.outputs) for encoder in encoders):
            features = widest.features_of(images)
            return *first.encode_features(features), {stage.stage: stage.encode_features(features) for stage in later}
    return *first.encode_photos(images), {stage.stage: stage.encode_photos(images) for stage in stages}
