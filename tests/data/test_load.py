from collections.abc import Callable
from pathlib import Path

import pytest

from seesay import data
from seesay.errors import SeesayError


@pytest.mark.parametrize(
    "kind",
    ["Flickr8K", "Flickr30k Entities", "IAPR TC-12", "COCO captions", "Karpathy split", "CSV or JSONL"],
)
def test_every_layout_is_recognised(layouts: dict[str, Path], kind: str) -> None:
    collection = data.load(layouts[kind])
    assert collection.kind == kind
    assert len(collection) > 0
    assert collection.problems == ()


def test_a_name_is_looked_up_in_the_data_folder(flickr8k: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEESAY_DATA", str(flickr8k.parent))
    assert data.load("flickr8k").root == flickr8k
    assert data.load("flickr8k/Flickr8k_text/Flickr8k.token.txt") == data.load("flickr8k")


def test_an_existing_path_goes_before_a_name(
    flickr8k: Path, tmp_path: Path, write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEESAY_DATA", str(flickr8k.parent))
    write(tmp_path / "here/flickr8k/captions.csv", "image,sentence\n1.jpg,A dog\n")
    monkeypatch.chdir(tmp_path / "here")
    assert data.load("flickr8k").kind == "CSV or JSONL"
    monkeypatch.chdir(tmp_path / "here/flickr8k")
    assert data.load(".").name == "flickr8k"


@pytest.mark.parametrize("name", ["flikr8k", "Flickr-8K", "flickr8"])
def test_a_near_miss_is_answered_with_the_name_that_was_meant(
    flickr8k: Path, coco: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("SEESAY_DATA", str(flickr8k.parent))
    with pytest.raises(SeesayError, match=f"no collection '{name}'.*\n  allowed: coco, flickr8k\n  try: flickr8k$"):
        data.load(name)


def test_a_mistyped_path_is_answered_with_the_path_that_was_meant(flickr8k: Path) -> None:
    with pytest.raises(SeesayError, match=f"\n  try: {flickr8k}$"):
        data.load(flickr8k.with_name("flickr-8k"))


def test_without_a_data_folder_the_message_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SEESAY_DATA", raising=False)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SeesayError, match="no file or folder 'flickr8k', and SEESAY_DATA is not set"):
        data.load("flickr8k")


def test_an_unknown_layout_is_answered_with_all_known_ones(tmp_path: Path, write: Callable[..., Path]) -> None:
    write(tmp_path / "notes.txt", "nothing of use")
    with pytest.raises(SeesayError, match=r"knows: there is notes\.txt") as refusal:
        data.load(tmp_path)
    assert refusal.value.allowed is not None
    for word in ("Flickr8k.token.txt", "Entities", "IAPR", "captions_train2017.json", "dataset_flickr8k", "JSONL"):
        assert word in refusal.value.allowed


def test_a_folder_of_photos_alone_is_told_apart_from_an_empty_one(tmp_path: Path, paint: Callable[..., Path]) -> None:
    with pytest.raises(SeesayError, match="the folder is empty"):
        data.load(tmp_path)
    paint(tmp_path / "a.jpg")
    with pytest.raises(SeesayError, match="there are 1 images and no sentences"):
        data.load(tmp_path)


def test_a_folder_of_collections_is_answered_with_their_paths(flickr8k: Path, table: Path) -> None:
    with pytest.raises(SeesayError) as refusal:
        data.load(flickr8k.parent)
    assert refusal.value.hint == f"{flickr8k} or {table}"


def test_json_of_any_name_is_told_apart_by_its_content(coco: Path, karpathy: Path) -> None:
    for path, name in ((coco / "annotations/captions_val2017.json", "a.json"), (karpathy / "dataset_coco.json", "b")):
        path.rename(path.with_name(name).with_suffix(".json"))
    assert data.load(coco / "annotations/a.json").kind == "COCO captions"
    assert data.load(karpathy / "b.json").kind == "Karpathy split"


def test_a_file_of_another_kind_is_refused(tmp_path: Path, paint: Callable[..., Path]) -> None:
    with pytest.raises(SeesayError, match="it is a file of an unknown kind"):
        data.load(paint(tmp_path / "a.jpg"))
