"""`seesay models`: what is installed and how good it is."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from seesay.models.pretrained import record_figures

Call = Callable[..., Any]


def figures(i2t: float, t2i: float) -> dict[str, Any]:
    sides = {"i2t": i2t, "t2i": t2i}
    directions = {name: {"r1": r, "r5": r + 10, "r10": r + 20, "median": 3.0, "mean": 9.0} for name, r in sides.items()}
    return {**directions, "sum": 3 * (i2t + t2i) + 60}


@pytest.fixture
def installed(colours_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two weights, of which one has been measured on two splits and the other not at all."""
    for name in ("colours", "other"):
        shutil.copytree(colours_run / "weights", tmp_path / name)
        path = tmp_path / name / "config.json"
        about = json.loads(path.read_text()) | {"name": name, "figures": {}}
        path.write_text(json.dumps(about))
    record_figures(tmp_path / "colours", "flickr8k/test", figures(28.25, 23.5))
    record_figures(tmp_path / "colours", "coco/dev", figures(40, 35))
    monkeypatch.setattr("seesay.catalogue.weights.PACKAGED", tmp_path)
    return tmp_path


def test_the_table_has_a_line_for_each_measurement(seesay: Call, installed: Path) -> None:
    code, out, err = seesay("models")
    assert (code, err) == (0, "")
    header, *rows = (line.rstrip() for line in out.splitlines())
    assert header.split()[:4] == ["name", "MB", "measured", "on"]
    megabytes = f"{(installed / 'other' / 'model.safetensors').stat().st_size / 1e6:.1f}"
    assert [" ".join(row.split()) for row in rows[:3]] == [
        f"colours {megabytes} coco/dev 40.0 50.0 60.0 35.0 45.0 55.0 285.0",
        "flickr8k/test 28.2 38.2 48.2 23.5 33.5 43.5 215.2",
        f"other {megabytes} –",
    ]
    assert "R@1 R@5 R@10 in percent" in " ".join(rows[3:])
    assert max(map(len, rows[:3])) <= 80


def test_json_gives_what_a_script_needs(seesay: Call, installed: Path) -> None:
    code, out, err = seesay("models", "--json")
    assert (code, err) == (0, "")
    colours, other = json.loads(out)
    assert (colours["name"], colours["family"]) == ("colours", "vse")
    assert colours["folder"] == str(installed / "colours")
    assert colours["bytes"] == (installed / "colours" / "model.safetensors").stat().st_size
    assert colours["figures"]["flickr8k/test"] == figures(28.25, 23.5)
    assert colours["features"]["backbone"] == "efficientnet-lite0"
    assert colours["data"][0]["n_images"] == 32
    assert other["figures"] == {}


def test_where_nothing_is_installed_it_says_so(seesay: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seesay.catalogue.weights.PACKAGED", tmp_path / "absent")
    assert seesay("models") == (1, "", "no trained weights came with this installation\n")
    assert seesay("models", "--json") == (0, "[]\n", "")


def test_damaged_weights_are_named(seesay: Call, installed: Path) -> None:
    (installed / "other" / "model.safetensors").unlink()
    code, _, err = seesay("models")
    assert code == 2
    assert f"cannot read the weights {installed / 'other' / 'model.safetensors'}" in err
    (installed / "other" / "config.json").write_text("{")
    code, _, err = seesay("models", "--json")
    assert code == 2
    assert f"{installed / 'other' / 'config.json'} is not JSON" in err
