"""A library's tables on a server come to the present step by step, or not at all."""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import pytest

from seesay.errors import SeesayError
from seesay.library.stores.postgres import migrations
from seesay.library.stores.postgres.migrations import MIGRATIONS
from seesay.library.types import Fingerprint

pytest.importorskip("psycopg", reason="needs the extra [postgres]")

from seesay.library.stores.postgres import PostgresStore


@pytest.fixture
def place(postgres_url: str) -> str:
    return postgres_url


def test_a_user_who_may_not_add_the_extension_is_told_whom_to_ask(guarded: Callable[[str], str]) -> None:
    with pytest.raises(SeesayError, match=r"no pgvector, and this user may not add it\n.*CREATE EXTENSION vector"):
        PostgresStore(guarded("s3cret%2Fword"))


def test_a_server_without_pgvector_is_said(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migrations, "EXTENSION", "a_package_that_is_not_installed")
    with pytest.raises(SeesayError, match=r"the server of .* has no pgvector\n  try: install pgvector on the server"):
        PostgresStore(place)


def test_only_the_missing_steps_are_taken(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    older = PostgresStore(place)
    older.start(Fingerprint("toy", "1", "none", 3))
    older.close()
    monkeypatch.setattr(migrations, "MIGRATIONS", (*MIGRATIONS, "CREATE TABLE faces (id BIGINT)"))
    store = PostgresStore(place)
    assert store._rows("SELECT id FROM faces") == []
    assert store.fingerprint() == Fingerprint("toy", "1", "none", 3)
    store.close()


def test_a_later_format_is_refused(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(migrations, "MIGRATIONS", (*MIGRATIONS, "CREATE TABLE faces (id BIGINT)"))
        PostgresStore(place).close()
    with pytest.raises(
        SeesayError, match=r"has format \d+, this seesay knows formats up to \d+\n  try: pip install -U"
    ):
        PostgresStore(place)


def test_a_step_that_fails_leaves_the_library_as_it_was(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    store = PostgresStore(place)
    store.start(Fingerprint("toy", "1", "none", 3))
    store.close()
    with monkeypatch.context() as patch:
        broken = (*MIGRATIONS, "CREATE TABLE faces (id BIGINT)", "CREATE TABLE photos (x BIGINT)")
        patch.setattr(migrations, "MIGRATIONS", broken)
        with pytest.raises(SeesayError, match="already exists"):
            PostgresStore(place)
    again = PostgresStore(place)
    assert again.fingerprint() == Fingerprint("toy", "1", "none", 3)
    again.close()


def test_the_tables_of_another_program_are_refused(place: str, postgres: Any) -> None:
    schema = urlsplit(place).query.rpartition("schema=")[2]
    postgres.psql(f"CREATE SCHEMA {schema}; CREATE TABLE {schema}.photos (url TEXT);")
    with pytest.raises(SeesayError, match=r"holds tables of another program\n  try: an address with \?schema="):
        PostgresStore(place)
