"""The library keeps up with its folders while the page is open."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from seesay.library.library import Library
from seesay.web.indexing import Indexer


@pytest.fixture
def watch() -> Iterator[Callable[..., Indexer]]:
    """Start an indexer that has been through the folders once."""
    indexers: list[Indexer] = []

    def start(library: Library, folders: tuple[Path, ...] = ()) -> Indexer:
        indexer = Indexer(library, folders, workers=1)
        indexers.append(indexer)
        indexer.start()
        assert indexer.wait(1, 60)
        return indexer

    yield start
    for indexer in indexers:
        indexer.close()


def test_folders_that_are_given_are_indexed_at_the_start(
    tmp_path: Path, toy: ModuleType, photos: Path, watch: Callable[..., Indexer]
) -> None:
    library = Library(tmp_path / "fresh", encoder=toy.ColourEncoder())
    at = watch(library, (photos,)).progress
    assert (at.state, at.n_added, at.problems) == ("idle", 4, ())
    assert library.status().counts.photos == 4


def test_memory_is_given_back_after_photos_were_indexed_and_only_then(
    tmp_path: Path, toy: ModuleType, photos: Path, watch: Callable[..., Indexer], monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[str] = []
    monkeypatch.setattr("seesay.web.indexing.give_back_memory", lambda: given.append("back"))
    indexer = watch(Library(tmp_path / "fresh", encoder=toy.ColourEncoder()), (photos,))
    indexer.ask()
    assert indexer.wait(2, 60)
    assert given == ["back"]


def test_asked_again_it_finds_what_has_come(
    library: Library, photos: Path, toy: ModuleType, watch: Callable[..., Indexer]
) -> None:
    indexer = watch(library)
    assert indexer.progress.n_added == 0
    toy.draw(photos / "fresh.png", 7)
    indexer.ask()
    assert indexer.wait(2, 60)
    assert indexer.progress.n_added == 1


def test_every_so_often_it_looks_by_itself(library: Library) -> None:
    indexer = Indexer(library, every=0.01, workers=1)
    indexer.start()
    assert indexer.wait(3, 60)
    indexer.close()


def test_a_folder_that_is_away_is_told_and_does_not_stop_the_others(
    library: Library, photos: Path, tmp_path: Path, toy: ModuleType, watch: Callable[..., Indexer]
) -> None:
    (tmp_path / "away").mkdir()
    toy.draw(tmp_path / "away" / "a.png", 1)
    library.index(tmp_path / "away", workers=1)
    (tmp_path / "away").rename(tmp_path / "elsewhere")
    toy.draw(photos / "fresh.png", 2)
    at = watch(library).progress
    assert at.n_added == 1
    assert len(at.problems) == 1
    assert "away" in at.problems[0]


def test_an_error_that_nobody_expected_is_told_and_the_next_time_works(
    library: Library, watch: Callable[..., Indexer], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(library, "folders", lambda: 1 / 0)
        indexer = watch(library)
    assert indexer.progress.problems == ("indexing has failed: division by zero",)
    assert indexer.progress.state == "idle"
    indexer.ask()
    assert indexer.wait(2, 60)
    assert indexer.progress.problems == ()


def test_closing_ends_an_index_run_in_the_middle(
    tmp_path: Path, toy: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(40):
        toy.draw(folder / f"{number}.png", number)
    encoder = toy.ColourEncoder()
    began, go_on = threading.Event(), threading.Event()
    encode = encoder.encode_photos

    def held_up(images: Any) -> Any:
        began.set()
        assert go_on.wait(60)
        return encode(images)

    monkeypatch.setattr(encoder, "encode_photos", held_up)
    library = Library(tmp_path / "fresh", encoder=encoder)
    indexer = Indexer(library, (folder,), workers=1)
    indexer.start()
    assert began.wait(60)
    closing = threading.Thread(target=indexer.close)
    closing.start()
    while not indexer._ends:
        pass
    go_on.set()
    closing.join(60)
    assert 0 < library.status().counts.photos < 40
    monkeypatch.setattr(encoder, "encode_photos", encode)
    assert library.index(folder, workers=1).n_found == 40  # nobody holds the right to write any more
    assert library.status().counts.photos == 40
