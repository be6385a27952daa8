"""`evaluate_search`: the ranks are those of the library, whatever photos are called and however often they occur."""

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from PIL import Image

from seesay.cli.main import run
from seesay.data import Collection, Item
from seesay.errors import SeesayError
from seesay.evaluation import search
from seesay.evaluation.search import TOP, evaluate_search
from seesay.library.library import Library

COLOURS = {"red": (255, 0, 0), "green": (0, 255, 0), "blue": (0, 0, 255)}


@pytest.fixture
def in_colours(program: Callable[[Path], ModuleType], monkeypatch: pytest.MonkeyPatch) -> None:
    """Libraries know colours and nothing else."""
    toy = program(Path(__file__).parents[1] / "library/toy.py")
    monkeypatch.setattr(search, "Library", lambda place, model: Library(place, encoder=toy.ColourEncoder(), stages=()))


@pytest.fixture
def photos(tmp_path: Path) -> Collection:
    """Three photos of the same name in folders of their own; one sentence in four names the colour of another."""
    items = []
    for colour, pixels in COLOURS.items():
        path = tmp_path / colour / "photo.png"
        path.parent.mkdir()
        Image.new("RGB", (48, 36), pixels).save(path)
        items.append(Item(f"{colour}/photo.png", path, (colour,), "test"))
    items[0] = Item("red/photo.png", items[0].image, ("red", "green"), "test")
    return Collection("colours", tmp_path, "CSV or JSONL", tuple(items))


def test_every_sentence_is_a_query_and_its_photo_is_looked_for(in_colours: None, photos: Collection) -> None:
    found = evaluate_search(photos)
    assert found.stages == ("colours",)
    assert (found.n_images, found.n_sentences) == (3, 4)
    assert found.ranks[[0, 2, 3]].tolist() == [0, 0, 0]
    assert found.ranks[1] in (1, 2)  # the green photo comes first, and the others are equally far
    part = found.to_report()["search"]
    assert {key: part[key] for key in ("r1", "r5", "median", "stages")} == {
        "r1": 75.0,
        "r5": 100.0,
        "median": 1.0,
        "stages": ["colours"],
    }
    assert found.seconds.keys() == {"indexing", "queries"}


def test_a_photo_that_is_shown_as_a_copy_of_another_is_found(in_colours: None, photos: Collection) -> None:
    red = photos.items[0]
    twins = Collection("twins", photos.root, photos.kind, (*photos.items, Item("again", red.image, ("red",), "test")))
    assert evaluate_search(twins).ranks[-1] == 0


def test_a_photo_beyond_the_best_hundred_is_not_found() -> None:
    assert search.rank_of("7", [[str(number)] for number in range(7)]) == TOP


def test_a_photo_that_cannot_be_indexed_is_named(in_colours: None, photos: Collection) -> None:
    path = photos.items[0].image
    assert path is not None
    path.write_bytes(b"no photo")
    with pytest.raises(SeesayError, match="1 of 3 photos of colours cannot be indexed"):
        evaluate_search(photos)


def test_folds_are_refused(in_colours: None, photos: Collection) -> None:
    with pytest.raises(SeesayError, match="protocol 5-fold has 5 folds"):
        evaluate_search(photos, "5-fold")


def test_the_command_shows_recorded_figures_beside_it(
    in_colours: None, photos: Collection, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(photos.root)
    lines = [f"{item.name},{text},test" for item in photos.items for text in item.sentences]
    Path("captions.csv").write_text("\n".join(["image,sentence,split", *lines]) + "\n")
    monkeypatch.setattr("seesay.evaluation.tasks.search._ensemble_figures", _recorded)
    with pytest.raises(SystemExit) as end:
        run(["evaluate", "shipped", "--data", ".", "--task", "search"])
    assert end.value.code == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines() if line.startswith("  ")]
    assert ["search:", "colours", "75.0", "100.0", "100.0", "1"] in [row[:6] for row in rows]
    assert ["ensemble,", "all", "pairs", "80.0", "90.0", "95.0", "1", "–"] in rows


def _recorded() -> dict[str, Any]:
    t2i = {"r1": 80.0, "r5": 90.0, "r10": 95.0, "median": 1.0, "mean": 2.0}
    return {f"{Path.cwd().name}/test": {"t2i": t2i}}
