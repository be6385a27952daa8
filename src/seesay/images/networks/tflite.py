"""The layers of an 8-bit TFLite file as arrays: a reader of the few parts of the format that weights need.

A TFLite file is one flatbuffer: tables whose fields are found through offsets, and vectors of numbers. Nothing in it is
executed. The field numbers here are those of TensorFlow's `schema.fbs`. Weights are stored as int8 with a scale for
each output channel, biases as int32; both become float32 (`scale · (stored − zero point)`). Batch norm was folded into
them before the file was written.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seesay.errors import SeesayError
from seesay.system.reading import open_regular

LARGEST = 100_000_000
"""Bytes of a file that is read."""
CONVOLUTION, DEPTHWISE, LINEAR = "convolution", "depthwise convolution", "linear layer"
_LAYERS = {3: CONVOLUTION, 4: DEPTHWISE, 9: LINEAR}  # by number of the operator
_NUMBERS = {2: "<i4", 9: "<i1"}  # by number of the tensor's type
_AXES = {CONVOLUTION: (0, 3, 1, 2), DEPTHWISE: (3, 0, 1, 2), LINEAR: (0, 1)}
"""From TFLite's axes to torch's: (out, h, w, in), (1, h, w, out) and (out, in) to (out, in, h, w) and (out, in)."""


@dataclass(frozen=True)
class Layer:
    """One layer with its weights, in torch's order of axes.

    Attributes:
        kind: `CONVOLUTION`, `DEPTHWISE` or `LINEAR`.
        weight: (out, in, h, w), or (out, in) of a linear layer.
        bias: (out,).
    """

    kind: str
    weight: NDArray[np.float32]
    bias: NDArray[np.float32]


def read_layers(path: Path) -> list[Layer]:
    """The convolutions and linear layers of a file in the order in which they are computed.

    Raises:
        SeesayError: It cannot be read, or is not a whole TFLite file with 8-bit weights.
    """
    try:
        with open_regular(path, LARGEST) as file:
            data = file.read()
    except OSError as error:
        raise SeesayError(f"cannot read {path}: {error.strerror or error}") from error
    try:
        if data[4:8] != b"TFL3":
            raise ValueError("it does not begin as one")
        return list(_layers(_Table(data, *struct.unpack_from("<I", data))))
    except (struct.error, ValueError, IndexError, KeyError, OverflowError) as error:
        raise SeesayError(f"{path} is not a whole TFLite file with 8-bit weights: {error}") from error


@dataclass(frozen=True)
class _Table:
    """A table of a flatbuffer: its fields by their numbers in the schema."""

    data: bytes
    at: int

    def number(self, field: int, kind: str = "i", default: int = 0) -> int:
        """A field that is a number of a kind of `struct`."""
        place = self._place(field)
        return self._read(kind, place) if place else default

    def table(self, field: int) -> "_Table":
        """A field that is a table."""
        return _Table(self.data, self._target(self._required(field)))

    def tables(self, field: int) -> list["_Table"]:
        """A field that is a vector of tables."""
        start, n = self._vector(field)
        return [_Table(self.data, self._target(start + 4 * i)) for i in range(n)]

    def array(self, field: int, kind: str) -> NDArray[Any]:
        """A field that is a vector of numbers of a NumPy kind; an absent one is empty."""
        if not self._place(field):
            return np.zeros(0, kind)
        start, n = self._vector(field)
        dtype = np.dtype(kind)
        return np.frombuffer(self.data, np.uint8, n * dtype.itemsize, start).view(dtype)

    def _place(self, field: int) -> int:
        """Where a field lies; 0 for one that is absent."""
        layout = self.at - self._read("i", self.at)
        size = self._read("H", layout)
        offset = self._read("H", layout + 4 + 2 * field) if 4 + 2 * field < size else 0
        return self.at + offset if offset else 0

    def _required(self, field: int) -> int:
        if not (place := self._place(field)):
            raise ValueError(f"field {field} of a table is absent")
        return place

    def _vector(self, field: int) -> tuple[int, int]:
        start = self._target(self._required(field))
        n = self._read("I", start)
        if n > len(self.data):
            raise ValueError(f"a vector of {n} parts")
        return start + 4, n

    def _target(self, place: int) -> int:
        """Where an offset points to."""
        return place + self._read("I", place)

    def _read(self, kind: str, place: int) -> int:
        if place < 0:  # which Python would count from the end
            raise ValueError("an offset before the beginning")
        found: int = struct.unpack_from(f"<{kind}", self.data, place)[0]
        return found


def _layers(model: _Table) -> Iterator[Layer]:
    # An operator's number outgrew one byte: old files fill field 0 only, new ones field 3, the larger one counts.
    operators = [max(code.number(0, "b"), code.number(3)) for code in model.tables(1)]
    graph, buffers = model.tables(2)[0], model.tables(4)
    tensors = graph.tables(0)
    for step in graph.tables(3):
        kind = _LAYERS.get(operators[step.number(0, "I")])
        if kind is None:
            continue
        _, weight, bias = (_part(tensors, int(place)) for place in step.array(1, "<i4"))
        values = _dequantise(weight, buffers)
        if values.ndim != len(_AXES[kind]):
            raise ValueError(f"a {kind} with weights of shape {values.shape}")
        yield Layer(kind, np.ascontiguousarray(values.transpose(_AXES[kind])), _dequantise(bias, buffers))


def _part(parts: list[_Table], place: int) -> _Table:
    if place < 0:
        raise ValueError("an operator without one of its inputs")
    return parts[place]


def _dequantise(tensor: _Table, buffers: list[_Table]) -> NDArray[np.float32]:
    """The real numbers that a tensor's stored ones stand for."""
    kind = tensor.number(1, "b")
    if kind not in _NUMBERS:
        raise ValueError(f"numbers of type {kind} where weights have 8 bits and biases 32")
    shape = tensor.array(0, "<i4")
    stored = buffers[tensor.number(2, "I")].array(0, "<u1").view(_NUMBERS[kind]).reshape(shape)
    steps = tensor.table(4)
    scale, zero, axis = steps.array(2, "<f4"), steps.array(3, "<i8"), steps.number(6)
    if not 0 <= axis < stored.ndim or len(scale) not in (1, stored.shape[axis]) or len(zero) != len(scale):
        raise ValueError(f"{len(scale)} scales for numbers of shape {stored.shape}")
    along = [-1 if place == axis else 1 for place in range(stored.ndim)]
    values: NDArray[np.float32] = (stored - zero.reshape(along)).astype(np.float32) * scale.reshape(along)
    return values
