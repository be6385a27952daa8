"""Readers of word vectors in the layouts that GloVe and word2vec publish, gzipped or not.

| layout          | first line | then                                                |
| --------------- | ---------- | --------------------------------------------------- |
| GloVe text      |            | `word 0.1 0.2 ...`, one a line                      |
| word2vec text   | `n dim`    | the same                                            |
| word2vec binary | `n dim`    | word, space, `dim` little-endian floats, maybe `\\n` |

Bytes of a word that are not UTF-8 are replaced: published files hold a few, and no token equals such a word.
"""

import gzip
import io
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from seesay.errors import SeesayError
from seesay.system.reading import open_regular

Row = npt.NDArray[np.float32]

_PEEK = 1 << 18  # a line of a thousand numbers fits
_LONGEST_WORD = 1 << 12
_LONGEST_VECTOR = 1 << 16  # numbers; a line of so many has less than a megabyte
_LONGEST_LINE = 1 << 20
_DIGITS = 12  # of a number of words


def read_rows(path: Path) -> Iterator[tuple[str, Row]]:
    """Every word of a file with its vector, in the order of the file.

    Raises:
        SeesayError: The file cannot be read, or an entry is malformed; the message gives its number.
    """
    try:
        with _open(path) as file:
            header = _header(path, file)
            if header is None:
                yield from _text(path, file, first_line=1)
                return
            n_words, dim, is_binary = header
            n_read = 0
            for entry in _binary(path, file, n_words, dim) if is_binary else _text(path, file, 2, dim):
                n_read += 1
                yield entry
            if n_read != n_words:
                raise SeesayError(
                    f"{path} is cut off: it announces {n_words} words and has {n_read}", hint="download it again"
                )
    except (OSError, EOFError, zlib.error) as error:
        raise SeesayError(
            f"cannot read word vectors from {path}: {error}", hint="give a GloVe or word2vec file"
        ) from error


def _open(path: Path) -> io.BufferedReader:
    plain = open_regular(path)
    is_gzip = plain.read(2) == b"\x1f\x8b"
    plain.seek(0)
    if is_gzip:
        return io.BufferedReader(gzip.GzipFile(fileobj=plain), _PEEK)
    return plain


def _header(path: Path, file: io.BufferedReader) -> tuple[int, int, bool] | None:
    """The number of words, their dimension, and whether the vectors are binary; None where there is no header."""
    beginning = file.peek(_PEEK)
    line, _, rest = beginning.partition(b"\n")
    numbers = line.split()
    if len(numbers) != 2 or not all(number.isdigit() for number in numbers):
        return None
    if len(max(numbers, key=len)) > _DIGITS or not 1 <= int(numbers[1]) <= _LONGEST_VECTOR:
        raise _malformed(
            path, "line 1", "it announces what no file holds", f"vectors of 1 to {_LONGEST_VECTOR:,} numbers"
        )
    n_words, dim = map(int, numbers)
    file.read(len(line) + 1)
    return n_words, dim, n_words > 0 and not _is_vector(rest.partition(b"\n")[0].split(), dim)


def _is_vector(fields: list[bytes], dim: int) -> bool:
    try:
        return len(fields) > dim and bool(np.isfinite(np.array(fields[-dim:], dtype=np.float32)).all())
    except ValueError:
        return False


def _text(path: Path, file: BinaryIO, first_line: int, dim: int | None = None) -> Iterator[tuple[str, Row]]:
    for number, line in enumerate(iter(lambda: file.readline(_LONGEST_LINE + 1), b""), start=first_line):
        if len(line) > _LONGEST_LINE:  # a small packed file may hold one that never ends
            raise _malformed(path, f"line {number}", "it does not end", f"lines of up to {_LONGEST_LINE:,} bytes")
        if not line.strip():
            continue
        if dim is None:
            dim = len(line.split()) - 1
            if dim < 1:
                raise _malformed(path, f"line {number}", "it holds no numbers", "a word and its numbers")
        # From the right, because GloVe's web vectors have words with spaces in them.
        word, *numbers = line.rsplit(None, dim)
        expected = f"a word and {dim} numbers, separated by spaces"
        if len(numbers) != dim:
            raise _malformed(path, f"line {number}", f"it has {len(numbers)} numbers", expected)
        try:
            row = np.array(numbers, dtype=np.float32)
        except ValueError as error:
            raise _malformed(path, f"line {number}", "not everything after the word is a number", expected) from error
        if not np.isfinite(row).all():
            raise _malformed(path, f"line {number}", "a number is infinite or not a number", expected)
        yield word.strip().decode(errors="replace"), row


def _binary(path: Path, file: io.BufferedReader, n_words: int, dim: int) -> Iterator[tuple[str, Row]]:
    for number in range(1, n_words + 1):
        word = bytearray()
        while (char := file.read(1)) != b" ":
            if not char:
                if word.strip():
                    raise _malformed(path, f"word {number}", "the file ends within it", f"{dim} floats after each word")
                return
            word += char
            if len(word) > _LONGEST_WORD:
                raise _malformed(path, f"word {number}", "it does not end", f"a space after it and {dim} floats")
        if b"\n" in word.strip():
            raise _malformed(path, f"word {number}", "it holds a line break", f"a word, a space and {dim} floats")
        data = file.read(4 * dim)
        expected = f"{dim} finite floats after each word"
        if len(data) != 4 * dim:
            raise _malformed(path, f"word {number}", f"the file ends after {len(data) // 4} of its floats", expected)
        row = np.frombuffer(data, dtype="<f4").astype(np.float32)
        if not np.isfinite(row).all():
            raise _malformed(path, f"word {number}", "a number is infinite or not a number", expected)
        yield word.strip().decode(errors="replace"), row


def _malformed(path: Path, where: str, why: str, allowed: str) -> SeesayError:
    return SeesayError(f"{path}, {where}: {why}", allowed=allowed, hint="check that the file was downloaded whole")
