"""Folders that a library remembers, and weights that it insists on."""

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from seesay.errors import SeesayError
from seesay.library.indexing.places import library_place, resolve_folder
from seesay.library.library import Library
from seesay.library.stores.database import recover
from seesay.library.stores.sqlite import SqliteStore
from seesay.library.types import Counts, Folder
from seesay.system.locks import LockHeldError

Open = Callable[..., Library]


def names(library: Library) -> list[str]:
    return sorted(photo.path.name for photo in library.latest(99))


def test_folders_are_remembered_with_what_is_left_out(open_library: Open, photos: Path) -> None:
    open_library().index(photos, exclude=["*.jpg"])
    library = open_library()
    assert library.folders() == [Folder(photos, ("*.jpg",))]
    library.index(photos)
    assert names(library) == ["green.png", "red.png", "white.png"]
    library.index(photos, exclude=["2019/"])
    assert names(library) == ["green.png", "red.png"]
    library.index(photos, exclude=[])
    assert library.folders() == [Folder(photos)]
    assert len(names(library)) == 4


def test_a_folder_inside_an_indexed_one_is_brought_up_to_date_alone(library: Library, photos: Path) -> None:
    (photos / "red.png").unlink()
    (photos / "2019" / "blue.jpg").unlink()
    done = library.index(photos / "2019")
    assert (done.n_found, done.n_removed) == (1, 1)
    assert names(library) == ["green.png", "red.png", "white.png"]
    assert library.folders() == [Folder(photos)]
    with pytest.raises(SeesayError, match=r"which is indexed as a whole\n  try: seesay index .*/photos --exclude"):
        library.index(photos / "2019", exclude=["*.png"])


def test_a_folder_around_indexed_ones_takes_their_place(open_library: Open, photos: Path) -> None:
    library = open_library()
    library.index(photos / "2019", exclude=["*.jpg"])
    done = library.index(photos, exclude=["green*"])
    assert done.n_encoded == 1
    assert library.folders() == [Folder(photos, ("green*", "/2019/**/*.jpg"))]
    assert names(library) == ["red.png", "white.png"]


def test_a_folder_is_the_same_by_any_of_its_names(
    library: Library, photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "link").symlink_to(photos)
    monkeypatch.chdir(photos / "2019")
    for name in (tmp_path / "link", "..", photos / "2019" / ".."):
        assert library.index(name).n_added == 0
        assert len(library.search("red", folders=[name])) == 4
    assert library.folders() == [Folder(photos)]


def test_vectors_of_other_weights_are_refused_with_the_command_that_helps(
    library: Library, open_library: Open, photos: Path
) -> None:
    other = open_library("2")
    message = (
        r"was made with colours \(1, quarters\), not with colours \(2, quarters\)\n"
        "  try: seesay library rebuild --model colours"
    )
    with pytest.raises(SeesayError, match=message):
        other.search("red")
    with pytest.raises(SeesayError, match=message):
        other.index(photos)
    assert not other.status().agrees
    assert library.status().agrees


def test_a_rebuild_encodes_everything_with_the_other_weights(
    library: Library, open_library: Open, photos: Path
) -> None:
    other = open_library("2")
    done = other.rebuild()
    assert done[photos].n_encoded == 4
    assert other.status().fingerprint == other.encoder.fingerprint
    assert [result.path.name for result in other.search("red", top=1)] == ["red.png"]
    with pytest.raises(SeesayError, match="was made with"):
        library.search("red")


def test_a_rebuild_leaves_folders_that_are_away_for_later(library: Library, photos: Path) -> None:
    away = photos.with_name("away")
    photos.rename(away)
    assert library.rebuild() == {}
    assert library.folders() == [Folder(photos)]
    away.rename(photos)
    assert library.index(photos).n_encoded == 4


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_a_damaged_library_is_set_aside_and_made_again(library: Library, open_library: Open, photos: Path) -> None:
    library.close()
    place = Path(library.store.name)
    assert recover(place) is None
    (place / "library.db").write_bytes(b"rubbish" * 1000)
    for suffix in ("-wal", "-shm"):
        (place / f"library.db{suffix}").unlink(missing_ok=True)
    with pytest.raises(SeesayError, match="is damaged"):
        open_library()
    assert recover(place) == place / "library.db.damaged"
    again = open_library()
    assert again.rebuild([photos])[photos].n_encoded == 4


def test_forgetting_a_folder_removes_its_photos_and_no_file(library: Library, photos: Path) -> None:
    files = sorted(photos.rglob("*"))
    assert library.forget(photos) == 4
    assert library.status().counts == Counts(0, 0, 0)
    assert library.folders() == []
    assert sorted(photos.rglob("*")) == files


def test_a_forgotten_part_stays_out(library: Library, photos: Path) -> None:
    assert library.forget(photos / "2019") == 2
    assert library.folders() == [Folder(photos, ("/2019/",))]
    assert library.index(photos).n_added == 0
    assert names(library) == ["green.png", "red.png"]


def test_a_folder_that_is_gone_can_be_forgotten(library: Library, photos: Path) -> None:
    photos.rename(photos.with_name("elsewhere"))
    assert library.forget(photos) == 4


def test_only_what_is_known_can_be_forgotten(library: Library, tmp_path: Path, photos: Path) -> None:
    with pytest.raises(SeesayError, match=rf"knows nothing of .*other\n  allowed: {photos}"):
        library.forget(tmp_path / "other")


def test_while_somebody_writes_others_search_and_do_not_write(
    library: Library, open_library: Open, photos: Path
) -> None:
    other = open_library()
    with library.store.writing():
        assert len(other.search("red")) == 4
        for act in (lambda: other.index(photos), lambda: other.forget(photos), other.rebuild):
            with pytest.raises(LockHeldError, match="is being written by another seesay"):
                act()


def test_the_status_counts_by_folder(library: Library, photos: Path, tmp_path: Path, toy: ModuleType) -> None:
    (tmp_path / "more").mkdir()
    toy.draw(tmp_path / "more" / "a.png", 1)
    (tmp_path / "more" / "b.png").write_bytes(b"")
    library.index(tmp_path / "more")
    status = library.status()
    assert status.counts == Counts(5, 5, 1)
    assert status.folders == (
        (Folder(tmp_path / "more"), Counts(1, 1, 1)),
        (Folder(photos), Counts(4, 4, 0)),
    )
    assert [failure.path.name for failure in library.failures([tmp_path / "more"])] == ["b.png"]
    assert library.failures([photos]) == []


def test_an_empty_library_finds_nothing(open_library: Open) -> None:
    library = open_library()
    assert library.search("red") == []
    assert library.latest() == []
    assert library.status().counts == Counts(0, 0, 0)
    assert library.rebuild() == {}


def test_where_the_library_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("SEESAY_LIBRARY", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert library_place() == tmp_path / "seesay" / "library"
    monkeypatch.setenv("SEESAY_LIBRARY", str(tmp_path / "mine"))
    assert library_place() == tmp_path / "mine"
    monkeypatch.setenv("SEESAY_LIBRARY", "postgresql://ada@db/photos")
    assert library_place() == "postgresql://ada@db/photos"
    assert library_place(tmp_path / "other") == tmp_path / "other"
    assert library_place(f"file://{tmp_path}/other") == tmp_path / "other"


@pytest.mark.parametrize("use", [Library, recover, SqliteStore])
@pytest.mark.parametrize("address", ["postgresql://ada:s3cret@db/photos", "mysql://db/photos", "s3://bucket/library"])
def test_an_address_that_became_a_path_makes_no_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, use: Callable[[Path], object], address: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SeesayError, match=r"://… is no folder to keep a library in\n  allowed: a folder") as refused:
        use(Path(address))
    assert "s3cret" not in str(refused.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["absent", "file.txt", "x" * 5000, "nul\0l"])
def test_what_is_no_folder_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "file.txt").write_text("")
    with pytest.raises(SeesayError, match=r"does not exist|is a file|there is no folder"):
        resolve_folder(f"{tmp_path}/{name}")
