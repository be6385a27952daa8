"""Trained weights as later stages of search: how their views are made and scored.

Weights say in their config.json which stage they can be and where in the search they come. A kind of stage that is not
listed here is scored by the model itself; one that can do more registers a class:

    @register_stage("regions")
    class Regions(WeightsStage): ...
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal, Protocol, TypeVar

import numpy as np

from seesay.catalogue import weights
from seesay.errors import SeesayError
from seesay.library.indexing.encoding import ViewEncoder, WeightsViewEncoder
from seesay.library.ranking.cascade import Blend, Boxes, arrange, left_out
from seesay.library.ranking.cascade import Stage as RankingStage
from seesay.library.stores.store import Store
from seesay.library.types import Vector
from seesay.library.weights import LibraryWeights


class Stage(ViewEncoder, RankingStage, Protocol):
    """What a library needs of a later stage: the half for indexing and the half for search."""


class WeightsStage(WeightsViewEncoder):
    """Trained weights by name or folder, scored by the model itself.

    Args:
        blend: How much they count, where that is not what their config.json says.
        precision: As for `seesay.library.weights.LibraryWeights`.
    """

    def __init__(self, name: str | Path, blend: Blend | None = None, precision: str | None = None) -> None:
        super().__init__(name, precision)
        self.blend = blend or Blend.from_table(self.tuned("cascade"), self.config_file)
        if self.blend.calibration and not blend:
            self.tuned("cascade.calibration")  # which may have been chosen beside other weights than the blend

    @property
    def stage(self) -> str:
        if self.role is None:
            raise SeesayError(f"{self.name} cannot be a stage of search", hint="seesay models")
        return self.role.stage

    def knows(self, word: str) -> bool:
        return self.vocabulary.knows(word)

    def score(self, views: Vector, text: str) -> Vector:
        return np.asarray(self.model.score_views(views, [text])[:, 0], np.float32)


_KINDS: dict[str, type[WeightsStage]] = {}
Kind = TypeVar("Kind", bound=type[WeightsStage])


def register_stage(name: str) -> Callable[[Kind], Kind]:
    """Makes a class the kind of stage that weights of this name are."""

    def add(kind: Kind) -> Kind:
        _KINDS[name] = kind
        return kind

    return add


def open_stage(name: str | Path, blend: Blend | None = None, precision: str | None = None) -> WeightsStage:
    """Trained weights as the kind of stage that they say they can be.

    Raises:
        SeesayError: They can be none, or their config.json says nothing of how much they count.
    """
    role = LibraryWeights(name).role
    return _KINDS.get(role.stage if role else "", WeightsStage)(name, blend, precision)


def installed_stages(precision: str | None = None) -> tuple[WeightsStage, ...]:
    """The weights that came with the package and whose config.json says where in the search they come."""
    return tuple(
        open_stage(found.folder, None, precision) for found in weights.installed() if found.about.get("cascade")
    )


class Cascade:
    """The later stages of one library.

    Args:
        first: The weights of its first stage.
        stages: Those that there are, in any order; by default those that are installed.
        precision: Of the first stage, which those that are installed take too.
    """

    def __init__(
        self,
        first: str,
        stages: Sequence[Stage] | Literal["installed"] = "installed",
        precision: str | None = None,
    ) -> None:
        self.first = first
        self._offered: Sequence[Stage] = installed_stages(precision) if stages == "installed" else stages
        self.stages = arrange(self._offered, first)

    def held(self, store: Store) -> tuple[Stage, ...]:
        """Those stages whose views a store holds, as far as they follow each other."""
        held = store.stages()
        return arrange([stage for stage in self.stages if held.get(stage.stage) == stage.fingerprint], self.first)

    def unused(self) -> list[SeesayError]:
        """For each stage that is tuned for the first one and does not fit the others, why it is not used.

        That happens where a stage is added, removed or trained again, and those after it are not tuned again.
        """
        return left_out(self._offered, self.stages, self.first)


@register_stage("regions")
class Regions(WeightsStage):
    """The region a word refers to is looked for in photos."""

    def point(self, views: Vector, text: str) -> tuple[Vector, Boxes]:
        """The region of each photo that fits a phrase best: their similarity (n,) and its box (n, 4)."""
        from seesay.images.regions import fixed_regions

        (phrase,) = self.model.encode_phrases([text])  # (D,)
        unit = phrase / max(float(np.linalg.norm(phrase)), 1e-12)
        products = views.astype(np.float32) @ unit  # (n, N)
        return products.max(1), fixed_regions(self.model.schemes[0])[products.argmax(1)]
