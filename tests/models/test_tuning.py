"""Tables that were chosen after training: read where their weights are the same, refused by name where not."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from seesay.catalogue.weights import PACKAGED, STEPS, check_digests, find, tuned_table, weights_digest
from seesay.errors import SeesayError
from seesay.models.card import card_lines, write_card

CURVE = {"slope": 8.0, "slope_per_word": 1.0, "offset": -3.0, "offset_per_word": -1.0, "ceiling": 1.0}


@pytest.fixture
def folder(colours_run: Path, tmp_path: Path) -> Path:
    return shutil.copytree(colours_run / "weights", tmp_path / "weights")


def change(folder: Path, **keys: Any) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | keys))


def test_a_table_without_a_record_as_older_folders_have_it_is_read(folder: Path) -> None:
    assert tuned_table(find(folder), "calibration") is None
    change(folder, calibration={**CURVE, "data": "flickr8k/dev"})
    assert tuned_table(find(folder), "calibration")["slope"] == 8.0


def test_a_table_that_was_chosen_for_these_weights_is_read(folder: Path) -> None:
    tuned = {"calibration": {"weights": {"colours": weights_digest(folder)}}}
    change(folder, calibration=CURVE, tuned=tuned)
    assert tuned_table(find(folder), "calibration") == CURVE


def test_a_table_that_was_chosen_for_others_is_refused_with_its_name_and_what_to_type(folder: Path) -> None:
    tuned = {"calibration": {"weights": {"colours": "ab" * 32}}}
    change(folder, calibration=CURVE, tuned=tuned)
    found = weights_digest(folder)[:12]
    wanted = rf"config\.json: the table 'calibration' was chosen with colours abababababab, installed is {found}"
    with pytest.raises(SeesayError, match=rf"{wanted}\n  try: seesay tune {folder} --only calibration"):
        tuned_table(find(folder), "calibration")
    assert tuned_table(find(folder), "cascade") is None  # other tables are not concerned


def test_other_weights_that_took_part_are_checked_too(folder: Path) -> None:
    own = weights_digest(folder)
    change(folder, cascade={"k": 20}, tuned={"cascade": {"weights": {"colours": own, "vse": "cd" * 32}}})
    with pytest.raises(SeesayError, match="'cascade' was chosen with vse cdcdcdcdcdcd"):
        tuned_table(find(folder), "cascade")
    change(folder, tuned={"cascade": {"weights": {"colours": own, "gone": "cd" * 32}}})
    with pytest.raises(SeesayError, match="there are no weights 'gone'"):
        tuned_table(find(folder), "cascade")


@pytest.mark.parametrize("folder", sorted(PACKAGED.glob("*/config.json")), ids=lambda path: path.parent.name)
def test_every_table_that_ships_fits_the_weights_that_ship(folder: Path) -> None:
    weights = find(folder.parent)
    for section in weights.about.get("tuned", {}):
        inside = (weights.about.get("cascade") or {}).get(section)
        assert weights.about.get(section) or inside, f"{weights.name} has a record of {section}, and no such table"
        check_digests(weights, section)


def test_a_digest_is_read_again_when_the_file_has_changed(folder: Path) -> None:
    before = weights_digest(folder)
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes() + b" ")
    assert weights_digest(folder) != before
    path.unlink()
    with pytest.raises(SeesayError, match=r"cannot read the weights .*model\.safetensors"):
        weights_digest(folder)


def test_the_card_shows_every_table_with_where_it_was_chosen() -> None:
    record = {"data": "flickr8k", "split": "dev", "date": "2026-11-18T01:02:03+00:00"}
    about = {
        "hubness": {"n_centres": 128, "of_images": 1.5, "of_texts": 1.2},
        "cascade": {"after": ["vse", "dvsa"], "k": 50, "weight": 0.3, "calibration": CURVE, "chosen on": "toy/dev"},
        "captioning": {"beam": 5},
        "grounding": {"blur": 1.0},
        "boxes": {"file": "boxes.onnx"},
        "tags": {"weight": 0.35},
        "choice": {"temperature": 0.04},
        "vectors": {"beside_weight": 0.4, "hub_weight": 0.9},
        "short": {"shares": [0.0, 1.0]},
        "presence": {"slope": 2.0},
        "confidence": {"slope": 3.0},
        "matching": {"matcher": "eye", "weight": 12.0},
        "tuned": {"hubness": record, "tags": record},
    }
    lines = card_lines(about)
    assert "| hubness | n_centres 128, of_images 1.5, of_texts 1.2 | flickr8k/dev, 2026-11-18 |" in lines
    assert "| cascade | after vse + dvsa, k 50, weight 0.3 | toy/dev |" in lines
    assert any(line.startswith("| calibration | slope 8.0, ") for line in lines)
    shown = {line.split(" | ")[0].removeprefix("| ") for line in lines if line.startswith("| ")}
    assert set(STEPS) - shown == {"prune", "ensemble"}
    assert "## Tuned" in write_card({"name": "a", "family": "vse", "features": {"backbone": "b", "size": 1}, **about})


def test_the_card_of_an_ensemble_names_its_members() -> None:
    members = [{"name": "vse", "weight": 0.9, "of_images": 2.0, "of_texts": 1.0}, {"name": "dvsa", "weight": 0.1}]
    card = write_card({"name": "mine", "family": "ensemble", "features": {}, "members": members})
    assert "An ensemble: the standardised scores of `vse`, `dvsa`, weighted and added up." in card
    assert "vse 0.9 (hubness 2.0 and 1.0), dvsa 0.1" in card
