"""Which trained weights there are and what their config.json says; without torch."""

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol, cast

from seesay.catalogue.digests import digest_of
from seesay.errors import SeesayError
from seesay.settings.calibration import Calibration
from seesay.settings.doubt import Doubt
from seesay.settings.short_texts import ShortTexts
from seesay.system.files import models_dir
from seesay.system.reading import read_json

FORMAT = 1
PACKAGED = Path(__file__).parents[1] / "weights"
HUBNESS = "hubness.safetensors"
"""The file of an embedding's hubness in its folder (`seesay.models.hubness`)."""
ENSEMBLE = "ensemble"
"""The family of a folder that names other weights and has none of its own (`seesay.catalogue.ensembles`)."""
STEPS = {
    "prune": "pruned",
    "vectors": "vectors",
    "short": "short",
    "hubness": "hubness",
    "cascade": "cascade",
    "calibration": "calibration",
    "choice": "choice",
    "captions": "captioning",
    "matching": "matching",
    "confidence": "confidence",
    "grounding": "grounding",
    "boxes": "boxes",
    "presence": "presence",
    "tags": "tags",
    "ensemble": "members",
}
"""What `seesay tune --only` takes, in the order in which later steps need earlier ones, with the table it writes."""
REMARKS = ("chosen on", "data")
"""Keys of tables of version 0.1 that say where they come from."""

_RENAMED = {"borrowed": "source_weights"}
"""Keys of config.json in folders that older releases wrote → their names."""
_NEEDED = {"format": int, "name": str, "family": str, "config": dict, "features": dict}
_EVERY = "*"
_GRAPH = {"file": str, "digest": str, "shared": {_EVERY: str}}
_SHAPE: dict[str, Any] = {
    "config": {"dim": int, "beside": str},
    "features": {"backbone": str, "size": int, "crop": str, "digest": str},
    "vocabulary": str,
    "figures": {_EVERY: dict},
    "recipe": {"name": str, "loss": {"temperature": float}, "data": {"train": list}},
    "source_weights": {_EVERY: str},
    "search": dict,
    "cascade": {"calibration": dict},
    "tuned": {_EVERY: {"weights": {_EVERY: str}}},
    "graphs": {
        "opset": int, "network": str, "outputs": list, "files": {_EVERY: _GRAPH}, "missing": {_EVERY: str},
        "sizes": {_EVERY: int},
    },
}  # fmt: skip
"""What stands where in config.json, so far as it is looked at outside of the model: types, and tables of them."""
_TYPES: dict[type, tuple[tuple[type, ...], str]] = {
    dict: ((dict,), "a table"),
    list: ((list,), "a list"),
    str: ((str,), "a text"),
    int: ((int,), "a number"),
    float: ((int, float), "a number"),
}


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


class Trained(Protocol):
    """A model, of which it is asked where its weights came from."""

    @property
    def weights(self) -> Weights | None:
        """None before it is trained."""


def installed() -> list[Weights]:
    """The weights that came with the package, by name; an ensemble is none of its own."""
    folders = sorted(path.parent for path in PACKAGED.glob("*/config.json"))
    return [found for found in map(read_about, folders) if found.about["family"] != ENSEMBLE]


def added() -> list[Weights]:
    """The weights that the user has added (`seesay models add`), by name; a folder that is none is passed over."""
    found = []
    for path in sorted(models_dir().glob("*/config.json")):
        with suppress(SeesayError):
            found.append(read_about(path.parent))
    return found


def eyes() -> list[Path]:
    """The folders of added image towers that read no sentences."""
    found = {path.parents[1] for path in models_dir().glob("*/*/network.json")}
    return sorted(folder for folder in found if not (folder / "config.json").exists())


def is_known_place(folder: Path) -> bool:
    """Whether weights lie where a name is enough to find them."""
    return folder.parent in (PACKAGED.resolve(), models_dir().resolve())


class NoWeightsError(SeesayError):
    """There are no weights of a name, or in a folder."""


def find(name: str | Path) -> Weights:
    """The weights of a name that came with the package or were added, or in a folder; nothing heavy is read."""
    places = (PACKAGED / name, *([models_dir() / name] if Path(name).name == str(name) else []))
    folder = next((place for place in places if _is_file(place / "config.json")), Path(name))
    if not _is_file(folder / "config.json"):
        known = [weights.name for weights in (*installed(), *added())]
        raise NoWeightsError(
            f"there are no weights {str(name)!r}",
            allowed=f"{', '.join(known) or 'nothing is installed'}, or a folder that holds a config.json",
            hint="seesay models",
        )
    return read_about(folder)


def _is_file(path: Path) -> bool:
    return os.path.isfile(path)  # noqa: PTH113 - takes a name of any length


def read_about(folder: Path) -> Weights:
    """Read and check the config.json of a weights folder."""
    path = folder / "config.json"
    about = read_json(path)
    if not isinstance(about, dict) or not all(isinstance(about.get(key), kind) for key, kind in _NEEDED.items()):
        raise SeesayError(f"{path} does not describe weights of seesay", allowed=f"an object with {', '.join(_NEEDED)}")
    if about["format"] != FORMAT:
        is_newer = about["format"] > FORMAT
        raise SeesayError(
            f"{path} has format {about['format']}, this seesay reads format {FORMAT}",
            hint="pip install -U seesay" if is_newer else "seesay train RECIPE, to train them again",
        )
    about = {_RENAMED.get(str(key), str(key)): value for key, value in about.items()}
    _check_shape(about, _SHAPE, str(path))
    return Weights(folder, about)


def _check_shape(value: Any, shape: Any, where: str) -> None:
    """Refuse a value of another type than its place in config.json has; one that is null is none."""
    if value is None:
        return
    wanted, name = _TYPES[dict if isinstance(shape, dict) else shape]
    if isinstance(value, bool) or not isinstance(value, wanted):
        raise SeesayError(f"{where} is {str(value)[:60]!r}", allowed=name)
    if isinstance(shape, dict):
        inner = cast(dict[str, Any], value)
        for key in inner if _EVERY in shape else shape.keys() & inner.keys():
            _check_shape(inner[key], shape.get(key, shape.get(_EVERY)), f"{where}: {str(key)[:60]}")


UPPER = "upper."
"""How the tensors of an eye begin that other models see through."""


def weights_digest(folder: Path, part: str = "") -> str:
    """The sha256 of a weights file, or of a part of its tensors, in hex; read again only where the file has changed."""
    path = folder / "model.safetensors"
    try:
        status = path.stat()
        return _digest(path, status.st_mtime_ns, status.st_size, part)
    except OSError as error:
        raise SeesayError(f"cannot read the weights {path}: {error.strerror or error}") from error


@lru_cache(maxsize=64)
def _digest(path: Path, changed: int, size: int, part: str) -> str:
    return digest_of(path, path.stat(), part)


def tuned_table(weights: Weights, section: str) -> Any:
    """A table of config.json, once it fits the weights that are there; None where there is none.

    Args:
        section: The name of the table; `cascade.calibration` is that of a later stage of search.

    Raises:
        SeesayError: It was chosen beside other weights.
    """
    table: Any = weights.about
    for key in section.split("."):
        table = table.get(key) if isinstance(table, Mapping) else None
    if table is not None:
        check_digests(weights, section.split(".")[-1])
    return table


def check_digests(weights: Weights, section: str) -> None:
    """Refuse a table that was chosen beside other weights than those that are there."""
    record = (weights.about.get("tuned") or {}).get(section) or {}
    for name, digest in (record.get("weights") or {}).items():
        is_own = name == weights.name and weights.about["family"] != "ensemble"
        found = weights_digest(weights.folder if is_own else find(name).folder)
        if found != digest:
            step = next((step for step, own in STEPS.items() if own == section), section)
            raise SeesayError(
                f"{weights.folder / 'config.json'}: the table '{section}' was chosen with {name} {str(digest)[:12]}, "
                f"installed is {found[:12]}",
                hint=f"seesay tune {typed_name(weights)} --only {step}",
            )


def typed_name(weights: Weights) -> str:
    """What a person types for these weights: their name where that finds them, else their folder."""
    return weights.folder.name if is_known_place(weights.folder.resolve()) else str(weights.folder)


def calibration_of(weights: Weights | None) -> Calibration | None:
    """How scores of weights become shares of people who say yes; None where that has not been measured."""
    table = tuned_table(weights, "calibration") if weights else None
    return Calibration.from_table(table, str(weights.folder / "config.json")) if weights and table else None


def doubt_of(weights: Weights | None, section: str) -> Doubt | None:
    """How sure weights may be of their answers: the table `confidence` or `presence`; None where there is none."""
    table = tuned_table(weights, section) if weights else None
    return Doubt.from_table(table, str(weights.folder / "config.json"), section) if weights and table else None


def short_texts_of(weights: Weights | None) -> ShortTexts | None:
    """How much hubness counts for with short texts; None where it counts whole with all of them."""
    table = tuned_table(weights, "short") if weights else None
    return ShortTexts.from_table(table, str(weights.folder / "config.json")) if weights and table else None
