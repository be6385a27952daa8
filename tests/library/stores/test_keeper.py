"""The derived matrix is right whatever happens to its files, and is written no oftener than it has to be."""

import json
import os
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from seesay.library.stores import keeper, matrix
from seesay.library.stores.keeper import MatrixKeeper
from seesay.library.stores.sqlite import SqliteStore
from seesay.library.types import Batch, Content, File, Filter, Fingerprint

Put = Callable[..., None]
AXES = {"/a.jpg": [1.0, 0, 0], "/b.jpg": [0, 1.0, 0], "/c.jpg": [0, 0, 1.0]}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """SQLite alone is meant here."""
    return tmp_path / "library"


def found(store: SqliteStore) -> list[str]:
    query = np.array([3, 2, 1], np.float32) / 14**0.5
    return [hit.photos[0].path.name for hit in store.nearest(query, 9, Filter())]


def files(store: SqliteStore) -> list[str]:
    return sorted(path.name for path in store.folder.iterdir() if path.name.startswith((".matrix", "matrix")))


def written(store: SqliteStore) -> str:
    return str(json.loads((store.folder / "matrix.json").read_text())["rows"])


def test_the_matrix_is_written_once_and_later_vectors_are_appended_in_memory(store: SqliteStore, put: Put) -> None:
    put(dict(list(AXES.items())[:2]))
    assert found(store) == ["a.jpg", "b.jpg"]
    first = written(store)
    put({"/c.jpg": AXES["/c.jpg"]})
    assert found(store) == ["a.jpg", "b.jpg", "c.jpg"]
    assert found(SqliteStore(store.folder)) == ["a.jpg", "b.jpg", "c.jpg"]
    assert written(store) == first


def test_many_later_vectors_are_written(store: SqliteStore, put: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeper, "_LATER", 1)
    put({"/a.jpg": AXES["/a.jpg"]})
    found(store)
    first = written(store)
    put(AXES)
    assert found(store) == ["a.jpg", "b.jpg", "c.jpg"]
    assert written(store) != first
    assert len(files(store)) == 3  # matrix.json and the two arrays that it names


def test_a_matrix_of_mostly_vanished_photos_is_written_anew(
    store: SqliteStore, put: Put, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeper, "BLOCK", 0)
    put(AXES)
    found(store)
    store.forget([b"/a.jpg", b"/b.jpg"])
    store.drop_unused()
    assert found(SqliteStore(store.folder)) == ["c.jpg"]
    assert len(np.load(store.folder / written(store))) == 1


def damage_everything(folder: Path, rows: Path) -> None:
    for path in folder.glob("matrix*"):
        path.write_bytes(b"\x93NUMPY nonsense")


def cut_off(folder: Path, rows: Path) -> None:
    rows.write_bytes(rows.read_bytes()[:-4])


def remove_rows(folder: Path, rows: Path) -> None:
    rows.unlink()


def exchange_rows(folder: Path, rows: Path) -> None:
    array = np.load(rows)
    np.save(rows, array[::-1])


def other_shape(folder: Path, rows: Path) -> None:
    np.save(rows, np.load(rows)[:2])


def name_another_file(folder: Path, rows: Path) -> None:
    about = json.loads((folder / "matrix.json").read_text())
    (folder / "matrix.json").write_text(json.dumps(about | {"rows": "../../../etc/passwd"}))


@pytest.mark.parametrize(
    "damage", [damage_everything, cut_off, remove_rows, exchange_rows, other_shape, name_another_file]
)
def test_whatever_is_wrong_with_the_files_they_are_made_again(
    store: SqliteStore, put: Put, damage: Callable[[Path, Path], None]
) -> None:
    put(AXES)
    found(store)
    damage(store.folder, store.folder / written(store))
    again = SqliteStore(store.folder)
    assert found(again) == ["a.jpg", "b.jpg", "c.jpg"]
    np.testing.assert_array_equal(np.load(again.folder / written(again)), np.eye(3))


def test_a_matrix_of_other_vectors_is_not_used(store: SqliteStore, put: Put) -> None:
    put(AXES)
    found(store)
    other = SqliteStore(store.folder)
    other.start(Fingerprint("toy", "2", "none", 3))
    put({"/z.jpg": [0, 0, 1.0]})
    assert found(store) == ["z.jpg"]
    assert found(other) == ["z.jpg"]


def test_a_matrix_that_knows_more_than_the_library_belongs_to_a_later_one(store: SqliteStore, put: Put) -> None:
    put({"/a.jpg": AXES["/a.jpg"]})
    store.close()
    older = (store.folder / "library.db").read_bytes()
    put(AXES)
    assert len(found(store)) == 3
    store.close()
    (store.folder / "library.db").write_bytes(older)  # somebody brings back a copy
    assert found(SqliteStore(store.folder)) == ["a.jpg"]


def test_where_nothing_can_be_written_search_works_from_memory(
    store: SqliteStore, put: Put, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(AXES)

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np.lib.format, "write_array_header_1_0", full)
    assert found(store) == ["a.jpg", "b.jpg", "c.jpg"]
    assert files(store) == []


def test_what_killed_writers_left_is_removed_in_time(
    store: SqliteStore, put: Put, monkeypatch: pytest.MonkeyPatch
) -> None:
    (store.folder / "matrix-0123456789ab.rows.npy").write_bytes(b"nobody names me")
    (store.folder / ".matrix-0123456789ab.rows.npy.xyz.partial").write_bytes(b"somebody may still be writing me")
    put(AXES)
    found(store)
    assert "matrix-0123456789ab.rows.npy" not in files(store)
    assert ".matrix-0123456789ab.rows.npy.xyz.partial" in files(store)
    monkeypatch.setattr(matrix, "_ABANDONED", -1)
    MatrixKeeper(store._database).write()
    assert ".matrix-0123456789ab.rows.npy.xyz.partial" not in files(store)


def test_an_empty_library_has_an_empty_matrix(store: SqliteStore) -> None:
    assert found(store) == []
    assert np.load(store.folder / written(store)).shape == (0, 3)


DIM = 96


@pytest.fixture
def many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SqliteStore:
    """A library of 600 photos, which is many here."""
    monkeypatch.setattr(matrix, "MANY", 500)
    monkeypatch.setattr(keeper, "_LATER", 300)
    store = SqliteStore(tmp_path / "many")
    store.start(Fingerprint("toy", "1", "none", DIM))
    add(store, 0, 600)
    return store


def unit_rows(start: int, end: int) -> NDArray[np.float16]:
    rng = np.random.default_rng(start)
    rows = rng.standard_normal((end - start, 8)) @ np.random.default_rng(5).standard_normal((8, DIM))
    rows += 0.1 * rng.standard_normal(rows.shape)
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float16)


def add(store: SqliteStore, start: int, end: int) -> None:
    batch = Batch()
    for number, row in enumerate(unit_rows(start, end), start):
        batch.contents.append(Content(f"{number:032x}", 8, 8, None, None, row, b"jpeg"))
        batch.photos.append((File(f"/{number}.jpg".encode(), 1, 1), f"{number:032x}"))
    store.write(batch)


def check_exact(store: SqliteStore, n: int = 20, bonus: dict[int, float] | None = None) -> None:
    """The best are those of the product with every vector, and so are their cosines."""
    query = unit_rows(9999, 10000)[0].astype(np.float32)
    vectors = store.vectors(range(1, 2000))
    added = bonus or {}
    scores = {number: float(row @ query) + added.get(number, 0.0) for number, row in vectors.items()}
    hits = store.nearest(query, n, Filter(), bonus)
    assert [hit.photos[0].content for hit in hits] == sorted(scores, key=lambda number: -scores[number])[:n]
    for hit in hits:
        number = hit.photos[0].content
        assert hit.cosine == pytest.approx(scores[number] - added.get(number, 0.0), abs=1e-5)


def about(store: SqliteStore) -> dict[str, str]:
    table: dict[str, str] = json.loads((store.folder / "matrix.json").read_text())
    return table


def test_many_vectors_are_kept_as_bytes_and_answer_exactly(many: SqliteStore) -> None:
    check_exact(many)
    codes = np.load(many.folder / about(many)["codes"])
    assert codes.dtype == np.int8
    assert len(codes) == 600 * 64
    check_exact(SqliteStore(many.folder))
    check_exact(many, bonus={7: 0.4, 300: 0.9, 5000: 1.0})


def test_later_vectors_stand_beside_the_codes(many: SqliteStore) -> None:
    check_exact(many)
    first = about(many)["codes"]
    add(many, 600, 700)
    check_exact(many)
    assert about(many)["codes"] == first
    add(many, 700, 1000)
    check_exact(many)
    assert about(many)["codes"] != first


def test_vectors_that_have_gone_are_not_found_among_codes(many: SqliteStore) -> None:
    check_exact(many)
    query = unit_rows(9999, 10000)[0].astype(np.float32)
    best = many.nearest(query, 5, Filter())
    many.forget([os.fsencode(photo.path) for hit in best for photo in hit.photos])
    many.drop_unused()
    check_exact(many)


@pytest.mark.parametrize("n_gone", [3, 40, 200])
def test_contents_without_photos_are_passed_over(many: SqliteStore, n_gone: int) -> None:
    query = unit_rows(9999, 10000)[0].astype(np.float32)
    best = many.nearest(query, n_gone + 5, Filter())
    many.forget([os.fsencode(photo.path) for hit in best[:n_gone] for photo in hit.photos])
    left = many.nearest(query, 5, Filter())
    assert [hit.photos[0].content for hit in left] == [hit.photos[0].content for hit in best[n_gone:]]


def test_a_filter_that_few_pass_is_answered_exactly(many: SqliteStore) -> None:
    query = unit_rows(9999, 10000)[0].astype(np.float32)
    many.nearest(query, 5, Filter())
    hits = many.nearest(query, 3, Filter(during="1970"))
    scores = {number: float(row @ query) for number, row in many.vectors(range(1, 601)).items()}
    assert [hit.photos[0].content for hit in hits] == sorted(scores, key=lambda number: -scores[number])[:3]
    assert many.nearest(query, 3, Filter(during="1999")) == []


def test_a_library_whose_matrix_an_older_release_wrote_is_opened_and_gets_codes(many: SqliteStore) -> None:
    with many._database.transaction() as connection:
        ((epoch,),) = connection.execute("SELECT value FROM about WHERE key = 'epoch'").fetchall()
    np.save(many.folder / "matrix-00000000000d.ids.npy", np.arange(1, 601))
    np.save(many.folder / "matrix-00000000000d.rows.npy", unit_rows(0, 600).astype(np.float32))
    names = {"epoch": epoch, "ids": "matrix-00000000000d.ids.npy", "rows": "matrix-00000000000d.rows.npy"}
    (many.folder / "matrix.json").write_text(json.dumps(names))
    check_exact(SqliteStore(many.folder))
    assert "codes" in about(many)
    assert not list(many.folder.glob("matrix-00000000000d*"))


@pytest.mark.parametrize("part", ["codes", "sums", "scheme", "ids"])
@pytest.mark.parametrize("damage", ["absent", "short", "turned"])
def test_damaged_codes_are_made_again(many: SqliteStore, part: str, damage: str) -> None:
    check_exact(many)
    path = many.folder / about(many)[part]
    if damage == "absent":
        path.unlink()
    elif damage == "short":
        path.write_bytes(path.read_bytes()[:-70])
    else:
        np.save(path, np.load(path)[::-1])
    check_exact(SqliteStore(many.folder))


def test_codes_are_made_in_memory_where_nothing_can_be_written(
    many: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np.lib.format, "write_array_header_1_0", full)
    check_exact(many)
    assert files(many) == []
    assert not MatrixKeeper(many._database).current().is_exact


@pytest.mark.parametrize("which", ["matrix.json", "ids", "rows"])
def test_a_pipe_in_place_of_a_file_is_not_waited_for(store: SqliteStore, put: Put, which: str) -> None:
    put(AXES)
    assert found(store) == ["a.jpg", "b.jpg", "c.jpg"]
    about = json.loads((store.folder / "matrix.json").read_text())
    path = store.folder / about.get(which, which)
    path.unlink()
    os.mkfifo(path)
    with closing(SqliteStore(store.folder)) as again:
        assert found(again) == ["a.jpg", "b.jpg", "c.jpg"]


def test_a_matrix_of_another_folder_is_not_read(store: SqliteStore, put: Put, tmp_path: Path) -> None:
    put(AXES)
    assert found(store) == ["a.jpg", "b.jpg", "c.jpg"]
    about = json.loads((store.folder / "matrix.json").read_text())
    (store.folder / about["rows"]).rename(tmp_path / "elsewhere.npy")
    (store.folder / "matrix.json").write_text(json.dumps({**about, "rows": str(tmp_path / "elsewhere.npy")}))
    assert matrix.read_matrix(store.folder, about["epoch"]) is None
