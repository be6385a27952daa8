"""Parses on disk: what is found again, and what damage does."""

import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from seesay.errors import SeesayError
from seesay.text._dependencies import Dependencies
from seesay.text._parse_cache import ParseCache

DOG = ("a", "dog")
CAT = ("a", "cat")
PARSE = Dependencies((1, 1), ("DT", "NN"), ("det", "ROOT"))
FILE = "dependencies.sqlite3"


def test_a_parse_is_found_again_by_another_connection(tmp_path: Path) -> None:
    with ParseCache(tmp_path, "parser 1") as cache:
        cache.put({DOG: PARSE})
    with ParseCache(tmp_path, "parser 1") as cache:
        assert cache.get([DOG, CAT]) == {DOG: PARSE}


def test_parses_of_another_parser_are_not_seen(tmp_path: Path) -> None:
    with ParseCache(tmp_path, "parser 1") as cache:
        cache.put({DOG: PARSE})
    with ParseCache(tmp_path, "parser 2") as cache:
        assert cache.get([DOG]) == {}


def test_more_sentences_than_sqlite_takes_in_a_statement_are_found(tmp_path: Path) -> None:
    parses = {(str(number), "dog"): PARSE for number in range(2_500)}
    with ParseCache(tmp_path, "parser") as cache:
        cache.put(parses)
        assert cache.get(parses) == parses


def test_the_words_are_not_stored(tmp_path: Path) -> None:
    with ParseCache(tmp_path, "parser") as cache:
        cache.put({("my", "secret"): PARSE})
    assert not any(b"secret" in file.read_bytes() for file in tmp_path.iterdir())


@pytest.mark.parametrize("text", ["", "[", "[[0, 0], 1, 2]", '[[0], "NN", "ROOT"]', b"\xff", "[" * 100_000])
def test_a_damaged_entry_is_not_found_and_can_be_replaced(tmp_path: Path, text: str | bytes) -> None:
    with ParseCache(tmp_path, "parser") as cache:
        cache.put({DOG: PARSE, CAT: PARSE})
        with sqlite3.connect(tmp_path / FILE) as connection:
            connection.execute("UPDATE parses SET parse = ? WHERE key = ?", (text, cache._key(DOG)))
        connection.close()
        assert cache.get([DOG, CAT]) == {CAT: PARSE}
        cache.put({DOG: PARSE})
        assert cache.get([DOG]) == {DOG: PARSE}


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda data: b"not a database " * 1000, id="another file"),
        pytest.param(lambda data: data[:100] + b"\xff" * (len(data) - 100), id="overwritten after the header"),
        pytest.param(lambda data: data[: len(data) // 2], id="cut in half"),
        pytest.param(lambda data: b"", id="emptied"),
    ],
)
def test_a_damaged_file_is_replaced(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    with ParseCache(tmp_path, "parser") as cache:
        cache.put({(str(number), "dog"): PARSE for number in range(500)})
    file = tmp_path / FILE
    file.write_bytes(damage(file.read_bytes()))
    with ParseCache(tmp_path, "parser") as cache:
        cache.get([(str(number), "dog") for number in range(500)])
        cache.put({DOG: PARSE})
        assert cache.get([DOG]) == {DOG: PARSE}


def test_a_file_damaged_while_it_is_open_is_replaced(tmp_path: Path) -> None:
    with ParseCache(tmp_path, "parser") as cache:
        cache.put({DOG: PARSE})
        cache._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (tmp_path / FILE).write_bytes(b"not a database " * 1000)
        cache.put({CAT: PARSE})
        assert cache.get([CAT]) == {CAT: PARSE}


def test_a_folder_that_cannot_be_made_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(SeesayError, match=r"parse cache .*file.*(?s:.)*SEESAY_CACHE"):
        ParseCache(tmp_path / "file" / "parses", "parser")


def test_two_processes_write_at_once_and_lose_nothing(tmp_path: Path) -> None:
    program = """
import sys
from pathlib import Path
from seesay.text._dependencies import Dependencies
from seesay.text._parse_cache import ParseCache
parse = Dependencies((1, 1), ("DT", "NN"), ("det", "ROOT"))
with ParseCache(Path(sys.argv[1]), "parser") as cache:
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(100):
        cache.put({("both", str(number)): parse, (sys.argv[2], str(number)): parse})
"""
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", program, str(tmp_path), name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in ("first", "second")
    ]
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        writer.communicate("go\n")
        assert writer.returncode == 0
    wanted = {(name, str(number)): PARSE for name in ("both", "first", "second") for number in range(100)}
    with ParseCache(tmp_path, "parser") as cache:
        assert cache.get(wanted) == wanted
