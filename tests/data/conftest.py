"""A tiny valid copy of every layout, to be read as it is or broken on purpose."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image


def _write(path: Path, text: str, encoding: str = "utf-8") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode(encoding))
    return path


def _paint(path: Path, size: tuple[int, int] = (40, 20)) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", size, (200, 120, 40)).save(path, "JPEG")
    return path


@pytest.fixture
def flickr8k(tmp_path: Path) -> Path:
    """Three images with two sentences each, one per split."""
    root = tmp_path / "flickr8k"
    names = ["11_aa.jpg", "22_bb.jpg", "33_cc.jpg"]
    lines = []
    for name, thing in zip(names, ("dog", "cat", "bird"), strict=True):
        _paint(root / "Flicker8k_Dataset" / name)
        lines += [f"{name}#0\tA {thing} runs .", f"{name}#1\tThe {thing} is grey ."]
    text = root / "Flickr8k_text"
    _write(text / "Flickr8k.token.txt", "\n".join(lines) + "\n")
    _write(text / "Flickr8k.lemma.token.txt", "11_aa.jpg#0\ta dog run .\n")
    _write(text / "readme.txt", "about this data\n")
    for split, name in zip(("train", "dev", "test"), names, strict=True):
        _write(text / f"Flickr_8k.{split}Images.txt", name + "\n")
    return root


@pytest.fixture
def flickr30k_entities(tmp_path: Path) -> Path:
    """What Entities has to say about the first two of those images, sentences in another order and spelling."""
    root = tmp_path / "flickr30k_entities"
    _write(
        root / "Sentences" / "11.txt",
        "[/EN#5/animals The dog] is [/EN#0/notvisual gray] .\n[/EN#5/animals A dog] runs .\n",
    )
    _write(root / "Sentences" / "22.txt", "[/EN#7/animals/other A cat] runs .\n[/EN#7/animals The cat] is grey .\n")
    _write(
        root / "Annotations" / "11.xml", _annotation(_box(["5", "6"], 1, 11, 100, 60), _flag("8", scene=1, nobndbox=1))
    )
    _write(root / "Annotations" / "22.xml", _annotation(_box(["7"], 101, 1, 200, 100)))
    _write(root / "train.txt", "11\n")
    _write(root / "val.txt", "22\n")
    return root


def _annotation(*objects: str, width: int = 200, height: int = 100) -> str:
    size = f"<size><width>{width}</width><height>{height}</height><depth>3</depth></size>"
    return f"<annotation><filename>x.jpg</filename>{size}{''.join(objects)}</annotation>"


def _box(chains: list[str], xmin: int, ymin: int, xmax: int, ymax: int) -> str:
    names = "".join(f"<name>{chain}</name>" for chain in chains)
    edges = f"<xmin>{xmin}</xmin><ymin>{ymin}</ymin><xmax>{xmax}</xmax><ymax>{ymax}</ymax>"
    return f"<object>{names}<bndbox>{edges}</bndbox></object>"


def _flag(chain: str, *, scene: int, nobndbox: int) -> str:
    return f"<object><name>{chain}</name><scene>{scene}</scene><nobndbox>{nobndbox}</nobndbox></object>"


@pytest.fixture
def iapr(tmp_path: Path) -> Path:
    """Twelve described photos, ten of them for training."""
    root = tmp_path / "iapr"
    for number in range(1, 13):
        text = f"<DOC>\n<TITLE>x</TITLE>\n<DESCRIPTION>a café {number};\n two chairs; </DESCRIPTION>\n</DOC>"
        _write(root / f"iaprtc12/annotations_complete_eng/00/{number}.eng", text, "latin-1")
        _write(root / f"iaprtc12/annotations/00/{number}.eng", "<DOC><DESCRIPTION></DESCRIPTION></DOC>", "latin-1")
        _paint(root / f"iaprtc12/images/00/{number}.jpg")
    _write(root / "IAPRTC/iapr_train_list.txt", "".join(f"00/{number}\n" for number in range(1, 11)))
    _write(root / "IAPRTC/iapr_test_list.txt", "00/11\n00/12\n")
    return root


@pytest.fixture
def coco(tmp_path: Path) -> Path:
    """Two training images and one for validation, with another year and instances lying beside."""
    root = tmp_path / "coco"
    for split, numbers in (("train", (1, 2)), ("val", (3,))):
        images = [{"id": number, "file_name": f"{number:012}.jpg"} for number in numbers]
        captions = [{"id": 10 + n, "image_id": n, "caption": f"Image {n} shows a bus.\n"} for n in numbers]
        for number in numbers:
            _paint(root / f"{split}2017" / f"{number:012}.jpg")
        content = json.dumps({"images": images, "annotations": captions, "licenses": []})
        _write(root / f"annotations/captions_{split}2017.json", content)
        _write(root / f"annotations/captions_{split}2014.json", "this year is not read")
        _write(root / f"annotations/instances_{split}2017.json", "neither is this")
    return root


@pytest.fixture
def karpathy(tmp_path: Path) -> Path:
    """One image of each of Karpathy's four splits, COCO's folders by year included."""
    root = tmp_path / "karpathy"
    records = []
    for number, split in enumerate(("train", "restval", "val", "test")):
        name = f"COCO_{number}.jpg"
        sentences = [{"raw": f"A bus, number {number}.", "tokens": ["a", "bus"]}, {"tokens": ["a", "red", "bus"]}]
        records.append({"filepath": "val2014", "filename": name, "split": split, "sentences": sentences})
        _paint(root / "val2014" / name)
    _write(root / "dataset_coco.json", json.dumps({"dataset": "coco", "images": records}))
    return root


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A CSV of two images."""
    root = tmp_path / "pets"
    _write(
        root / "captions.csv",
        'image,sentence,split\ndog.jpg,"A dog, running",train\ndog.jpg,A brown dog,train\ncat.jpg,A cat,test\n',
    )
    _paint(root / "images" / "dog.jpg")
    _paint(root / "images" / "cat.jpg")
    return root


@pytest.fixture
def layouts(
    flickr8k: Path, flickr30k_entities: Path, iapr: Path, coco: Path, karpathy: Path, table: Path
) -> dict[str, Path]:
    """All of the above, by the kind that they are recognised as."""
    return {
        "Flickr8K": flickr8k,
        "Flickr30k Entities": flickr30k_entities,
        "IAPR TC-12": iapr,
        "COCO captions": coco,
        "Karpathy split": karpathy,
        "CSV or JSONL": table,
    }


@pytest.fixture
def write() -> Callable[..., Path]:
    """Write a file, and the folders above it."""
    return _write


@pytest.fixture
def paint() -> Callable[..., Path]:
    """Save a small photo, and the folders above it."""
    return _paint


@pytest.fixture
def rewrite() -> Callable[[Path, str, str], None]:
    """Replace text in a file, which has to be there."""

    def replace_in(path: Path, old: str, new: str) -> None:
        text = path.read_bytes().decode("latin-1")
        assert old in text
        path.write_bytes(text.replace(old, new, 1).encode("latin-1"))

    return replace_in
