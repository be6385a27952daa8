import json
from pathlib import Path

import pytest

from seesay.data import karpathy as reader
from seesay.errors import SeesayError


def test_raw_sentences_are_taken_and_tokens_where_there_are_none(karpathy: Path) -> None:
    collection = reader.read(karpathy)
    assert collection.items[0].sentences == ("A bus, number 0.", "a red bus")
    assert collection.items[0].image == karpathy / "val2014" / "COCO_0.jpg"
    assert collection.problems == ()


def test_restval_is_train_and_val_is_dev(karpathy: Path) -> None:
    assert [item.split for item in reader.read(karpathy).items] == ["train", "train", "dev", "test"]


def test_file_and_folder_give_the_same_collection(karpathy: Path) -> None:
    assert reader.read(karpathy / "dataset_coco.json") == reader.read(karpathy)


@pytest.mark.parametrize(
    ("record", "problem"),
    [
        ("a bus", ("malformed record", "dataset_coco.json images[4]")),
        ({"sentences": []}, ("malformed record", "dataset_coco.json images[4]")),
        ({"filename": "x.jpg"}, ("malformed record", "dataset_coco.json images[4]")),
        ({"filename": "x.jpg", "sentences": []}, ("image without sentences", "x.jpg")),
        ({"filename": "x.jpg", "sentences": ["a"]}, ("malformed record", "dataset_coco.json images[4] sentences[0]")),
        ({"filename": "x.jpg", "sentences": [{"raw": ""}]}, ("empty sentence", "x.jpg")),
        ({"filename": "x.jpg", "sentences": [{"raw": "a"}]}, ("missing image", "x.jpg")),
        ({"filename": "x.jpg", "sentences": [{"raw": "a"}], "split": "tarin"}, ("unknown split", "x.jpg")),
        ({"filename": "COCO_1.jpg", "sentences": [{"raw": "a"}]}, ("duplicated id", "COCO_1.jpg")),
    ],
)
def test_odd_records_are_named(karpathy: Path, record: object, problem: tuple[str, str]) -> None:
    file = karpathy / "dataset_coco.json"
    content = json.loads(file.read_text())
    content["images"].append(record)
    file.write_text(json.dumps(content))
    assert problem in [(problem.kind, problem.thing) for problem in reader.read(karpathy).problems]


def test_two_files_are_refused_with_both_names(karpathy: Path) -> None:
    (karpathy / "dataset_flickr8k.json").write_text("{}")
    with pytest.raises(SeesayError, match=r"allowed: dataset_coco\.json, dataset_flickr8k\.json"):
        reader.read(karpathy)
