"""Training runs that a benchmark compares: each in a folder of its own, and none of them twice."""

import time
from pathlib import Path

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
