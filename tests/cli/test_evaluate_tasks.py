"""`seesay evaluate --task …` for tasks beyond retrieval and captions, and `--set`."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from seesay.models.pretrained import find

Run = Callable[..., Any]


@pytest.fixture
def weights(colours_run: Path, colours: Path, in_colours_cache: Path, tmp_path: Path, monkeypatch: Any) -> Path:
    """A working folder with weights of a joint embedding."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(colours_run / "weights", tmp_path / "weights")
    return colours


def test_any_matcher_can_identify(seesay: Run, weights: Path) -> None:
    finished = seesay("evaluate", "weights", "--data", weights, "--task", "identification", "--record", "--json")
    assert finished.code == 0, finished.err
    part = json.loads(finished.out)["identification"]
    assert part["accuracy"].keys() == part["n_trials"].keys() >= {"2-way", "2-way, look-alikes"}
    assert "100-way" not in part["accuracy"]  # there are fewer photos
    assert part["accuracy"]["2-way"] > 75
    assert "calibration" not in part
    assert find("weights").figures["colours/test"]["identification"] == part


def test_a_task_has_a_table_with_its_own_columns(seesay: Run, weights: Path) -> None:
    finished = seesay("evaluate", "weights", "--data", weights, "--task", "identification")
    assert finished.code == 0, finished.err
    assert "2-way, look-alikes" in finished.out
    assert "Percent of the trials in which the right image scores highest" in finished.out


def test_a_value_of_the_configuration_can_be_another(seesay: Run, weights: Path) -> None:
    command = ("evaluate", "weights", "--data", weights, "--split", "train", "--json")
    plain = json.loads(seesay(*command).out)
    changed = json.loads(seesay(*command, "--set", "config.text_pooling=last").out)
    assert changed["model"]["set"] == ["config.text_pooling=last"]
    assert "set" not in plain["model"]
    assert changed["t2i"] != plain["t2i"]
    assert changed["command"].endswith("--set config.text_pooling=last")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ("--task", "attention"),
            "colours attends to no regions\n  allowed: --task retrieval, identification",
        ),
        (("--task", "correspondences"), "colours finds no correspondences"),
        (("--set", "optimiser.rate=1"), "--set optimiser.rate=1 is no value of the configuration"),
        (("--set", "config.dimension=8"), "dimension"),
        (("--set", "config.dim=8"), "model.safetensors"),
        (("--set", "config.text_pooling=last", "--record"), "--record keeps figures of weights as they are"),
        (("--set", "config.dim=8", "--task", "search"), "search takes weights as they are"),
    ],
)
def test_what_cannot_be_measured_is_refused_by_name(
    seesay: Run, weights: Path, options: tuple[str, ...], message: str
) -> None:
    finished = seesay("evaluate", "weights", "--data", weights, *options)
    assert (finished.code, finished.out) == (2, "")
    assert message in finished.err
