"""Search for bytes that a reader neither understands nor refuses in a sentence.

Each target has a corpus of files that are right; a case is one of them with bytes changed, cut, doubled or joined. A
`SeesayError` is an answer; any other exception is a finding, and so is a case that takes more than ten seconds.
"""

import json
import random
import sqlite3
import tempfile
import time
import warnings
from argparse import ArgumentParser
from collections.abc import Callable
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Any

from PIL import Image

from benchmarks.recording import parse_arguments, record
from seesay.errors import SeesayError

SECONDS = 10.0
Read = Callable[[bytes, Path], object]


def _image(content: bytes, _: Path) -> object:
    from seesay.images.io import open_image
    from seesay.library.indexing.metadata import read_metadata

    image = open_image(content, max_pixels=1_000_000)
    return image.size, read_metadata(content)


def _patterns(content: bytes, folder: Path) -> object:
    from seesay.library.indexing.ignoring import is_left_out, read_ignore_file

    (folder / ".seesayignore").write_bytes(content)
    patterns = read_ignore_file(str(folder))
    return is_left_out(f"{folder}/{'a' * 100}/b.png", [patterns], is_folder=False)


def _captions(content: bytes, folder: Path) -> object:
    from seesay import data

    (folder / "captions.csv").write_bytes(content)
    return data.load(folder / "captions.csv").fingerprint()


def _coco(content: bytes, folder: Path) -> object:
    from seesay import data

    (folder / "captions.json").write_bytes(content)
    return data.load(folder / "captions.json").fingerprint()


def _weights(content: bytes, folder: Path) -> object:
    from seesay.runtime.tensors import read_places

    (folder / "model.safetensors").write_bytes(content)
    return read_places(folder / "model.safetensors")


def _recipe(content: bytes, folder: Path) -> object:
    from seesay.training.recipe import read_recipe

    (folder / "recipe.toml").write_bytes(content)
    return read_recipe(folder / "recipe.toml")


def _config(content: bytes, folder: Path) -> object:
    from seesay.catalogue.weights import read_about

    (folder / "config.json").write_bytes(content)
    return read_about(folder)


def _rows(content: bytes, folder: Path) -> object:
    """Bytes in place of a value of every table of a library."""
    from seesay.library.stores.sqlite import SqliteStore
    from seesay.library.types import Filter

    place = folder / "library"
    store = SqliteStore(place)
    store.close()
    text = content.decode("utf-8", "replace")
    with sqlite3.connect(place / "library.db") as connection:
        connection.execute("PRAGMA foreign_keys = OFF")
        for table in ("about", "folders", "photos", "contents", "vectors", "thumbnails", "tags", "failures"):
            connection.execute(f"DELETE FROM {table}")
        connection.execute("INSERT INTO about VALUES ('fingerprint', ?)", (text,))
        connection.execute("INSERT INTO folders VALUES (?, ?)", (content, text))
        connection.execute("INSERT INTO contents VALUES (1, ?, ?, 3, ?, ?)", (text, text, text, text))
        connection.execute("INSERT INTO vectors VALUES (1, ?)", (content,))
        connection.execute("INSERT INTO thumbnails VALUES (1, ?)", (text,))
        connection.execute("INSERT INTO tags VALUES (1, 1, ?)", (text,))
        connection.execute("INSERT INTO photos VALUES (1, ?, ?, 5, ?, 1)", (content, text, text))
        connection.execute("INSERT INTO failures VALUES (?, 1, ?, ?, NULL)", (content, text, text))
    connection.close()
    store = SqliteStore(place)
    try:
        for ask in (
            store.fingerprint, store.stages, store.folders, store.counts, store.failures,
            lambda: store.latest(9, Filter()), lambda: store.photo(1), lambda: store.thumbnail(1),
            lambda: store.tags([1]), lambda: store.vectors([1]), lambda: store.files(Path("/")),
        ):  # fmt: skip
            with suppress(SeesayError):
                ask()
    finally:
        store.close()
    return None


def _pictures() -> list[bytes]:
    made = []
    for kind in ("PNG", "JPEG", "GIF", "BMP", "TIFF", "WEBP"):
        file = BytesIO()
        Image.effect_noise((12, 9), 60).convert("RGB").save(file, kind)
        made.append(file.getvalue())
    return made


_HEADER = json.dumps({"a": {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]}}).encode()
_COCO = {"images": [{"id": 1, "file_name": "a.jpg"}], "annotations": [{"id": 1, "image_id": 1, "caption": "a dog"}]}
_RECIPE = (
    b'name = "a"\nmodel = "vse"\nseed = 1\n[data]\nmin_count = 1\ntrain = [{source = "a"}]\ndev = {source = "a"}\n'
    b"[optimiser]\nrate = 0.1\n[stop]\nepochs = 3\n"
)
_CONFIG = {"format": 1, "name": "a", "family": "vse", "config": {}, "features": {}, "vocabulary": "x"}

TARGETS: dict[str, tuple[Read, list[bytes]]] = {
    "image": (_image, _pictures()),
    "patterns": (_patterns, [b"*.tif\n!cover.tif\n/a/**/b\n[a-z]?.png\n", b"*a" * 30 + b"b\n", b"**/" * 50 + b"x\n"]),
    "captions": (_captions, [b'image,sentence,split\na.jpg,a dog,train\nb.jpg,"a, cat",test\n']),
    "coco": (_coco, [json.dumps(_COCO).encode()]),
    "weights": (_weights, [len(_HEADER).to_bytes(8, "little") + _HEADER + bytes(16)]),
    "recipe": (_recipe, [_RECIPE]),
    "config": (_config, [json.dumps(_CONFIG).encode()]),
    "rows": (_rows, [b'{"model": "a", "weights": "b", "features": "c", "dim": 4}', b'["*.tif"]', b"12", b"/a/b.png"]),
}


def attempt(read: Read, content: bytes, folder: Path) -> str:
    """What is wrong with how a reader takes some bytes; empty where nothing is."""
    start = time.monotonic()
    try:
        read(content, folder)
    except SeesayError:
        pass
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:200]
    return "slow" if time.monotonic() - start > SECONDS else ""


def draw(data: Any, corpus: list[bytes]) -> bytes:
    """A file of the corpus, changed as hypothesis chooses."""
    from hypothesis import strategies as st

    return change(corpus, random.Random(data.draw(st.integers(0, 2**32 - 1))))


def change(corpus: list[bytes], dice: random.Random) -> bytes:
    """A file of a corpus with a few changes."""
    content = bytearray(dice.choice(corpus))
    for _ in range(dice.randint(0, 6)):
        at = dice.randrange(len(content) + 1)
        kind = dice.randrange(7)
        if kind == 0 and content:
            content[min(at, len(content) - 1)] = dice.randrange(256)
        elif kind == 1:
            del content[at:]
        elif kind == 2:
            del content[at : at + dice.randint(1, 20)]
        elif kind == 3:
            content[at:at] = dice.choice(_SPICES)
        elif kind == 4:
            content[at:at] = dice.randbytes(dice.randint(1, 30))
        elif kind == 5:
            content += dice.choice(corpus)
        else:
            content[at:at] = content[at : at + 50] * dice.randint(1, 40)
    return bytes(content)


_SPICES = (
    b"\0", b"\xff\xfe", b"[" * 3000, b'{"a":' * 3000, b"9" * 5000, b"-1", b"1e999", b"NaN", b"null", b"true", b'""',
    b"\n\n", b"\r", "\u202e".encode(), b"\x1b[31m", b"../../", b"**/", b"*" * 200, b"\xff" * 8, b"\x7f\xff\xff\xff",
)  # fmt: skip


def main() -> None:
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=30, help="for each target")
    parser.add_argument("--only", action="append", choices=[*TARGETS], help="these targets")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parse_arguments(parser, "fuzz")
    warnings.simplefilter("ignore")  # Pillow warns of every tag that it cannot read
    found: dict[str, Any] = {}
    for target in arguments.only or TARGETS:
        read, corpus = TARGETS[target]
        dice, n_cases, findings = random.Random(f"{arguments.seed} {target}"), 0, []
        until = time.monotonic() + 60 * arguments.minutes
        with tempfile.TemporaryDirectory(prefix="seesay-fuzz-") as folder:
            while time.monotonic() < until:
                content = change(corpus, dice)
                n_cases += 1
                if fault := attempt(read, content, Path(folder)):
                    findings.append({"fault": fault, "content": content[:300].hex()})
        hangs = sum(finding["fault"] == "slow" for finding in findings)
        found[target] = {"cases": n_cases, "crashes": len(findings) - hangs, "hangs": hangs, "findings": findings[:20]}
        print(target, n_cases, "cases", len(findings), "findings", findings[:2])
    record(arguments, ("pillow", "pathspec"), minutes=arguments.minutes, seed=arguments.seed, targets=found)


if __name__ == "__main__":
    main()
