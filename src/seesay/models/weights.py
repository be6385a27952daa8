"""Which trained weights there are and what their config.json says; for that nobody has to wait for torch."""

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol, cast

from seesay.errors import SeesayError
from seesay.settings.doubt import Doubt
from seesay.system.reading import open_regular, parse_json, read_text

FORMAT = 1
PACKAGED = Path(__file__).parents[1] / "weights"
ENSEMBLE = "ensemble"
"""The family of a folder that names other weights and has none of its own (`seesay.models.ensemble`)."""
STEPS = {
    "prune": "pruned",
    "vectors": "vectors",
    "hubness": "hubness",
    "cascade": "cascade",
    "calibration": "calibration",
    "captions": "captioning",
    "confidence": "confidence",
    "grounding": "grounding",
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
    "graphs": {"opset": int, "network": str, "outputs": list, "files": {_EVERY: _GRAPH}, "missing": {_EVERY: str}},
}
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


def find(name: str | Path) -> Weights:
    """The weights of a name that came with the package, or in a folder; nothing heavy is read."""
    folder = PACKAGED / name if _is_file(PACKAGED / name / "config.json") else Path(name)
    if not _is_file(folder / "config.json"):
        known = [weights.name for weights in installed()]
        raise SeesayError(
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
    try:
        about = parse_json(read_text(path))
    except OSError as error:
        raise SeesayError(f"cannot read {path}: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise SeesayError(f"{path} is not JSON: {error}") from error
    if not isinstance(about, dict) or not all(isinstance(about.get(key), kind) for key, kind in _NEEDED.items()):
        raise SeesayError(f"{path} does not describe weights of seesay", allowed=f"an object with {', '.join(_NEEDED)}")
    if about["format"] != FORMAT:
        raise SeesayError(
            f"{path} has format {about['format']}, this seesay reads format {FORMAT}", hint="pip install -U seesay"
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


def weights_digest(folder: Path) -> str:
    """The sha256 of a weights file, in hex; read again only where the file has changed."""
    path = folder / "model.safetensors"
    try:
        found = path.stat()
        return _digest(path, found.st_mtime_ns, found.st_size)
    except OSError as error:
        raise SeesayError(f"cannot read the weights {path}: {error.strerror or error}") from error


@lru_cache(maxsize=64)
def _digest(path: Path, changed: int, size: int) -> str:
    with open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


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
                f"{weights.folder / 'config.json'}: the table '{section}' was chosen beside {name} {str(digest)[:12]}, "
                f"installed is {found[:12]}",
                hint=f"seesay tune {weights.name} --only {step}",
            )


def doubt_of(weights: Weights | None, section: str) -> Doubt | None:
    """How sure weights may be of their answers: the table `confidence` or `presence`; None where there is none."""
    table = tuned_table(weights, section) if weights else None
    return Doubt.from_table(table, str(weights.folder / "config.json"), section) if weights and table else None
