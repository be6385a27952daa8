"""`seesay evaluate --task grounding` and `--page`: places are measured, recorded and left to browse."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from seesay.models.pretrained import find

Run = Callable[..., Any]
ANNOTATION = """<annotation><size><width>100</width><height>60</height></size>
<object><name>1</name><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>48</xmax><ymax>60</ymax></bndbox></object>
<object><name>2</name><bndbox><xmin>53</xmin><ymin>1</ymin><xmax>100</xmax><ymax>60</ymax></bndbox></object>
</annotation>"""


@pytest.fixture
def place(
    halves: Path, aligner_run: Path, in_colours_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """A working folder with weights, three pictures under Flickr's numbers, and the boxes of two of them."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SEESAY_DATA", str(tmp_path / "data"))
    shutil.copytree(aligner_run / "weights", tmp_path / "weights")
    pictures, boxes = tmp_path / "data/flickr8k/images", tmp_path / "data/boxes"
    for folder in (pictures, boxes / "Sentences", boxes / "Annotations"):
        folder.mkdir(parents=True)
    rows = ["image,sentence,split"]
    for number, (left, right) in enumerate((("red", "blue"), ("green", "white"), ("black", "red"))):
        shutil.copy(halves / "images" / f"{left}_{right}.png", pictures / f"{number}.png")
        rows.append(f"{number}.png,something {left} beside {right},test")
        if number < 2:
            marked = f"[/EN#1/other something {left}] beside [/EN#2/other {right}]"
            (boxes / "Sentences" / f"{number}.txt").write_text(marked + "\n")
            (boxes / "Annotations" / f"{number}.xml").write_text(ANNOTATION)
    (pictures.parent / "captions.csv").write_text("\n".join(rows) + "\n")
    return tmp_path


def test_places_are_measured_beside_answers_that_look_at_no_word(seesay: Run, place: Path) -> None:
    finished = seesay(
        "evaluate", "weights", "--data", "flickr8k", "--task", "grounding", "--entities", "boxes", "--record"
    )
    assert finished.code == 0
    lines = [line.split()[0] for line in finished.out.splitlines() if line.startswith("  ")]
    assert {"halves", "centre", "random", "best"} <= set(lines)
    assert "4 boxed phrases of 2 images" in finished.out
    report = json.loads(Path("seesay-report/halves-flickr8k-test/report.json").read_text())
    grounding = report["grounding"]
    assert grounding["pointing"] >= 75
    assert grounding["beside"]["centre"] == {"pointing": 0.0, "iou50": 0.0}
    assert grounding["upper_bound"] >= grounding["iou50"]
    assert report["protocol"]["n_images"] == 3
    assert find("weights").figures["flickr8k/test"]["grounding"] == grounding
    assert f"pointing {grounding['pointing']:.1f} %" in Path("weights/card.md").read_text()


def test_retrieval_is_measured_alone_where_no_boxes_are_given(seesay: Run, place: Path) -> None:
    finished = seesay("evaluate", "weights", "--data", "flickr8k", "--json")
    assert "grounding" not in json.loads(finished.out)
    both = json.loads(seesay("evaluate", "weights", "--data", "flickr8k", "--entities", "boxes", "--json").out)
    assert {"i2t", "grounding"} <= both.keys()


def test_a_page_is_left_to_browse(seesay: Run, place: Path) -> None:
    finished = seesay("evaluate", "weights", "--data", "flickr8k", "--limit", "2", "--page", "page", "--json")
    assert finished.code == 0
    assert "open page/index.html" in finished.err
    assert Path("page/index.html").is_file()
    assert len(list(Path("page/pictures").iterdir())) == 2


@pytest.mark.parametrize("options", [("--task", "grounding"), ("--page", "page"), ("--entities", "boxes")])
def test_weights_that_see_pictures_as_a_whole_are_refused(
    seesay: Run, place: Path, colours_run: Path, options: tuple[str, ...]
) -> None:
    finished = seesay("evaluate", colours_run / "weights", "--data", "flickr8k", *options)
    assert finished.code == 2
    assert "colours finds no regions" in finished.err
    assert not Path("page").exists()
