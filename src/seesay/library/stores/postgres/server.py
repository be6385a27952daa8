"""The library's PostgreSQL server: connections, transactions, and errors that say what to do and no password."""

import logging
import os
import platform
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Any

from seesay.errors import SeesayError
from seesay.library.stores.address import Address

if TYPE_CHECKING:
    import psycopg

_CONNECT_SECONDS = 10
_AGAIN = "the same command goes on where it was"
_PASSWORD = "put the password into SEESAY_LIBRARY, PGPASSWORD or ~/.pgpass"
_MEANINGS = {
    "28": ("refuses the user or the password", _PASSWORD),
    "3D000": ("does not exist", "createdb NAME, or another address in SEESAY_LIBRARY"),
    "53100": ("cannot be written: the server's disk is full", f"make room; {_AGAIN}"),
    "53300": ("has no connection left", "wait, or use fewer workers: --workers 1"),
    "53": ("cannot go on: the server lacks memory or disk", f"make room; {_AGAIN}"),
    "25006": ("may only be read", "use the address of the server that takes writes"),
    "XX": (
        "is damaged on its server",
        "seesay library rebuild FOLDER; if that fails too, drop its schema on the server",
    ),
    "42501": ("does not allow this user to do that", "ask whoever keeps the server for the right to write"),
}
_GONE = ("08", "57P01", "57P02", "57P03")  # connection lost; shut down, crashed, starting up
_SAID = {  # what comes back where no connection was made has no code, only words
    "password authentication failed": "28",
    "no password supplied": "28",
    "no pg_hba.conf entry": "28",
    "role": "28",
    "database": "3D000",
    "too many clients": "53300",
    "remaining connection slots": "53300",
}


class ServerGoneError(SeesayError):
    """The server does not answer, for the moment."""


class Server:
    """Connections to one server. Any thread may use it: each takes a connection for as long as it needs one."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self._free: list[psycopg.Connection[Any]] = []
        self._lock = threading.Lock()
        self._is_current = False

    def connect(self) -> "psycopg.Connection[Any]":
        """Another connection, to tables that are of the present format."""
        import psycopg
        from pgvector.psycopg import register_vector

        from seesay.library.stores.postgres.migrations import migrate

        logging.getLogger("psycopg").setLevel("ERROR")  # what it warns of where a server goes away, is said by us
        with self.errors():
            connection = psycopg.connect(
                self.address.url,
                autocommit=True,
                connect_timeout=_CONNECT_SECONDS,
                application_name=f"seesay, process {os.getpid()} on {platform.node()}"[:63],
            )
            try:
                if not self._is_current:
                    migrate(connection, self.address.schema, self.address.name)
                    self._is_current = True
                connection.execute(
                    "SELECT set_config('search_path', %s || ', ' || current_setting('search_path'), false)",
                    [f'"{self.address.schema}"'],
                )
                register_vector(connection)
            except BaseException:
                connection.close()
                raise
        return connection

    @contextmanager
    def connection(self) -> Iterator["psycopg.Connection[Any]"]:
        """A connection of one's own while the block runs."""
        with self._lock:
            connection = self._free.pop() if self._free else None
        if connection is None:
            connection = self.connect()
        try:
            yield connection
        finally:
            if not connection.closed:
                with self._lock:
                    self._free.append(connection)

    def rows(self, sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
        """All rows that a query gives; its values are written `?`. Asked again where the server has been restarted."""
        try:
            return self._ask(sql, parameters)
        except ServerGoneError:
            self.close()  # connections from before a restart all fail alike
            return self._ask(sql, parameters)

    def _ask(self, sql: str, parameters: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        with self.connection() as connection, self.errors():
            found: list[tuple[Any, ...]] = connection.execute(query(sql), parameters, binary=True).fetchall()
            return found

    @contextmanager
    def transaction(self) -> Iterator["psycopg.Connection[Any]"]:
        """All of the block or nothing of it."""
        with self.errors(), ExitStack() as stack:
            yield self._begin(stack)

    def _begin(self, stack: ExitStack) -> "psycopg.Connection[Any]":
        """A connection with a transaction; another one where the first turns out to be from before a restart."""
        import psycopg

        with ExitStack() as opened:
            connection = opened.enter_context(self.connection())
            try:
                opened.enter_context(connection.transaction())
            except psycopg.OperationalError:
                self.close()
                connection = opened.enter_context(self.connection())
                opened.enter_context(connection.transaction())
            stack.push(opened.pop_all())
        return connection

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Say what the driver's errors mean for the person who runs into them."""
        import psycopg

        try:
            yield
        except psycopg.Error as error:
            # The driver's error is not kept as the cause: a traceback would show what is left out here.
            raise self._explained(error) from None

    def _explained(self, error: "psycopg.Error") -> SeesayError:
        import psycopg

        text = self.address.redact(str(error).strip().partition("\n")[0])
        state = error.sqlstate or next((state for said, state in _SAID.items() if _says(text, said)), "")
        named = f"the library {self.address.name}"
        if state.startswith(_GONE) or (not state and isinstance(error, psycopg.OperationalError)):
            return ServerGoneError(f"{named} does not answer: {text}", hint=f"start its server, or wait; {_AGAIN}")
        for known in (state, state[:2]):
            if known in _MEANINGS:
                what, hint = _MEANINGS[known]
                return SeesayError(f"{named} {what} ({text})", hint=hint)
        return SeesayError(f"{named} does not answer: {text}", hint="seesay library status")

    def close(self) -> None:
        """Close the connections that nobody uses; the next use opens another."""
        with self._lock:
            free, self._free = self._free, []
        for connection in free:
            with suppress(Exception):
                connection.close()


def _says(text: str, said: str) -> bool:
    return f'{said} "' in text and "does not exist" in text if said in ("role", "database") else said in text


def query(sql: str) -> bytes:
    """A query with its values written as the driver wants them.

    Example:
        >>> query("SELECT path FROM photos WHERE id = ?")
        b'SELECT path FROM photos WHERE id = %s'
    """
    return sql.replace("?", "%s").encode()
