"""Training runs that a benchmark compares, each in a folder of its own, and their scores: none of them twice."""

import hashlib
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from seesay.catalogue.ensembles import Scored
from seesay.data import Collection
from seesay.evaluation.ensembles import score_members
from seesay.evaluation.protocols import EvaluationSet
from seesay.images.backbones import file_digest
from seesay.models.base import Weights
from seesay.models.hubness import find_hubness
from seesay.models.pretrained import find
from seesay.training.recipe import Recipe
from seesay.training.run import run_recipe


def find_finished(recipe: Recipe, folder: Path) -> Weights | None:
    """The weights of a run that has ended; None where there is none of this recipe."""
    if (folder / "weights/config.json").is_file():
        weights = find(folder / "weights")
        # Weights without figures are of a run that was stopped while it measured them.
        if weights.figures and weights.about["recipe_fingerprint"] == recipe.fingerprint():
            return weights
    return None


def train(recipe: Recipe, folder: Path) -> Weights:
    """The weights of a run, which is started, taken up or found finished."""
    if (finished := find_finished(recipe, folder)) is not None:
        return finished
    start = time.monotonic()
    weights = run_recipe(recipe, folder)
    print(f"{folder}: {(time.monotonic() - start) / 60:.1f} minutes", flush=True)
    return weights


def score_once(name: str, split: Collection, protocol: str, keep: Path | None) -> tuple[Scored, Any]:
    """What weights say of all pictures and sentences, and the picture of each sentence.

    Args:
        name: Weights by name or folder.
        keep: A folder for scores, which are not computed again where it has them.
    """
    weights = find(name)
    files = [weights.folder / "model.safetensors", *filter(None, [find_hubness(weights.folder)])]
    digests = " ".join(file_digest(file) for file in files)
    what = f"{digests} {split.fingerprint()} {protocol}"
    path = keep / f"{hashlib.sha256(what.encode()).hexdigest()[:16]}.npz" if keep else None
    if path is not None and path.is_file():
        stored = np.load(path)
        return Scored(**{key: stored[key] for key in stored if key != "image_of"}), stored["image_of"]
    start = time.monotonic()
    (((found,), image_of),) = score_members([name], EvaluationSet(split, protocol))
    print(f"{weights.name} on {split.items[0].split}: {time.monotonic() - start:.0f} s", flush=True)
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        arrays = {key: array for key, array in asdict(found).items() if array is not None}
        np.savez(path, **arrays, image_of=image_of)
    return found, image_of
