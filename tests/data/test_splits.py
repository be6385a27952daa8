from collections.abc import Callable
from pathlib import Path

import pytest

from seesay.data.splits import find_lists, normalise_split, read_list, split_of_file


@pytest.mark.parametrize(
    ("name", "normal"),
    [("train", "train"), (" TRAINING ", "train"), ("restval", "train"), ("val", "dev"), ("test", "test"), ("x", None)],
)
def test_split_names_become_train_dev_and_test(name: str, normal: str | None) -> None:
    assert normalise_split(name) == normal


@pytest.mark.parametrize(
    ("name", "split"),
    [
        ("Flickr_8k.trainImages.txt", "train"),
        ("flickr30k_val.txt", "dev"),
        ("test.lst", "test"),
        ("iapr_train_list.txt", "train"),
        ("latest.txt", None),
        ("training_notes.txt", None),
        ("train.csv", None),
    ],
)
def test_lists_are_known_by_their_names(name: str, split: str | None) -> None:
    assert split_of_file(Path(name)) == split


def test_only_the_first_folder_with_lists_counts(tmp_path: Path, write: Callable[..., Path]) -> None:
    write(tmp_path / "a" / "readme.txt", "nothing")
    write(tmp_path / "b" / "val.txt", "1\n")
    write(tmp_path / "b" / "train.txt", "2\n")
    write(tmp_path / "c" / "test.txt", "3\n")
    found = find_lists(tmp_path / name for name in ("missing", "a", "b", "c"))
    assert [path.name for path in found] == ["train.txt", "val.txt"]


def test_a_list_may_have_blank_lines_and_windows_endings(tmp_path: Path, write: Callable[..., Path]) -> None:
    assert list(read_list(write(tmp_path / "train.txt", "\ufeffa.jpg\r\n\r\n b.jpg \r\n"))) == ["a.jpg", "b.jpg"]
