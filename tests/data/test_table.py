import json
from collections.abc import Callable
from pathlib import Path

import pytest

from seesay.data import table as reader
from seesay.data.sources import UnreadableError
from seesay.errors import SeesayError


def test_one_row_is_one_sentence(table: Path) -> None:
    collection = reader.read(table)
    assert [(item.name, item.split, item.sentences) for item in collection.items] == [
        ("dog.jpg", "train", ("A dog, running", "A brown dog")),
        ("cat.jpg", "test", ("A cat",)),
    ]
    assert collection.items[0].image == table / "images" / "dog.jpg"
    assert collection.name == "pets"
    assert collection.problems == ()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("captions.txt", "image,caption\ndog.jpg,A dog\n"),
        ("results.csv", "image_name| comment_number| comment\ndog.jpg| 0| A dog\n"),
        ("pets.tsv", "split\tFile\tSentence\n\tdog.jpg\tA dog\n"),
        ("pets.csv", "\ufeffimage;text\r\ndog.jpg;A dog\r\n"),
        ("pets.jsonl", '{"image": "dog.jpg", "caption": "A dog"}\n'),
        ("pets.jsonl", '{"file": "dog.jpg", "sentences": ["A dog"]}\n\n'),
        ("pets.ndjson", '{"filename": "dog.jpg", "captions": [{"raw": "A dog"}]}'),
    ],
)
def test_the_usual_spellings_mean_the_same(
    tmp_path: Path, write: Callable[..., Path], paint: Callable[..., Path], name: str, content: str
) -> None:
    root = tmp_path / "folder"
    paint(root / "dog.jpg")
    collection = reader.read(write(root / name, content))
    assert [(item.name, item.sentences, item.image) for item in collection.items] == [
        ("dog.jpg", ("A dog",), root / "dog.jpg")
    ]
    assert collection.problems == ()


def test_quote_marks_in_a_table_with_bars_are_part_of_the_sentence(tmp_path: Path, write: Callable[..., Path]) -> None:
    file = write(tmp_path / "a.csv", 'image|comment\n1.jpg|"Stop" says a sign\n2.jpg|A 5" nail\n')
    assert reader.read(file).sentences == ['"Stop" says a sign', 'A 5" nail']


def test_a_table_per_split_needs_no_split_column(tmp_path: Path, write: Callable[..., Path]) -> None:
    for split in ("train", "val", "test"):
        write(tmp_path / f"{split}.csv", f"image,sentence\n{split}.jpg,A dog\n")
    items = reader.read(tmp_path).items
    assert {item.name: item.split for item in items} == {"train.jpg": "train", "val.jpg": "dev", "test.jpg": "test"}


def test_other_tables_beside_each_other_are_refused(tmp_path: Path, write: Callable[..., Path]) -> None:
    write(tmp_path / "a.csv", "image,sentence\n")
    write(tmp_path / "b.csv", "image,sentence\n")
    with pytest.raises(SeesayError, match=r"2 tables.*\n  allowed: a\.csv, b\.csv\n  try: name one"):
        reader.read(tmp_path)


@pytest.mark.parametrize(
    ("header", "complaint"),
    [
        ("photo,sentence", "no column for the image; it has photo, sentence; allowed: one of image, file"),
        ("image,words", "no column for the sentence; it has image, words; allowed: one of sentence, caption"),
        ("", "no column for the image; it has nothing"),
        ("image,sentence", "it holds no rows"),
        ('image,sentence\ndog.jpg,"A dog\ncat.jpg,A cat', "the row that starts at line 2: unexpected end of data"),
    ],
)
def test_a_csv_that_cannot_be_understood_says_why(
    tmp_path: Path, write: Callable[..., Path], header: str, complaint: str
) -> None:
    with pytest.raises(UnreadableError) as refusal:
        reader.read(write(tmp_path / "a.csv", header))
    assert complaint in refusal.value.detail


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ("cat.jpg", ("malformed line", "captions.csv line 5")),
        (",A cat", ("malformed line", "captions.csv line 5")),
        ("cat.jpg,,test", ("empty sentence", "cat.jpg")),
        ("cat.jpg,A cat,tarin", ("unknown split", "cat.jpg")),
        ("cat.jpg,A cat,train", ("image in two splits", "cat.jpg")),
        ("cow.jpg,A cow,train", ("missing image", "cow.jpg")),
    ],
)
def test_odd_rows_are_named(table: Path, row: str, problem: tuple[str, str]) -> None:
    with (table / "captions.csv").open("a") as file:
        file.write(row + "\n")
    assert [(problem.kind, problem.thing) for problem in reader.read(table).problems] == [problem]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('{"file": "dog.jpg", ', ("malformed line", "pets.jsonl line 2")),
        ('["dog.jpg", "A dog"]', ("malformed line", "pets.jsonl line 2")),
        ('{"photo": "dog.jpg", "sentences": ["A dog"]}', ("malformed line", "pets.jsonl line 2")),
        ('{"file": "dog.jpg"}', ("malformed line", "pets.jsonl line 2")),
        ('{"file": "dog.jpg", "sentences": [7]}', ("malformed line", "pets.jsonl line 2")),
        ('{"file": "dog.jpg", "sentences": ["A dog", " "]}', ("empty sentence", "dog.jpg")),
        ('{"file": "dog.jpg", "sentences": []}', ("image without sentences", "dog.jpg")),
        ('{"file": "cat.jpg", "sentences": ["A cat again"]}', ("duplicated id", "cat.jpg")),
    ],
)
def test_odd_lines_are_named(
    tmp_path: Path, write: Callable[..., Path], paint: Callable[..., Path], line: str, problem: tuple[str, str]
) -> None:
    for name in ("cat.jpg", "dog.jpg"):
        paint(tmp_path / name)
    first = json.dumps({"file": "cat.jpg", "sentences": ["A cat"]})
    file = write(tmp_path / "pets.jsonl", f"{first}\n{line}\n")
    assert [(problem.kind, problem.thing) for problem in reader.read(file).problems] == [problem]


def test_a_file_of_nothing_but_malformed_lines_cannot_be_read(tmp_path: Path, write: Callable[..., Path]) -> None:
    with pytest.raises(UnreadableError, match=r"pets\.jsonl: pets\.jsonl line 1: not JSON"):
        reader.read(write(tmp_path / "pets.jsonl", "a dog\n"))


def test_real_coco_captions_are_counted_without_their_images(shared_data: Path) -> None:
    collection = reader.read(shared_data / "coco")
    assert (len(collection), len(collection.sentences)) == (37004, 98637)
    assert collection.splits == {"train": 36004, "dev": 1000}
    assert len(collection.split("dev").sentences) == 5000
    assert [problem.kind for problem in collection.problems] == ["no images"]


def test_phrases_with_boxes_are_read_as_phrases(tmp_path: Path) -> None:
    record = {"file": "7.jpg", "split": "val", "phrases": [["the kid", 1, 2, 3, 4], ["cap", 5, 6, 7, 8]]}
    (tmp_path / "referit.jsonl").write_text(json.dumps(record) + "\n")
    (item,) = reader.read(tmp_path).items
    assert (item.name, item.split, item.sentences) == ("7.jpg", "dev", ("the kid", "cap"))
