import json
from collections.abc import Callable
from pathlib import Path

import pytest

from seesay.data import coco as reader
from seesay.data.sources import UnreadableError


def test_the_newest_year_is_read_and_instances_are_not(coco: Path) -> None:
    collection = reader.read(coco)
    assert [(item.name, item.split) for item in collection.items] == [
        ("000000000001.jpg", "train"),
        ("000000000002.jpg", "train"),
        ("000000000003.jpg", "dev"),
    ]
    assert collection.items[2].image == coco / "val2017" / "000000000003.jpg"
    assert collection.items[2].sentences == ("Image 3 shows a bus.",)
    assert collection.notes == ("sentences from captions_train2017.json, captions_val2017.json",)
    assert collection.problems == ()


def test_one_file_is_read_alone_where_it_is_named(coco: Path) -> None:
    collection = reader.read(coco / "annotations" / "captions_val2017.json")
    assert collection.splits == {"dev": 1}
    assert collection.items[0].image == coco / "val2017" / "000000000003.jpg"


@pytest.mark.parametrize(
    ("images", "annotations", "problem"),
    [
        ([{"id": 1}], [], ("malformed record", "captions_val2017.json images[1]")),
        ([], [{"image_id": 3}], ("malformed record", "captions_val2017.json annotations[1]")),
        ([], ["a bus"], ("malformed record", "captions_val2017.json annotations[1]")),
        ([], [{"id": 1, "image_id": 99, "caption": "x"}], ("sentence for an unknown image", "99")),
        ([], [{"id": 13, "image_id": 3, "caption": "x"}], ("duplicated id", "13")),
        ([], [{"id": 1, "image_id": 3, "caption": " "}], ("empty sentence", "000000000003.jpg")),
        ([{"id": 3, "file_name": "000000000003.jpg"}], [], ("duplicated id", "000000000003.jpg")),
        ([{"id": 1, "file_name": "000000000001.jpg"}], [], ("image in two splits", "000000000001.jpg")),
        ([{"id": [7], "file_name": "7.jpg"}], [], ("image without sentences", "7.jpg")),
    ],
)
def test_odd_records_are_left_out_and_named(
    coco: Path, images: list[object], annotations: list[object], problem: tuple[str, str]
) -> None:
    file = coco / "annotations" / "captions_val2017.json"
    content = json.loads(file.read_text())
    content["images"] += images
    content["annotations"] += annotations
    file.write_text(json.dumps(content))
    collection = reader.read(coco)
    assert problem in [(problem.kind, problem.thing) for problem in collection.problems]
    assert collection.sentences == [f"Image {number} shows a bus." for number in (1, 2, 3)]


def test_a_file_without_annotations_cannot_be_read(coco: Path, write: Callable[..., Path]) -> None:
    write(coco / "annotations" / "captions_val2017.json", '{"images": []}')
    with pytest.raises(UnreadableError, match=r'captions_val2017\.json: has no list "annotations"'):
        reader.read(coco)
