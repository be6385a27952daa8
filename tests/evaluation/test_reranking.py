"""Reranking on pictures whose neighbours are known: what people said about them decides."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from seesay.captioning.settings import Settings
from seesay.data import Collection
from seesay.errors import SeesayError
from seesay.evaluation import reranking
from seesay.evaluation.protocols import EvaluationSet
from seesay.evaluation.reranking import RerankingEvaluation, Setting, evaluate_reranking, given_settings, read_bank
from seesay.metrics import captions as metrics
from seesay.models.base import Captioner

# To the writer all of these are dogs, some a little more like a cat or a bus.
LIKE_CAT, LIKE_BUS = (0.50, 0.40, 0.06, 0.04), (0.50, 0.04, 0.40, 0.06)
SETTINGS = Settings(candidates=4)
FEW = {"bleu": Setting(2, 2), "cider": Setting(2, 2)}


@pytest.fixture(autouse=True)
def without_java(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "why_no_meteor", lambda: "Java takes its time to start")


@pytest.fixture
def pictures(write_pictures: Callable[..., Any]) -> tuple[Collection, Path]:
    """Training pictures that people call cats and buses, dev and test pictures that are like them."""
    train = [(LIKE_CAT, ["a cat"])] * 2 + [(LIKE_BUS, ["a bus", "a bus"])] * 2 + [((0, 0, 0, 1), ["a cow"])] * 2
    return write_pictures(
        {
            "train": train,
            "dev": [(LIKE_CAT, ["a cat"]), (LIKE_BUS, ["a bus"])],
            "test": [(LIKE_CAT, ["a cat"]), (LIKE_BUS, ["a bus"]), (LIKE_BUS, ["a dog"])],
        }
    )


@pytest.fixture
def evaluate(writer: Captioner, pictures: tuple[Collection, Path]) -> Callable[..., RerankingEvaluation]:
    def evaluate_split(split: str = "test", *rest: Any, **options: Any) -> RerankingEvaluation:
        collection, store = pictures
        options = {"settings": SETTINGS, "k_m": FEW} | options
        measured = EvaluationSet(collection.split(split), *rest, store=store)
        return evaluate_reranking(writer, measured, collection, **options)

    return evaluate_split


def test_hypotheses_that_neighbours_agree_with_come_first_and_the_oracle_knows_best(evaluate) -> None:
    found = evaluate()
    by = {row.name: row for row in found.rows}
    assert list(by) == ["reranked by BLEU", "reranked by CIDEr", "oracle by BLEU", "oracle by CIDEr"]
    for metric in ("BLEU", "CIDEr"):
        # "a cat", "a bus" and, for the one that people call a dog, "a bus": five of six words
        assert by[f"reranked by {metric}"].figures["bleu1"] == pytest.approx(5 / 6)
        assert by[f"reranked by {metric}"].setting == Setting(2, 2)
        assert by[f"oracle by {metric}"].figures["bleu1"] == pytest.approx(1)
        assert by[f"oracle by {metric}"].setting is None
    assert (found.references, found.n_references, found.n_hypotheses, found.chosen_on) == ("farm", 6, 4, None)
    assert (found.n_images, found.n_sentences) == (3, 3)


def test_the_part_of_a_report_has_the_rows_in_their_order_with_k_and_m(evaluate) -> None:
    part = evaluate().to_report()["reranking"]
    assert {name: part[name] for name in part if name != "rows"} == {
        "references": "farm", "n_references": 6, "n_hypotheses": 4, "chosen_on": None,
    }  # fmt: skip
    first, last = part["rows"][0], part["rows"][-1]
    assert (first["name"], first["k"], first["m"], first["bleu1"]) == ("reranked by BLEU", 2, 2, 0.8333)
    assert "k" not in last
    assert "perplexity" not in first
    assert "novel" not in first


def test_k_and_m_are_chosen_on_dev_pictures(evaluate, pictures, monkeypatch) -> None:
    monkeypatch.setattr(reranking, "KS", (6, 2))  # all six training pictures know nothing, the two nearest do
    found = evaluate(dev=pictures[0].split("dev"))
    assert found.chosen_on == "dev"
    for row in found.rows[:2]:
        assert row.setting is not None
        assert row.setting.k == 2
        assert row.figures["bleu1"] == pytest.approx(5 / 6)


def test_a_picture_is_never_its_own_reference(evaluate) -> None:
    found = evaluate("train", "limit-3", k_m=given_settings(SETTINGS))
    assert found.n_references == 3
    with pytest.raises(SeesayError, match="all images of the references farm are measured on"):
        evaluate("train")


def test_references_are_the_training_pictures_or_all_where_there_are_no_splits(writer, pictures) -> None:
    collection, store = pictures
    bank = read_bank(writer, collection, store=store)
    assert (len(bank.keys), bank.captions[0], bank.vectors.shape) == (6, [["a", "cat"]], (6, 4))
    assert bank.captions[2] == [["a", "bus"], ["a", "bus"]]
    test_only = collection.split("test")
    assert len(read_bank(writer, test_only, store=store).keys) == 3


def test_references_without_pictures_are_refused(writer, pictures) -> None:
    collection, store = pictures
    empty = collection.keep(lambda item: False)
    with pytest.raises(SeesayError, match="farm has no images to find neighbours among"):
        read_bank(writer, empty, store=store)
