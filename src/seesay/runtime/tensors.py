"""Where the tensors of a safetensors file lie, and the tensors themselves without reading the file."""

import math
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seesay.errors import SeesayError
from seesay.system.reading import open_regular, parse_json

_TYPES = {
    "F16": np.float16, "F32": np.float32, "F64": np.float64, "I64": np.int64, "I32": np.int32, "I8": np.int8,
    "U8": np.uint8,
}  # fmt: skip
_LONGEST_HEADER = 100 << 20  # as the format's own reader allows
_MOST_AXES = 32  # as NumPy allows


@dataclass(frozen=True)
class Place:
    """A tensor in a file: its type, its shape, and its bytes from `offset` on."""

    dtype: Any
    shape: tuple[int, ...]
    offset: int

    @property
    def length(self) -> int:
        return math.prod(self.shape) * int(np.dtype(self.dtype).itemsize)


def read_places(path: Path) -> dict[str, Place]:
    """The tensors of a safetensors file, of which the header alone is read.

    Raises:
        SeesayError: The file cannot be read, is truncated or is something else.
    """
    try:
        size = path.stat().st_size
        with open_regular(path) as file:
            (n_header,) = struct.unpack("<Q", file.read(8))
            if n_header > min(size, _LONGEST_HEADER):
                raise ValueError("its header is longer than the file")
            header = parse_json(file.read(n_header))
        places = {}
        for name, entry in header.items():
            if name == "__metadata__":
                continue
            (start, end), shape = entry["data_offsets"], entry["shape"]
            if not all(type(number) is int and number >= 0 for number in (start, end, *shape[: _MOST_AXES + 1])):
                raise ValueError(f"{name} has no whole numbers for a shape or a place")
            if len(shape) > _MOST_AXES:
                raise ValueError(f"{name} has {len(shape)} axes")
            place = Place(_TYPES[entry["dtype"]], tuple(shape), 8 + n_header + start)
            if place.length != end - start or place.offset + place.length > size:
                raise ValueError(f"{name} reaches beyond the file, or is not of its shape")
            places[name] = place
    except OSError as error:
        raise SeesayError(f"cannot read the weights {path}: {error.strerror or error}") from error
    except (ValueError, KeyError, TypeError, AttributeError, struct.error) as error:
        raise SeesayError(f"the weights {path} are damaged or truncated: {error}") from error
    return places


def map_tensor(path: Path, place: Place) -> NDArray[Any]:
    """A tensor of a file, read by the system where it is looked at."""
    if place.shape:
        return np.memmap(path, place.dtype, "r", place.offset, place.shape)
    return np.fromfile(path, place.dtype, 1, offset=place.offset).reshape(())


def read_tensors(path: Path, start: str = "") -> dict[str, NDArray[Any]]:
    """All tensors of a file whose names start so, read by the system where they are looked at."""
    places = read_places(path)
    whole = np.memmap(path, np.uint8, "r")
    return {
        name: whole[place.offset : place.offset + place.length].view(np.ndarray).view(place.dtype).reshape(place.shape)
        for name, place in places.items()
        if name.startswith(start)
    }
