"""Which tables are checked, and what counts as the same."""

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from seesay.catalogue.weights import find
from seesay.training.finishing.checking import WITHIN, check, difference, steps_taken
from seesay.training.finishing.recording import Change
from seesay.training.finishing.requests import Proposal


@pytest.mark.parametrize(
    ("name", "steps"),
    [
        ("vse", ["calibration", "tags"]),
        ("mrnn", ["captions", "matching", "confidence"]),
        ("ensemble", ["ensemble"]),
        ("smlstm", []),
    ],
)
def test_the_steps_of_tables_that_ship(name: str, steps: list[str]) -> None:
    assert steps_taken(find(name)) == steps


def test_rounding_is_told_apart_from_another_choice() -> None:
    assert difference(Change("calibration", {"slope": (10.509, 10.5091)})) < WITHIN
    assert difference(Change("captioning", {"beam": (10, 5)})) == 0.5
    assert difference(Change("tags", {"weight": (None, 0.1)})) == float("inf")
    assert difference(Change("captioning", {"shared": (True, False)})) == float("inf")


def test_files_are_compared_number_by_number(tmp_path: Path) -> None:
    folder = tmp_path / "weights"
    folder.mkdir()
    about = '{"format": 1, "name": "a", "family": "vse", "config": {}, "features": {}, "hubness": {"of_images": 2.0}}'
    (folder / "config.json").write_text(about)
    save_file({"images": np.array([2.0, -4.0])}, folder / "hubness.safetensors")

    def made(values: list[float]) -> Change:
        def save(into: Path) -> None:
            save_file({"images": np.array(values)}, into / "hubness.safetensors")

        return check(folder, Proposal("hubness", {"of_images": 2.0}, "toy", save=save))

    assert made([2.0, -4.0]).keys == {}
    assert made([3.0, -4.0]).keys == {"hubness.safetensors images": (4.0, 5.0)}
    assert made([3.0]).keys == {"hubness.safetensors images": ([2], [1])}
