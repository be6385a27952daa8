"""How many links a photo should have in pgvector's index (m), and how far to look (ef_search): real vectors.

For each m an index is built over the same vectors in half precision: its time, its size, recall@10 and CPU time of a
search at each breadth. The libraries stay in the server's folder, one schema each, so that what clients wait for can be
timed later, when nobody else uses the machine (`benchmarks.scale.waits`).

    SEESAY_DATA=… python -m benchmarks.scale.links LIBRARY SERVER [--m 8 16 24 32] [--photos N]
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.scale.real import N_SENTENCES, Floats, Real, read_real, sentence_vectors
from benchmarks.scale.sections import read_sections, write_section
from benchmarks.scale.server import breadth_of, build, copy_into, latency, recalls
from benchmarks.speed.servers import kept_server
from seesay.library.stores.postgres import PostgresStore
from seesay.library.types import Fingerprint

BREADTHS = (40, 100, 200, 400)
SETTINGS = {"maintenance_work_mem": "6GB", "shared_buffers": "1GB", "max_wal_size": "4GB"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("library", type=Path)
    parser.add_argument("server", type=Path, help="a folder, made where it is not there")
    parser.add_argument("--m", type=int, nargs="+", default=[8, 16, 24, 32])
    parser.add_argument("--photos", type=int)
    arguments = parser.parse_args()
    real = read_real(arguments.library, arguments.photos)
    chosen = np.random.default_rng(0).choice(len(real), N_SENTENCES, replace=False)
    queries = {"sentences": sentence_vectors(), "photos": real.vectors[chosen]}
    before = read_sections().get("links", {"rows": [], "photos": len(real)})
    rows = {row["m"]: row for row in before["rows"] if before["photos"] == len(real)}
    with kept_server(arguments.server, **SETTINGS) as server:
        for m in arguments.m:
            rows[m] = measure(f"{server.get_uri()}&schema=m{m}", server, real, queries, m)
            print(rows[m], flush=True)
            dim = real.vectors.shape[1]
            write_section("links", photos=len(real), dim=dim, rows=[row for _, row in sorted(rows.items())])


def measure(url: str, server: Any, real: Real, queries: dict[str, Floats], m: int) -> dict[str, Any]:
    store = PostgresStore(url)
    store.start(Fingerprint("eye", "1", "none", real.vectors.shape[1]))
    copy_into(store, real, np.random.default_rng(0))
    row = build(store, server, len(real), m)
    row["breadths"] = [
        {"ef_search": breadth, **recalls(store, real, queries, breadth), **spent(store, server, queries, breadth)}
        for breadth in BREADTHS
    ]
    store.close()
    return row


def spent(store: PostgresStore, server: Any, queries: dict[str, Floats], breadth: int) -> dict[str, float]:
    with breadth_of(breadth):
        return {"milliseconds": latency(store, server, queries["sentences"], 1)["server_cpu_milliseconds"]}


if __name__ == "__main__":
    main()
