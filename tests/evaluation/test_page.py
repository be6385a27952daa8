"""The page of alignments: all it needs lies in its folder, and what it says is what the model found."""

import json
from pathlib import Path

import numpy as np
import pytest

from seesay import data
from seesay.data import Collection
from seesay.errors import SeesayError
from seesay.evaluation.page import STATIC, _script_json, write_page
from seesay.images.io import open_image
from seesay.models.aligner import Aligner, load_aligner


@pytest.fixture
def aligner(aligner_run: Path, in_colours_cache: Path) -> Aligner:
    return load_aligner(aligner_run / "weights")


@pytest.fixture
def collection(halves: Path) -> Collection:
    return data.load(halves).split("test")


def read_alignments(folder: Path) -> dict:
    text = (folder / "alignments.js").read_text(encoding="utf-8")
    assert text.startswith("window.ALIGNMENTS = ")
    return json.loads(text.removeprefix("window.ALIGNMENTS = ").rstrip().removesuffix(";"))


def test_every_picture_stands_with_its_best_sentences_and_their_boxes(
    aligner: Aligner, collection: Collection, tmp_path: Path
) -> None:
    page = write_page(aligner, collection, tmp_path / "page", title="Halves", n_sentences=2, proposals="grid-1x2")
    assert (page.n_images, page.n_sentences) == (6, 12)
    about = read_alignments(tmp_path / "page")
    assert about["title"] == "Halves"
    boxes = {"left": [0, 0, 0.5, 1], "right": [0.5, 0, 1, 1]}
    n_right = 0
    for picture, item in zip(about["pictures"], collection.items, strict=True):
        assert picture["name"] == item.name
        assert open_image(tmp_path / "page" / picture["picture"]).size == tuple(picture["size"]) == (96, 64)
        scores = [sentence["score"] for sentence in picture["sentences"]]
        assert scores == sorted(scores, reverse=True)
        colours = dict(zip(item.name.removesuffix(".png").split("_"), boxes, strict=True))
        for sentence in picture["sentences"]:
            assert sentence["own"] == (" ".join(sentence["words"]) in item.sentences)
            spans = [(part["first"], part["last"]) for part in sentence["parts"]]
            assert [place for span in spans for place in range(*span)] == list(range(len(sentence["words"])))
            for part in sentence["parts"]:
                for word in sentence["words"][part["first"] : part["last"]]:
                    n_right += word in colours and part["box"] == boxes[colours[word]]
    assert n_right >= 15  # of 24 colours that are named


def test_the_folder_needs_nothing_from_elsewhere(aligner: Aligner, collection: Collection, tmp_path: Path) -> None:
    write_page(aligner, collection, tmp_path, n_sentences=1, proposals="grid-1x2")
    assert {path.name for path in tmp_path.iterdir()} == {*STATIC, "alignments.js", "pictures"}
    page = (tmp_path / "index.html").read_text()
    for name in ("page.css", "alignments.js", "page.js"):
        assert f'"{name}"' in page
    for name in STATIC:
        assert "http" not in (tmp_path / name).read_text()


def test_known_scores_are_taken_as_they_are(aligner: Aligner, collection: Collection, tmp_path: Path) -> None:
    scores = np.zeros((6, 12), np.float32)
    scores[:, 3] = 1.5
    write_page(aligner, collection, tmp_path, n_sentences=1, proposals="grid-1x2", scores=scores)
    for picture in read_alignments(tmp_path)["pictures"]:
        (sentence,) = picture["sentences"]
        assert (" ".join(sentence["words"]), sentence["score"]) == (collection.sentences[3], 1.5)


def test_no_sentence_can_end_the_script() -> None:
    text = _script_json({"words": ["</script>", "<b>"]})
    assert "</" not in text
    assert json.loads(text) == {"words": ["</script>", "<b>"]}


def test_missing_pictures_are_refused(aligner: Aligner, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("image,sentence\nabsent.jpg,a dog\n")
    with pytest.raises(SeesayError, match=r"1 of 1 images of .* are missing"):
        write_page(aligner, data.load(tmp_path / "x.csv"), tmp_path / "page")
