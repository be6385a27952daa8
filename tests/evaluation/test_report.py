"""Reports: what they hold, and that they survive being written and read."""

import hashlib
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import seesay
from seesay.catalogue.figures import measured_on
from seesay.errors import SeesayError
from seesay.evaluation.protocols import PROTOCOLS, EvaluationSet, Protocol
from seesay.evaluation.report import build_report, figures_to_record, read_report, to_json, write_report
from seesay.evaluation.retrieval import evaluate_retrieval
from seesay.models.base import Weights


@pytest.fixture
def weights(tmp_path: Path) -> Weights:
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    about = {
        "name": "toy",
        "family": "vse",
        "features": {"backbone": "efficientnet-lite0", "size": 224, "crop": "squash"},
        "recipe_fingerprint": "abc123",
        "data": [{"name": "flickr8k"}, {"name": "iaprtc12 / IAPR"}],
    }
    return Weights(tmp_path, about)


@pytest.fixture
def report(three_images, weights: Weights):
    model, collection, store = three_images
    evaluation = evaluate_retrieval(model, EvaluationSet(collection, store=store))
    return build_report([evaluation], weights, collection, "test", command="seesay evaluate toy --data toys")


def test_the_stable_keys_stand_at_the_top(report) -> None:
    assert report["i2t"] == {"r1": 66.6667, "r5": 100.0, "r10": 100.0, "median": 1.0, "mean": 1.6667}
    assert report["t2i"] == {"r1": 50.0, "r5": 100.0, "r10": 100.0, "median": 1.5, "mean": 1.75}
    assert report["sum"] == 516.6667


def test_it_holds_what_is_needed_to_repeat_it(report, three_images) -> None:
    collection = three_images[1]
    assert report["model"] == {
        "name": "toy",
        "family": "vse",
        "digest": hashlib.sha256(b"weights").hexdigest(),
        "features": {"backbone": "efficientnet-lite0", "size": 224, "crop": "squash"},
        "recipe_fingerprint": "abc123",
        "learned_from": ["flickr8k", "iapr"],
    }
    assert report["data"] == {
        "name": "toys",
        "kind": "CSV or JSONL",
        "split": "test",
        "fingerprint": collection.fingerprint(),
        "n_images": 3,
        "n_sentences": 4,
    }
    assert report["protocol"] == {"name": "full", "n_folds": 1, "seed": None, "n_images": 3, "n_sentences": 4}
    assert report["seesay"] == seesay.__version__
    assert report["command"] == "seesay evaluate toy --data toys"
    assert set(report["seconds"]) == {"features", "scores", "ranks"}
    age = datetime.now(UTC) - datetime.fromisoformat(report["date"])
    assert timedelta(0) <= age < timedelta(minutes=10)


def test_folds_are_listed_where_there_are_several(three_images, weights: Weights, monkeypatch) -> None:
    monkeypatch.setitem(PROTOCOLS, "3-fold", Protocol("3-fold", 1, 3, "three times one image"))
    model, collection, store = three_images
    evaluation = evaluate_retrieval(model, EvaluationSet(collection, "3-fold", seed=2, store=store))
    report = build_report([evaluation], weights, collection, "test")
    assert [fold["sum"] for fold in report["folds"]] == [600.0] * 3
    assert report["protocol"]["seed"] == 2


def test_a_report_is_the_same_after_writing_and_reading(report, tmp_path: Path) -> None:
    path = tmp_path / "out" / "report.json"
    write_report(path, report)
    assert read_report(path) == report
    assert json.loads(to_json(report)) == report
    assert [entry.name for entry in path.parent.iterdir()] == ["report.json"]


def test_what_is_recorded_with_weights_names_no_folder_of_this_machine(report) -> None:
    report["command"] = "seesay evaluate /home/me/weights --data /home/me/data"
    key, kept = figures_to_record(report)
    assert key == "toys/test"
    assert "/home/me" not in to_json(kept)
    assert {"i2t", "t2i", "sum", "date", "data", "protocol", "seesay"} <= kept.keys()


def test_what_was_measured_before_keeps_its_date(report) -> None:
    key, first = figures_to_record({**report, "date": "2026-11-16"})
    captions = {name: report[name] for name in ("model", "data", "protocol")} | {"captions": {"cider": 0.5}}
    _, both = figures_to_record({**captions, "date": "2026-11-18"}, {key: first})
    assert both["sum"] == report["sum"]
    assert [measured_on(both, part) for part in ("sum", "i2t", "captions")] == ["2026-11-16"] * 2 + ["2026-11-18"]
    _, again = figures_to_record({**captions, "date": "2026-11-20"}, {key: both})
    assert [measured_on(again, part) for part in ("sum", "captions")] == ["2026-11-16", "2026-11-20"]
    assert "kept" not in figures_to_record({**report, "captions": {}, "date": "2026-11-21"}, {key: again})[1]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("{half", "is not JSON"),
        ("[]", "it holds no object"),
        ('{"i2t": {}, "t2i": {}}', "it has no 'data'"),
    ],
)
def test_a_file_that_is_no_report_is_refused_by_name(tmp_path: Path, content: str, why: str) -> None:
    path = tmp_path / "report.json"
    path.write_text(content)
    with pytest.raises(SeesayError, match=why) as caught:
        read_report(path)
    assert str(path) in caught.value.what


def test_a_report_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(SeesayError, match="No such file"):
        read_report(tmp_path / "report.json")
