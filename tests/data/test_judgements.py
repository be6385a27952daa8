from pathlib import Path

import pytest

from seesay.data.collection import Collection, Item
from seesay.data.judgements import Judgement, read_judgements
from seesay.errors import SeesayError

HEADER = "image\tcaption\tyes\tno\tpart\n"


@pytest.fixture
def pets() -> Collection:
    items = (Item("dog.jpg", None, ("a dog", "it runs")), Item("cat.jpg", None, ("a cat",)))
    return Collection("pets", Path("pets"), "CSV or JSONL", items)


def write(folder: Path, text: str) -> Path:
    path = folder / "votes.tsv"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_judgement_is_the_share_of_people_who_said_yes(tmp_path, pets) -> None:
    rows = "dog.jpg\tcat.jpg#0\t0\t3\tfit\ncat.jpg\tdog.jpg#1\t1\t3\treport\ndog.jpg\tdog.jpg#0\t3\t0\tfit\n"
    path = write(tmp_path, HEADER + rows)
    assert read_judgements(path, pets, "fit") == [Judgement(0, 2, 0.0), Judgement(0, 0, 1.0)]
    assert read_judgements(tmp_path, pets, "report") == [Judgement(1, 1, 0.25)]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("image,caption,yes,no,part\n", "no column 'image'"),
        (HEADER + "dog.jpg\tdog.jpg#0\t3\tfit\n", "line 2 has 4 cells"),
        (HEADER + "dog.jpg\tdog.jpg#7\t3\t0\tfit\n", "pets has no 'dog.jpg#7'"),
        (HEADER + "emu.jpg\tdog.jpg#0\t3\t0\tfit\n", "pets has no 'emu.jpg'"),
        (HEADER + "dog.jpg\tdog.jpg#0\tx\t0\tfit\n", "'x' and '0' are no votes"),
        (HEADER + "dog.jpg\tdog.jpg#0\t0\t0\tfit\n", "'0' and '0' are no votes"),
        (HEADER + f"dog.jpg\tdog.jpg#0\t{'9' * 5000}\t0\tfit\n", "are no votes"),
        (HEADER + "dog.jpg\tdog.jpg#0\t1\t0\treport\n", "no judgements of the part 'fit'"),
    ],
)
def test_a_table_of_another_shape_is_named(tmp_path, pets, text: str, told: str) -> None:
    with pytest.raises(SeesayError, match=r"votes\.tsv") as raised:
        read_judgements(write(tmp_path, text), pets, "fit")
    assert told in raised.value.what


def test_a_folder_without_a_table_is_refused(tmp_path, pets) -> None:
    with pytest.raises(SeesayError, match="holds no tables"):
        read_judgements(tmp_path, pets, "fit")
