"""Weights for the verbs: named ones are opened once in a process."""

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from seesay.catalogue.weights import find, installed
from seesay.errors import SeesayError
from seesay.system.extras import require

if TYPE_CHECKING:
    from seesay.runtime.protocol import Answering

Kind = TypeVar("Kind")
N_KEPT = 8
"""Models that are kept open: more than any one command uses."""


def require_weights(name: str | Path) -> None:
    """Make sure that there are such weights, before anything is opened with them.

    Raises:
        SeesayError: There are none.
    """
    find(name)


def answering_model(given: Any, verb: str = "", lack: str = "") -> "Answering":
    """The model that is meant, answering in NumPy: named weights by their graphs, a loaded model by its own engine.

    Args:
        given: Weights by name or folder, or a loaded model.
        verb: What it has to answer (`seesay.runtime.protocol.Answering.can`).
        lack: What others lack, as the end of a sentence that begins with their name.

    Raises:
        SeesayError: There are no such weights, they have no graphs, or not the one that the verb needs.
    """
    from seesay.runtime.matching import Model

    if isinstance(given, str | Path):
        model: Answering = load_once(given, Model)
        graphs = find(given).about["graphs"]
        if verb not in ("step", "regions") and "phrases" in graphs.get("missing", {}):
            model = load_once(given, _reader_of_trees)
        elif verb not in ("step", "regions") and "level" in graphs["files"]:
            require("parse", purpose=f"{given}, which reads sentences as trees,")
    elif hasattr(given, "can"):
        model = given
    else:
        model = _in_torch(given, lack)
    if verb and not model.can(verb):
        _refuse(model, verb, lack)
    return model


def _reader_of_trees(name: str | Path) -> "Answering":
    """Weights that read sentences as trees and have no graphs for that: it needs torch and a parser."""
    require("train", "parse", purpose=f"{name}, which reads sentences as trees,")
    from seesay.engines import open_model

    return open_model(name, "torch")


def _in_torch(given: Any, lack: str) -> "Answering":
    if not hasattr(given, "encode_images"):
        raise SeesayError(f"{type(given).__name__} {lack or 'is no model'}", hint="seesay models")
    from seesay.engines import answering

    return answering(given)


def _refuse(model: "Answering", verb: str, lack: str) -> None:
    able = [weights for weights in installed() if verb in weights.about.get("graphs", {}).get("files", {})]
    if any(weights.about["family"] == model.family for weights in able):
        raise SeesayError(f"{model.name} has no graph {verb!r}", hint=f"seesay export {model.name}")
    allowed = [weights.name for weights in able] or "weights of another family"
    raise SeesayError(f"{model.name} {lack}", allowed=allowed, hint="seesay models")


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
    return label_of(model)


def label_of(model: Any) -> str:
    """What drawings call a model: the name of its weights, however they were asked for."""
    weights = getattr(model, "weights", None)
    return weights.name if weights else str(getattr(model, "family", type(model).__name__))
