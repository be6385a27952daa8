"""Damaged rows are named, and mended without what is whole being made again."""

import sqlite3
import stat
from pathlib import Path
from types import ModuleType

import pytest

from seesay.errors import SeesayError
from seesay.library.library import Library
from seesay.library.stores import database
from seesay.library.stores.repair import repair_rows

DAMAGES = {
    "short vector": "UPDATE vectors SET vector = X'00' WHERE content = 1",
    "empty vector": "UPDATE vectors SET vector = X'' WHERE content = 1",
    "text for a vector": "UPDATE vectors SET vector = 'text' WHERE content = 1",
    "no fingerprint": "UPDATE about SET value = '{' WHERE key = 'fingerprint'",
    "another fingerprint": "UPDATE about SET value = '{\"a\": 1}' WHERE key = 'fingerprint'",
    "a fingerprint without an end": """UPDATE about SET value = replace(value, '"dim": ', '"dim": 1e999, "x": ')""",
    "a fingerprint of text": "UPDATE about SET value = json_set(value, '$.dim', CAST(value ->> '$.dim' AS TEXT)) "
    "WHERE key = 'fingerprint'",
    "patterns": "UPDATE folders SET exclude = '{'",
    "patterns of numbers": "UPDATE folders SET exclude = '[1]'",
    "probability": "UPDATE tags SET probability = 'often' WHERE content = 1",
    "date": "UPDATE photos SET mtime_ns = 'yesterday' WHERE content = 1",
    "size": "UPDATE photos SET size = 'large' WHERE content = 1",
    "thumbnail": "UPDATE thumbnails SET jpeg = X'' WHERE content = 1",
    "one byte of a vector": "UPDATE vectors SET vector = X'01' || substr(vector, 2) WHERE content = 1",
    "one byte of a thumbnail": "UPDATE thumbnails SET jpeg = substr(jpeg, 1, 99) || X'01' || substr(jpeg, 101)",
    "a tag": "UPDATE tags SET probability = probability / 2 WHERE content = 1",
    "no tags": "DELETE FROM tags WHERE content = 1",
    "width": "UPDATE contents SET width = width + 1 WHERE id = 1",
    "digest": "UPDATE contents SET digest = 'x' || substr(digest, 2) WHERE id = 1",
    "day": "UPDATE photos SET date = '1999-01-01T00:00:00'",
}


@pytest.fixture
def folder(tmp_path: Path, photos: Path, toy: ModuleType) -> Path:
    with Library(tmp_path / "library", encoder=toy.ColourEncoder(), stages=()) as library:
        library.index(photos, workers=1)
        library.search("red")
    return tmp_path / "library"


def answers(folder: Path, toy: ModuleType) -> list[tuple[str, float]]:
    with Library(folder, encoder=toy.ColourEncoder(), stages=()) as library:
        library.failures()
        library.status()
        return sorted((result.path.name, round(result.score, 3)) for result in library.search("red", top=9))


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_is_damaged_is_said_and_repaired(folder: Path, photos: Path, toy: ModuleType, damage: str) -> None:
    before = answers(folder, toy)
    with sqlite3.connect(folder / "library.db") as connection:
        assert connection.execute(DAMAGES[damage]).rowcount
    connection.close()
    (folder / "matrix.json").unlink(missing_ok=True)
    told = ""
    try:
        answers(folder, toy)
    except SeesayError as error:
        told = str(error)
    assert "seesay library re" in told or not told  # a damage that search does not meet is found by repairing
    assert sum(repair_rows(folder).values()) > 0
    with Library(folder, encoder=toy.ColourEncoder(), stages=()) as library:
        done = library.index(photos, workers=1)
        assert done.n_found == 4
    assert answers(folder, toy) == before
    assert sum(repair_rows(folder).values()) == 0


def test_only_what_was_damaged_is_encoded_again(folder: Path, photos: Path, toy: ModuleType) -> None:
    with sqlite3.connect(folder / "library.db") as connection:
        connection.execute(DAMAGES["short vector"])
    connection.close()
    assert repair_rows(folder) == {"folders": 0, "failures": 0, "contents": 1, "photos": 0}
    with Library(folder, encoder=toy.ColourEncoder(), stages=()) as library:
        assert library.index(photos, workers=1).n_encoded == 1


def test_a_library_that_may_only_be_read_can_be_searched(
    folder: Path, toy: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = answers(folder, toy)
    names = {path.name for path in folder.iterdir()}
    folder.chmod(stat.S_IRUSR | stat.S_IXUSR)
    monkeypatch.setattr(database, "_may_write", lambda folder: False)  # root may write everywhere
    try:
        assert answers(folder, toy) == before
        assert {path.name for path in folder.iterdir()} == names
    finally:
        folder.chmod(stat.S_IRWXU)


@pytest.mark.parametrize("place", [0.1, 0.3, 0.5, 0.7, 0.9, "cut"])
def test_a_file_that_is_damaged_anywhere_is_repaired_or_made_again(
    folder: Path, photos: Path, toy: ModuleType, place: float | str
) -> None:
    before = answers(folder, toy)
    with sqlite3.connect(folder / "library.db") as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    content = bytearray((folder / "library.db").read_bytes())
    if isinstance(place, str):
        del content[len(content) // 2 :]
    else:
        start = int(place * len(content))
        content[start : start + 2000 : 50] = bytes(byte ^ 0xFF for byte in content[start : start + 2000 : 50])
    (folder / "library.db").write_bytes(content)
    try:
        repair_rows(folder)
    except SeesayError as error:
        assert "rebuild" in str(error.hint)  # noqa: PT017 - some places hold nothing that matters
        assert database.recover(folder) == folder / "library.db.damaged"
    with Library(folder, encoder=toy.ColourEncoder(), stages=()) as library:
        library.index(photos, workers=1)
        assert library.store._rows("PRAGMA integrity_check") == [("ok",)]  # type: ignore[attr-defined]
    assert answers(folder, toy) == before
