"""A library on a server answers as one in a folder does."""

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from seesay.errors import SeesayError
from seesay.library.library import Library
from seesay.library.stores.sql import SqlStore
from seesay.library.stores.sqlite import SqliteStore
from seesay.library.types import Batch, Content, Counts, File, Filter, Fingerprint, Hit

pytest.importorskip("psycopg", reason="needs the extra [postgres]")

from seesay.library.stores.postgres import PostgresStore


@pytest.fixture
def place(postgres_url: str) -> str:
    return postgres_url


def unit_rows(n: int, dim: int, seed: int = 0) -> np.ndarray:
    rows = np.random.default_rng(seed).normal(size=(n, dim)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def fill(store: SqlStore, rows: np.ndarray) -> None:
    """A photo for each row, in folders by its last digit, every third one with a tag."""
    store.start(Fingerprint("toy", "1", "none", rows.shape[1]))
    for start in range(0, len(rows), 500):
        batch = Batch()
        for number in range(start, min(start + 500, len(rows))):
            tags = ((7, 0.5),) if number % 3 == 0 else ()
            taken = f"20{number % 20:02}-01-01T00:00:00"
            batch.contents.append(Content(str(number), 4, 3, taken, None, rows[number].astype(np.float16), b"", tags))
            batch.photos.append((File(f"/{number % 10}/{number}.jpg".encode(), 1, 1), str(number)))
        assert store.write(batch) == []


def ids_of(store: SqlStore) -> dict[str, int]:
    return dict(store._rows("SELECT digest, id FROM contents"))


def told(hits: list[Hit]) -> list[tuple[list[Path], float]]:
    return [([photo.path for photo in hit.photos], round(hit.cosine, 5)) for hit in hits]


@pytest.mark.parametrize(
    "where",
    [Filter(), Filter(folders=(Path("/3"),)), Filter(within="7"), Filter(after="2015"), Filter(classes=(7,)),
     Filter(during="2004", classes=(7,))],
)  # fmt: skip
def test_exact_search_answers_as_sqlite_does(place: str, tmp_path: Path, where: Filter) -> None:
    rows = unit_rows(400, 24)
    ours, theirs = PostgresStore(place, search="exact"), SqliteStore(tmp_path / "sqlite")
    fill(ours, rows)
    fill(theirs, rows)
    for query in unit_rows(5, 24, seed=1):
        for worth in ({}, {str(number): 0.3 - number / 500 for number in range(0, 400, 7)}):
            hits, expected = (
                store.nearest(query, 12, where, {ids[digest]: more for digest, more in worth.items()})
                for store, ids in ((ours, ids_of(ours)), (theirs, ids_of(theirs)))
            )
            assert told(hits) == told(expected)
            assert len(hits) == 12 or where.during
    ours.close()


def test_a_library_is_searched_in_two_stages_as_one_in_a_folder_is(
    place: str, tmp_path: Path, toy: ModuleType, everything_in: Callable[[SqlStore], dict[str, Any]]
) -> None:
    folder = tmp_path / "photos"
    folder.mkdir()
    for number in range(30):
        toy.draw(folder / f"{number:02}.png", number)
    found = []
    for location in (place, tmp_path / "sqlite"):
        with Library(location, encoder=toy.ColourEncoder(), stages=[toy.Corners(toy.BLEND)]) as library:
            library.index(folder, workers=1)
            assert library.status().stages == {"regions": "corners"}
            results = [*library.search("red green", minus=["blue"]), *library.search_regions("white")]
            assert isinstance(library.store, SqlStore)
            told = [(result.path.name, round(result.score, 5), result.box) for result in results]
            found.append((told, everything_in(library.store)))
    assert found[0] == found[1]
    assert found[0][0][-1][-1] is not None


def test_the_index_finds_what_comparing_every_vector_finds(place: str, shared_data: Path) -> None:
    """On vectors that a model made: those of sentences, which cost less to make than those of photos."""
    from seesay import data
    from seesay.models.pretrained import load

    items = data.load("flickr8k").split("test").items
    encoded = load("vse").encode_texts([item.sentences[row] for row in (0, 1) for item in items[:600]])
    vectors, queries = encoded.detach().numpy().reshape(2, 600, -1)
    store, exact = PostgresStore(place), PostgresStore(place, search="exact")
    fill(store, vectors)
    store.index.build()
    n_same = 0
    for query in queries[::15]:
        found, expected = (
            {hit.photos[0].content for hit in one.nearest(query, 10, Filter())} for one in (store, exact)
        )
        n_same += len(found & expected)
    assert n_same / (10 * len(queries[::15])) >= 0.98
    store.close()
    exact.close()


def test_a_filter_that_the_best_of_the_index_do_not_pass_is_compared_instead(place: str) -> None:
    rows = unit_rows(600, 8).astype(np.float16).astype(np.float32)
    store = PostgresStore(place)
    fill(store, rows)
    store.index.build()
    query = rows[5]
    hits = store.nearest(query, 30, Filter(folders=(Path("/4"),)))
    expected = sorted(range(4, 600, 10), key=lambda number: -float(rows[number] @ query))[:30]
    assert [int(hit.photos[0].path.stem) for hit in hits] == expected
    store.close()


def test_an_index_is_made_once_a_library_is_large(
    place: str, tmp_path: Path, toy: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("seesay.library.stores.postgres.store.EXACT_UP_TO", 5)
    with Library(place, encoder=toy.ColourEncoder()) as library:
        assert isinstance(library.store, PostgresStore)
        for number in range(6):
            assert not library.store._asks_index(10)
            toy.draw(tmp_path / f"{number}.png", number)
            library.index(tmp_path)
        assert library.store._asks_index(10)
        assert not library.store._asks_index(5000)  # more than the index gives
        toy.draw(tmp_path / "later.png", 9)
        library.index(tmp_path)
        assert len(library.search("red", top=99)) == 7
        library.rebuild()
        assert library.store._asks_index(10)


def test_two_who_begin_at_once_begin_one_library(place: str) -> None:
    first, second = PostgresStore(place), PostgresStore(place)
    first.start(Fingerprint("toy", "1", "none", 3), only_if_empty=True)
    first.write(Batch([Content("a", 4, 3, None, None, np.ones(3, np.float16), b"")], [(File(b"/a", 1, 1), "a")]))
    second.start(Fingerprint("toy", "2", "none", 5), only_if_empty=True)
    assert second.fingerprint() == Fingerprint("toy", "1", "none", 3)
    assert second.counts() == Counts(1, 1, 0)
    first.close()
    second.close()


def test_texts_that_a_server_cannot_keep_are_kept_without_the_odd_part(place: str) -> None:
    store = PostgresStore(place)
    store.start(Fingerprint("toy", "1", "none", 3))
    odd = Content("a", 4, 3, None, "Ca\0non \udce9", np.ones(3, np.float16), b"")
    store.write(Batch([odd], [(File(b"/caf\xe9\n.jpg", 1, 1), "a")]))
    assert store.latest(1, Filter())[0].camera == "Ca\N{REPLACEMENT CHARACTER}non ?"
    store.close()


@pytest.mark.parametrize("together", [False, True])
def test_the_right_to_write_is_free_as_soon_as_it_is_given_back(postgres_url: str, together: bool) -> None:
    store = PostgresStore(postgres_url)
    held = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"
    for _ in range(20):
        with store.writing(together=together):
            assert store._rows(held) == [(1,)]
        assert store._rows(held) == [(0,)]
    store.close()


def test_vectors_that_pgvector_cannot_keep_are_refused_before_anything_is_dropped(postgres_url: str) -> None:
    store = PostgresStore(postgres_url)
    store.start(Fingerprint("toy", "1", "none", 3))
    with pytest.raises(SeesayError, match=r"wide makes vectors of 16,001 numbers\n  allowed: up to 16,000 in pgvector"):
        store.start(Fingerprint("wide", "1", "none", 16_001))
    held = store.fingerprint()
    assert held is not None
    assert held.model == "toy"
    store.close()
