"""Several indexers, whatever happens to them, make the library that one would have made."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from seesay.library.library import Library
from seesay.library.stores.sql import SqlStore
from seesay.library.types import Counts, File

pytest.importorskip("psycopg", reason="needs the extra [postgres]")

from seesay.library.stores.postgres import PostgresStore

Everything = Callable[[SqlStore], dict[str, Any]]
N_PHOTOS = 40


@pytest.fixture
def place(postgres_url: str) -> str:
    return postgres_url


def test_two_indexers_a_killed_one_and_a_restarted_server_make_the_library_of_one(
    place: str, restart_postgres: Callable[[], None], tmp_path: Path, toy: ModuleType, everything_in: Everything
) -> None:
    folder = tmp_path / "photos"
    folder.mkdir()
    for number in range(N_PHOTOS):
        toy.draw(folder / f"{number:02}.png", number % 30)
    (folder / "broken.jpg").write_bytes(b"\xff\xd8\xff")

    def open_library(location: Path | str) -> Library:
        return Library(location, encoder=toy.ColourEncoder(), stages=[toy.Corners(toy.BLEND)])

    with open_library(tmp_path / "alone") as alone:
        alone.index(folder, workers=1)
        assert isinstance(alone.store, SqlStore)
        expected = everything_in(alone.store)
    program = [sys.executable, str(Path(__file__).parents[1] / "toy.py"), "hang", "-", str(folder)]
    doomed = subprocess.Popen(
        program, env=os.environ | {"SEESAY_LIBRARY": place}, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert doomed.stdout is not None
    assert doomed.stdout.readline() == b"at hand\n"
    with open_library(place) as first, open_library(place) as second:
        assert isinstance(first.store, PostgresStore)
        events = []

        def disturb(done: int, total: int) -> None:
            if done >= 4 and not events:
                doomed.kill()
                doomed.wait()
                events.append("killed")
                events.append(second.index(folder, workers=1))
            if done >= 12 and len(events) == 2:
                events.append("restarted")
                restart_postgres()

        report = first.index(folder, workers=2, on_progress=disturb)
        assert events[0] == "killed"
        restart_postgres()
        assert everything_in(first.store) == expected
        assert first.store.waiting(folder) == []
        assert first.index(folder).n_added == 0
        assert report.n_added + events[1].n_added >= N_PHOTOS
    doomed.stdout.close()
    assert doomed.stdin is not None
    doomed.stdin.close()


def test_what_another_indexer_left_in_the_queue_is_done_or_let_go(place: str, tmp_path: Path, toy: ModuleType) -> None:
    here, gone = toy.draw(tmp_path / "here.png", 1), tmp_path / "gone.png"
    with Library(place, encoder=toy.ColourEncoder()) as library:
        assert isinstance(library.store, PostgresStore)
        library.index(tmp_path)
        library.store.enqueue([File(os.fsencode(path), 1, 1) for path in (here, gone)])
        done = library.index(tmp_path)
        assert library.store.waiting(tmp_path) == []
        assert (done.n_changed, done.failures) == (1, [])
        assert library.store.counts() == Counts(1, 1, 0)
