"""Training runs that a benchmark compares, each in a folder of its own, and their scores: none of them twice."""

import hashlib
import time
from pathlib import Path
from typing import Any

import numpy as np

from seesay.data import Collection
from seesay.evaluation.ensembles import Scores, score_members
from seesay.images.backbones import file_digest
from seesay.models.base import Weights
from seesay.models.pretrained import find
from seesay.training.recipe import Recipe
from seesay.training.run import run_recipe


def train(recipe: Recipe, folder: Path) -> Weights:
    """The weights of a run, which is started, taken up or found finished."""
    if (folder / "weights/config.json").is_file():
        weights = find(folder / "weights")
        if weights.about["recipe_fingerprint"] == recipe.fingerprint():
            return weights
    start = time.monotonic()
    weights = run_recipe(recipe, folder)
    print(f"{folder}: {(time.monotonic() - start) / 60:.1f} minutes", flush=True)
    return weights


def score_once(name: str, split: Collection, protocol: str, keep: Path | None) -> tuple[Scores, Any]:
    """The scores of all pictures and sentences, and the picture of each sentence.

    Args:
        name: Weights by name or folder.
        keep: A folder for scores, which are not computed again where it has them.
    """
    weights = find(name)
    what = f"{file_digest(weights.folder / 'model.safetensors')} {split.fingerprint()} {protocol}"
    path = keep / f"{hashlib.sha256(what.encode()).hexdigest()[:16]}.npz" if keep else None
    if path is not None and path.is_file():
        stored = np.load(path)
        return stored["scores"], stored["image_of"]
    start = time.monotonic()
    (((scores,), image_of),) = score_members([name], split, protocol)
    print(f"{weights.name} on {split.items[0].split}: {time.monotonic() - start:.0f} s", flush=True)
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez(path, scores=scores, image_of=image_of)
    return scores, image_of
