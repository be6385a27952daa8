"""What config.json says is checked before anything is made of it."""

import json
from pathlib import Path
from typing import Any

import pytest

from seesay.catalogue.weights import STEPS, installed, read_about, tuned_table
from seesay.errors import SeesayError

ABOUT: dict[str, Any] = {"format": 1, "name": "a", "family": "vse", "config": {}, "features": {}}
WRONG: dict[str, Any] = {
    "tuned": 3,
    "tuned: calibration": {"calibration": 3},
    "tuned: calibration: weights": {"calibration": {"weights": [1]}},
    "tuned: calibration: weights: a": {"calibration": {"weights": {"a": 5}}},
    "graphs": [],
    "graphs: files": {"files": 3},
    "graphs: files: encode": {"files": {"encode": "encode.onnx"}},
    "graphs: files: encode: file": {"files": {"encode": {"file": ["a"]}}},
    "graphs: opset": {"opset": True},
    "graphs: missing": {"missing": ["step"]},
    "source_weights": "vse",
    "figures": [1],
    "recipe: loss": {"loss": 1},
    "recipe: loss: temperature": {"loss": {"temperature": "warm"}},
    "features: size": {"size": "large"},
    "config: dim": {"dim": "many"},
    "search": 5,
    "cascade: calibration": {"calibration": 1},
    "vocabulary": 17,
}


def write(folder: Path, **more: Any) -> Path:
    (folder / "config.json").write_text(json.dumps({**ABOUT, **more}))
    return folder


@pytest.mark.parametrize("where", WRONG)
def test_a_value_of_another_type_is_refused_with_its_place(tmp_path: Path, where: str) -> None:
    folder = write(tmp_path, **{where.partition(":")[0]: WRONG[where]})
    with pytest.raises(SeesayError) as refused:
        read_about(folder)
    assert f"config.json: {where} is " in refused.value.what
    assert refused.value.allowed in ("a table", "a list", "a text", "a number")


def test_what_is_null_is_not_there(tmp_path: Path) -> None:
    nothing = dict.fromkeys(key.partition(":")[0] for key in WRONG if not key.startswith(("features", "config")))
    weights = read_about(write(tmp_path, **nothing))
    assert [tuned_table(weights, table) for table in STEPS.values()] == [None] * len(STEPS)


def test_all_that_ships_has_this_shape() -> None:
    assert len(installed()) > 5
