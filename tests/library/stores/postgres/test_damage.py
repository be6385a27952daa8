"""Files of a server that are cut or changed: the library says so, and can be made again."""

import random
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from seesay.errors import SeesayError
from seesay.library.library import Library

DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "cut": lambda content: content[: len(content) // 2],
    "cut inside a page": lambda content: content[: len(content) - 3000],
    "empty": lambda content: b"",
    "random": lambda content: random.Random(0).randbytes(len(content)),
    "flipped": lambda content: bytes(byte ^ (place % 97 == 0) for place, byte in enumerate(content)),
}


@pytest.mark.parametrize(
    ("table", "damage"),
    [
        ("photos", "cut"),
        ("photos", "random"),
        ("contents", "empty"),
        ("contents", "flipped"),
        ("vectors", "random"),
        ("vectors", "cut inside a page"),
        ("thumbnails", "flipped"),
    ],
)
def test_a_damaged_file_of_the_server_is_told_and_the_library_made_again(
    postgres: Any,
    postgres_url: str,
    restart_postgres: Callable[[], None],
    photos: Path,
    toy: ModuleType,
    damage: str,
    table: str,
) -> None:
    with Library(postgres_url, encoder=toy.ColourEncoder(), stages=()) as library:
        library.index(photos, workers=1)
        before = answers(library)
    spoil(postgres, postgres_url, table, DAMAGES[damage])
    restart_postgres()  # which forgets what it has read
    with Library(postgres_url, encoder=toy.ColourEncoder(), stages=()) as library:
        for ask in (lambda: answers(library), lambda: library.index(photos, workers=1), library.failures):
            try:
                ask()
            except SeesayError as error:
                assert "library" in error.what  # noqa: PT017 - some damages are met by some questions only
        library.rebuild([photos], workers=1)
        assert answers(library) == before


def test_where_nothing_can_be_read_that_is_told(
    postgres: Any, postgres_url: str, restart_postgres: Callable[[], None], photos: Path, toy: ModuleType
) -> None:
    with Library(postgres_url, encoder=toy.ColourEncoder(), stages=()) as library:
        library.index(photos, workers=1)
    spoil(postgres, postgres_url, "about", DAMAGES["random"])
    restart_postgres()
    with pytest.raises(SeesayError, match="is damaged on its server") as refused:
        Library(postgres_url, encoder=toy.ColourEncoder(), stages=())
    assert "drop its schema" in str(refused.value.hint)


def spoil(postgres: Any, address: str, table: str, damage: Callable[[bytes], bytes]) -> None:
    """Change the file of a table behind the server's back."""
    schema = address.rpartition("=")[2]
    place = postgres.psql(f"CHECKPOINT; SELECT 'at ' || pg_relation_filepath('{schema}.{table}')")
    path = Path(postgres.pgdata) / place.split("at ")[1].split()[0]
    path.write_bytes(damage(path.read_bytes()))


def answers(library: Library) -> list[tuple[str, float, int]]:
    found = library.search("red", top=9)
    return sorted(
        (result.path.name, round(result.score, 3), len(library.thumbnail(result.photo.id) or b"")) for result in found
    )
