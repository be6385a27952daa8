"""A library of photos in object storage."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from seesay.library.indexing.places import exists
from seesay.library.library import Library
from seesay.library.ranking.likeness import ChangedError, read_photo
from seesay.library.types import Counts, Folder
from seesay.system import remote
from seesay.system.remote import UnreachableError

Open = Callable[..., Library]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "library"


@pytest.fixture
def stored(bucket: SimpleNamespace, photos: Path) -> str:
    """The address of a folder with the photos of `photos`."""
    for path in photos.rglob("*.*"):
        remote.write(remote.as_path(f"{bucket.url}/photos") / path.relative_to(photos), path.read_bytes())
    return f"{bucket.url}/photos"


def test_a_bucket_is_indexed_and_searched_like_a_folder(stored: str, photos: Path, open_library: Open) -> None:
    library = open_library()
    assert library.index(stored, workers=2).n_added == 4
    assert library.folders() == [Folder(remote.as_path(stored))]
    (best,) = library.search("red", top=1)
    assert best.path == remote.as_path(f"{stored}/red.png")
    assert library.index(stored).n_added == 0
    assert [result.path.name for result in library.search("blue", top=1, folders=[f"{stored}/2019"])] == ["blue.jpg"]
    assert read_photo(best.photo) == (photos / "red.png").read_bytes()
    assert library.status().folders[0][1] == Counts(4, 4, 0)
    assert library.index(photos).n_encoded == 0  # the same contents on a disk


def test_what_changes_in_a_bucket_changes_in_the_library(
    stored: str, photos: Path, open_library: Open, bucket: SimpleNamespace
) -> None:
    library = open_library()
    library.index(stored, exclude=["2019/"])
    assert library.store.counts() == Counts(2, 2, 0)
    (best,) = library.search("red", top=1)
    bucket.files.rm(f"{stored}/red.png")
    remote.write(remote.as_path(stored) / "broken.jpg", b"")
    remote.write(remote.as_path(stored) / ".hidden.png", (photos / "red.png").read_bytes())
    done = library.index(stored)
    assert (done.n_removed, [failure.reason for failure in done.failures]) == (1, ["it is empty (0 bytes)"])
    assert library.store.counts() == Counts(1, 1, 1)
    with pytest.raises(ChangedError, match=r"red.png cannot be opened"):
        read_photo(best.photo)


def test_a_bucket_that_goes_away_stops_the_indexing_and_no_photo_counts_as_unusable(
    stored: str, open_library: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = open_library()
    with monkeypatch.context() as patch:

        def fail(path: Path) -> bytes:
            raise UnreachableError("cannot reach it")

        patch.setattr(remote, "read", fail)
        with pytest.raises(UnreachableError):
            library.index(stored)
    assert library.store.counts() == Counts(0, 0, 0)
    assert library.index(stored).n_added == 4


def test_a_bucket_that_cannot_be_reached_is_said_and_is_away_for_the_rest(
    stored: str, open_library: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = open_library()
    library.index(stored)

    def fail(path: Path) -> bool:
        raise UnreachableError("cannot reach it")

    monkeypatch.setattr(remote, "exists", fail)
    with pytest.raises(UnreachableError):
        library.index(stored)
    assert not exists(remote.as_path(stored))  # as the status tells it
    assert library.rebuild() == {}  # as with a disk that is not there
    assert library.folders() == [Folder(remote.as_path(stored))]
