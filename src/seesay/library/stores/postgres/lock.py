"""The right to write to a library on a server: an advisory lock of PostgreSQL, held by a connection of its own."""

import hashlib
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from seesay.library.stores.postgres.server import Server
from seesay.library.stores.store import WAIT, busy
from seesay.system.locks import LockHeldError

if TYPE_CHECKING:
    import psycopg


@contextmanager
def hold_advisory_lock(server: Server, *, together: bool) -> Iterator[None]:
    """Hold the lock of a library while the block runs, alone or with all who hold it `together`.

    Raises:
        LockHeldError: Somebody else holds it.
    """
    connection = server.connect()  # of its own: a lock that a connection has, it would get again
    digest = hashlib.sha256(f"seesay {server.address.schema}".encode()).digest()
    key = int.from_bytes(digest[:4], "big") & 0x7FFFFFFF
    kind = "_shared" if together else ""
    try:
        with server.errors():
            while not _ask(connection, f"SELECT pg_try_advisory_lock{kind}(0, %s)", key):
                # Where nobody has it after all, its holder has ended in between.
                if holders := _holders(connection, key):
                    raise LockHeldError(f"{busy(server.address.name)} ({holders[0]})", hint=WAIT)
        yield
    finally:
        # Asked and answered: a connection that is just closed keeps its lock until the server gets round to it.
        with suppress(Exception):  # of a server that has gone, and the lock with it
            _ask(connection, f"SELECT pg_advisory_unlock{kind}(0, %s)", key)
        connection.close()


def _ask(connection: "psycopg.Connection[Any]", sql: str, key: int) -> bool:
    (answer,) = connection.execute(sql.encode(), [key]).fetchone() or (False,)
    return bool(answer)


def _holders(connection: "psycopg.Connection[Any]", key: int) -> list[str]:
    """Who holds the lock, as connections name themselves (`seesay.library.stores.postgres.server`)."""
    rows = connection.execute(
        "SELECT coalesce(application_name, '') FROM pg_locks LEFT JOIN pg_stat_activity USING (pid) "
        "WHERE locktype = 'advisory' AND classid = 0 AND objid = %s AND granted "
        "AND database = (SELECT oid FROM pg_database WHERE datname = current_database())",
        [key],
    ).fetchall()
    return [found[1] if (found := re.search(r"(process \d+ .*)", name)) else "process unknown" for (name,) in rows]
