"""Several matchers together: their standardised scores, weighted and added up.

    s = Σ_k (weight_k · (s_k − mean_k) − of_images_k · b_k(image) − of_texts_k · b_k(sentence)) / deviation_k

Matchers score on scales of their own: a cosine, a sum over words, a logarithm of probabilities. Mean and deviation over
all pairs of a dev split bring them onto one. For an embedding with hubness b (`seesay.models.hubness`), that is
subtracted, too. The weights are those under which the right ones are likeliest on the same split
(`seesay.training.finishing.ensemble`). All of these are constants afterwards, so that an ensemble scores a single pair
as it scores a million.

An ensemble is a weights folder whose config.json has the family `ensemble` and names its members.
"""

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seesay.catalogue.weights import ENSEMBLE, FORMAT, HUBNESS, PACKAGED, Weights, check_digests, read_about
from seesay.errors import SeesayError
from seesay.system.files import replace_atomically
from seesay.system.reading import parse_json, read_text
from seesay.system.tables import read_table

Scores = NDArray[np.float32]
SHIPPED = "shipped"
"""The name of the ensemble that comes with the package."""
_ALLOWED = "shipped, or a folder or an ensemble.json that seesay tune or seesay evaluate --ensemble has written"


@dataclass(frozen=True, slots=True)
class Scored:
    """What a matcher predicts for some images and sentences.

    Attributes:
        scores: (n_images, n_texts).
        of_images: (n_images,) the hubness of each image, where the matcher has it.
        of_texts: (n_texts,) the same of sentences.
    """

    scores: Scores
    of_images: Scores | None = None
    of_texts: Scores | None = None


@dataclass(frozen=True)
class Member:
    """One matcher of an ensemble.

    Attributes:
        name: Of its weights, or their folder.
        weight: What its standardised scores count for.
        mean: Of its scores on dev.
        deviation: Of its scores on dev.
        of_images: How much of the hubness of images is subtracted.
        of_texts: The same of sentences.
    """

    name: str = field(metadata={"filled": True})
    weight: float
    mean: float
    deviation: float = field(metadata={"above": 0})
    of_images: float = 0.0
    of_texts: float = 0.0

    def terms(self, found: Scored) -> list[tuple[str, Scores]]:
        """What is added up, each with the field that weights it; all can be broadcast to (n_images, n_texts)."""
        terms = [("weight", (found.scores - np.float32(self.mean)) / np.float32(self.deviation))]
        if found.of_images is not None and found.of_texts is not None:
            terms.append(("of_images", -found.of_images[:, None] / np.float32(self.deviation)))
            terms.append(("of_texts", -found.of_texts / np.float32(self.deviation)))
        elif self.of_images or self.of_texts:
            raise SeesayError(
                f"the ensemble uses hubness correction, but {self.name} has no {HUBNESS}",
                hint=f"seesay tune {self.name} --only hubness, or choose the ensemble again",
            )
        return terms


@dataclass(frozen=True, slots=True)
class Ensemble:
    """Matchers whose scores are added up; `chosen_on` says where their weights come from."""

    members: tuple[Member, ...]
    chosen_on: str = ""

    @property
    def name(self) -> str:
        return " + ".join(Path(member.name).name for member in self.members)

    def join(self, found: Sequence[Scored]) -> Scores:
        """What members predict for the same pairs as one score: (n_images, n_texts).

        Example:
            >>> both = Ensemble((Member("a", 1.0, 0.0, 1.0), Member("b", 0.5, 10.0, 2.0)))
            >>> both.join([Scored(np.array([[1.0]])), Scored(np.array([[14.0]]))])
            array([[2.]], dtype=float32)
        """
        joined = np.zeros(found[0].scores.shape, np.float32)
        for member, part in zip(self.members, found, strict=True):
            for name, term in member.terms(part):
                if weight := getattr(member, name):
                    joined += np.float32(weight) * term
        return joined

    @property
    def uses_hubness(self) -> bool:
        """Whether a member's hubness is subtracted."""
        return any(member.of_images or member.of_texts for member in self.members)

    def about(self, name: str) -> dict[str, Any]:
        """The config.json of a folder of this name."""
        return {
            "format": FORMAT,
            "name": name,
            "family": ENSEMBLE,
            "config": {"chosen_on": self.chosen_on},
            "features": {},
            "members": [asdict(member) for member in self.members],
        }

    def write(self, folder: Path) -> None:
        """Write it as a weights folder, without digests; `seesay.training.finishing.recording` adds those."""
        with replace_atomically(folder / "config.json") as temporary:
            temporary.write_text(json.dumps(self.about(folder.name), indent=2) + "\n", encoding="utf-8")


def is_ensemble(name: Path | str) -> bool:
    """Whether a name is that of an ensemble that can be read, and not that of a member."""
    path = _place_of(name)
    if path.suffix == ".json":
        return True
    try:
        return bool(read_about(path).about["family"] == ENSEMBLE)
    except SeesayError:
        return False


def find_ensemble(name: Path | str) -> Weights:
    """The weights folder of an ensemble, for what is kept with it.

    Raises:
        SeesayError: It has none: these are names of members, or an ensemble.json of version 0.1.
    """
    path = _place_of(name)
    if not is_ensemble(name) or not path.is_dir():
        raise SeesayError(
            f"{name} is not the folder of an ensemble, which could keep its figures",
            hint=f"seesay tune FOLDER --members {name}, then --ensemble FOLDER",
        )
    return read_about(path)


def _place_of(name: Path | str) -> Path:
    if str(name) == SHIPPED:
        return PACKAGED / ENSEMBLE
    packaged = PACKAGED / name
    return packaged if os.path.isfile(packaged / "config.json") else Path(name)  # noqa: PTH113 - takes any name


def read_ensemble(name: Path | str) -> Ensemble:
    """Read an ensemble and make sure that its members are those that its weights were chosen for.

    Args:
        name: `shipped`, a weights folder of the family `ensemble`, or an ensemble.json of version 0.1.

    Raises:
        SeesayError: It cannot be read, describes no ensemble, or was chosen for other weights.
    """
    path = _place_of(name)
    file = path / "config.json" if os.path.isdir(path) else path  # noqa: PTH112 - takes a name of any length
    try:
        table = parse_json(read_text(file))
    except OSError as error:
        raise SeesayError(f"cannot read {file}: {error.strerror or error}", allowed=_ALLOWED) from error
    except (ValueError, RecursionError) as error:
        raise SeesayError(f"{file} describes no ensemble: {error}", allowed=_ALLOWED) from error
    members = table.get("members") if isinstance(table, dict) else None
    config = table.get("config", table) if isinstance(table, dict) else None
    if not isinstance(members, list) or not members or not isinstance(config, dict):
        raise SeesayError(f"{file} describes no ensemble", allowed=_ALLOWED)
    ensemble = Ensemble(
        tuple(read_table(Member, member, f"{file} describes no ensemble") for member in members),
        str(config.get("chosen_on", "")),
    )
    if "tuned" in table:
        check_digests(Weights(path, table), "members")
    return ensemble
