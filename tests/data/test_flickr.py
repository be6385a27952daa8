import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from seesay.data import flickr
from seesay.errors import SeesayError


def test_the_published_flickr8k_layout_is_read(flickr8k: Path) -> None:
    collection = flickr.read(flickr8k)
    assert collection.kind == "Flickr8K"
    assert [item.name for item in collection.items] == ["11_aa.jpg", "22_bb.jpg", "33_cc.jpg"]
    assert collection.items[0].sentences == ("A dog runs .", "The dog is grey .")
    assert collection.items[0].image == flickr8k / "Flicker8k_Dataset" / "11_aa.jpg"
    assert collection.splits == {"train": 1, "dev": 1, "test": 1}
    assert collection.problems == ()


def test_the_token_file_itself_may_be_named(flickr8k: Path) -> None:
    by_file = flickr.read(flickr8k / "Flickr8k_text" / "Flickr8k.token.txt")
    assert by_file == flickr.read(flickr8k)


def test_images_may_lie_elsewhere(flickr8k: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "photos"
    shutil.move(flickr8k / "Flicker8k_Dataset", elsewhere)
    assert [problem.kind for problem in flickr.read(flickr8k).problems] == ["no images"]
    assert flickr.read(flickr8k, images=elsewhere).items[0].image == elsewhere / "11_aa.jpg"


@pytest.mark.parametrize("token_file", ["results_20130124.token", "flickr30k.token.txt"])
@pytest.mark.parametrize("lists", ["", "flickr30k_entities"])
def test_flickr30k_takes_the_lists_of_entities(
    tmp_path: Path, write: Callable[..., Path], paint: Callable[..., Path], token_file: str, lists: str
) -> None:
    root = tmp_path / "flickr30k"
    write(root / token_file, "1.jpg#0\tA dog .\n1.jpg#1\tA brown dog .\n2.jpg#0\tA cat .\n")
    for name in ("1.jpg", "2.jpg"):
        paint(root / "flickr30k-images" / name)
    write(root / lists / "train.txt", "1\n")
    write(root / lists / "val.txt", "2\n")
    collection = flickr.read(root)
    assert collection.kind == "Flickr30K"
    assert [(item.name, item.split) for item in collection.items] == [("1.jpg", "train"), ("2.jpg", "dev")]
    assert collection.problems == ()


def test_flickr30k_without_lists_has_no_splits(tmp_path: Path, write: Callable[..., Path]) -> None:
    write(tmp_path / "results_20130124.token", "1.jpg#0\tA dog .\n")
    assert flickr.read(tmp_path).splits == {}


def test_two_token_files_are_refused_with_both_names(flickr8k: Path, write: Callable[..., Path]) -> None:
    write(flickr8k / "results_20130124.token", "1.jpg#0\tA dog .\n")
    with pytest.raises(SeesayError, match=r"allowed: results_20130124\.token, Flickr8k\.token\.txt"):
        flickr.read(flickr8k)


def test_real_flickr8k_is_counted_as_published(shared_data: Path) -> None:
    collection = flickr.read(shared_data / "flickr8k")
    assert len(collection.images) == 8091
    assert len(collection.sentences) == 40460
    assert len(collection.with_images().sentences) == 40455
    assert collection.splits == {"train": 6000, "dev": 1000, "test": 1000}
    assert sum(item.split is None for item in collection.with_images().items) == 91
    assert [(problem.kind, problem.thing) for problem in collection.problems] == [
        ("missing image", "2258277193_586949ec62.jpg.1")
    ]
