"""Vectors are kept and looked up as well as the server's pgvector can."""

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from seesay.library.stores.sql import SqlStore
from seesay.library.types import Batch, Content, File, Filter, Fingerprint

pytest.importorskip("psycopg", reason="needs the extra [postgres]")

from seesay.library.stores.postgres import PostgresStore, vectors

N, DIM = 3000, 24


@pytest.fixture(scope="session", params=["pgvector 0.6", "pgvector 0.8"])
def filled(request: pytest.FixtureRequest) -> tuple[str, np.ndarray]:
    """The address of a library of 3,000 photos in ten folders, with an index, on an older server and on a later one."""
    server: Any = request.getfixturevalue("older_postgres" if request.param.endswith("0.6") else "postgres")
    address = f"{server.get_uri()}&schema=test_{uuid.uuid4().hex}"
    rows = np.random.default_rng(0).normal(size=(N, DIM))
    rows = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float16)
    store = PostgresStore(address)
    fill(store, rows)
    store.index.build()
    store.close()
    return address, rows.astype(np.float32)


@pytest.fixture
def store(filled: tuple[str, np.ndarray]) -> Iterator[PostgresStore]:
    store = PostgresStore(filled[0])
    yield store
    store.close()


def fill(store: SqlStore, rows: np.ndarray) -> None:
    store.start(Fingerprint("toy", "1", "none", rows.shape[1]))
    for start in range(0, len(rows), 500):
        numbers = range(start, min(start + 500, len(rows)))
        contents = [Content(str(number), 4, 3, None, None, rows[number], b"") for number in numbers]
        photos = [
            (File(f"/{number % 10}/{number % 100}/{number}.jpg".encode(), 1, 1), str(number)) for number in numbers
        ]
        assert store.write(Batch(contents, photos)) == []


def best(rows: np.ndarray, query: np.ndarray, n: int, share: int = 1) -> list[int]:
    passing = range(0, len(rows), share)
    return sorted(passing, key=lambda number: -float(rows[number] @ query))[:n]


def found(store: PostgresStore, query: np.ndarray, n: int, where: Filter) -> list[int]:
    return [int(hit.photos[0].path.stem) for hit in store.nearest(query, n, where)]


def test_numbers_are_those_of_half_precision_on_every_server(
    store: PostgresStore, filled: tuple[str, np.ndarray]
) -> None:
    kept = store.vectors(store.contents(Filter(folders=(Path("/7/17"),))))
    assert {row.dtype for row in kept.values()} == {np.dtype(np.float32)}
    assert {row.tobytes() for row in kept.values()} == {filled[1][n].tobytes() for n in range(N) if n % 100 == 17}


def test_half_precision_takes_half_the_room_where_pgvector_knows_it(
    store: PostgresStore, request: pytest.FixtureRequest
) -> None:
    ((size,),) = store._rows("SELECT pg_column_size(vector) FROM vectors LIMIT 1")
    is_old = "0.6" in request.node.callspec.params["filled"]
    assert store.index.keeping == vectors.Keeping("vector" if is_old else "halfvec", scans_on=not is_old)
    width = 4 if is_old else 2
    assert width * DIM < size < width * DIM + 10
    assert [store.index.fits(dim) for dim in (2000, 2001, 4000, 4001)] == [True, not is_old, not is_old, False]


@pytest.mark.parametrize("folders", [(), (Path("/0"),)])
def test_the_best_by_the_index_are_the_best(
    store: PostgresStore, filled: tuple[str, np.ndarray], folders: tuple[Path, ...]
) -> None:
    queries = np.random.default_rng(1).normal(size=(20, DIM)).astype(np.float32)
    share = 10 if folders else 1
    n_right = sum(
        len(set(found(store, query, 10, Filter(folders=folders))) & set(best(filled[1], query, 10, share)))
        for query in queries
    )
    assert n_right >= 196


def test_a_scan_goes_on_until_enough_photos_pass_where_pgvector_can(
    store: PostgresStore, filled: tuple[str, np.ndarray]
) -> None:
    if not store.index.keeping.scans_on:
        pytest.skip("pgvector before 0.8 looks at the best of all photos only")
    rows = store.index.scan(filled[1][5], 60, ("mod(v.content, 10) = 0", []))
    assert [content % 10 for content, _ in rows] == 60 * [0]
    assert len(store.index.scan(filled[1][5], 60, ("mod(v.content, 100) = 0", []))) < 60


def test_a_filter_that_few_photos_pass_is_compared_photo_by_photo(
    store: PostgresStore, filled: tuple[str, np.ndarray]
) -> None:
    query = filled[1][5]
    assert (
        found(store, query, 5, Filter(folders=(Path("/7/77"),)))
        == sorted(range(77, N, 100), key=lambda number: -float(filled[1][number] @ query))[:5]
    )
