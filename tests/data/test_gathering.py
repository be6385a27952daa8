from collections.abc import Callable
from pathlib import Path

import pytest

from seesay.data.collection import Collection
from seesay.data.gathering import Gathering
from seesay.data.photos import Photos


def finish(gathered: Gathering, photos: Photos | None = None) -> Collection:
    return gathered.collection("pets", Path("pets"), "test", photos=photos)


def test_white_space_becomes_single_spaces() -> None:
    gathered = Gathering()
    gathered.add_sentence("a.jpg", " a\tdog\n runs ", where="here")
    assert finish(gathered).sentences == ["a dog runs"]


@pytest.mark.parametrize(
    ("claims", "winner"),
    [(("train", "test"), "test"), (("test", "train"), "test"), (("val", "train"), "dev"), (("dev", "test"), "test")],
)
def test_of_two_splits_the_one_further_from_training_wins(claims: tuple[str, str], winner: str) -> None:
    gathered = Gathering()
    gathered.add_sentence("a.jpg", "a dog", where="here")
    for claim in claims:
        gathered.add_split("a.jpg", claim, where="here")
    pets = finish(gathered)
    assert pets.items[0].split == winner
    assert [(problem.kind, problem.thing) for problem in pets.problems] == [("image in two splits", "a.jpg")]


def test_an_image_whose_sentences_are_all_empty_is_left_out_and_named() -> None:
    gathered = Gathering()
    gathered.add_sentence("a.jpg", "  ", where="line 7")
    pets = finish(gathered)
    assert pets.items == ()
    assert [(problem.kind, problem.thing) for problem in pets.problems] == [
        ("empty sentence", "a.jpg"),
        ("image without sentences", "a.jpg"),
    ]


def test_no_image_at_all_is_one_problem_and_not_thousands(tmp_path: Path) -> None:
    gathered = Gathering()
    for number in range(1234):
        gathered.add_sentence(f"{number}.jpg", "a dog", where="here")
    pets = finish(gathered, Photos(tmp_path))
    assert [problem.kind for problem in pets.problems] == ["no images"]
    assert "none of the 1,234 images" in pets.problems[0].detail
    assert len(pets) == 1234


def test_a_missing_image_keeps_its_sentences(tmp_path: Path, paint: Callable[..., Path]) -> None:
    paint(tmp_path / "a.jpg")
    gathered = Gathering()
    for name in ("a.jpg", "b.jpg"):
        gathered.add_sentence(name, "a dog", where="here")
    pets = finish(gathered, Photos(tmp_path))
    assert [item.image for item in pets.items] == [tmp_path / "a.jpg", None]
    assert [(problem.kind, problem.thing) for problem in pets.problems] == [("missing image", "b.jpg")]
