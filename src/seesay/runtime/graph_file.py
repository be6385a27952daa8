"""What a graph's file says about itself, read before ONNX Runtime is given the file.

An ONNX file is a protocol buffer. Of it only this is looked at: the operator set, for each initialiser its shape and
where its numbers lie, and whether a node has numbers that lie elsewhere. Numbers themselves are skipped, so a file of
any size takes no memory.
"""

import mmap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seesay.errors import SeesayError
from seesay.system.reading import open_regular

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_FLOATS = {1: np.float32, 10: np.float16}
"""Kinds of numbers, as ONNX counts them."""
_INSIDE = {
    "model": {7: "graph", 20: "training", 25: "function"},
    "training": {1: "graph", 2: "graph"},
    "function": {7: "node", 11: "attribute"},
    "graph": {1: "node", 5: "tensor", 15: "sparse"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse", 23: "sparse"},
    "sparse": {1: "tensor", 2: "tensor"},
}
_INSIDE["own"] = {field: kind for field, kind in _INSIDE["graph"].items() if kind != "tensor"}
"""Which fields of a message are messages that tensors may be in, and of what kind."""


@dataclass(frozen=True)
class Stored:
    """An initialiser.

    Attributes:
        shape: Of the tensor.
        location: The file that holds it, relative to the graph's folder; empty where the graph's file does.
        offset, length: Its bytes in that file.
    """

    shape: tuple[int, ...]
    location: str = ""
    offset: int = 0
    length: int = 0


@dataclass(frozen=True)
class GraphFile:
    """What a graph's file says: the version of ONNX's operators, and its initialisers by name."""

    opset: int
    stored: dict[str, Stored]


def read_graph_file(path: Path) -> GraphFile:
    """Look at a graph's file.

    Raises:
        SeesayError: It cannot be read, is truncated, or is no ONNX graph.
    """
    data = _map(path)
    try:
        return _read_model(data)
    except (IndexError, ValueError, UnicodeDecodeError) as error:
        raise SeesayError(f"the graph {path} is damaged or truncated: {error}", hint="seesay export WEIGHTS") from error


def require_own_numbers(path: Path) -> None:
    """Refuse a graph that is damaged, or that keeps numbers in another file.

    Raises:
        SeesayError: It does.
    """
    for stored in read_graph_file(path).stored.values():
        if stored.location:
            raise SeesayError(
                f"the graph {path} has numbers in {stored.location[:80]!r}", allowed="a file that holds them itself"
            )


def _map(path: Path) -> memoryview:
    try:
        with open_regular(path) as file:
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if path.stat().st_size else b"")
    except OSError as error:
        raise SeesayError(
            f"cannot read the graph {path}: {error.strerror or error}", hint="seesay export WEIGHTS"
        ) from error


def read_initializers(path: Path) -> dict[str, NDArray[Any]]:
    """The numbers of a graph's own initialisers, in single or half precision, where they lie in the file.

    Raises:
        SeesayError: It cannot be read, is truncated, or is no ONNX graph.
    """
    found: dict[str, NDArray[Any]] = {}
    data = _map(path)
    try:
        for field, value in _fields(data):
            for inner, tensor in _fields(value) if field == 7 and isinstance(value, memoryview) else ():
                if inner == 5 and isinstance(tensor, memoryview):
                    parts = dict(_fields(tensor))
                    name, stored = _read_tensor(tensor)
                    kind, raw = _FLOATS.get(_number(parts.get(2, 0))), parts.get(9)
                    if kind is not None and isinstance(raw, memoryview):
                        found[name] = np.frombuffer(raw, kind).reshape(stored.shape)
    except (IndexError, ValueError, UnicodeDecodeError) as error:
        raise SeesayError(f"the graph {path} is damaged or truncated: {error}", hint="seesay export WEIGHTS") from error
    return found


def _read_model(data: memoryview) -> GraphFile:
    opset, stored, has_graph = 0, {}, False
    for field, value in _fields(data):
        if field == 8 and isinstance(value, memoryview):  # opset_import: a domain, empty for ONNX's own, and a version
            own = dict(_fields(value))
            if not own.get(1):
                opset = _number(own.get(2, 0))
        elif field == 7 and isinstance(value, memoryview):
            has_graph = True
            for inner, tensor in _fields(value):
                if inner == 5 and isinstance(tensor, memoryview):
                    name, found = _read_tensor(tensor)
                    stored[name] = found
    if not has_graph or not opset:
        raise ValueError("it holds no graph")
    _refuse_hidden(data)
    return GraphFile(opset, stored)


def _refuse_hidden(data: memoryview) -> None:
    """Refuse numbers of another file anywhere but among the graph's own initialisers, which are checked one by one.

    ONNX Runtime takes them for what a node is given and for the branches of a node as well.
    """
    waiting = [("model", data)]
    while waiting:
        kind, message = waiting.pop()
        for field, value in _fields(message):
            inner = _INSIDE[kind].get(field)
            if inner is None or not isinstance(value, memoryview):
                continue
            if inner != "tensor":
                # An initialiser of the graph itself is no hidden one.
                waiting.append(("own" if kind == "model" and inner == "graph" else inner, value))
            elif any(number == 13 or (number == 14 and given) for number, given in _fields(value)):
                raise ValueError("a node has numbers in another file")


def _read_tensor(data: memoryview) -> tuple[str, Stored]:
    name, shape, entries = "", [], {}
    for field, value in _fields(data):
        if field == 1:
            shape += [_number(value)] if isinstance(value, int) else list(_packed(value))
        elif field == 8 and isinstance(value, memoryview):
            name = bytes(value).decode()
        elif field == 13 and isinstance(value, memoryview):  # external_data: a key and a value
            entry = {key: bytes(text).decode() for key, text in _fields(value) if isinstance(text, memoryview)}
            entries[entry.get(1, "")] = entry.get(2, "")
    place = int(entries.get("offset", 0)), int(entries.get("length", 0))
    return name, Stored(tuple(shape), entries.get("location", ""), *place)


def _fields(data: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """The fields of a message, each with its number."""
    place = 0
    while place < len(data):
        key, place = _varint(data, place)
        kind = key & 7
        if kind == _VARINT:
            value, place = _varint(data, place)
            yield key >> 3, value
            continue
        if kind == _BYTES:
            size, place = _varint(data, place)
        elif kind in (_FIXED64, _FIXED32):
            size = 8 if kind == _FIXED64 else 4
        else:
            raise ValueError(f"there is no kind of field {kind}")
        if place + size > len(data):
            raise ValueError(f"it ends {place + size - len(data)} bytes too early")
        yield key >> 3, data[place : place + size]
        place += size


def _varint(data: memoryview, place: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, place
        shift += 7
        if shift > 63:
            raise ValueError("a number has too many bytes")


def _packed(data: memoryview) -> Iterator[int]:
    place = 0
    while place < len(data):
        value, place = _varint(data, place)
        yield value


def _number(value: int | memoryview) -> int:
    if not isinstance(value, int):
        raise ValueError("a number is not one")
    return value
