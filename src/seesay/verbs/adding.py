"""`seesay models add` and `remove`: towers that the user has, as weights like any other."""

import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from seesay.catalogue.weights import PACKAGED, Weights, added, eyes, read_about
from seesay.errors import SeesayError
from seesay.system.extras import require
from seesay.system.files import expand_home, models_dir
from seesay.towers.looking import Candidate, look_at

if TYPE_CHECKING:
    from seesay.runtime.matching import Model

PRECISIONS = ("fp32", "fp16")
"""Of an image tower's graph."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True, slots=True)
class Added:
    """A model that was added.

    Attributes:
        weights: What it is; None for an image tower alone, which is the eye of models that are trained.
    """

    name: str
    folder: Path
    weights: Weights | None


def add_model(
    folder: Path, name: str | None = None, *, precision: str = "fp32", tell: Callable[[str], None] = lambda _: None
) -> Added:
    """Make weights of a folder in the layout of `transformers`; the folder itself is only read.

    Args:
        folder: With config.json, preprocessor_config.json, tokenizer.json, and model.safetensors or, in place of that,
            the ONNX files vision_model.onnx and text_model.onnx.
        name: What the weights are called from then on; by default as the folder.
        precision: Of the image tower: `fp32`, or `fp16`, half the size on disk.
        tell: Called with what is being done.

    Raises:
        SeesayError: The folder holds no towers that are read here, or something of it is missing or does not fit.
    """
    if precision not in PRECISIONS:
        raise SeesayError(f"there is no precision {precision[:80]!r}", allowed=PRECISIONS)
    folder = expand_home(folder).resolve()
    target = _target(name or folder.name)
    candidate = look_at(folder)
    if candidate.doubt:
        tell(candidate.doubt)
    if not candidate.pair:
        require("towers", purpose="adding towers from safetensors")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        weights = _add(candidate, target, precision, tell)
    except OSError as error:
        raise SeesayError(
            f"cannot write {target}: {error.strerror or error}", hint="SEESAY_MODELS=FOLDER seesay models add …"
        ) from error
    return Added(target.name, target, weights)


def _add(candidate: Candidate, target: Path, precision: str, tell: Callable[[str], None]) -> Weights | None:
    if candidate.pair:
        from seesay.runtime.pairs import add_pair

        add_pair(candidate, candidate.pair, target, tell)
        return _finish(target, tell)
    from seesay.export.adding import add_eye, add_towers

    if candidate.towers.text is None:
        add_eye(candidate, target, precision=precision, tell=tell)
        return None
    add_towers(candidate, target, precision=precision, tell=tell)
    return _finish(target, tell)


def _finish(target: Path, tell: Callable[[str], None]) -> Weights:
    """Try an added model and give it its zero-shot tags; without them it is not there at all."""
    from seesay.library.zero_shot import write_class_tags
    from seesay.runtime.matching import Model

    try:
        model = Model(target)
        _require_vectors(model)
        tell("reading the names of tags")
        write_class_tags(model)
    except BaseException:
        shutil.rmtree(target, ignore_errors=True)
        raise
    return read_about(target)


def _require_vectors(model: "Model") -> None:
    """Refuse towers that make nothing of an image or a sentence, as those of damaged weights do."""
    import numpy as np
    from PIL import Image

    images = [Image.new("RGB", (64, 64), colour) for colour in ("black", "orange")]
    made = {
        "an image": model.encode_images(model.features(images)),
        "a sentence": model.encode_texts(["a dog", "two men play football"]),
    }
    for what, vectors in made.items():
        if not np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-2):  # nor is what is no number
            raise SeesayError(f"the tower makes no vector of {what}: its numbers are zero or not finite")


def remove_model(name: str) -> Path:
    """Remove added weights; the folder that they were made of, and what libraries keep, stays.

    Raises:
        SeesayError: No weights of that name were added.
    """
    known = {folder.name: folder for folder in (*(weights.folder for weights in added()), *eyes())}
    if name not in known:
        raise SeesayError(f"no model {name!r} was added", allowed=known or "nothing was added", hint="seesay models")
    shutil.rmtree(known[name])
    return known[name]


def _target(name: str) -> Path:
    if not _NAME.fullmatch(name):
        raise SeesayError(
            f"a model cannot be called {name[:80]!r}", allowed="letters, digits, . _ -", hint="--name clip"
        )
    if (PACKAGED / name).exists():
        raise SeesayError(f"{name} is the name of weights that came with seesay", hint=f"--name my-{name}")
    target = models_dir() / name
    if target.exists():
        raise SeesayError(f"there is a model {name!r} already", hint=f"seesay models remove {name}, or --name NAME")
    return target
