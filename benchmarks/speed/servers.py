"""A PostgreSQL server of the benchmark's own, from the package pgserver."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pgserver
from pgserver._commands import pg_ctl  # type: ignore[attr-defined]


@contextmanager
def running_server(**settings: str) -> Iterator[Any]:
    """It is there while the block runs, and gone with all that it holds afterwards."""
    server = pgserver.get_server(tempfile.mkdtemp(prefix="seesay-scale-"), cleanup_mode="delete")  # type: ignore[attr-defined]
    try:
        for name, value in settings.items():
            server.psql(f"ALTER SYSTEM SET {name} = '{value}';")
        restart(server)
        yield server
    finally:
        server.cleanup()


def restart(server: Any, mode: str = "fast") -> None:
    """End every connection and start it again; `immediate` is a crash, from which the server recovers by its log."""
    pg_ctl(["-w", "-m", mode, "-l", str(server.log), "restart"], pgdata=server.pgdata, user=server.system_user)
