"""`seesay tune` on coloured pictures: what it chooses, says and writes, and what it refuses."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from seesay.catalogue.weights import find, tuned_table, weights_digest
from seesay.models.hubness import read_hubness
from seesay.training.finishing.requests import Request
from seesay.training.finishing.steps import lacks_matcher, steps_for

Call = Callable[..., Any]
pytestmark = pytest.mark.usefixtures("in_colours_cache")


@pytest.fixture
def embedding(colours_run: Path, tmp_path: Path) -> Path:
    return shutil.copytree(colours_run / "weights", tmp_path / "embedding")


@pytest.fixture
def captioner(captioner_run: Path, tmp_path: Path) -> Path:
    return shutil.copytree(captioner_run / "weights", tmp_path / "captioner")


def test_hubness_is_written_with_its_centres_and_told_as_it_was_and_is(
    seesay: Call, embedding: Path, colours: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = seesay("tune", embedding, "--only", "hubness", "--data", colours, "--centres", "4")
    assert ended.code == 0, ended.err
    assert "hubness: changed, chosen on colours/dev in " in ended.out
    assert "  n_centres: – → 4" in ended.out
    table = tuned_table(find(embedding), "hubness")
    assert table["n_centres"] == 4
    assert len(read_hubness(embedding / "hubness.safetensors", 16).images.shares) == 4
    assert find(embedding).about["tuned"]["hubness"]["weights"] == {"colours": weights_digest(embedding)}
    monkeypatch.setenv("SEESAY_DATA", str(colours.parent))
    again = seesay("tune", embedding, "--only", "hubness", "--centres", "4")  # on the same data as before
    assert "hubness: no change, chosen on colours/dev" in again.out


def test_a_dry_run_writes_nothing(seesay: Call, embedding: Path, colours: Path, tmp_path: Path) -> None:
    before = {path.name: path.read_bytes() for path in embedding.iterdir() if path.is_file()}
    report = tmp_path / "report.json"
    ended = seesay(
        "tune", embedding, "--only", "hubness", "--data", colours, "--centres", "4", "--dry-run", "--json",
        "--report", report,
    )  # fmt: skip
    assert ended.code == 0, ended.err
    told = json.loads(ended.out)
    assert told["written"] is False
    assert told["steps"][0]["changed"]["n_centres"] == [None, 4]
    assert {path.name: path.read_bytes() for path in embedding.iterdir() if path.is_file()} == before
    assert "Sum" in json.loads(report.read_text())["steps"][0]["figures"]


def test_a_check_tells_tables_that_come_out_again_from_others(
    seesay: Call, embedding: Path, colours: Path, tmp_path: Path
) -> None:
    (embedding / "hubness.safetensors").unlink(missing_ok=True)  # with the centres that training saved
    nothing = seesay("tune", embedding, "--check", "--data", colours)
    assert (nothing.code, "colours has no tables to check" in nothing.err) == (2, True)
    how = ("--data", colours, "--centres", "4")
    assert seesay("tune", embedding, "--only", "hubness", *how).code == 0
    again = seesay("tune", embedding, "--check", *how)
    assert (again.code, again.out.startswith("hubness: same")) == (0, True)
    path = embedding / "config.json"
    about = json.loads(path.read_text())
    about["hubness"]["n_centres"] = 5
    path.write_text(json.dumps(about))
    report = tmp_path / "report.json"
    other = seesay("tune", embedding, "--check", *how, "--report", report)
    assert other.code == 1
    assert "hubness: differs by up to 20 %, chosen on colours/dev" in other.out
    assert "  n_centres: 5 → 4" in other.out
    assert json.loads(report.read_text())["steps"][0]["difference"] == 0.2
    assert json.loads(path.read_text()) == about  # nothing was written
    (embedding / "hubness.safetensors").unlink()
    gone = seesay("tune", embedding, "--check", *how)
    assert "hubness.safetensors images: – → [4, 16]" in gone.out


def test_a_captioner_becomes_a_stage_after_an_embedding_and_is_calibrated(
    seesay: Call, embedding: Path, captioner: Path, colours: Path
) -> None:
    ended = seesay("tune", captioner, "--only", "cascade", "--data", colours, "--after", embedding)
    assert ended.code == 0, ended.err
    table = tuned_table(find(captioner), "cascade")
    assert table["after"] == [str(embedding)]
    assert set(find(captioner).about["tuned"]["cascade"]["weights"]) == {"colour-names", str(embedding)}
    path = embedding / "model.safetensors"
    path.write_bytes(path.read_bytes() + b" ")
    refused = seesay("tune", captioner, "--only", "calibration", "--data", colours, "--entities", colours)
    assert refused.code == 2
    assert f"the table 'cascade' was chosen with {embedding}" in refused.err
    assert f"seesay tune {captioner} --only cascade" in refused.err


def test_captions_are_chosen_on_dev(
    seesay: Call, captioner: Path, colours: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, few in (("BEAMS", (1, 3)), ("POWERS", (0.5,)), ("LEAST", (1,)), ("KS", (2,)), ("MS", (2,))):
        monkeypatch.setattr(f"seesay.training.finishing.captions.{name}", few)
    ended = seesay("tune", captioner, "--only", "captions", "--data", colours)
    assert ended.code == 0, ended.err
    table = tuned_table(find(captioner), "captioning")
    assert table["beam"] in (1, 3)
    assert (table["k"], table["m"], table["max_length"]) == (2, 2, 20)
    assert "captions: changed" in ended.out
    again = seesay("tune", captioner, "--only", "captions", "--data", colours, "--data", colours)
    assert again.code == 0, again.err
    assert tuned_table(find(captioner), "captioning") == table, "the mean of twice the same is the same"
    assert find(captioner).about["tuned"]["captioning"]["data"] == "colours + colours"


def test_an_ensemble_gets_a_folder_and_can_be_chosen_again(
    seesay: Call, embedding: Path, captioner: Path, colours: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "together"
    ended = seesay("tune", folder, "--members", f"{embedding},{captioner}", "--data", colours)
    assert ended.code == 0, ended.err
    found = find(folder)
    assert found.about["family"] == "ensemble"
    assert [member["name"] for member in found.about["members"]] == [str(embedding), str(captioner)]
    assert set(found.about["tuned"]["members"]["weights"]) == {str(embedding), str(captioner)}
    again = seesay("tune", folder, "--data", colours)
    assert "ensemble: no change" in again.out
    photo = colours / "images" / "red_5.png"
    matched = seesay("match", photo, "a red picture", "a blue picture", "--ensemble", folder, "--json")
    assert matched.code == 0, matched.err
    path = embedding / "model.safetensors"
    path.write_bytes(path.read_bytes() + b" ")
    refused = seesay("match", photo, "a red picture", "--ensemble", folder)
    assert refused.code == 2
    assert "the table 'members' was chosen with" in refused.err


def test_without_a_matcher_that_sees_the_same_captions_are_not_matched() -> None:
    request = Request(words=None)  # type: ignore[arg-type]  # which this question does not need
    assert lacks_matcher(find("mrnn-flickr8k"), request)
    assert not lacks_matcher(find("mrnn-flickr8k"), replace(request, after=("vse",)))
    assert not lacks_matcher(find("mrnn"), request)


def test_words_are_pruned_into_a_folder_of_their_own(seesay: Call, embedding: Path, tmp_path: Path) -> None:
    ended = seesay("tune", embedding, "--only", "prune", "--min-count", "50", "-o", tmp_path / "small")
    assert ended.code == 0, ended.err
    assert "kept, in " in ended.out
    assert find(tmp_path / "small").about["pruned"] == {"min_count": 50}
    refused = seesay("tune", embedding, "--only", "prune")
    assert refused.code == 2
    assert "--min-count 8 -o DIR" in refused.err


def test_each_family_says_which_steps_it_can_use() -> None:
    assert steps_for(find("vse")) == ["hubness", "calibration", "choice", "tags"]
    assert steps_for(find("eye")) == ["vectors", "short", "hubness", "calibration", "choice", "tags"]
    assert steps_for(find("dvsa")) == ["cascade", "calibration", "grounding", "boxes", "presence"]
    assert steps_for(find("mrnn")) == ["cascade", "calibration", "captions", "matching", "confidence"]
    assert steps_for(find("dvsa-captions")) == ["captions", "matching", "confidence"]
    assert steps_for(find("identifier")) == ["calibration"]
    assert steps_for(find("ensemble")) == ["ensemble"]


def test_own_data_without_boxes_is_tuned_as_far_as_it_goes(
    seesay: Call, embedding: Path, aligner_run: Path, colours: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEESAY_DATA", str(tmp_path))
    ended = seesay("tune", embedding, "--data", colours, "--only", "calibration", "--dry-run")
    assert "without Flickr30k Entities, queries are whole sentences only" in ended.err
    aligner = aligner_run / "weights"
    ended = seesay("tune", aligner, "--data", colours, "--after", embedding, "--dry-run")
    assert "grounding, boxes, presence are left out: they need the boxes of Flickr30k Entities" in ended.err
    refused = seesay("tune", aligner, "--only", "grounding", "--data", colours, "--dry-run")
    assert (refused.code, "flickr30k_entities" in refused.err) == (2, True)


def test_weights_without_settings_are_refused(seesay: Call) -> None:
    ended = seesay("tune", "smlstm")
    assert ended.code == 2
    assert "smlstm has no settings to tune" in ended.err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--only", "speed"), "there is no step 'speed'"),
        (("--only", "captions"), "has no use for captions"),
        (("--only", "ensemble"), "has no use for ensemble"),
        (("--only", "tags", "--data", "nowhere"), "nowhere"),
        (("--only", "hubness", "--members", "vse"), "--members is for an ensemble"),
    ],
)
def test_what_cannot_be_tuned_is_refused(seesay: Call, embedding: Path, arguments: tuple[str, ...], told: str) -> None:
    ended = seesay("tune", embedding, *arguments)
    assert ended.code == 2
    assert told in ended.err
