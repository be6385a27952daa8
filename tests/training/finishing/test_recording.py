"""One way to write a table: with data, split, date, version and digests, and a card that shows it."""

import json
import shutil
from importlib.metadata import version
from pathlib import Path

import pytest

from seesay.catalogue.ensembles import Ensemble, Member, read_ensemble
from seesay.catalogue.weights import find, tuned_table, weights_digest
from seesay.errors import SeesayError
from seesay.training.finishing.recording import Change, compare, record


@pytest.fixture
def folder(colours_run: Path, tmp_path: Path) -> Path:
    return shutil.copytree(colours_run / "weights", tmp_path / "weights")


def test_a_table_is_written_with_all_that_is_needed_to_judge_it(folder: Path) -> None:
    change = record(folder, "tags", {"weight": 0.2}, data="flickr8k + coco", split="dev", beside=["vse"])
    assert change == Change("tags", {"weight": (None, 0.2)})
    about = json.loads((folder / "config.json").read_text())
    assert about["tags"] == {"weight": 0.2}
    tuned = about["tuned"]["tags"]
    assert (tuned["data"], tuned["split"], tuned["version"]) == ("flickr8k + coco", "dev", version("seesay"))
    assert tuned["weights"] == {"colours": weights_digest(folder), "vse": weights_digest(find("vse").folder)}
    assert "| tags | weight 0.2 | flickr8k + coco/dev, " in (folder / "card.md").read_text()
    assert tuned_table(find(folder), "tags") == {"weight": 0.2}


def test_what_changes_is_told_key_by_key_without_remarks(folder: Path) -> None:
    record(folder, "cascade", {"k": 20, "weight": 0.5, "calibration": None}, data="a", split="dev")
    record(folder, "cascade.calibration", {"slope": 8.0}, data="a", split="dev")
    about = json.loads((folder / "config.json").read_text())
    assert about["cascade"] == {"k": 20, "weight": 0.5, "calibration": {"slope": 8.0}}
    assert set(about["tuned"]) == {"cascade", "calibration"}
    table = {"k": 50, "weight": 0.5, "chosen on": "a/dev"}
    assert compare(folder, "cascade", table).keys == {"k": (20, 50), "calibration.slope": (8.0, None)}
    assert compare(folder, "cascade.calibration", {"slope": 8.0}).keys == {}


def test_of_a_list_of_tables_each_key_is_told_by_its_place(folder: Path) -> None:
    record(folder, "cascade", {"k": 20, "short": [{"k": 50, "weight": 0.5}]}, data="a", split="dev")
    table = {"k": 20, "short": [{"k": 50, "weight": 0.6}, {"k": 100, "weight": 1.0}]}
    assert compare(folder, "cascade", table).keys == {
        "short.1.weight": (0.5, 0.6), "short.2.k": (None, 100), "short.2.weight": (None, 1.0)
    }  # fmt: skip
    assert "k 20, short (k 50, weight 0.5)" in (folder / "card.md").read_text()


def test_weights_that_change_afterwards_make_the_table_stale(folder: Path) -> None:
    record(folder, "tags", {"weight": 0.2}, data="flickr8k", split="dev")
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes() + b" ")
    with pytest.raises(SeesayError, match="'tags' was chosen with colours"):
        tuned_table(find(folder), "tags")


def test_an_ensemble_keeps_the_digests_of_its_members(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    Ensemble((Member("vse", 1.0, 0.0, 1.0),), "toy/dev").write(folder)
    members = [{"name": "vse", "weight": 0.5, "mean": 0.0, "deviation": 1.0, "of_images": 0.0, "of_texts": 0.0}]
    change = record(folder, "members", members, data="toy", split="dev", beside=["vse"])
    assert change.keys == {"vse.weight": (1.0, 0.5)}
    assert read_ensemble(folder) == Ensemble((Member("vse", 0.5, 0.0, 1.0),), "toy/dev")
    about = json.loads((folder / "config.json").read_text())
    assert about["tuned"]["members"]["weights"] == {"vse": weights_digest(find("vse").folder)}
    assert "An ensemble" in (folder / "card.md").read_text()
