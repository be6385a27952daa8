"""What a library costs beyond one machine: the unit costs that docs/how-to/scale.md estimates from.

- vectors: synthetic ones in PostgreSQL with pgvector and in SQLite with its matrix: bytes, time to build the index,
  recall@10 of the index against comparing every vector, latency of a search at 1, 8 and 32 clients at once. They lie
  near a subspace of 64 dimensions, as those of photos roughly do; wholly random ones have no neighbours to speak of.
- recall: the same recall on vectors that a model made, of all photos of Flickr8K, from the feature cache.

A server of its own is started from the package pgserver and removed afterwards. Indexing is measured by sharing.py.

    SEESAY_DATA=… python -m benchmarks.speed.scale [--only vectors,recall] [--vectors 1000000]
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.recording import parse_arguments, record, seconds
from benchmarks.speed.servers import running_server
from seesay import data
from seesay.images.extraction import FeatureStore, content_key
from seesay.images.features import Features
from seesay.library.stores.postgres import PostgresStore
from seesay.library.stores.sqlite import SqliteStore
from seesay.library.stores.store import Store
from seesay.library.types import Filter, Fingerprint
from seesay.models.pretrained import load

CLIENTS = (1, 8, 32)
DIM = 768
BLOCK = 10_000
EVERYTHING = Filter()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="vectors,recall")
    parser.add_argument("--vectors", type=int, default=1_000_000)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--memory", default="4GB", help="maintenance_work_mem of the server: the index is built in it")
    arguments = parse_arguments(parser, "scale")
    wanted = arguments.only.split(",")
    found: dict[str, Any] = {}
    settings = {"maintenance_work_mem": arguments.memory, "shared_buffers": "2GB", "max_wal_size": "8GB"}
    with tempfile.TemporaryDirectory() as folder, running_server(**settings) as server:
        if "vectors" in wanted:
            found["vectors"] = measure_vectors(server, Path(folder), arguments.vectors, arguments.queries)
        if "recall" in wanted:
            found["recall"] = measure_recall(server, arguments.queries)
    packages = ("numpy", "torch", "psycopg", "pgvector", "pgserver")
    record(arguments, packages, memory=arguments.memory, **found)


def measure_vectors(server: Any, place: Path, n: int, n_queries: int) -> dict[str, Any]:
    """Both stores with the same n vectors."""
    url = f"{server.get_uri()}&schema=synthetic"
    ours, exact, theirs = PostgresStore(url), PostgresStore(url, search="exact"), SqliteStore(place / "synthetic")
    for store in (ours, theirs):
        store.start(Fingerprint("synthetic", "1", "none", DIM))
    loading = seconds(lambda: _load_both(ours, theirs, n))
    building = seconds(ours.build_index)
    queries = _rows(n_queries, np.random.default_rng(1))
    tables = "SELECT relname::text, pg_total_relation_size(oid) FROM pg_class WHERE relname = ANY (?)"
    sizes = dict(ours._rows(tables, ["vectors", "photos", "contents"]))
    ((index_bytes,),) = ours._rows("SELECT pg_relation_size('vectors_nearest')")
    row: dict[str, Any] = {
        "n": n,
        "dim": DIM,
        "loading_seconds": round(loading, 1),
        "building_seconds": round(building, 1),
        "index_bytes_per_vector": round(index_bytes / n),
        "vector_bytes": round((sizes["vectors"] - index_bytes) / n),
        "photo_bytes": round((sizes["photos"] + sizes["contents"]) / n),
        "recall_at_10": _recall(ours, exact, queries[:50]),
        "latency": [],
    }
    _ = theirs.nearest(queries[0], 10, EVERYTHING)  # the matrix is written
    for n_clients in CLIENTS:
        for name, store in (("postgres", ours), ("postgres exact", exact), ("sqlite", theirs)):
            if name == "postgres exact" and n > 100_000:
                continue
            milliseconds, per_second = _latency(store, queries, n_clients)
            row["latency"].append(
                {
                    "store": name,
                    "clients": n_clients,
                    "median_milliseconds": round(statistics.median(milliseconds), 1),
                    "slowest_of_twenty_milliseconds": round(statistics.quantiles(milliseconds, n=20)[-1], 1),
                    "queries_per_second": round(per_second, 1),
                }
            )
            print(row["latency"][-1], flush=True)
    for store in (ours, exact, theirs):
        store.close()
    print({key: value for key, value in row.items() if key != "latency"}, flush=True)
    return row


def _rows(n: int, draws: np.random.Generator) -> np.ndarray:
    """Unit vectors near a subspace that all share: (n, D)."""
    subspace = np.random.default_rng(0).normal(size=(64, DIM)).astype(np.float32)
    rows = draws.normal(size=(n, 64)).astype(np.float32) @ subspace + draws.normal(size=(n, DIM)).astype(np.float32)
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float16).astype(np.float32)


def _load_both(ours: PostgresStore, theirs: SqliteStore, n: int) -> None:
    """In bulk, as nobody indexes: what a photo costs beside its vector does not count here."""
    draws = np.random.default_rng(2)
    for start in range(0, n, BLOCK):
        rows = _rows(min(BLOCK, n - start), draws)
        numbers = range(start + 1, start + 1 + len(rows))
        _load(ours, numbers, rows)
        with theirs._transaction() as connection:
            connection.executemany(
                "INSERT INTO contents (id, digest, width, height) VALUES (?, ?, 4, 3)", ((i, str(i)) for i in numbers)
            )
            halves = rows.astype(np.float16)
            connection.executemany(
                "INSERT INTO vectors VALUES (?, ?)",
                ((i, row.tobytes()) for i, row in zip(numbers, halves, strict=True)),
            )
            connection.executemany(
                "INSERT INTO photos (path, size, mtime_ns, date, content) VALUES (?, ?, ?, ?, ?)", _photos(numbers)
            )


def _load(store: PostgresStore, numbers: range, rows: np.ndarray) -> None:
    with store._transaction() as connection, connection.cursor() as cursor:
        for table, columns, lines in (
            ("contents", "digest, width, height", ((str(number), 4, 3) for number in numbers)),
            ("vectors", "content, vector", zip(numbers, rows, strict=True)),
            ("photos", "path, size, mtime_ns, date, content", _photos(numbers)),
        ):
            kinds = {"vectors": ["int8", "vector"]}.get(table)
            how = "WITH (FORMAT BINARY)" if kinds else ""
            with cursor.copy(f"COPY {table} ({columns}) FROM STDIN {how}") as copy:
                if kinds:
                    copy.set_types(kinds)
                for line in lines:
                    copy.write_row(line)


def _photos(numbers: range) -> Iterator[tuple[bytes, int, int, str, int]]:
    return ((f"/{i % 100}/{i}.jpg".encode(), 1, 1, "2020-01-01T00:00:00", i) for i in numbers)


def _recall(store: Store, exact: Store, queries: np.ndarray) -> float:
    same = 0
    for query in queries:
        found, expected = (
            {hit.photos[0].content for hit in one.nearest(query, 10, EVERYTHING)} for one in (store, exact)
        )
        same += len(found & expected)
    return round(same / (10 * len(queries)), 4)


def _latency(store: Store, queries: np.ndarray, n_clients: int) -> tuple[list[float], float]:
    """Milliseconds of each search for twenty photos with so many clients at once, and searches a second."""

    def ask(query: np.ndarray) -> float:
        return 1000 * seconds(lambda: store.nearest(query, 20, EVERYTHING))

    with ThreadPoolExecutor(n_clients) as clients:
        list(clients.map(ask, queries[:n_clients]))  # connections are opened
        start = time.perf_counter()
        milliseconds = list(clients.map(ask, queries))
        return milliseconds, len(queries) / (time.perf_counter() - start)


def measure_recall(server: Any, n_queries: int) -> dict[str, Any]:
    """The index on the vectors of a model; queries are sentences."""
    model = load("vse")
    collection = data.load("flickr8k")
    features = FeatureStore(model.feature_spec, outputs=model.outputs)
    keys = [content_key(path) for path in collection.images]
    vectors = np.concatenate(
        [
            model.encode_images(
                Features.of({name: features.read(name, keys[start : start + 500]) for name in model.outputs})
            )
            .detach()
            .numpy()
            for start in range(0, len(keys), 500)
        ]
    )
    sentences = [item.sentences[0] for item in collection.split("test").items][:n_queries]
    queries = model.encode_texts(sentences).detach().numpy()
    url = f"{server.get_uri()}&schema=flickr"
    store, exact = PostgresStore(url), PostgresStore(url, search="exact")
    store.start(Fingerprint("vse", "1", "none", vectors.shape[1]))
    _load(store, range(1, len(vectors) + 1), vectors.astype(np.float16).astype(np.float32))
    store.build_index()
    row = {
        "photos": len(vectors),
        "queries": len(queries),
        "recall_at_10_by_sentences": _recall(store, exact, queries),
        "recall_at_10_by_photos": _recall(store, exact, vectors[:: len(vectors) // n_queries]),
    }
    store.close()
    exact.close()
    print(row, flush=True)
    return row


if __name__ == "__main__":
    main()
