"""`seesay tune --only boxes` on colours side by side: what it refuses, what it writes, and how that is measured."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from seesay import data
from seesay.catalogue.weights import find
from seesay.data import Box, Collection, Phrase
from seesay.errors import SeesayError
from seesay.evaluation.grounding import evaluate_grounding
from seesay.evaluation.protocols import EvaluationSet
from seesay.evaluation.tasks.grounding import GroundingTask
from seesay.grounding.learned import FILE, learned_boxes
from seesay.runtime.matching import Model
from seesay.training.boxes import step
from seesay.training.boxes.step import propose_boxes
from seesay.training.finishing.recording import record
from seesay.training.finishing.requests import Request

LEFT, RIGHT = (0.0, 0.0, 0.5, 1.0), (0.5, 0.0, 1.0, 1.0)


@pytest.fixture
def folder(aligner_run: Path, tmp_path: Path, in_colours_cache: Path) -> Path:
    """Weights that look at images again."""
    folder = shutil.copytree(aligner_run / "weights", tmp_path / "weights")
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"grounding": {"closer": 0.65}}))
    return folder


@pytest.fixture
def request_of(halves: Path, monkeypatch: pytest.MonkeyPatch) -> Request:
    def boxed_split(collection: Collection, split: str, n: int, request: Request) -> Collection:
        return boxed(collection.split(split))

    monkeypatch.setattr(step, "_boxed", boxed_split)
    return Request(None, data=(str(halves),))  # type: ignore[arg-type]


def boxed(collection: Collection) -> Collection:
    items = []
    for item in collection.items:
        left, right = item.name.removesuffix(".png").split("_")
        marks = (Phrase(0, 0, 2, f"something {left}", "1", ("other",)), Phrase(0, 3, 4, right, "2", ("other",)))
        items.append(replace(item, boxes=(Box("1", *LEFT), Box("2", *RIGHT)), phrases=marks))
    return replace(collection, items=tuple(items))


def test_what_is_learned_is_written_beside_the_weights_and_has_a_row_of_its_own(
    folder: Path, request_of: Request, halves: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(step, "measure_heat", lambda photos, how: {"pointing": 0.0, "iou50": 0.0})
    monkeypatch.setattr(step, "measure", lambda finder, photos: {"pointing": 50.0, "iou50": 50.0})
    proposal = propose_boxes(find(folder), request_of)
    assert proposal.save is not None
    assert (proposal.section, proposal.split) == ("boxes", "train + dev")
    assert proposal.table["file"] == FILE
    assert proposal.table["n_photos"] > 10
    assert learned_boxes(Model(folder)) is None
    proposal.save(folder)
    record(folder, "boxes", proposal.table, data=proposal.data, split=proposal.split)
    assert learned_boxes(Model(folder)) is not None

    found = evaluate_grounding(
        Model(folder), EvaluationSet(boxed(data.load(halves).split("test"))), proposals="grid-1x2"
    )
    assert list(found.rows) == ["model", "without boxes", "centre", "random region"]
    assert found.rows["without boxes"]["pointing"] > 60
    report: dict[str, Any] = {"model": {"name": "mine"}, **found.to_report()}
    assert report["grounding"]["n_learned"] == proposal.table["n_photos"]
    assert report["grounding"]["by_kind"]["other"]["without boxes"] == report["grounding"]["beside"]["without boxes"]
    assert "were learned from those of" in GroundingTask().remarks(report)[0]


def test_what_is_no_better_on_dev_is_refused(
    folder: Path, request_of: Request, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(step, "measure_heat", lambda photos, how: {"pointing": 100.0, "iou50": 100.0})
    with pytest.raises(SeesayError, match=r"has learned are no better on halves/dev: .* without learning .* IoU 100"):
        propose_boxes(find(folder), request_of)


def test_weights_that_see_images_as_a_whole_alone_are_refused(aligner_run: Path, request_of: Request) -> None:
    with pytest.raises(SeesayError, match=r"boxes are learned from crops\n.*--only grounding"):
        propose_boxes(find(aligner_run / "weights"), request_of)
