"""What is fuzzed: every part of seesay that reads what others have made, each with a corpus of files that are right."""

import logging
import os
import shutil
import socket
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from datetime import date
from functools import cache
from pathlib import Path

import h11
import numpy as np

from benchmarks.reliability import corpora
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

        _deal_out(content, folder, parts)
        found = data.load(folder if len(parts) > 1 or "/" in parts[0] else folder / parts[0])
        return found.fingerprint(), found.splits

    return read


def _deal_out(content: bytes, folder: Path, names: Sequence[str]) -> None:
    """Write the files of a case; one that it lacks stays as the case before has left it."""
    for name, part in zip(names, content.split(corpora.BETWEEN, len(names) - 1), strict=False):
        if not (folder / name).parent.exists():
            (folder / name).parent.mkdir(parents=True)
        (folder / name).write_bytes(part)


def _judgements(content: bytes, folder: Path) -> object:
    from seesay.data.collection import Collection, Item
    from seesay.data.judgements import read_judgements

    (folder / "judgements.tsv").write_bytes(content)
    items = (Item("a.jpg", folder / "a.jpg", ("a dog", "a cat")),)
    return read_judgements(folder / "judgements.tsv", Collection("a", folder, "CSV", items), "fit")


def _tower(content: bytes, folder: Path) -> object:
    """All files of a published folder, as far as they are read before a tensor is."""
    from seesay.text.pieces import Pieces
    from seesay.towers.looking import look_at

    names = ("config.json", "preprocessor_config.json", "tokenizer_config.json", "model.safetensors", "tokenizer.json")
    _deal_out(content, folder, names)
    found = look_at(folder)
    return Pieces(found.tokenizer, found.rule).rows(["a dog 🐶", ""]) if found.rule else found.view


def _query(content: bytes, _: Path) -> object:
    """What a person types into the box of a search, and into its filters."""
    from seesay.library.ranking.likeness import read_box
    from seesay.library.stores.filters import narrow, read_filter
    from seesay.library.zero_shot import read_words
    from seesay.text.typed.queries import read_typed

    text = content.decode("utf-8", "replace")
    typed = read_typed(text, date(2026, 11, 18))
    found: list[object] = [typed.notes()]
    for read in (
        lambda: narrow(read_filter(after=text, camera=text), typed.dates),
        lambda: narrow(read_filter(within=text, before="2020"), typed.dates),
        lambda: read_box(text), lambda: read_words(text), lambda: read_filter(tag=text) if len(text) < 5 else None,
    ):  # fmt: skip
        with suppress(SeesayError):
            found.append(read())
    return found


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
    """Bytes in place of one value of a library, whose first byte says of which; then the library is repaired."""
    from seesay.library.stores.repair import repair_rows
    from seesay.library.stores.sqlite import SqliteStore

    place, empty = folder / "library", folder / "empty"
    if not empty.exists():
        SqliteStore(empty).close()
    place.mkdir(exist_ok=True)
    for left in place.iterdir():
        left.unlink()
    shutil.copyfile(empty / "library.db", place / "library.db")
    values: list[object] = list(corpora.VALUES)
    at, given = content[0] % (2 * len(values)) if content else 0, content[1:]
    # As text or as bytes: SQLite keeps either in any column.
    values[at // 2] = given if at % 2 else given.decode("utf-8", "replace")
    with sqlite3.connect(place / "library.db") as connection:
        connection.execute("PRAGMA synchronous = OFF")
        for statement, wanted in _STATEMENTS:
            connection.execute(statement, [values[number] for number in wanted])
    connection.close()
    # A search writes the matrix of all vectors, which takes longer than all else.
    searches = at // 2 in (0, 9)
    _ask_all(place, searches, excusing=(SeesayError,))
    with suppress(SeesayError):
        repair_rows(place)
    try:
        _ask_all(place, searches)
    except SeesayError as error:
        raise RuntimeError(f"a library that was repaired says: {error}") from error
    return None


def _ask_all(place: Path, searches: bool, *, excusing: tuple[type[Exception], ...] = ()) -> None:
    """Ask a library for everything that it holds."""
    from seesay.library.stores.sqlite import SqliteStore
    from seesay.library.types import Filter

    store = SqliteStore(place)
    try:
        for ask in (
            store.fingerprint, store.stages, store.folders, store.counts, store.failures,
            lambda: searches and store.nearest(np.ones(4, np.float32), 3, Filter()),
            lambda: store.views("regions", [1]), lambda: store.latest(9, Filter()), lambda: store.photo(1),
            lambda: store.thumbnail(1), lambda: store.tags([1]), lambda: store.vectors([1]),
            lambda: store.files(Path("/")),
        ):  # fmt: skip
            with suppress(*excusing):
                ask()
    finally:
        store.close()


_STATEMENTS = (
    ("INSERT INTO about VALUES ('fingerprint', ?)", (0,)),
    ("INSERT INTO about VALUES ('regions', ?)", (1,)),
    ("INSERT INTO folders VALUES (?, ?)", (2, 3)),
    ("INSERT INTO contents VALUES (1, ?, ?, ?, ?, ?)", (4, 5, 6, 7, 8)),
    ("INSERT INTO vectors VALUES (1, ?)", (9,)),
    ("INSERT INTO views VALUES (1, 'regions', ?)", (10,)),
    ("INSERT INTO thumbnails VALUES (1, ?)", (11,)),
    ("INSERT INTO tags VALUES (1, ?, ?)", (12, 13)),
    ("INSERT INTO photos VALUES (1, ?, ?, ?, ?, 1)", (14, 15, 16, 17)),
    ("INSERT INTO failures VALUES (?, ?, ?, ?, NULL)", (18, 15, 16, 19)),
)
"""A library with a photo and a failure; numbers are places in `corpora.VALUES`."""

_ENDING = ExitStack()


@cache
def _served() -> int:
    """The port of a server for a few photos, which runs as long as this process."""
    import tempfile

    from seesay.library.library import Library
    from seesay.web.access import Access
    from seesay.web.server import running

    root = Path(_ENDING.enter_context(tempfile.TemporaryDirectory(prefix="seesay-http-", dir=in_memory())))
    (root / "photos").mkdir()
    for number, content in enumerate(corpora.pictures()[:3]):
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
    sent = content.replace(b"HOST", f"127.0.0.1:{port}".encode())
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        answer = b""
        with suppress(OSError):
            connection.sendall(sent)
            if not _is_answered_with_an_end(sent):  # else the server would go on waiting, as it should
                connection.shutdown(socket.SHUT_WR)
            while more := connection.recv(65536):
                answer += more
    if _TOLD:  # of this request, or of one before it that nobody waited for
        told = _TOLD[0]
        _TOLD.clear()
        raise RuntimeError(f"the server says {told}")
    if answer and (not answer.startswith(b"HTTP/1.1 ") or answer[9:12] == b"500"):
        raise RuntimeError(f"the answer is {answer[:200]!r}")
    return answer[:12]


def _is_answered_with_an_end(content: bytes) -> bool:
    """Whether bytes are a whole request after which the connection is closed, or no request at all.

    A client that is done with sending is taken for one that has left, and what it asked for is not answered: only
    who waits sees the answer.
    """
    reader = h11.Connection(h11.SERVER)
    try:
        reader.receive_data(content)
        while (event := reader.next_event()) is not h11.NEED_DATA:
            if isinstance(event, h11.EndOfMessage):
                return reader.their_state is h11.MUST_CLOSE
            if isinstance(event, h11.ConnectionClosed):
                return False
    except h11.RemoteProtocolError:
        return True
    return False


def in_memory() -> str | None:
    """A folder that is no disk, where there is one: writing files to a disk takes most of the time of a case."""
    memory = Path("/dev/shm")
    return str(memory) if memory.is_dir() and os.access(memory, os.W_OK) else None


@dataclass(frozen=True)
class Target:
    """Something that reads.

    Attributes:
        read: Given bytes and a folder to put them in; a `SeesayError` is an answer, anything else a finding.
        make_corpus: Files that are right.
    """

    read: Read
    make_corpus: Callable[[], Sequence[bytes]] = field(repr=False)

    @property
    def corpus(self) -> list[bytes]:
        return list(self.make_corpus())


def _target(read: Read, *corpus: bytes) -> Target:
    return Target(read, lambda: corpus)


TARGETS: dict[str, Target] = {
    "image": Target(_image, corpora.pictures),
    "patterns": _target(_patterns, *corpora.PATTERNS),
    "csv": _target(_collection("captions.csv"), corpora.CSV),
    "jsonl": _target(_collection("captions.jsonl"), corpora.LINES),
    "coco": _target(_collection("captions_val2017.json"), corpora.COCO),
    "karpathy": _target(_collection("dataset_a.json"), corpora.KARPATHY),
    "flickr": _target(
        _collection("text/Flickr8k.token.txt", "text/Flickr_8k.trainImages.txt", "text/Flickr_8k.devImages.txt"),
        corpora.FLICKR,
    ),
    "entities": _target(_collection("Sentences/1.txt", "Annotations/1.xml", "train.txt"), corpora.ENTITIES),
    "iapr": _target(_collection("annotations_complete_eng/00/1.eng", "iapr_train_list.txt"), corpora.IAPR),
    "judgements": _target(_judgements, corpora.JUDGEMENTS),
    "weights": _target(_weights, corpora.WEIGHTS),
    "graph": Target(_graph, corpora.graphs),
    "config": _target(_config, corpora.CONFIG),
    "vocabulary": _target(_vocabulary, corpora.VOCABULARY),
    "tower": Target(_tower, corpora.tower),
    "recipe": _target(_recipe, corpora.RECIPE),
    "rows": Target(_rows, corpora.rows),
    "query": Target(_query, corpora.queries),
    "http": Target(_request, corpora.requests),
}
