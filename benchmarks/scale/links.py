"""How many links a photo should have in pgvector's index (m), and how far to look (ef_search): real vectors.

For each m an index is built over the same vectors in half precision: its time, its size, recall@10 and CPU time of a
search at each breadth. With the m that ships, Flickr8K's test captions are asked, too: does the index find the photo
that a caption was written for as often as comparing all does?

The libraries stay in the server's folder, one schema each, so that what clients wait for can be timed later, when
nobody else uses the machine (`benchmarks.scale.waits`).

    SEESAY_DATA=… python -m benchmarks.scale.links LIBRARY SERVER [--m 8 16 24 32] [--photos N]
"""

import argparse
import os
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.scale.real import N_SENTENCES, Floats, Real, read_real, sentence_vectors
from benchmarks.scale.sections import read_sections, write_section
from benchmarks.scale.server import EVERYTHING, M, breadth_of, build, copy_into, latency, recalls
from benchmarks.speed.servers import kept_server
from seesay import data
from seesay.library.encoder import WeightsEncoder
from seesay.library.library import DEFAULT_MODEL
from seesay.library.stores.postgres import PostgresStore
from seesay.library.types import Fingerprint

N_CAPTIONS = 500
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
    asked = captions(real)
    before = read_sections().get("links", {"rows": [], "photos": len(real)})
    rows = {row["m"]: row for row in before["rows"] if before["photos"] == len(real)}
    with kept_server(arguments.server, **SETTINGS) as server:
        for m in arguments.m:
            rows[m] = measure(f"{server.get_uri()}&schema=m{m}", server, real, queries, m, asked if m == M else None)
            print(rows[m], flush=True)
            dim = real.vectors.shape[1]
            write_section("links", photos=len(real), dim=dim, rows=[row for _, row in sorted(rows.items())])


Asked = tuple[Floats, Any]
"""Vectors of captions (n, D), and the place of each one's photo."""


def captions(real: Real) -> Asked:
    """Captions of Flickr8K's test photos that the library holds."""
    places = {Path(os.fsdecode(path)).name: place for place, path in enumerate(real.paths)}
    items = data.load("flickr8k").split("test").with_images().items
    held = [item for item in items if item.image is not None and item.image.name in places][:N_CAPTIONS]
    encoder = WeightsEncoder(DEFAULT_MODEL)
    texts = np.stack([encoder.encode_text(item.sentences[0]) for item in held])
    owners = np.array([places[item.image.name] for item in held if item.image is not None])
    return texts / np.linalg.norm(texts, axis=1, keepdims=True), owners


def measure(
    url: str, server: Any, real: Real, queries: dict[str, Floats], m: int, asked: Asked | None
) -> dict[str, Any]:
    store = PostgresStore(url)
    store.start(Fingerprint("eye", "1", "none", real.vectors.shape[1]))
    copy_into(store, real, np.random.default_rng(0))
    row = build(store, server, len(real), m)
    row["breadths"] = [
        {"ef_search": breadth, **recalls(store, real, queries, breadth), **spent(store, server, queries, breadth)}
        for breadth in BREADTHS
    ]
    if asked is not None:
        row["captions"] = find_captions(store, real, *asked)
    store.close()
    return row


def find_captions(store: PostgresStore, real: Real, texts: Floats, owners: Any) -> dict[str, Any]:
    """How many captions find their photo among the best one and ten, in percent: by the index, and comparing all."""
    cosines = texts @ real.vectors.T
    ranks = (cosines > cosines[np.arange(len(texts)), owners][:, None]).sum(1)
    best = [[hit.photos[0].content - 1 for hit in store.nearest(text, 10, EVERYTHING)] for text in texts]
    found = [own.index(owner) if owner in own else 10 for own, owner in zip(best, owners.tolist(), strict=True)]
    by_way = {"index": np.array(found), "compared": ranks}
    shares = {
        way: {f"R@{k}": round(100 * float((each < k).mean()), 1) for k in (1, 10)} for way, each in by_way.items()
    }
    return {"n": len(texts), **shares}


def spent(store: PostgresStore, server: Any, queries: dict[str, Floats], breadth: int) -> dict[str, float]:
    with breadth_of(breadth):
        return {"milliseconds": latency(store, server, queries["sentences"], 1)["server_cpu_milliseconds"]}


if __name__ == "__main__":
    main()
