"""What is fuzzed: every part of seesay that reads what others have made, each with a corpus of files that are right."""

import json
import logging
import shutil
import socket
import sqlite3
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import cache
from io import BytesIO
from pathlib import Path

from PIL import Image

from seesay.errors import SeesayError

Read = Callable[[bytes, Path], object]


def _image(content: bytes, _: Path) -> object:
    from seesay.images.io import open_image
    from seesay.images.wholeness import require_whole
    from seesay.library.indexing.metadata import read_metadata

    image = open_image(content, max_pixels=1_000_000)
    with suppress(SeesayError):
        require_whole(content, 32)
    return image.size, read_metadata(content)


def _patterns(content: bytes, folder: Path) -> object:
    from seesay.library.indexing.ignoring import is_left_out, read_ignore_file

    (folder / ".seesayignore").write_bytes(content)
    patterns = read_ignore_file(str(folder))
    return is_left_out(f"{folder}/{'a' * 100}/b.png", [patterns], is_folder=False)


def _collection(*parts: str) -> Read:
    """A reader of a collection that consists of a few files; the content is dealt out among them."""

    def read(content: bytes, folder: Path) -> object:
        from seesay import data

        for name, part in zip(parts, content.split(_BETWEEN, len(parts) - 1), strict=False):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(part)
        found = data.load(folder if len(parts) > 1 or "/" in parts[0] else folder / parts[0])
        return found.fingerprint(), found.splits

    return read


def _weights(content: bytes, folder: Path) -> object:
    from seesay.runtime.tensors import map_tensor, read_places

    (folder / "model.safetensors").write_bytes(content)
    places = read_places(folder / "model.safetensors")
    return [map_tensor(folder / "model.safetensors", place).sum() for place in places.values()]


def _graph(content: bytes, folder: Path) -> object:
    from seesay.runtime.graph_file import read_graph_file

    (folder / "graph.onnx").write_bytes(content)
    return read_graph_file(folder / "graph.onnx")


def _recipe(content: bytes, folder: Path) -> object:
    from seesay.training.recipe import read_recipe

    (folder / "recipe.toml").write_bytes(content)
    return read_recipe(folder / "recipe.toml").fingerprint()


def _config(content: bytes, folder: Path) -> object:
    """A config.json, with everything that is read of it before a model is built."""
    from seesay.catalogue.weights import STEPS, doubt_of, read_about, tuned_table
    from seesay.runtime.folder import GraphFolder
    from seesay.settings.calibration import Calibration

    (folder / "config.json").write_bytes(content)
    weights = read_about(folder)
    for step in (
        lambda: [tuned_table(weights, table) for table in STEPS.values()],
        lambda: [doubt_of(weights, table) for table in ("confidence", "presence")],
        lambda: Calibration.from_table(weights.about.get("calibration"), "config.json"),
        lambda: GraphFolder(folder).open("encode"),
    ):
        with suppress(SeesayError):
            step()
    return weights.name


def _vocabulary(content: bytes, folder: Path) -> object:
    from seesay.text.vocabulary import Vocabulary

    return len(Vocabulary.from_json(content.decode("utf-8", "replace"), "vocabulary.json"))


def _rows(content: bytes, folder: Path) -> object:
    """Bytes in place of a value of every table of a library."""
    from seesay.library.stores.sqlite import SqliteStore
    from seesay.library.types import Filter

    place, empty = folder / "library", folder / "empty"
    if not empty.exists():
        SqliteStore(empty).close()
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(empty, place)
    text = content.decode("utf-8", "replace")
    with sqlite3.connect(place / "library.db") as connection:
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("INSERT INTO about VALUES ('fingerprint', ?)", (text,))
        connection.execute("INSERT INTO folders VALUES (?, ?)", (content, text))
        connection.execute("INSERT INTO contents VALUES (1, ?, ?, 3, ?, ?)", (text, text, text, text))
        connection.execute("INSERT INTO vectors VALUES (1, ?)", (content,))
        connection.execute("INSERT INTO views VALUES (1, 'regions', ?)", (content,))
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


_ENDING = ExitStack()


@cache
def _served() -> int:
    """The port of a server for a few photos, which runs as long as this process."""
    import tempfile

    from seesay.library.library import Library
    from seesay.web.access import Access
    from seesay.web.server import running

    root = Path(_ENDING.enter_context(tempfile.TemporaryDirectory(prefix="seesay-http-")))
    (root / "photos").mkdir()
    for number, content in enumerate(_pictures()[:3]):
        (root / "photos" / f"{number}.png").write_bytes(content)
    library = _ENDING.enter_context(Library(root / "library"))
    library.index(root / "photos", workers=1)
    address = _ENDING.enter_context(running(library, Access.for_host("127.0.0.1"), prepare=False, workers=1))
    logging.getLogger("uvicorn.error").addHandler(_Loud())
    return int(address.rsplit(":", 1)[1].rstrip("/"))


def close() -> None:
    """End the server, if one was started."""
    _ENDING.close()
    _served.cache_clear()


_TOLD: list[str] = []


class _Loud(logging.Handler):
    """Keeps what a server has to say of its own errors."""

    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno >= logging.ERROR:
            _TOLD.append(str(record.exc_info))


def _request(content: bytes, _: Path) -> object:
    """Bytes sent to the server, which answers or closes; HOST in them is its address."""
    port = _served()
    _TOLD.clear()
    with socket.create_connection(("127.0.0.1", port), timeout=15) as connection:
        answer = b""
        with suppress(OSError):
            connection.sendall(content.replace(b"HOST", f"127.0.0.1:{port}".encode()))
            connection.shutdown(socket.SHUT_WR)
            while more := connection.recv(65536):
                answer += more
    if _TOLD:
        raise RuntimeError(f"the server says {_TOLD[0]}")
    if answer and (not answer.startswith(b"HTTP/1.1 ") or answer[9:12] == b"500"):
        raise RuntimeError(f"the answer is {answer[:200]!r}")
    return answer[:12]


def _pictures() -> list[bytes]:
    made = []
    for kind in ("PNG", "JPEG", "GIF", "BMP", "TIFF", "WEBP", "AVIF"):
        file = BytesIO()
        Image.effect_noise((12, 9), 60).convert("RGB").save(file, kind)
        made.append(file.getvalue())
    exif = Image.Exif()
    exif[0x0112], exif[0x0110], exif[0x0132] = 6, "Canon EOS 5D", "2019:07:04 12:30:00"
    file = BytesIO()
    Image.new("RGB", (12, 9)).save(file, "JPEG", exif=exif, progressive=True)
    return [*made, file.getvalue()]


def _requests() -> list[bytes]:
    head = b"Host: HOST\r\nConnection: close\r\n"
    targets = (
        b"/", b"/api/search?q=a+dog", b"/api/photos?limit=2&in=2019", b"/api/photos/1/thumbnail?v=a",
        b"/api/photos/1/picture?side=320", b"/api/search?like=1&box=0,0,.5,1&sort=date", b"/static/main.js",
        b"/api/regions?q=dog", b"/api/photos/1/explain?q=a+dog", b"/api/status", b"/api/failures",
    )  # fmt: skip
    gets = [b"GET " + target + b" HTTP/1.1\r\n" + head + b"Accept: */*\r\n\r\n" for target in targets]
    picture = _pictures()[0]
    post = b"POST /api/search?q=dog HTTP/1.1\r\n" + head + b"Content-Length: %d\r\n\r\n" % len(picture) + picture
    chunked = (
        b"POST /api/search HTTP/1.1\r\n" + head + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
        b"GET / HTTP/1.1\r\n" + head + b"\r\n"
    )
    return [*gets, post, chunked]


def _graphs() -> list[bytes]:
    """The graphs of the shipped weights, which are small: their numbers lie elsewhere."""
    from seesay.catalogue.weights import PACKAGED

    found = sorted((path for path in PACKAGED.glob("*/*.onnx")), key=lambda path: path.stat().st_size)
    return [path.read_bytes() for path in found[:2]]


_BETWEEN = b"\n=====\n"
_HEADER = json.dumps({"a": {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]}}).encode()
_COCO = {"images": [{"id": 1, "file_name": "a.jpg"}], "annotations": [{"id": 1, "image_id": 1, "caption": "a dog"}]}
_SPLIT = {"images": [{"filename": "a.jpg", "split": "val", "sentences": [{"raw": "a dog"}, {"tokens": ["a", "cat"]}]}]}
_LINES = b'{"file": "a.jpg", "split": "train", "sentences": ["a dog", {"raw": "b"}]}\n{"image": "b", "caption": "c"}\n'
_TOKENS = b"a.jpg#0\tA dog runs .\na.jpg#1\tA cat .\nb.jpg#0\tA bird\n" + _BETWEEN + b"a.jpg\n" + _BETWEEN + b"b.jpg\n"
_ENTITIES = (
    b"[/EN#18/people A child] in [/EN#20/clothing a dress] .\n" + _BETWEEN + b"<annotation><size><width>9</width>"
    b"<height>9</height></size><object><name>18</name><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>5</xmax><ymax>5</ymax>"
    b"</bndbox></object><object><name>20</name><nobndbox>1</nobndbox></object></annotation>" + _BETWEEN + b"1\n"
)
_IAPR = b"<DOC><TITLE>x</TITLE><DESCRIPTION>a dog; a cat;</DESCRIPTION></DOC>\n" + _BETWEEN + b"00/1\n"
_RECIPE = (
    b'name = "a"\nmodel = "vse"\nseed = 1\n[data]\nmin_count = 1\ntrain = [{source = "a"}]\ndev = {source = "a"}\n'
    b"[optimiser]\nrate = 0.1\n[stop]\nepochs = 3\n"
)
_CONFIG = {
    "format": 1, "name": "a", "family": "vse", "config": {}, "features": {}, "vocabulary": "x",
    "calibration": {"slope": 1.0, "offset": 0.0, "rarity_slope": 1.0, "rarity_offset": 1.0},
    "graphs": {"opset": 17, "files": {"encode": {"file": "encode.onnx", "digest": "0"}}},
    "tuned": {"calibration": {"weights": {"a": "0"}}}, "presence": {"slope": 1.0}, "cascade": {"stages": []},
}  # fmt: skip
_WORDS = {"format": "seesay-vocabulary-1", "min_count": 1, "n_sentences": 2, "n_unknown": 0, "words": [["a", 2]]}


@dataclass(frozen=True)
class Target:
    """Something that reads.

    Attributes:
        read: Given bytes and a folder to put them in; a `SeesayError` is an answer, anything else a finding.
        make_corpus: Files that are right.
    """

    read: Read
    make_corpus: Callable[[], list[bytes]] = field(repr=False)

    @property
    def corpus(self) -> list[bytes]:
        return self.make_corpus()


TARGETS: dict[str, Target] = {
    "image": Target(_image, _pictures),
    "patterns": Target(
        _patterns, lambda: [b"*.tif\n!cover.tif\n/a/**/b\n[a-z]?.png\n", b"*a" * 30 + b"b\n", b"**/" * 50 + b"x\n"]
    ),
    "csv": Target(
        _collection("captions.csv"), lambda: [b'image,sentence,split\na.jpg,a dog,train\nb.jpg,"a, cat",test\n']
    ),
    "jsonl": Target(_collection("captions.jsonl"), lambda: [_LINES]),
    "coco": Target(_collection("captions_val2017.json"), lambda: [json.dumps(_COCO).encode()]),
    "karpathy": Target(_collection("dataset_a.json"), lambda: [json.dumps(_SPLIT).encode()]),
    "flickr": Target(
        _collection("text/Flickr8k.token.txt", "text/Flickr_8k.trainImages.txt", "text/Flickr_8k.devImages.txt"),
        lambda: [_TOKENS],
    ),
    "entities": Target(_collection("Sentences/1.txt", "Annotations/1.xml", "train.txt"), lambda: [_ENTITIES]),
    "iapr": Target(_collection("annotations_complete_eng/00/1.eng", "iapr_train_list.txt"), lambda: [_IAPR]),
    "weights": Target(_weights, lambda: [len(_HEADER).to_bytes(8, "little") + _HEADER + bytes(16)]),
    "graph": Target(_graph, _graphs),
    "config": Target(_config, lambda: [json.dumps(_CONFIG).encode()]),
    "vocabulary": Target(_vocabulary, lambda: [json.dumps(_WORDS).encode()]),
    "recipe": Target(_recipe, lambda: [_RECIPE]),
    "rows": Target(
        _rows,
        lambda: [b'{"model": "a", "weights": "b", "features": "c", "dim": 4}', b'["*.tif"]', b"12", b"/a/b.png"],
    ),
    "http": Target(_request, _requests),
}
