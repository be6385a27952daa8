"""Whether an installation is complete and unchanged: what `seesay doctor` prints."""

import json
import os
import platform
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Any

from seesay.catalogue import weights as installed_weights
from seesay.errors import SeesayError
from seesay.system.digests import digest_file
from seesay.system.files import cache_dir, data_dir
from seesay.system.version import VERSION

PACKAGES = ("onnxruntime", "numpy", "pillow", "safetensors", "typer", "fastapi")
"""Packages whose versions explain most differences between machines."""
DIGESTS = "digests.json"
"""Beside the weights: the SHA-256 of each weights file and of each network as it was released."""
_FILES = ("model.safetensors", "network.onnx", "network.json")
"""The file that makes up weights or a network: the first of these; the last of a network that is made of others."""
NOT_FOR_USE = ("dev",)
"""Extras that only people who change seesay need."""


@dataclass(frozen=True, slots=True)
class WeightsHealth:
    """Weights, or the network that they share, and whether they are those that were released.

    Attributes:
        state: `ok`, `changed` or `missing`; `own` of weights that no release has.
        digest: SHA-256 of the weights file, or of the network's graph; empty where it is missing.
    """

    name: str
    state: str
    digest: str
    bytes: int


@dataclass(frozen=True, slots=True)
class Extra:
    """An optional part of seesay.

    Attributes:
        missing: Its packages that are not installed.
        install: What to type to have them.
    """

    name: str
    missing: tuple[str, ...]
    install: str


@dataclass(frozen=True, slots=True)
class Cache:
    """A folder of things that can be computed again."""

    folder: str
    files: int
    bytes: int


@dataclass(frozen=True, slots=True)
class LibraryHealth:
    """The library of photos.

    Attributes:
        exists: Whether anything was indexed yet.
        problem: Why it cannot be searched; empty where it can.
    """

    place: str
    exists: bool
    photos: int = 0
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Health:
    """Everything that `seesay doctor` looks at."""

    versions: dict[str, str | None]
    weights: tuple[WeightsHealth, ...]
    library: LibraryHealth
    caches: tuple[Cache, ...]
    data: str | None
    extras: tuple[Extra, ...]

    @property
    def problems(self) -> list[str]:
        """What does not work as it should, each with what to type."""
        found = [f"{name} is not installed; try: pip install seesay" for name, has in self.versions.items() if not has]
        if not self.weights:
            found.append("there are no weights; try: pip install --force-reinstall --no-deps seesay")
        found += [
            f"the weights {each.name} are {each.state}; try: pip install --force-reinstall --no-deps seesay"
            for each in self.weights
            if each.state in ("changed", "missing")
        ]
        return found + ([self.library.problem] if self.library.problem else [])

    def to_dict(self) -> dict[str, Any]:
        """As `seesay doctor --json` prints it."""
        return {**asdict(self), "problems": self.problems}


def examine(place: Path | str | None = None) -> Health:
    """Look at everything; nothing is written, and no library is made where there is none.

    Args:
        place: The library, by default the person's own.
    """
    return Health(
        versions={
            "seesay": VERSION,
            "python": platform.python_version(),
            **{name: _version(name) for name in PACKAGES},
        },
        weights=examine_weights(installed_weights.PACKAGED),
        library=_examine_library(place),
        caches=tuple(_measure(folder) for folder in _cache_folders()),
        data=str(data_dir()) if data_dir() else None,
        extras=tuple(_examine_extras(requires("seesay") or ())),
    )


def examine_weights(folder: Path) -> tuple[WeightsHealth, ...]:
    """The weights in a folder, and those that should be there, against the digests of the release."""
    known: dict[str, str] = json.loads((folder / DIGESTS).read_text()) if (folder / DIGESTS).is_file() else {}
    there = {
        path.parent.name
        for path in (*folder.glob("*/config.json"), *folder.glob("*/network.json"))
        if '"family": "ensemble"' not in path.read_text(encoding="utf-8")  # which has no weights of its own
    }
    found = []
    for name in sorted(there | known.keys()):
        path = _own_file(folder / name)
        if name not in there or path is None or _missing_graphs(folder / name):
            found.append(WeightsHealth(name, "missing", "", 0))
            continue
        digest = digest_file(path)
        is_same = known.get(name) == digest and not _changed_graphs(folder / name)
        state = "own" if name not in known else "ok" if is_same else "changed"
        found.append(WeightsHealth(name, state, digest, path.stat().st_size))
    return tuple(found)


def _own_file(folder: Path) -> Path | None:
    return next((path for file in _FILES if (path := folder / file).is_file()), None)


def _graphs(folder: Path) -> dict[Path, str]:
    """The graphs that a weights folder names, each with its digest."""
    path = folder / "config.json"
    about = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return {folder / entry["file"]: entry["digest"] for entry in about.get("graphs", {}).get("files", {}).values()}


def _missing_graphs(folder: Path) -> bool:
    return not all(path.is_file() for path in _graphs(folder))


def _changed_graphs(folder: Path) -> bool:
    return any(digest_file(path) != digest for path, digest in _graphs(folder).items())


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _examine_library(chosen: Path | str | None) -> LibraryHealth:
    from seesay.library.indexing.places import holds_library, library_place
    from seesay.library.library import Library

    place = library_place(chosen)
    name = str(place) if isinstance(place, Path) else place.rpartition("@")[2]  # without user and password
    if not holds_library(place):
        return LibraryHealth(name, exists=False)
    try:
        with Library(chosen) as opened:
            status = opened.status()
    except SeesayError as error:
        hint = f"; try: {error.hint}" if error.hint else ""
        return LibraryHealth(name, exists=True, problem=f"{error.what}{hint}")
    changed = "the library was made with other weights; try: seesay library rebuild"
    return LibraryHealth(name, True, status.counts.photos, "" if status.agrees else changed)


def _cache_folders() -> Sequence[Path]:
    root = cache_dir()
    return sorted(path for path in root.iterdir() if path.is_dir()) if root.is_dir() else []


def _measure(folder: Path) -> Cache:
    sizes = [
        (Path(below) / name).lstat().st_size
        for below, _, names in os.walk(folder)
        for name in names
        if (Path(below) / name).exists()  # it may go away while we look
    ]
    return Cache(str(folder), len(sizes), sum(sizes))


def _examine_extras(requirements: Sequence[str]) -> list[Extra]:
    """The optional parts that the package's metadata names, and what is missing of each."""
    packages: dict[str, list[str]] = {}
    for line in requirements:
        needed = re.match(r"[\w.-]+", line)
        extra = re.search(r"""extra\s*==\s*["']([\w-]+)["']""", line)
        if needed and extra and extra[1] not in NOT_FOR_USE:
            packages.setdefault(extra[1], []).append(needed[0])
    return [
        Extra(name, tuple(package for package in needed if not _version(package)), f"pip install 'seesay[{name}]'")
        for name, needed in sorted(packages.items())
    ]


def write_digests(folder: Path) -> None:
    """Keep the digests of the weights as they are: part of every release."""
    paths = [path for each in sorted(folder.iterdir()) if (path := _own_file(each))]
    digests = {path.parent.name: digest_file(path) for path in paths}
    (folder / DIGESTS).write_text(json.dumps(digests, indent=2) + "\n")


if __name__ == "__main__":
    write_digests(installed_weights.PACKAGED)
