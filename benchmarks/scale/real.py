"""What a library of real photos holds, as arrays: the vectors that all measurements of search start from."""

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from seesay import data
from seesay.library.encoder import WeightsEncoder
from seesay.library.library import DEFAULT_MODEL
from seesay.library.stores.database import FILE

Floats = NDArray[np.float32]
N_SENTENCES = 100


@dataclass(frozen=True)
class Real:
    """Photos of a library.

    Attributes:
        ids: (N,) of their contents.
        vectors: (N, D) unit vectors.
        paths: (N,) one for each content.
        tags: Rows of class, content, probability.
    """

    ids: NDArray[np.int64]
    vectors: Floats
    paths: list[bytes]
    tags: list[tuple[int, int, float]]

    def __len__(self) -> int:
        return len(self.ids)


def read_real(library: Path, at_most: int | None = None) -> Real:
    """The photos of a SQLite library, or a sample of them spread evenly over it."""
    with closing(sqlite3.connect(f"file:{library / FILE}?mode=ro", uri=True)) as connection:
        rows = connection.execute(
            "SELECT content, vector, min(path) FROM vectors JOIN photos USING (content) "
            "GROUP BY content ORDER BY content"
        ).fetchall()
        tags = connection.execute("SELECT class, content, probability FROM tags").fetchall()
    if at_most is not None and at_most < len(rows):
        rows = [rows[place] for place in np.linspace(0, len(rows) - 1, at_most).astype(int)]
    ids = np.array([row[0] for row in rows], np.int64)
    halves = np.frombuffer(b"".join(row[1] for row in rows), np.float16).reshape(len(rows), -1)
    vectors = halves.astype(np.float32)
    kept = set(ids.tolist())
    return Real(ids, vectors, [bytes(row[2]) for row in rows], [tag for tag in tags if tag[1] in kept])


def sentence_vectors(n: int = N_SENTENCES) -> Floats:
    """Unit vectors of captions of Flickr8K's test photos, one a photo, as search reads them: (n, D)."""
    items = data.load("flickr8k").split("test").items
    encoder = WeightsEncoder(DEFAULT_MODEL)
    texts = [item.sentences[0] for item in items[:: max(1, len(items) // n)]][:n]
    rows = np.stack([encoder.encode_text(text) for text in texts])
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)
