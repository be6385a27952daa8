"""Indexing real photos into a library on a server: CPU time, disk, and whether it equals the library in a folder.

The indexer is killed once on the way and started again. Its library is compared with the SQLite library, which holds
the same photos: vectors, views, thumbnails and tags.

    SEESAY_DATA=… python -m benchmarks.scale.postgres FOLDER LIBRARY [--kill-after 60]
"""

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.scale.growing import INDEX
from benchmarks.scale.sections import write_section
from benchmarks.scale.server import server_cpu
from benchmarks.speed.servers import running_server
from seesay.library.stores.postgres import PostgresStore
from seesay.library.stores.sql import SqlStore
from seesay.library.stores.sqlite import SqliteStore


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("library", type=Path, help="a SQLite library that holds these photos")
    parser.add_argument("--kill-after", type=float, default=60, help="seconds")
    arguments = parser.parse_args()
    folder = arguments.folder.resolve()
    with running_server(max_wal_size="4GB") as server:
        url = f"{server.get_uri()}&schema=real"
        before, start = server_cpu(server), os.times()
        program = [sys.executable, "-c", INDEX.format(folder=str(folder), library=url, workers=1)]
        killed_at = killed(program, url, arguments.kill_after)
        subprocess.run(program, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        spent = os.times().children_user + os.times().children_system - start.children_user - start.children_system
        database = server_cpu(server) - before
        store = PostgresStore(url)
        n = store.counts().photos
        ((size,),) = store._rows("SELECT pg_database_size(current_database())")
        differing = compare(store, SqliteStore(arguments.library), folder)
        store.close()
    write_section(
        "postgres", photos=n, killed_at=killed_at, differing=differing, cpu_seconds_per_photo=round(spent / n, 4),
        database_cpu_seconds_per_photo=round(database / n, 4), bytes_per_photo=round(size / n),
    )  # fmt: skip


def killed(program: list[str], url: str, after: float) -> int:
    """Run the indexer, kill it after some seconds, and say how many photos it had written."""
    with subprocess.Popen(program, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as indexer:
        time.sleep(after)
        indexer.kill()
    store = PostgresStore(url)
    n = store.counts().photos
    store.close()
    return n


def compare(ours: SqlStore, theirs: SqlStore, folder: Path) -> int:
    """How many photos of a folder are not the same in both libraries."""
    (stage,) = ours.stages()
    paths = sorted(set(ours.files(folder)) | set(theirs.files(folder)))
    return sum(what_is_kept(ours, path, stage) != what_is_kept(theirs, path, stage) for path in paths)


def what_is_kept(store: SqlStore, path: bytes, stage: str) -> dict[str, Any] | None:
    rows = store._rows(
        "SELECT c.id, digest, width, height, taken, camera, jpeg FROM photos p JOIN contents c ON c.id = p.content "
        "JOIN thumbnails t ON t.content = c.id WHERE path = ?",
        path,
    )
    if not rows:
        return None
    ((content, *about, jpeg),) = rows
    return {
        "about": about,
        "jpeg": bytes(jpeg),
        "vector": store.vectors([content])[content].tobytes(),
        "view": store.views(stage, [content])[content].tobytes(),
        "tags": sorted(store._rows("SELECT class, probability FROM tags WHERE content = ?", content)),
    }


if __name__ == "__main__":
    main()
