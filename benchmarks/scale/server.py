"""pgvector's index on the vectors of real photos: recall@10 against exact search, with and without filters; its cost.

The vectors of the library are copied into a PostgreSQL server of the benchmark's own. Queries are sentences (captions
of Flickr8K's test photos) and photos of the library. Filters are asked as a person asks them, through the store:

- date: dates are dealt out at random, so that a filter leaves exactly 50 %, 5 % or 0.5 %, wherever the photos lie;
- folder and tag: as they are in the collection, where the photos of a filter lie together.

Vectors in single and in half precision are measured one after the other; filters are measured in half precision, in
which the product keeps a new library's vectors.

Building and searching are timed by the CPU time of the server's processes, which does not depend on who else uses the
machine; what clients wait is recorded beside it.

    SEESAY_DATA=… python -m benchmarks.scale.server LIBRARY [--photos N] [--breadths 40 100 200 400]
"""

import argparse
import os
import statistics
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Barrier
from typing import Any
from unittest import mock

import numpy as np

from benchmarks.scale.real import N_SENTENCES, Floats, Real, read_real, sentence_vectors
from benchmarks.scale.sections import write_section
from benchmarks.speed.servers import running_server
from seesay.library.stores.postgres import PostgresStore, vectors
from seesay.library.stores.postgres import store as product
from seesay.library.stores.store import Store
from seesay.library.types import Filter, Fingerprint

CLIENTS = (1, 8, 32)
SHARES = (0.5, 0.05, 0.005)
EVERYTHING = Filter()
M = 16
"""Links of a photo in the index, as pgvector has it where nothing else is said, and as the product leaves it."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("library", type=Path)
    parser.add_argument("--photos", type=int)
    parser.add_argument("--breadths", type=int, nargs="+", default=[40, 100, 200, 400])
    parser.add_argument("--memory", default="4GB", help="maintenance_work_mem of the server: the index is built in it")
    parser.add_argument("--section", default="server")
    arguments = parser.parse_args()
    real = read_real(arguments.library, arguments.photos)
    rng = np.random.default_rng(0)
    queries = {
        "sentences": sentence_vectors(),
        "photos": real.vectors[rng.choice(len(real), N_SENTENCES, replace=False)],
    }
    settings = {"maintenance_work_mem": arguments.memory, "shared_buffers": "1GB", "max_wal_size": "8GB"}
    dim = real.vectors.shape[1]
    row: dict[str, Any] = {"photos": len(real), "dim": dim, "breadth": vectors._BREADTH}
    with running_server(**settings) as server:
        for kind in ("vector", "halfvec"):
            url = f"{server.get_uri()}&schema={kind}"
            near, exact = PostgresStore(url), PostgresStore(url, search="exact")
            with kept_as(kind):
                near.start(Fingerprint("eye", "1", "none", dim))
            copy_into(near, real, rng)
            found = build(near, server, len(real))
            found["recall"] = {str(breadth): recalls(near, real, queries, breadth) for breadth in arguments.breadths}
            found["latency"] = [latency(near, server, queries["sentences"], n) for n in CLIENTS]
            found["exact_milliseconds"] = latency(exact, server, queries["sentences"][:20], 1)
            print(kind, found, flush=True)
            row |= {"single_precision": found} if kind == "vector" else found
        row["filters"] = [
            {"filter": name, "share": round(share, 4)}
            | recalls(near, real, queries, vectors._BREADTH, where)
            | {
                how: latency(one, server, queries["sentences"][:30], 1, where)["server_cpu_milliseconds"]
                for how, one in (("milliseconds", near), ("compared_milliseconds", exact))
            }
            for name, share, where in filters(near, real)
        ]
        print(row["filters"], flush=True)
    write_section(arguments.section, **row)


@contextmanager
def kept_as(kind: str) -> Iterator[None]:
    """Libraries that begin while the block runs keep their vectors as this type."""
    with mock.patch.object(product, "best_keeping", return_value=vectors.Keeping(kind, scans_on=True)):
        yield


def copy_into(store: PostgresStore, real: Real, rng: np.random.Generator) -> None:
    """Photos with their vectors and tags."""
    numbers = {int(content): number for number, content in enumerate(real.ids.tolist(), 1)}
    tags = ((number, numbers[content], probability) for number, content, probability in real.tags)
    copy_rows(store, len(real), np.array_split(real.vectors, max(1, len(real) // 5000)), real.paths, tags, rng)


def copy_rows(
    store: PostgresStore,
    n: int,
    blocks: Iterable[Floats],
    paths: Iterable[bytes],
    tags: Iterable[tuple[int, int, float]],
    rng: np.random.Generator,
) -> None:
    """The contents 1 to n, with vectors that come in blocks; dates are dealt out at random over 1,000 days."""
    numbers = range(1, n + 1)
    tables: list[tuple[str, str, Any]] = [
        ("contents", "digest, width, height", ((f"{number:032x}", 640, 480) for number in numbers)),
        (
            "photos",
            "path, size, mtime_ns, date, content",
            ((path, 1, 1, f"{day}T00:00:00", n) for path, day, n in zip(paths, days_of(n, rng), numbers, strict=True)),
        ),
        ("tags", "class, content, probability", tags),
    ]
    with store._transaction() as connection, connection.cursor() as cursor:
        for table, columns, lines in tables:
            with cursor.copy(f"COPY {table} ({columns}) FROM STDIN") as copy:
                for line in lines:
                    copy.write_row(line)
            if table == "contents":
                with cursor.copy("COPY vectors (content, vector) FROM STDIN WITH (FORMAT BINARY)") as copy:
                    for part in as_copied(blocks, store.index.keeping.kind):
                        copy.write(part)
    with store._server.connection() as connection:
        connection.execute("ANALYZE")


def as_copied(blocks: Iterable[Floats], kind: str) -> Iterator[bytes]:
    """Rows of the contents 1, 2, … and their vectors in the binary format of COPY, a block at a time: a million rows
    that are each made by the driver take longer than all the rest."""
    yield b"PGCOPY\n\xff\r\n\0" + bytes(8)
    first, number = 1, ">f2" if kind == "halfvec" else ">f4"
    for block in blocks:
        n, dim = block.shape
        fields = [("fields", ">i2"), ("id_bytes", ">i4"), ("id", ">i8"), ("bytes", ">i4"), ("dim", ">i2"), ("0", ">i2")]
        rows = np.zeros(n, np.dtype([*fields, ("vector", number, (dim,))]))
        rows["fields"], rows["id_bytes"], rows["id"] = 2, 8, np.arange(first, first + n)
        rows["bytes"], rows["dim"], rows["vector"] = 4 + dim * np.dtype(number).itemsize, dim, block
        yield rows.tobytes()
        first += n
    yield b"\xff\xff"


def days_of(n: int, rng: np.random.Generator) -> Any:
    return np.datetime64("2020-01-01") + rng.permutation(n) * 1000 // n


def build(store: PostgresStore, server: Any, n: int, m: int = M) -> dict[str, Any]:
    """Build the index as the product does, or with another number of links."""
    before, start = server_cpu(server), time.perf_counter()
    if m == M:
        store.index.build()
    else:
        with store._server.connection() as connection:
            kind = store.index.keeping.kind
            connection.execute(
                f"CREATE INDEX vectors_nearest ON vectors USING hnsw (vector {kind}_ip_ops) WITH (m = {m})".encode()
            )
    ((table_bytes, index_bytes),) = store._rows(
        "SELECT pg_relation_size('vectors'), pg_relation_size('vectors_nearest')"
    )
    return {
        "pgvector": store._rows("SELECT extversion FROM pg_extension WHERE extname = 'vector'")[0][0],
        "m": m,
        "building_seconds": round(time.perf_counter() - start, 1),
        "building_cpu_seconds": round(server_cpu(server) - before, 1),
        "table_bytes_per_photo": round(table_bytes / n),
        "index_bytes_per_photo": round(index_bytes / n),
    }


def recalls(
    store: PostgresStore, real: Real, queries: dict[str, Floats], breadth: int, where: Filter = EVERYTHING
) -> dict[str, float]:
    """recall@10 of each kind of query."""
    with breadth_of(breadth):
        passing = np.array(sorted(set(store.contents(where)))) - 1  # ids are given from 1 on, in the order of the rows
        return {kind: recall(store, real, passing, rows, where) for kind, rows in queries.items()}


def breadth_of(breadth: int) -> Any:
    """Searches look at so many photos of the index while the block runs."""
    return mock.patch.object(vectors, "_BREADTH", breadth)


def recall(store: Store, real: Real, passing: Any, queries: Floats, where: Filter) -> float:
    """The share of the ten best of the photos that pass, each compared, that the store finds."""
    exact = queries @ real.vectors[passing].T
    n = min(10, len(passing))
    best = passing[np.argsort(-exact, 1, kind="stable")[:, :n]] + 1
    found = [{hit.photos[0].content for hit in store.nearest(query, 10, where)} for query in queries]
    same = sum(len(own & set(row.tolist())) for own, row in zip(found, best, strict=True))
    return round(same / (n * len(queries)), 4)


def filters(store: PostgresStore, real: Real) -> Sequence[tuple[str, float, Filter]]:
    """Filters by name, with the share of photos that they leave."""
    days = {share: np.datetime64("2020-01-01") + round(1000 * share) for share in SHARES}
    wanted = [(f"date {share:.1%}", Filter(before=str(day))) for share, day in days.items()]
    folders = sorted({Path(os.fsdecode(path)).parent for path in real.paths})
    collections: list[Path] = sorted({folder.parent for folder in folders})
    wanted += [(f"folder {folder.name}", Filter(folders=(folder,))) for folder in collections]
    wanted.append((f"folder {folders[0].parent.name}/{folders[0].name}", Filter(folders=(folders[0],))))
    classes, counts = np.unique([tag[0] for tag in real.tags if tag[2] >= 0.2], return_counts=True)
    for share in SHARES[1:]:
        nearest = int(classes[np.abs(counts - share * len(real)).argmin()])
        wanted.append((f"tag {nearest}", Filter(classes=(nearest,))))
    return [(name, len(set(store.contents(where))) / len(real), where) for name, where in wanted]


def latency(
    store: PostgresStore, server: Any, queries: Floats, n_clients: int, where: Filter = EVERYTHING
) -> dict[str, Any]:
    """What clients wait for twenty photos, and the CPU time of the server for a search."""

    def ask(query: Floats) -> float:
        start = time.perf_counter()
        store.nearest(query, 20, where)
        return 1000 * (time.perf_counter() - start)

    together = Barrier(n_clients)

    def connect(query: Floats) -> None:
        with store._server.connection():  # all at once, so that each client has one
            together.wait()
        ask(query)

    with ThreadPoolExecutor(n_clients) as clients:
        list(clients.map(connect, queries[:n_clients]))
        before = server_cpu(server)
        waited = list(clients.map(ask, queries))
        used = server_cpu(server) - before
    return {
        "clients": n_clients,
        "p50": round(statistics.median(waited), 1),
        "p95": round(float(np.quantile(waited, 0.95)), 1),
        "server_cpu_milliseconds": round(1000 * used / len(queries), 2),
    }


def server_cpu(server: Any) -> float:
    """CPU seconds of all processes of a server so far, those that have ended with them."""
    main = int((Path(server.pgdata) / "postmaster.pid").read_text().split()[0])
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(stat.parent.name) == main:
            ticks += sum(map(int, fields[11:15]))
        elif int(fields[1]) == main:
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
