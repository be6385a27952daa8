from collections.abc import Callable
from pathlib import Path

import pytest

from seesay.data import iapr as reader
from seesay.data.collection import Collection
from seesay.errors import SeesayError


def by_split(collection: Collection) -> dict[str | None, set[str]]:
    return {
        split: {item.name for item in collection.items if item.split == split} for split in ("train", "dev", "test")
    }


def test_descriptions_are_latin_1_and_semicolons_end_sentences(iapr: Path) -> None:
    collection = reader.read(iapr)
    assert len(collection) == 12
    item = next(item for item in collection.items if item.name == "00/1.jpg")
    assert item.sentences == ("a café 1", "two chairs")
    assert item.image == iapr / "iaprtc12/images/00/1.jpg"
    assert collection.problems == ()


def test_with_dev_0_the_splits_are_the_published_ones(iapr: Path) -> None:
    collection = reader.read(iapr, dev=0)
    assert collection.splits == {"train": 10, "test": 2}
    assert collection.notes == ()


def test_dev_images_come_out_of_the_training_list_alone(iapr: Path) -> None:
    published, divided = by_split(reader.read(iapr, dev=0)), by_split(reader.read(iapr, dev=3))
    assert len(divided["dev"]) == 3
    assert divided["train"] | divided["dev"] == published["train"]
    assert divided["train"] & divided["dev"] == set()
    assert divided["test"] == published["test"]


def test_the_note_says_how_the_published_list_was_divided(iapr: Path) -> None:
    (note,) = reader.read(iapr, dev=3).notes
    assert note.startswith("train and dev together are the published training list of 10 images; ")
    assert "3 of them are set aside" in note


def test_the_choice_of_dev_images_does_not_depend_on_what_is_there(iapr: Path) -> None:
    before = by_split(reader.read(iapr, dev=3))["dev"]
    gone = sorted(by_split(reader.read(iapr, dev=3))["train"])[0]
    (iapr / "iaprtc12/annotations_complete_eng" / gone).with_suffix(".eng").unlink()
    after = reader.read(iapr, dev=3)
    assert by_split(after)["dev"] == before
    assert "(1 of them without a sentence here)" in after.notes[0]


def test_the_choice_of_dev_images_is_pinned() -> None:
    """Models trained with this split depend on it: it may never change."""
    assert reader.choose_dev([f"00/{number}" for number in range(1, 11)], 3) == {"00/5", "00/7", "00/10"}


def test_at_most_half_of_the_training_list_becomes_dev(iapr: Path) -> None:
    assert reader.read(iapr).splits == {"train": 5, "dev": 5, "test": 2}


def test_a_negative_dev_is_refused(iapr: Path) -> None:
    with pytest.raises(SeesayError, match="dev is -1\n  allowed: a number"):
        reader.read(iapr, dev=-1)


@pytest.mark.parametrize(
    ("root", "lists"),
    [
        ("", ""),
        ("", "IAPRTC"),
        ("", "iaprtc12"),
        ("iaprtc12", ""),
        ("iaprtc12", "IAPRTC"),
        ("iaprtc12", "iaprtc12"),
        ("iaprtc12", "iaprtc12/lists"),
    ],
)
def test_lists_are_found_in_the_folder_inside_it_and_beside_it(iapr: Path, root: str, lists: str) -> None:
    (iapr / lists).mkdir(exist_ok=True)
    for path in list((iapr / "IAPRTC").iterdir()):
        path.rename(iapr / lists / path.name)
    assert reader.read(iapr / root, dev=0).splits == {"train": 10, "test": 2}


def test_without_lists_there_are_no_splits_and_a_note(iapr: Path) -> None:
    for path in (iapr / "IAPRTC").iterdir():
        path.unlink()
    collection = reader.read(iapr)
    assert collection.splits == {}
    assert "iapr_train_list.txt" in collection.notes[0]


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("<DESCRIPTION>", "", "its DESCRIPTION is missing"),
        ("</DESCRIPTION>", "", "its DESCRIPTION is not closed"),
        ("a café 4;\n two chairs; ", " ; ", "its DESCRIPTION is empty"),
    ],
)
def test_a_broken_file_is_left_out_and_named(
    iapr: Path, write: Callable[..., Path], old: str, new: str, complaint: str
) -> None:
    file = iapr / "iaprtc12/annotations_complete_eng/00/4.eng"
    text = file.read_bytes().decode("latin-1")
    assert old in text
    write(file, text.replace(old, new), "latin-1")
    collection = reader.read(iapr)
    assert "00/4.jpg" not in {item.name for item in collection.items}
    assert ("broken annotation", "00/4.eng", complaint) in [
        (problem.kind, problem.thing, problem.detail) for problem in collection.problems
    ]


def test_the_mostly_empty_annotations_are_only_the_second_choice(iapr: Path) -> None:
    for file in (iapr / "iaprtc12/annotations_complete_eng/00").iterdir():
        file.unlink()
    collection = reader.read(iapr)
    assert len(collection) == 0
    assert {problem.kind for problem in collection.problems} == {"broken annotation", "unknown image in a split list"}
