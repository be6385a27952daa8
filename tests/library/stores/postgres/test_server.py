"""What a server refuses is said with what to do about it, and never with a password."""

from collections.abc import Callable

import pytest

from seesay.errors import SeesayError
from seesay.library.stores.postgres.server import ServerGoneError
from seesay.library.types import Counts

pytest.importorskip("psycopg", reason="needs the extra [postgres]")

import psycopg

from seesay.library.stores.postgres import PostgresStore


@pytest.fixture
def place(postgres_url: str) -> str:
    return postgres_url


def test_a_restarted_server_is_asked_again(place: str, restart_postgres: Callable[[], None]) -> None:
    store = PostgresStore(place)
    restart_postgres()
    assert store.counts() == Counts(0, 0, 0)
    restart_postgres()
    store.set_folders([])
    store.close()


@pytest.mark.parametrize("password", ["wr0ng-one", ""])
def test_a_wrong_password_is_said_and_not_shown(guarded: Callable[[str], str], password: str) -> None:
    with pytest.raises(SeesayError, match="refuses the user or the password") as caught:
        PostgresStore(guarded(password))
    assert "SEESAY_LIBRARY, PGPASSWORD or ~/.pgpass" in str(caught.value)
    assert "wr0ng" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_server_that_is_down_is_said_with_what_to_do() -> None:
    with pytest.raises(
        ServerGoneError, match=r"ada@127.0.0.1:9/photos does not answer.*\n.*start its server"
    ) as caught:
        PostgresStore("postgresql://ada:s3cret@127.0.0.1:9/photos")
    assert "s3cret" not in str(caught.value)


def test_a_database_that_is_not_there_is_said(place: str) -> None:
    with pytest.raises(SeesayError, match=r"does not exist .*\n  try: createdb NAME"):
        PostgresStore(place.replace("/postgres?", "/nowhere?"))


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (psycopg.errors.DiskFull("no space"), "cannot be written: the server's disk is full"),
        (psycopg.errors.ReadOnlySqlTransaction("a replica"), "may only be read"),
        (psycopg.errors.TooManyConnections("too many"), "has no connection left"),
        (psycopg.errors.AdminShutdown("shutting down"), "does not answer"),
    ],
)
def test_what_the_server_says_is_explained(place: str, error: psycopg.Error, said: str) -> None:
    store = PostgresStore(place)

    def fail() -> None:
        with store._transaction():
            raise error

    with pytest.raises(SeesayError, match=said):
        fail()
    assert store.counts() == Counts(0, 0, 0)
    store.close()
