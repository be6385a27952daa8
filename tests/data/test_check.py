import json
from collections.abc import Callable
from pathlib import Path

import pytest

from seesay.data.check import check
from seesay.errors import SeesayError

Change = Callable[[Path], object]


def problems_of(source: Path) -> list[tuple[str, str]]:
    return [(problem.kind, problem.thing) for problem in check(source).problems]


@pytest.mark.parametrize(
    "kind",
    ["Flickr8K", "Flickr30k Entities", "IAPR TC-12", "COCO captions", "Karpathy split", "CSV or JSONL"],
)
def test_a_sound_collection_of_every_layout_is_ok(layouts: dict[str, Path], kind: str) -> None:
    report = check(layouts[kind])
    assert report.ok
    assert report.kind == kind
    assert report.sentences > 0


def test_everything_is_counted(flickr8k: Path) -> None:
    report = check(flickr8k)
    assert (report.images, report.sentences, report.sentences_with_image) == (3, 6, 6)
    assert report.splits == {split: {"images": 1, "sentences": 2} for split in ("train", "dev", "test")}
    assert report.regions is None


def test_entities_beside_the_folder_are_joined(flickr8k: Path, flickr30k_entities: Path) -> None:
    regions = check(flickr8k).regions
    assert regions is not None
    assert regions.source == str(flickr30k_entities)
    assert (regions.images, regions.boxes, regions.box_chains, regions.phrases, regions.chains) == (2, 2, 3, 5, 2)


def test_coverage_is_the_share_of_running_words_that_training_has_often(
    tmp_path: Path, write: Callable[..., Path]
) -> None:
    """Training has "a" and "dog" five times and "cat" once; of "a dog and a cat" three in five are known."""
    train = "".join(f"{number}.jpg,a dog,train\n" for number in range(5))
    write(tmp_path / "a.csv", f"image,sentence,split\n{train}9.jpg,cat,train\n7.jpg,a dog and a cat,dev\n")
    words = check(tmp_path).vocabulary
    assert words is not None
    assert (words.source, words.distinct, words.frequent) == ("train", 3, 2)
    assert words.coverage == {"dev": pytest.approx(3 / 5)}


def test_the_report_survives_json(flickr8k: Path, flickr30k_entities: Path) -> None:
    report = check(flickr8k)
    content = json.loads(report.to_json())
    assert content["ok"] is True
    assert content["images"] == 3
    assert content["splits"]["dev"] == {"images": 1, "sentences": 2}
    assert content["regions"]["boxes"] == 2


def test_progress_counts_every_image(flickr8k: Path) -> None:
    calls: list[tuple[int, int]] = []
    check(flickr8k, on_progress=lambda done, total: calls.append((done, total)))
    assert calls == [(1, 3), (2, 3), (3, 3)]


def test_images_that_nobody_described_are_named_but_no_fault(flickr8k: Path, paint: Callable[..., Path]) -> None:
    paint(flickr8k / "Flicker8k_Dataset" / "44_dd.jpg")
    report = check(flickr8k)
    assert [(problem.kind, problem.thing) for problem in report.problems] == [("image without sentences", "44_dd.jpg")]
    assert report.images_without_sentences == 1
    assert report.ok


PHOTOS, TEXT = "Flicker8k_Dataset", "Flickr8k_text"


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-200])


def append(line: str) -> Change:
    def change(path: Path) -> None:
        with path.open("a", encoding="utf-8") as file:
            file.write(line + "\n")

    return change


@pytest.mark.parametrize(
    ("file", "change", "problem"),
    [
        pytest.param(f"{PHOTOS}/11_aa.jpg", cut, ("corrupt image", "11_aa.jpg"), id="truncated"),
        pytest.param(f"{PHOTOS}/11_aa.jpg", lambda p: p.write_bytes(b""), ("corrupt image", "11_aa.jpg"), id="0 bytes"),
        pytest.param(f"{PHOTOS}/11_aa.jpg", lambda p: p.write_text("a"), ("corrupt image", "11_aa.jpg"), id="a text"),
        pytest.param(f"{PHOTOS}/11_aa.jpg", Path.unlink, ("missing image", "11_aa.jpg"), id="no image"),
        pytest.param(
            f"{TEXT}/Flickr8k.token.txt", append("9_z.jpg#0\tA cow ."), ("missing image", "9_z.jpg"), id="no such image"
        ),
        pytest.param(
            f"{TEXT}/Flickr8k.token.txt", append("11_aa.jpg#2\t "), ("empty sentence", "11_aa.jpg"), id="empty sentence"
        ),
        pytest.param(
            f"{TEXT}/Flickr8k.token.txt",
            append("11_aa.jpg A dog ."),
            ("malformed line", "Flickr8k.token.txt line 7"),
            id="malformed line",
        ),
        pytest.param(
            f"{TEXT}/Flickr8k.token.txt",
            append("11_aa.jpg#1\tA dog ."),
            ("duplicated id", "11_aa.jpg#1"),
            id="same id twice",
        ),
        pytest.param(
            f"{TEXT}/Flickr_8k.devImages.txt",
            append("9_z.jpg"),
            ("unknown image in a split list", "9_z.jpg"),
            id="unknown image in a list",
        ),
        pytest.param(
            f"{TEXT}/Flickr_8k.devImages.txt",
            append("11_aa.jpg"),
            ("image in two splits", "11_aa.jpg"),
            id="image in two splits",
        ),
        pytest.param(
            f"{TEXT}/Flickr_8k.devImages.txt", append("22_bb.jpg"), ("image listed twice", "22_bb.jpg"), id="twice"
        ),
    ],
)
def test_each_fault_of_flickr8k_is_found_and_named(
    flickr8k: Path, file: str, change: Change, problem: tuple[str, str]
) -> None:
    change(flickr8k / file)
    assert problem in problems_of(flickr8k)
    assert not check(flickr8k).ok


@pytest.mark.parametrize(
    ("kind", "file", "content", "problem"),
    [
        ("Flickr30k Entities", "Annotations/11.xml", b"<annotation><size>", ("broken annotation", "11.xml")),
        ("Flickr30k Entities", "Annotations/99.xml", b"<annotation/>", ("annotation without sentences", "99.xml")),
        ("Flickr30k Entities", "Sentences/11.txt", b"[/EN#5/people A dog", ("broken phrase marks", "11.txt line 1")),
        ("Flickr30k Entities", "Sentences/11.txt", b"caf\xe9", ("unreadable file", "11.txt")),
        ("Flickr30k Entities", "Sentences/11.txt", b"A dog\n\nA cat\n", ("empty sentence", "11.jpg")),
        ("IAPR TC-12", "iaprtc12/annotations_complete_eng/00/3.eng", b"<DOC>", ("broken annotation", "00/3.eng")),
        ("IAPR TC-12", "iaprtc12/images/00/3.jpg", b"\xff\xd8\xff", ("corrupt image", "00/3.jpg")),
    ],
)
def test_each_fault_of_other_layouts_is_found_and_named(
    layouts: dict[str, Path], kind: str, file: str, content: bytes, problem: tuple[str, str]
) -> None:
    (layouts[kind] / file).write_bytes(content)
    assert problem in problems_of(layouts[kind])
    assert not check(layouts[kind]).ok


@pytest.mark.parametrize(
    ("kind", "file", "content", "complaint"),
    [
        ("Flickr8K", "Flickr8k_text/Flickr8k.token.txt", b"", "no line of it is of the form"),
        ("COCO captions", "annotations/captions_val2017.json", b'{"images": [', "not JSON"),
        ("COCO captions", "annotations/captions_val2017.json", b'{"images": []}', 'has no list "annotations"'),
        ("Karpathy split", "dataset_coco.json", b'{"sentences": []}', 'has no list "images"'),
        ("CSV or JSONL", "captions.csv", b"photo,sentence\n", "its header has no column for the image"),
        ("CSV or JSONL", "captions.csv", b"image,sentence\ndog.jpg,caf\xe9\n", "line 2 is not UTF-8"),
    ],
)
def test_a_file_broken_beyond_use_is_a_finding_and_not_a_crash(
    layouts: dict[str, Path], kind: str, file: str, content: bytes, complaint: str
) -> None:
    (layouts[kind] / file).write_bytes(content)
    report = check(layouts[kind])
    assert not report.ok
    assert not report.readable
    assert [(problem.kind, problem.thing) for problem in report.problems] == [
        ("unreadable file", str(layouts[kind] / file))
    ]
    assert complaint in report.problems[0].detail


def test_a_folder_without_a_collection_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SeesayError, match="the folder is empty"):
        check(tmp_path)


def test_real_flickr8k_with_its_boxes(shared_data: Path) -> None:
    report = check(shared_data / "flickr8k")
    assert (report.images, report.sentences_with_image, report.sentences_without_image) == (8091, 40455, 5)
    assert {split: counts["images"] for split, counts in report.splits.items()} == {
        "train": 6000,
        "dev": 1000,
        "test": 1000,
    }
    assert report.images_without_split == 91
    assert (report.missing_images, report.corrupt_images, report.images_without_sentences) == (1, 0, 0)
    assert [problem.thing for problem in report.problems] == ["2258277193_586949ec62.jpg.1"]
    assert report.regions is not None
    assert (report.regions.images, report.regions.boxes, report.regions.box_chains) == (8091, 52311, 58023)
    # Twelve of the 125,930 phrases stand in three sentences that Flickr8K has cut off ("A", "a", "A basketball").
    assert (report.regions.phrases, report.regions.chains) == (125918, 48579)
