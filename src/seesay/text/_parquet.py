"""Reads the one column of words that the GloVe package keeps in a Parquet file.

A Parquet library is fifty megabytes to download, for one list of words. What that file uses of the format is little:
byte-array columns without nulls, plain or dictionary encoded, plain or Snappy compressed. Anything else is refused.
Formats: https://github.com/apache/parquet-format and https://github.com/google/snappy (format_description.txt).
"""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

_BYTE_ARRAY = 6
_UNCOMPRESSED, _SNAPPY = 0, 1
_DATA_PAGE, _DICTIONARY_PAGE = 0, 2
_PLAIN, _PLAIN_DICTIONARY, _RLE_DICTIONARY = 0, 2, 8

Struct = dict[int, Any]  # Thrift knows fields by number; the names stand in comments where they are read


def read_strings(path: Path) -> list[str]:
    """The values of the first column.

    Raises:
        ValueError: The file is damaged, or uses more of the format than this reader knows.
    """
    data = path.read_bytes()
    if len(data) < 12 or data[:4] != b"PAR1" or data[-4:] != b"PAR1":
        raise ValueError("not a Parquet file")
    try:
        footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
        metadata = _Thrift(data, footer).struct()
        column = metadata[2][1]  # schema: the root, then its columns
        if column[1] != _BYTE_ARRAY:  # type
            raise ValueError("the first column does not hold strings")
        is_optional = column.get(3, 0) != 0  # repetition_type
        values: list[bytes] = []
        for group in metadata[4]:  # row_groups
            values += _read_chunk(data, group[1][0][3], is_optional)  # columns, meta_data
    except (KeyError, IndexError, TypeError, MemoryError, RecursionError) as error:
        raise ValueError("the file is damaged") from error
    if len(values) != metadata[3]:  # num_rows
        raise ValueError(f"{len(values)} of {metadata[3]} rows could be read")
    return [value.decode() for value in values]


def _read_chunk(data: bytes, chunk: Struct, is_optional: bool) -> list[bytes]:
    n_values, codec = chunk[5], chunk[4]
    position = chunk[11] if 11 in chunk else chunk[9]  # dictionary_page_offset, data_page_offset
    dictionary: list[bytes] = []
    values: list[bytes] = []
    while len(values) < n_values:
        reader = _Thrift(data, position)
        header = reader.struct()
        position = reader.position + header[3]  # compressed_page_size
        page = data[reader.position : position]
        if codec == _SNAPPY:
            page = snappy_decompress(page)
        elif codec != _UNCOMPRESSED:
            raise ValueError(f"compression {codec} is not known")
        if len(page) != header[2]:  # uncompressed_page_size
            raise ValueError("a page has the wrong length")
        if header[1] == _DICTIONARY_PAGE:
            dictionary = _plain(page, header[7][1])
        elif header[1] == _DATA_PAGE:
            values += _data_page(page, header[5][1], header[5][2], dictionary, is_optional)  # num_values, encoding
        else:
            raise ValueError(f"page type {header[1]} is not known")
    return values


def _data_page(page: bytes, n_values: int, encoding: int, dictionary: list[bytes], is_optional: bool) -> list[bytes]:
    if is_optional:
        size = int.from_bytes(page[:4], "little")
        if not _hybrid(page[4 : 4 + size], 1, n_values).all():
            raise ValueError("the column has nulls")
        page = page[4 + size :]
    if encoding == _PLAIN:
        return _plain(page, n_values)
    if encoding in (_PLAIN_DICTIONARY, _RLE_DICTIONARY):
        return [dictionary[index] for index in _hybrid(page[1:], page[0], n_values).tolist()]
    raise ValueError(f"encoding {encoding} is not known")


def _plain(page: bytes, n_values: int) -> list[bytes]:
    values = []
    position = 0
    for _ in range(n_values):
        start = position + 4
        position = start + int.from_bytes(page[position:start], "little")
        if position > len(page):
            raise ValueError("a page ends in the middle of a value")
        values.append(page[start:position])
    return values


def _hybrid(page: bytes, width: int, n_values: int) -> npt.NDArray[np.int64]:
    """Runs of one number, or groups of eight numbers of `width` bits each."""
    numbers = np.empty(n_values, dtype=np.int64)
    n_bytes = (width + 7) // 8
    done = 0
    reader = _Thrift(page, 0)
    while done < n_values:
        header = reader.varint()
        start = reader.position
        if header & 1:
            end = start + (header >> 1) * width
            bits = np.unpackbits(np.frombuffer(page[start:end], dtype=np.uint8), bitorder="little")
            run = bits.reshape(-1, width) @ (1 << np.arange(width))
        else:
            end = start + n_bytes
            run = np.full(header >> 1, int.from_bytes(page[start:end], "little"))
        if end > len(page) or not len(run):
            raise ValueError("a page ends in the middle of a run")
        taken = run[: n_values - done]
        numbers[done : done + len(taken)] = taken
        done += len(taken)
        reader.position = end
    return numbers


def snappy_decompress(data: bytes) -> bytes:
    """Undo Snappy compression of one block."""
    reader = _Thrift(data, 0)
    size = reader.varint()
    position = reader.position
    out = bytearray()
    while position < len(data):
        tag = data[position]
        position += 1
        kind = tag & 3
        if kind == 0:
            length = (tag >> 2) + 1
            if length > 60:
                n_bytes = length - 60
                length = int.from_bytes(data[position : position + n_bytes], "little") + 1
                position += n_bytes
            out += data[position : position + length]
            position += length
            continue
        if kind == 1:
            length = ((tag >> 2) & 7) + 4
            offset = (tag >> 5) << 8 | data[position]
            position += 1
        else:
            n_bytes = 2 if kind == 2 else 4
            length = (tag >> 2) + 1
            offset = int.from_bytes(data[position : position + n_bytes], "little")
            position += n_bytes
        start = len(out) - offset
        if not offset or start < 0:
            raise ValueError("a copy reaches before the beginning")
        chunk = out[start : start + length]
        # A copy may overlap what it writes: it then repeats.
        out += chunk if len(chunk) == length else (bytes(chunk) * (length // offset + 1))[:length]
    if len(out) != size:
        raise ValueError("a block has the wrong length")
    return bytes(out)


class _Thrift:
    """A reader of Thrift's compact protocol."""

    def __init__(self, data: bytes, position: int) -> None:
        self.data = data
        self.position = position

    def varint(self) -> int:
        number = shift = 0
        while True:
            byte = self.data[self.position]
            self.position += 1
            number |= (byte & 0x7F) << shift
            if byte < 0x80:
                return number
            shift += 7

    def _integer(self) -> int:
        number = self.varint()
        return number >> 1 ^ -(number & 1)

    def struct(self) -> Struct:
        fields: Struct = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._integer()
            fields[number] = self._value(head & 15)
        return fields

    def _byte(self) -> int:
        self.position += 1
        return self.data[self.position - 1]

    def _value(self, kind: int) -> Any:
        if kind in (1, 2):
            return kind == 1
        if kind in (3, 4, 5, 6):
            return self._integer()
        if kind == 8:
            size = self.varint()
            self.position += size
            return self.data[self.position - size : self.position]
        if kind in (9, 10):
            head = self._byte()
            size = head >> 4 if head >> 4 < 15 else self.varint()
            return [self._value(head & 15) for _ in range(size)]
        if kind == 12:
            return self.struct()
        raise ValueError(f"Thrift type {kind} is not known")
