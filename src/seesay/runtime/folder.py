"""A folder of exported weights: what it says, whether its files belong together, and its graphs, opened when asked for.

config.json       as of the weights, with a table `graphs`: opset, precision, the sizes of config that they were written
                  for, and for each graph its file and digest
NAME.onnx         one for each verb, a few thousand bytes: the weights stay where they are
model.safetensors the weights
vocabulary.json   the words

The network has a folder of its own (`network.onnx`, `network.json`): the package's, or one inside of this or beside it.
"""

import os
from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seesay.catalogue.digests import digest_of
from seesay.catalogue.weights import Weights, find, weights_digest
from seesay.errors import SeesayError
from seesay.runtime.computed import Computed, open_computed
from seesay.runtime.graph_file import Stored, read_graph_file
from seesay.runtime.kept import AskedOften, find_kept, keep_graph
from seesay.runtime.session import Session, open_session
from seesay.runtime.tensors import Place, map_tensor, read_places
from seesay.system.digests import digest_file
from seesay.system.reading import read_json
from seesay.text.tokenizer import Tokenizer, read_tokenizer

OPSETS = (17,)
"""The operator sets that graphs are written in."""
HALF, MODEL = ".half", "model."
"""What the name of an initialiser has around that of the tensor whose half-precision numbers it is."""
WEIGHTS = "model.safetensors"

Opened = Session | AskedOften | Computed
"""What a verb asks: a graph, or what stands for one of a published pair."""
KEPT = ("texts", "phrases")
"""Graphs that a query opens, which are kept as they are computed (`seesay.runtime.kept`)."""
LARGE = 1_000_000
"""Bytes of weights from which on that pays."""


class GraphFolder:
    """Exported weights. Nothing but config.json is read before it is needed.

    Args:
        name: Weights that came with the package, or a folder.
        threads: That a graph may use; 0 for as many as there are cores.

    Raises:
        SeesayError: There are no such weights, or they have no graphs that this version reads.
    """

    def __init__(self, name: str | Path, *, threads: int = 1) -> None:
        self.weights: Weights = find(name)
        self.export = f"seesay export {name}"
        self.folder, self.threads = self.weights.folder, threads
        self.origin = self.folder / "config.json"
        self._sessions: dict[str, Opened] = {}
        self._sources: dict[str, dict[str, Place]] = {}
        if not isinstance(self.weights.about.get("graphs"), dict):
            raise SeesayError(
                f"{self.weights.name} has no graphs, without which it needs torch",
                hint=self.export,
            )
        self.table: dict[str, Any] = self.weights.about["graphs"]
        if self.table.get("opset") not in OPSETS or not isinstance(self.table.get("files"), dict):
            raise SeesayError(
                f"{self.origin}: the graphs are written in operator set {self.table.get('opset')!r}",
                allowed=", ".join(map(str, OPSETS)),
                hint=self.export,
            )
        self._check_sizes(self.table.get("sizes"), self.weights.about["config"])

    def _check_sizes(self, written: Mapping[str, int] | None, config: Mapping[str, Any]) -> None:
        """Refuse graphs of a model of another size; those that earlier versions wrote do not tell theirs."""
        sizes = sizes_of(config)
        if written and (differ := sorted(key for key in {*written, *sizes} if written.get(key) != sizes.get(key))):
            key = differ[0]
            raise SeesayError(
                f"{self.origin}: config.{key} is {config.get(key)}, its graphs were written for {written.get(key)}",
                hint=self.export,
            )

    @property
    def names(self) -> tuple[str, ...]:
        """The graphs there are."""
        return tuple(self.table["files"])

    @cached_property
    def vocabulary(self) -> Tokenizer:
        """The words or subwords, which have to be those that config.json was written for."""
        return read_tokenizer(self.folder, fingerprint=str(self.weights.about.get("vocabulary")))

    @cached_property
    def places(self) -> dict[str, Place]:
        """Where the tensors of the weights lie."""
        return read_places(self.folder / WEIGHTS)

    def tensor(self, name: str) -> NDArray[np.float32]:
        """A tensor of the weights, in single precision."""
        if name not in self.places:
            raise SeesayError(f"{self.folder / WEIGHTS} has no tensor {name!r}", allowed=self.places)
        return np.asarray(map_tensor(self.folder / WEIGHTS, self.places[name]), np.float32)

    def open(self, graph: str) -> Opened:
        """A graph, checked and opened once.

        Raises:
            SeesayError: There is no such graph, and why; or its file is damaged, or does not fit the others.
        """
        if graph not in self._sessions:
            if graph not in self.names:
                why = (self.table.get("missing") or {}).get(graph, f"{self.weights.about['family']} has none")
                raise SeesayError(f"{self.weights.name} has no graph {graph!r}: {why}", allowed=self.names)
            entry = self.table["files"][graph] or {}
            if "published" in entry:
                self._sessions[graph] = self._open_published(entry)
                return self._sessions[graph]
            path = inside(self.folder, str(entry.get("file", "")), self.origin)
            is_kept = graph in KEPT and self.weights.size >= LARGE
            self._sessions[graph] = (
                self._open_kept(path, entry) if is_kept else open_session(path, self.threads, self._check(path, entry))
            )
        return self._sessions[graph]

    def _open_published(self, entry: Mapping[str, Any]) -> Computed:
        """A graph of somebody else's, or what a pair of such needs none for."""
        path = inside(self.folder, str(entry["file"]), self.origin) if "file" in entry else None
        if path is not None and _known_digest(path) != entry.get("digest"):
            raise SeesayError(f"the graph {path} is not the one that was added", hint="seesay models add FOLDER")
        return open_computed(path, entry["published"], self.threads)

    def _open_kept(self, path: Path, entry: Mapping[str, Any]) -> Session | AskedOften:
        """A graph that was checked when it was kept; it is kept under everything that was checked."""
        others = [self.source_folder(name) for name in source_weights(self.weights.about)]
        digests = [weights_digest(folder) for folder in (self.folder, *others)]
        sources = [str(entry.get("digest")), str(self.weights.about.get("vocabulary")), *digests]
        with suppress(OSError):
            found = find_kept(sources) if digest_file(path) == entry.get("digest") else None
            if found is not None:
                return found
        return keep_graph(path, sources, self._check(path, entry))

    def _check(self, path: Path, entry: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
        """Refuse a graph that is not the one that was written; give the tensors that are those of source weights."""
        found = read_graph_file(path)
        if file_digest(path) != entry.get("digest"):
            raise SeesayError(
                f"the graph {path} is not the one that {self.origin.name} was written for", hint=self.export
            )
        check_opset(path, found.opset)
        shared: dict[str, NDArray[Any]] = {}
        for name, stored in found.stored.items():
            if not stored.location:
                continue
            source, _, tensor = str((entry.get("shared") or {}).get(name, "")).partition(":")
            own = tensor or name.removeprefix(MODEL).removesuffix(HALF)
            if source:
                shared[name] = self._shared(path, source, own, stored)
                continue
            inside(self.folder, stored.location, path)
            if stored.location != WEIGHTS:
                raise SeesayError(f"the graph {path} has numbers in {stored.location!r}", allowed=WEIGHTS)
            self._check_tensor(path, own, stored, self.places.get(own))
            if own == "embedding.weight" and stored.shape[0] != len(self.vocabulary):
                raise SeesayError(f"the graph {path} knows {stored.shape[0]} words, {self.weights.name} has "
                                  f"{len(self.vocabulary)}")  # fmt: skip
        return shared

    def _check_tensor(self, path: Path, name: str, stored: Stored, place: Place | None) -> None:
        wanted = (stored.shape, stored.offset, stored.length)
        if place is None or (place.shape, place.offset, place.length) != wanted:
            is_there = "absent" if place is None else f"{place.shape} at {place.offset}"
            raise SeesayError(
                f"the graph {path} does not fit {WEIGHTS}: {name} is {is_there} in the weights, {stored.shape} at "
                f"{stored.offset} in the graph",
                hint=self.export,
            )

    def source_folder(self, source: str) -> Path:
        """The folder of source weights: beside this one, or where they are installed."""
        beside = self.folder.parent / Path(source).name
        return beside if (beside / WEIGHTS).is_file() else find(source).folder

    def _shared(self, path: Path, source: str, tensor: str, stored: Stored) -> NDArray[Any]:
        """A tensor of source weights, which lie beside these or came with the package."""
        wanted = source_weights(self.weights.about).get(source)
        if wanted is None or Path(source).name != source:
            raise SeesayError(f"{self.origin} does not name {source!r} among its source weights")
        folder = self.source_folder(source)
        digest = weights_digest(folder)
        if digest != wanted:
            raise SeesayError(
                f"{self.weights.name} was trained on top of {source} {str(wanted)[:12]}, there is {digest[:12]}",
                hint=self.export,
            )
        if source not in self._sources:
            self._sources[source] = read_places(folder / WEIGHTS)
        place = self._sources[source].get(tensor)
        if place is None or place.shape != stored.shape:
            raise SeesayError(f"the graph {path} wants {tensor} {stored.shape} of {source}, which has none such")
        return map_tensor(folder / WEIGHTS, place)


def sizes_of(config: Mapping[str, Any]) -> dict[str, int]:
    """The whole numbers of a configuration, which say how large a model is: graphs are written for them.

    Example:
        >>> sizes_of({"dim": 768, "encoder": "gru", "bidirectional": True, "dropout": 0.2})
        {'dim': 768}
    """
    return {key: value for key, value in config.items() if isinstance(value, int) and not isinstance(value, bool)}


def source_weights(about: Mapping[str, Any]) -> dict[str, str]:
    """The weights that others share parts with, each with the digest that it had."""
    found: dict[str, str] = about.get("source_weights") or about.get("borrowed") or {}
    return found


def inside(folder: Path, name: str, origin: Path) -> Path:
    """The path of a file that has to lie in a folder itself; anything else is refused before it is opened."""
    is_name = name and Path(name).name == name and name not in (".", "..")
    if not is_name or "\0" in name or not _fits(name):  # no file is called so
        raise SeesayError(f"{origin} names the file {name[:300]!a}", allowed="a file of the same folder")
    path = folder / name
    if path.is_symlink() and path.resolve().parent != folder.resolve():
        raise SeesayError(f"{path} is a link out of its folder", allowed="a file of the same folder")
    return path


def _fits(name: str) -> bool:
    """Whether a file can have a name: JSON may hold half of a character, which is none."""
    try:
        return len(os.fsencode(name)) <= 255
    except UnicodeEncodeError:
        return False


def _known_digest(path: Path) -> str:
    """The sha256 of a file, which is kept: one of somebody else's may be large."""
    try:
        return digest_of(path, path.stat())
    except OSError as error:
        raise SeesayError(f"cannot read {path}: {error.strerror or error}", hint="seesay models add FOLDER") from error


def check_opset(path: Path, opset: int) -> None:
    if opset not in OPSETS:
        raise SeesayError(
            f"the graph {path} is written in operator set {opset}",
            allowed=", ".join(map(str, OPSETS)),
            hint="seesay export WEIGHTS",
        )


def file_digest(path: Path) -> str:
    """The sha256 of a file, in hex."""
    try:
        return digest_file(path)
    except OSError as error:
        raise SeesayError(f"cannot read {path}: {error.strerror or error}") from error


def read_object(path: Path) -> dict[str, Any]:
    """A JSON object of a file."""
    found = read_json(path)
    if not isinstance(found, dict):
        raise SeesayError(f"{path} is not an object")
    return found
