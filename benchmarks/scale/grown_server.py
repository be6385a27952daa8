"""pgvector's index on vectors grown from real ones (`benchmarks.scale.grown`): a million in half precision.

recall@10 against comparing all, by sentences and by photos, for every breadth, and with dates that leave 50 %, 5 % and
0.5 %; time, size and memory of building the index. The library stays in the server's folder, for
`benchmarks.scale.waits`.

What limits the size is memory: the index is built in memory, about 4 GB for each million.

    SEESAY_DATA=… python -m benchmarks.scale.grown_server LIBRARY NEIGHBOURS SERVER [--size 1000000]
"""

import argparse
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.scale.grown import grow_from, rounded
from benchmarks.scale.growth import Grown
from benchmarks.scale.links import BREADTHS, SETTINGS, spent
from benchmarks.scale.real import N_SENTENCES, Floats, sentence_vectors
from benchmarks.scale.sections import write_section
from benchmarks.scale.server import EVERYTHING, SHARES, breadth_of, build, copy_rows, days_of, latency
from benchmarks.speed.servers import kept_server
from seesay.library.stores.postgres import PostgresStore, vectors
from seesay.library.types import Filter, Fingerprint

N_BEST = 10
Mask = Any


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("library", type=Path)
    parser.add_argument("neighbours", type=Path)
    parser.add_argument("server", type=Path, help="a folder, made where it is not there")
    parser.add_argument("--size", type=int, default=1_000_000)
    arguments = parser.parse_args()
    grown = grow_from(arguments.library, arguments.neighbours, arguments.size)
    n, dim = grown.n, grown.real.shape[1]
    chosen = np.random.default_rng(2).choice(n, N_SENTENCES, replace=False)
    queries = {"sentences": sentence_vectors(), "photos": rounded(grown.rows(chosen))}
    with kept_server(arguments.server, **SETTINGS) as server:
        store = PostgresStore(f"{server.get_uri()}&schema=grown")
        store.start(Fingerprint("eye", "1", "none", dim))
        paths = (f"/photos/{number // 1000:05}/{number}.jpg".encode() for number in range(n))
        copy_rows(store, n, grown.blocks(), paths, (), np.random.default_rng(0))
        print("copied", flush=True)
        row: dict[str, Any] = {"photos": n, "seeds": len(grown.real), "dim": dim}
        row |= watched(lambda: build(store, server, n), server)
        print(row, flush=True)
        write_section("grown_server", **row)
        wheres = {"all": EVERYTHING} | {f"date {share:.1%}": before(share) for share in SHARES}
        days = days_of(n, np.random.default_rng(0))
        masks = {name: passing(days, where) for name, where in wheres.items()}
        best = exact_best(grown, queries, masks)
        row["recall"] = {}
        for breadth in BREADTHS:
            with breadth_of(breadth):
                shares = {kind: recall(store, queries[kind], best["all", kind], EVERYTHING) for kind in queries}
            row["recall"][str(breadth)] = shares | spent(store, server, queries, breadth)
        row["filters"] = [
            {"filter": name, "share": round(float(masks[name].mean()), 4)}
            | {kind: recall(store, queries[kind], best[name, kind], where) for kind in queries}
            | {"milliseconds": latency(store, server, queries["sentences"][:30], 1, where)["server_cpu_milliseconds"]}
            for name, where in list(wheres.items())[1:]
        ]
        exact = PostgresStore(f"{server.get_uri()}&schema=grown", search="exact")
        compared = latency(exact, server, queries["sentences"][:5], 1)
        write_section("grown_server", **row, breadth=vectors._BREADTH, exact_milliseconds=compared)


def before(share: float) -> Filter:
    return Filter(before=str(np.datetime64("2020-01-01") + round(1000 * share)))


def passing(days: Any, where: Filter) -> Mask:
    return days < np.datetime64(where.before) if where.before else np.ones(len(days), bool)


def exact_best(grown: Grown, queries: dict[str, Floats], masks: dict[str, Mask]) -> dict[tuple[str, str], Any]:
    """The contents of the ten best by each query, of those that pass, each compared: (Q, 10)."""
    found = {(name, kind): (np.zeros((len(rows), 0)), np.zeros((len(rows), 0), int)) for name in masks
             for kind, rows in queries.items()}  # fmt: skip
    start = 0
    for block in grown.blocks():
        rows = rounded(block)
        for kind, asked in queries.items():
            cosines = asked @ rows.T
            for name, mask in masks.items():
                places = np.flatnonzero(mask[start : start + len(rows)])
                scores, ids = found[name, kind]
                scores = np.concatenate([scores, cosines[:, places]], 1)
                ids = np.concatenate([ids, np.broadcast_to(start + places + 1, (len(asked), len(places)))], 1)
                k = min(N_BEST, scores.shape[1])
                kept = np.argpartition(-scores, k - 1, 1)[:, :k]
                found[name, kind] = np.take_along_axis(scores, kept, 1), np.take_along_axis(ids, kept, 1)
        start += len(rows)
    return {key: ids for key, (_, ids) in found.items()}


def recall(store: PostgresStore, asked: Floats, best: Any, where: Filter) -> float:
    found = [{hit.photos[0].content for hit in store.nearest(query, N_BEST, where)} for query in asked]
    same = sum(len(own & set(row.tolist())) for own, row in zip(found, best, strict=True))
    return round(same / best.size, 4)


def watched(act: Callable[[], dict[str, Any]], server: Any) -> dict[str, Any]:
    """Do something, and say how much memory the server's processes had at most, shared memory counted once."""
    ended, most = threading.Event(), [0]

    def look() -> None:
        while not ended.wait(2):
            most[0] = max(most[0], memory_of(server))

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        found = act()
    finally:
        ended.set()
        watcher.join()
    return found | {"building_megabytes": most[0]}


def memory_of(server: Any) -> int:
    """Megabytes of a server: what each process has of its own, and the shared memory of the one that uses most."""
    main = int((Path(server.pgdata) / "postmaster.pid").read_text().split()[0])
    own = shared = 0
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            about = dict(line.split(":", 1) for line in status.read_text().splitlines() if ":" in line)
        except OSError:
            continue
        if main in (int(about["Pid"]), int(about["PPid"])) and "RssAnon" in about:
            own += int(about["RssAnon"].split()[0])
            shared = max(shared, int(about["RssShmem"].split()[0]))
    return (own + shared) // 1024


if __name__ == "__main__":
    main()
