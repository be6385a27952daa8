"""The table that a person reads. `golden/` holds it as it should look: after a wanted change, read it and save it."""

from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from seesay.evaluation.comparison import compare, print_comparison, text_lines, to_markdown

GOLDEN = Path(__file__).parent / "golden"


def make_report(**changes: Any) -> dict[str, Any]:
    report = {
        "i2t": {"r1": 45.1, "r5": 77.25, "r10": 87.6, "median": 2.0, "mean": 6.4},
        "t2i": {"r1": 35.04, "r5": 71.4, "r10": 84.3, "median": 2.5, "mean": 8.25},
        "sum": 400.69,
        "model": {"name": "vse", "learned_from": ["flickr8k", "coco", "iapr"]},
        "data": {"name": "coco", "split": "dev"},
        "protocol": {"name": "full", "n_folds": 1, "seed": None, "n_images": 1000, "n_sentences": 5000},
        "seconds": {"features": 0.62, "scores": 2.04, "ranks": 0.31},
        "seesay": "0.1.0",
        "date": "2026-01-02T03:04:05+00:00",
        "command": "seesay evaluate vse --data coco --split dev --protocol full",
    }
    return report | changes


def make_caption_report(**captions: Any) -> dict[str, Any]:
    figures = {"perplexity": 14.52, "bleu1": 0.7, "bleu4": 0.29, "cider": 0.9, "meteor": None, "decoding": "beam 3"}
    report = make_report(captions=figures | captions)
    return {name: part for name, part in report.items() if name not in ("i2t", "t2i", "sum")}


def make_reranked_report() -> dict[str, Any]:
    rows = [
        {"name": "reranked by BLEU", "k": 60, "m": 175, "bleu1": 0.61, "bleu4": 0.2, "cider": 0.5, "rouge_l": 0.45},
        {"name": "reranked by CIDEr", "k": 20, "m": 50, "bleu1": 0.6, "bleu4": 0.19, "cider": 0.55, "rouge_l": 0.44},
        {"name": "oracle by BLEU", "bleu1": 0.7, "bleu4": 0.3, "cider": 0.9, "rouge_l": 0.5},
        {"name": "oracle by CIDEr", "bleu1": 0.7, "bleu4": 0.3, "cider": 0.95, "rouge_l": 0.5},
    ]
    about = {"references": "flickr8k", "n_references": 6000, "n_hypotheses": 10, "chosen_on": "dev"}
    report = make_caption_report(novel=0.714)
    model = {"name": "mrnn", "learned_from": ["flickr8k"]}
    data = {"name": "flickr8k", "split": "test"}
    return report | {"model": model, "data": data, "reranking": {**about, "rows": rows}}


def as_text(report: dict[str, Any], kind: str = "retrieval") -> str:
    return "\n".join(text for text, _ in text_lines(compare(report, kind))) + "\n"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("coco.txt", as_text(make_report())),
        ("coco.md", to_markdown(compare(make_report()))),
        ("flickr8k.txt", as_text(make_report(data={"name": "flickr8k", "split": "test"}))),
        ("coco-captions.txt", as_text(make_caption_report(), "captions")),
        ("flickr8k-captions.txt", as_text(make_reranked_report(), "captions")),
    ],
)
def test_the_table_looks_as_it_should(name: str, text: str) -> None:
    assert text == (GOLDEN / name).read_text(encoding="utf-8")


def test_our_row_comes_last_and_alone_is_bold() -> None:
    lines = text_lines(compare(make_report()))
    title, *bold = [text for text, style in lines if style == "bold"]
    numbers = ["45.1", "77.2", "87.6", "2", "35.0", "71.4", "84.3", "2.5", "400.7"]
    assert title.startswith("MS COCO, dev: 1,000 images")
    assert [text.split() for text in bold] == [["vse", *numbers]]


def test_a_doubtful_cell_has_a_mark_that_is_explained_underneath() -> None:
    comparison = compare(make_report())
    (cell,) = {mark for line in comparison.lines for text, mark in line.cells if text == "42.2"}
    (explained,) = (note for note in comparison.notes if note.startswith(cell))
    assert "R@5 cannot be 42.2" in explained


def test_every_mark_is_explained_and_every_explanation_is_used() -> None:
    for data in ("flickr8k", "flickr30k", "coco", "iapr"):
        comparison = compare(make_report(data={"name": data, "split": "test"}))
        used = {line.mark for line in comparison.lines} | {mark for line in comparison.lines for _, mark in line.cells}
        explained = {note[0] for note in comparison.notes if note[1] == " "}
        assert used - {""} == explained - set("*†")


def test_other_images_than_the_papers_are_said_so() -> None:
    assert (
        "The papers measure on 1,000 test images, vse is measured on 1,000 dev images." in compare(make_report()).notes
    )
    same = compare(make_report(data={"name": "coco", "split": "test"}))
    assert not any(note.startswith("The papers measure on") for note in same.notes)


def test_learning_from_more_than_the_set_is_said_so() -> None:
    note = "vse learned from flickr8k, coco and iapr; rows of the papers from this set's training images."
    assert note in compare(make_report()).notes
    alone = compare(make_report(model={"name": "vse", "learned_from": ["coco"]}))
    assert not any("learned from" in note for note in alone.notes)


def test_folds_and_seeds_are_said_so() -> None:
    protocol = {"name": "5-fold", "n_folds": 5, "seed": 3, "n_images": 5000, "n_sentences": 25000}
    comparison = compare(make_report(protocol=protocol))
    assert comparison.title == "MS COCO, dev: 5,000 images and 25,000 sentences in 5 folds"
    assert {"vse: the mean over 5 folds.", "Images were drawn with seed 3."} <= set(comparison.notes)


def test_data_of_no_paper_has_our_row_alone() -> None:
    comparison = compare(make_report(data={"name": "holidays", "split": "test"}))
    assert [line.name for line in comparison.lines] == ["vse"]
    assert comparison.notes[0] == "The five papers print nothing for this data."


def test_a_terminal_of_eighty_columns_is_wide_enough() -> None:
    for data in ("flickr8k", "flickr30k", "coco", "iapr"):
        assert (
            max(len(text) for text, _ in text_lines(compare(make_report(data={"name": data, "split": "test"})))) <= 80
        )


def test_printing_to_a_pipe_gives_the_lines_and_no_colours(tmp_path: Path) -> None:
    with (tmp_path / "out.txt").open("w", encoding="utf-8") as file:
        print_comparison(compare(make_report()), Console(file=file, width=40))
    assert (tmp_path / "out.txt").read_text(encoding="utf-8") == as_text(make_report())
