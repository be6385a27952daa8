"""Index the collection with the product itself, in sittings that are ended by SIGKILL.

Each sitting is one `seesay index`, killed after so many seconds, except the last one, which finds nothing left to do.
A line is written for each: how many photos the library held before and after, the CPU time of the process, its
highest memory. After every kill the database is asked for photos that were written in part. A later call goes on
where the last one ended.

    python -m benchmarks.scale.growing FOLDER LIBRARY LOG [--sitting 900] [--workers 1] [--until HH:MM]
"""

import argparse
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from seesay.library.stores.database import FILE

INCOMPLETE = (
    "SELECT COUNT(*) FROM contents c LEFT JOIN vectors v ON v.content = c.id "
    "LEFT JOIN thumbnails t ON t.content = c.id WHERE v.content IS NULL OR t.content IS NULL"
)
INDEX = (
    "from seesay.cli.main import run; run(['index', {folder!r}, '--library', {library!r}, '--workers', '{workers}'])"
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("library", type=Path)
    parser.add_argument("log", type=Path)
    parser.add_argument("--sitting", type=float, default=900, help="seconds until a sitting is killed; 0: never")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--until", help="no sitting starts or goes on after this time of day, UTC")
    arguments = parser.parse_args()
    while (left := seconds_left(arguments.until)) > 0:
        row = sit(arguments.folder, arguments.library, arguments.workers, min(arguments.sitting or left, left))
        with arguments.log.open("a") as log:
            log.write(json.dumps(row) + "\n")
        print(row, flush=True)
        if row["ended"] != "killed":
            break


def seconds_left(until: str | None) -> float:
    if until is None:
        return float("inf")
    hour, minute = map(int, until.split(":"))
    now = datetime.now(UTC)
    return (now.replace(hour=hour, minute=minute, second=0) - now).total_seconds()


def sit(folder: Path, library: Path, workers: int, at_most: float) -> dict[str, Any]:
    """One run of the indexer, killed after a time."""
    before, start = count(library), time.monotonic()
    program = [sys.executable, "-c", INDEX.format(folder=str(folder), library=str(library), workers=workers)]
    indexer = subprocess.Popen(program, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while (ended := os.wait4(indexer.pid, os.WNOHANG))[0] == 0:
            if time.monotonic() - start > at_most:
                indexer.send_signal(signal.SIGKILL)
                ended = os.wait4(indexer.pid, 0)
                break
            time.sleep(1)
    except BaseException:
        indexer.kill()
        raise
    _, status, used = ended
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "workers": workers,
        "ended": "killed" if os.WIFSIGNALED(status) else f"exit {os.waitstatus_to_exitcode(status)}",
        "before": before,
        "after": count(library),
        "seconds": round(time.monotonic() - start, 1),
        "cpu_seconds": round(used.ru_utime + used.ru_stime, 1),
        "peak_megabytes": round(used.ru_maxrss / 1024),
        "incomplete": n_incomplete(library),
    }


def count(library: Path) -> int:
    return int(ask(library, "SELECT COUNT(*) FROM contents")) if (library / FILE).exists() else 0


def n_incomplete(library: Path) -> int:
    """Contents that have no vector or no thumbnail: batches are transactions, so a kill leaves none."""
    return int(ask(library, INCOMPLETE))


def ask(library: Path, question: str) -> Any:
    with closing(sqlite3.connect(library / FILE)) as connection:
        return connection.execute(question).fetchone()[0]


if __name__ == "__main__":
    main()
