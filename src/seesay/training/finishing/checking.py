"""Whether the tables of a weights folder come out again: each is chosen anew and compared with the present one."""

import math
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from safetensors.numpy import load_file

from seesay.catalogue.weights import HUBNESS, STEPS, Weights
from seesay.training.finishing.recording import Change, compare
from seesay.training.finishing.requests import Proposal
from seesay.training.finishing.steps import steps_for

WITHIN = 0.001
"""The largest share by which a fitted number may differ: another processor adds up in another order. What is chosen
from a list, such as a beam, is the same or is not."""


def steps_taken(weights: Weights) -> list[str]:
    """The steps whose tables a folder has, in their order; pruning has no table to come out again."""
    about = weights.about
    there = {step for step, section in STEPS.items() if about.get(section)}
    there |= {"calibration"} if (about.get("cascade") or {}).get("calibration") else set()
    there |= {"hubness"} if (weights.folder / HUBNESS).is_file() else set()
    return [step for step in steps_for(weights) if step in there]


def check(folder: Path, proposal: Proposal) -> Change:
    """What would be different if a table, and the files that belong to it, were written."""
    change = compare(folder, proposal.section, proposal.table)
    return Change(change.section, {**change.keys, **(_compare_files(folder, proposal.save) if proposal.save else {})})


def difference(change: Change) -> float:
    """The largest difference of a number as a share of the larger of the two; infinite where anything else differs.

    Example:
        >>> difference(Change("choice", {"temperature": (0.05, 0.04)}))
        0.2
        >>> difference(Change("captioning", {"metric": ("bleu", "cider")})), difference(Change("tags", {}))
        (inf, 0.0)
    """
    return max((_share(*values) for values in change.keys.values()), default=0.0)


def _share(old: Any, new: Any) -> float:
    if not all(isinstance(value, int | float) and not isinstance(value, bool) for value in (old, new)):
        return math.inf
    return round(float(abs(old - new) / max(abs(old), abs(new), 1e-12)), 6)


def _compare_files(folder: Path, save: Callable[[Path], None]) -> dict[str, tuple[Any, Any]]:
    """The tensors that differ, as the largest number of the present one and that number with the largest difference."""
    with TemporaryDirectory() as scratch:
        save(Path(scratch))
        made = {path.name: load_file(path) for path in sorted(Path(scratch).glob("*.safetensors"))}
    found: dict[str, tuple[Any, Any]] = {}
    for name, tensors in made.items():
        present = load_file(folder / name) if (folder / name).is_file() else {}
        for key in {**present, **tensors}:
            old, new = present.get(key), tensors.get(key)
            if old is None or new is None or old.shape != new.shape:
                found[f"{name} {key}"] = (_shape(old), _shape(new))
            elif not np.array_equal(old, new):
                largest = float(np.abs(old.astype(np.float64)).max())
                apart = float(np.abs(old.astype(np.float64) - new).max())
                found[f"{name} {key}"] = (largest, largest + apart)
    return found


def _shape(tensor: Any) -> list[int] | None:
    return None if tensor is None else list(tensor.shape)
