"""Search on one machine without a server: every photo compared by bytes in mapped memory, the best rescored exactly.

Measured on the library of real photos; `benchmarks.scale.grown_alone` measures libraries of grown vectors likewise:

- warm: CPU time of the call that a command or the page makes, in a process that has answered before;
- same: how many of the best twenty are those of the exact product with every vector;
- the memory of a process that has opened the library and answered, and the matrix on disk.

    SEESAY_DATA=… python -m benchmarks.scale.exact LIBRARY [--rounds 5]
"""

import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.scale.sections import write_section
from benchmarks.speed.warm import TOP, ask_alone, exact_best
from seesay import data
from seesay.library.library import Library
from seesay.library.stores.sqlite import SqliteStore
from seesay.library.types import Filter


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("library", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    rows = [measure(arguments.library, caption_texts(), arguments.rounds) | {"made": 0}]
    write_section("exact", rounds=arguments.rounds, rows=rows)


def caption_texts() -> list[str]:
    """Ten captions of Flickr8K's test photos."""
    test = data.load("flickr8k").split("test")
    return list(test.sentences)[:: len(test.sentences) // 10][:10]


def cpu_milliseconds(act: Callable[[], object]) -> float:
    start = time.process_time()
    act()
    return 1000 * (time.process_time() - start)


def measure(place: Path, texts: list[str], rounds: int) -> dict[str, Any]:
    with Library(place) as library:
        assert isinstance(library.store, SqliteStore)
        writing = cpu_milliseconds(lambda: library.search(texts[0], top=TOP))  # writes the matrix
        queries = np.stack([library.encoder.encode_text(text) for text in texts])
        queries /= np.linalg.norm(queries, axis=1, keepdims=True)
        matrix = library.store._keeper.current()
        turns = [text for _ in range(rounds) for text in texts]
        warm = [cpu_milliseconds(lambda t=text: library.search(t, top=TOP)) for text in turns]  # type: ignore[misc]
        store = library.store
        found = [[hit.photos[0].content for hit in store.nearest(query, TOP, Filter())] for query in queries]
        same = [len(set(own) & set(best)) for own, best in zip(found, exact_best(store, queries), strict=True)]
        n = store.counts().contents
    memory = ask_alone(place, texts)
    return {
        "photos": n,
        "warm_cpu_milliseconds": round(statistics.median(warm), 1),
        "warm_cpu_milliseconds_p95": round(float(np.quantile(warm, 0.95)), 1),
        "same_of_20": [min(same), round(statistics.mean(same), 2)],
        "directions": matrix.rows.scheme.directions.shape[1] if not matrix.is_exact else matrix.dim,  # type: ignore[union-attr]
        "matrix_megabytes": round(sum(path.stat().st_size for path in place.glob("matrix-*")) / 1e6),
        "first_search_cpu_seconds": round(writing / 1000, 1),
        "memory_megabytes": {"peak": memory["VmHWM"], "own": memory["RssAnon"], "mapped": memory["RssFile"]},
    }


if __name__ == "__main__":
    main()
