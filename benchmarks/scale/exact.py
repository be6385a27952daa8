"""Search on one machine without a server: every photo compared by bytes in mapped memory, the best rescored exactly.

Measured on the library of real photos, and on libraries whose further vectors are grown from the real ones
(`benchmarks.scale.growth`). For each size:

- warm: CPU time of the call that a command or the page makes, in a process that has answered before;
- same: how many of the best twenty are those of the exact product with every vector;
- the memory of a process that has opened the library and answered, and the matrix on disk.

    SEESAY_DATA=… python -m benchmarks.scale.exact LIBRARY [--sizes 1000000] [--rounds 5]
"""

import argparse
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.scale import growth
from benchmarks.scale.real import Floats, read_real
from benchmarks.scale.sections import read_sections, write_section
from benchmarks.speed.warm import TOP, ask_alone, exact_best, write_photos
from seesay import data
from seesay.library.library import Library
from seesay.library.stores.sqlite import SqliteStore
from seesay.library.types import Filter, Folder

N_SEEDS = 10_000
"""Real photos that vectors are grown from: finding the neighbours of more takes longer than all the rest."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("library", type=Path)
    parser.add_argument("--sizes", type=int, nargs="*", default=[1_000_000], help="libraries of grown vectors")
    parser.add_argument("--only-grown", action="store_true", help="keep what is recorded of other sizes")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    test = data.load("flickr8k").split("test")
    texts = list(test.sentences)[:: len(test.sentences) // 10][:10]
    rows = [] if arguments.only_grown else [measure(arguments.library, texts, arguments.rounds) | {"made": 0}]
    print(rows, flush=True)
    before = read_sections().get("exact", {"rows": [], "growth": {}})
    grown: dict[str, Any] = before["growth"]
    if arguments.sizes:
        real = read_real(arguments.library, N_SEEDS).vectors
        real /= np.linalg.norm(real, axis=1, keepdims=True)
        near, grown = check_growth(real, arguments.seed)
        recipe = growth.Recipe(**grown["recipe"])
        for size in arguments.sizes:
            with tempfile.TemporaryDirectory(dir=arguments.library.parent) as folder:
                made = size - len(real)
                fill(Path(folder), real, growth.grow_blocks(real, near, made, recipe, arguments.seed, 5000))
                rows.append(measure(Path(folder), texts, arguments.rounds) | {"made": made})
                print(rows[-1], flush=True)
                shutil.rmtree(folder, ignore_errors=True)
                Path(folder).mkdir()
    sizes = {row["photos"] for row in rows}
    rows += [row for row in before["rows"] if arguments.only_grown and row["photos"] not in sizes]
    write_section("exact", rounds=arguments.rounds, seed=arguments.seed, rows=rows, growth=grown)


def check_growth(real: Floats, seed: int) -> tuple[growth.Ids, dict[str, Any]]:
    """Choose how vectors are grown on one half of the queries, and compare them with the real ones on the other."""
    rng = np.random.default_rng(seed)
    near = growth.nearest(real, real, growth.N_NEAR + 1)[0][:, 1:]
    recipe, _ = growth.fit(real, near, rng)
    fresh = np.random.default_rng(seed + 1)
    made = growth.grow(real, near, len(real), recipe, fresh)
    shown = fresh.choice(len(real), 500, replace=False)
    tables = {"real": growth.describe(real[shown], real), "made": growth.describe(made[shown], made)}
    parts = {name: getattr(recipe, name) for name in ("mixing", "noise")}
    found = {
        "recipe": parts,
        "quantiles": growth.QUANTILES,
        **tables,
        "largest_difference": round(growth.difference(tables["made"], tables["real"]), 3),
    }
    print(found, flush=True)
    return near, found


def fill(place: Path, real: Floats, blocks: Any) -> None:
    """A library of photos that are not there: the real vectors, and those that were grown."""
    with Library(place) as library:
        library.store.start(library.encoder.fingerprint)
        library.store.set_folders([Folder(place / "photos")])
        assert isinstance(library.store, SqliteStore)
        n = 0
        for rows in np.array_split(real, max(1, len(real) // 5000)):
            n = write_photos(library.store, place, n, rows)
        for rows in blocks:
            n = write_photos(library.store, place, n, rows)


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
