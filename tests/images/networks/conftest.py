"""TFLite files written by the `flatbuffers` package, as an oracle for the reader."""

from collections.abc import Callable, Sequence
from pathlib import Path

import flatbuffers
import numpy as np
import pytest
from numpy.typing import NDArray

Stored = tuple[NDArray[np.int8] | NDArray[np.int32], NDArray[np.float32], int]
"""Stored numbers, their scales, and the axis that these belong to."""
Write = Callable[[Path, Sequence[tuple[int, Stored, Stored]]], Path]
TYPES = {np.dtype(np.int8): 9, np.dtype(np.int32): 2}


def _offsets(builder: flatbuffers.Builder, offsets: Sequence[int]) -> int:
    builder.StartVector(4, len(offsets), 4)
    for offset in reversed(offsets):
        builder.PrependUOffsetTRelative(offset)
    return int(builder.EndVector())


def _table(builder: flatbuffers.Builder, offsets: dict[int, int], **numbers: tuple[int, int]) -> int:
    """A table from offsets by field, and numbers as kind → (field, value)."""
    builder.StartObject(8)
    for field, offset in offsets.items():
        builder.PrependUOffsetTRelativeSlot(field, offset, 0)
    for kind, (field, value) in numbers.items():
        getattr(builder, f"Prepend{kind}Slot")(field, value, 0)
    return int(builder.EndObject())


def _write(path: Path, layers: Sequence[tuple[int, Stored, Stored]]) -> Path:
    builder = flatbuffers.Builder(1024)
    buffers, tensors, steps = [_table(builder, {})], [], []
    tensors.append(_table(builder, {0: builder.CreateNumpyVector(np.array([1], np.int32))}))  # the input of all layers
    for number, (_, *parts) in enumerate(layers):
        for values, scale, axis in parts:
            data = builder.CreateNumpyVector(np.frombuffer(values.tobytes(), np.uint8))
            zeros = builder.CreateNumpyVector(np.zeros(len(scale), np.int64))
            quantisation = _table(builder, {2: builder.CreateNumpyVector(scale), 3: zeros}, Int32=(6, axis))
            shape = builder.CreateNumpyVector(np.array(values.shape, np.int32))
            buffers.append(_table(builder, {0: data}))
            kinds = {"Int8": (1, TYPES[values.dtype]), "Uint32": (2, len(buffers) - 1)}
            tensors.append(_table(builder, {0: shape, 4: quantisation}, **kinds))
        inputs = builder.CreateNumpyVector(np.array([0, len(tensors) - 2, len(tensors) - 1], np.int32))
        steps.append(_table(builder, {1: inputs}, Uint32=(0, number)))
    codes = [_table(builder, {}, Int8=(0, operator)) for operator, *_ in layers]
    graph = _table(builder, {0: _offsets(builder, tensors), 3: _offsets(builder, steps)})
    fields = {1: _offsets(builder, codes), 2: _offsets(builder, [graph]), 4: _offsets(builder, buffers)}
    builder.Finish(_table(builder, fields, Uint32=(0, 3)), b"TFL3")
    path.write_bytes(builder.Output())
    return path


@pytest.fixture
def write_tflite() -> Write:
    """Writes layers, each as its operator's number, weights and biases, into a TFLite file."""
    return _write
