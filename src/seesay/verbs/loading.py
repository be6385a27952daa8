"""Weights for the verbs: named ones are loaded once in a process."""

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from seesay.errors import SeesayError
from seesay.models.weights import find

Kind = TypeVar("Kind")
N_KEPT = 8
"""Models that are kept loaded: more than any one command uses."""


def model_for(given: Any, load: Callable[[str | Path], Kind], wanted: type, lack: str) -> Kind:
    """The model that is meant.

    Args:
        given: Weights by name or folder, or a loaded model.
        load: Loads weights that can do what is needed, and refuses others.
        wanted: The class of such models, which a loaded one is held against.
        lack: What others lack, as the end of a sentence that begins with their name.
    """
    if isinstance(given, str | Path):
        return load_once(given, load)
    if not isinstance(given, wanted):
        name = getattr(getattr(given, "weights", None), "name", None) or type(given).__name__
        raise SeesayError(f"{name} {lack}", hint="seesay models")
    return given  # type: ignore[return-value]


def load_once(name: str | Path, load: Callable[[str | Path], Kind]) -> Kind:
    """Loaded weights; those of files that have not changed since are not read again."""
    folder = find(name).folder
    stamps = tuple(
        (path.name, path.stat().st_mtime_ns, path.stat().st_size)
        for path in (folder / "config.json", folder / "model.safetensors")
        if path.is_file()
    )
    found: Kind = _kept(load, str(name), str(folder), stamps)
    return found


@lru_cache(maxsize=N_KEPT)
def _kept(load: Callable[[str | Path], Any], name: str, folder: str, stamps: tuple[Any, ...]) -> Any:
    return load(name)


def name_of(model: Any, given: Any) -> str:
    """What results call a model: as it was asked for, or the name of its weights."""
    if isinstance(given, str | Path):
        return str(given)
    return model.weights.name if model.weights else str(model.family)
