"""How long a query takes in a large library, in a process that has answered before.

A thousand real photos are indexed. The other vectors are grown from theirs (`benchmarks.scale.growth`), so that they
lie where photos lie. Each size is measured by ten captions that no photo of the library belongs to in particular:

- warm: the call that a command or the page makes, with the sentence read and the photos looked up, first stage alone;
- all stages: the same with the later stages of search, and the time of a core that it takes, which does not depend on
  what else the machine does; of the captions, and of the first one or two content words of each, with which later
  stages look at more photos. Photos that a query finds have the views of a real photo, read from the store as any
  other; the rest have none, since a hundred thousand of them would fill the disk;
- product: finding the best twenty by the matrix alone;
- same: how many of the best twenty are those of the exact product of all vectors, computed in blocks;
- the matrix on disk, and the memory of a process that has opened the library and answered.

    SEESAY_DATA=… python -m benchmarks.speed.warm [--sizes 100000 1000000] [--rounds 5]
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.recording import parse_arguments, record, seconds
from benchmarks.scale import growth
from seesay import data
from seesay.library.library import Library
from seesay.library.stores.sql import pack
from seesay.library.stores.sqlite import SqliteStore
from seesay.library.types import Folder
from seesay.text.function_words import content_words

N_REAL, TOP = 1000, 20
N_VIEWS = 20
"""Real photos whose views the others get."""
SHORT = (1, 2)
"""Content words of short queries: every other one has one of them."""
N_VIEWED = 200
"""Photos that get views for each query: more than any stage reranks."""
RECIPE = growth.Recipe(mixing=0.9, noise=0.7)
ASK = """
import json
from seesay.library.library import Library
with Library({place!r}) as library:
    for text in json.loads({texts!r}):
        library.search(text, top=20)
    about = dict(line.split(":", 1) for line in open("/proc/self/status") if ":" in line)
print(json.dumps({{key: int(about[key].split()[0]) // 1024 for key in ("VmHWM", "RssAnon", "RssFile")}}))
"""
Floats = NDArray[np.float32]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parse_arguments(parser, "warm")
    test = data.load("flickr8k").split("test").with_images()
    texts = list(test.sentences)[:: len(test.sentences) // 10][:10]
    short = [" ".join(content_words(text)[: SHORT[row % len(SHORT)]]) for row, text in enumerate(texts)]
    with tempfile.TemporaryDirectory() as folder:
        real, views = real_vectors(Path(folder), test.images[:N_REAL])
        rows = []
        for size in arguments.sizes:
            place = Path(folder) / f"library of {size}"
            fill(place, real, size, arguments.seed)
            give_views(place, views, texts + short)
            rows.append(measure(place, size, texts, short, arguments.rounds))
            print(rows[-1], flush=True)
            shutil.rmtree(place)
    record(arguments, ("onnxruntime", "numpy"), rounds=arguments.rounds, seed=arguments.seed, rows=rows)


def real_vectors(folder: Path, paths: Any) -> tuple[Floats, dict[str, list[Floats]]]:
    """The vectors of photos, as the product indexes them, and what its later stages keep of a few of them."""
    photos = folder / "photos"
    photos.mkdir()
    for path in paths:
        (photos / Path(path).name).symlink_to(Path(path).resolve())
    with Library(folder / "real") as library:
        library.index(photos)
        hits = library.store.vectors(range(1, len(paths) + 1))
        views = {
            stage.stage: list(library.store.views(stage.stage, range(1, N_VIEWS + 1)).values())
            for stage in library.stages
        }
    return np.stack(list(hits.values())), views


def fill(place: Path, real: Floats, n: int, seed: int) -> None:
    """A library of n photos that are not there."""
    with Library(place) as library:
        library.store.start(library.encoder.fingerprint, {each.stage: each.fingerprint for each in library.stages})
        library.store.set_folders([Folder(place / "photos")])
        assert isinstance(library.store, SqliteStore)
        near = growth.nearest(real, real, growth.N_NEAR + 1)[0][:, 1:]
        written = 0
        for rows in growth.grow_blocks(real, near, n, RECIPE, seed, 5000):
            written = write_photos(library.store, place, written, rows)


def give_views(place: Path, views: dict[str, list[Floats]], texts: list[str]) -> None:
    """Give the photos that the texts find what later stages look at."""
    with Library(place) as library:
        store = library.store
        assert isinstance(store, SqliteStore)
        found = {
            hit.photos[0].content
            for text in texts
            for hit in store.nearest(library.encoder.encode_text(text), N_VIEWED, _everything())
        }
        with store._transaction() as connection:
            for stage, own in views.items():
                connection.executemany(
                    "INSERT INTO views VALUES (?, ?, ?)",
                    [(content, stage, pack(own[content % len(own)])) for content in sorted(found)],
                )


def write_photos(store: SqliteStore, place: Path, first: int, vectors: Floats) -> int:
    """Write photos that are not there behind the first so many; how many there are then."""
    rows = vectors.astype(np.float16)
    numbers = range(first + 1, first + 1 + len(rows))
    names = [os.fsencode(place / "photos" / f"{number // 1000:04}" / f"{number}.jpg") for number in numbers]
    with store._transaction() as connection:
        connection.executemany(
            "INSERT INTO contents (id, digest, width, height) VALUES (?, ?, 640, 480)",
            [(number, f"{number:032x}") for number in numbers],
        )
        connection.executemany(
            "INSERT INTO vectors VALUES (?, ?)",
            [(number, row.tobytes()) for number, row in zip(numbers, rows, strict=True)],
        )
        connection.executemany(
            "INSERT INTO photos (path, size, mtime_ns, date, content) VALUES (?, 1, 0, '2020', ?)",
            list(zip(names, numbers, strict=True)),
        )
    return first + len(rows)


def measure(place: Path, n: int, texts: list[str], short: list[str], rounds: int) -> dict[str, Any]:
    with Library(place, stages=()) as library:
        assert isinstance(library.store, SqliteStore)
        writing = seconds(lambda: library.search(texts[0], top=TOP))  # writes the matrix
        queries = np.stack([library.encoder.encode_text(text) for text in texts])
        queries /= np.linalg.norm(queries, axis=1, keepdims=True)
        matrix = library.store._keeper.current()
        warm = [seconds(lambda t=text: library.search(t, top=TOP)) for _ in range(rounds) for text in texts]  # type: ignore[misc]
        bare = [seconds(lambda q=query: matrix.cosines(q)) for _ in range(rounds) for query in queries]  # type: ignore[misc]
        found = [
            [hit.photos[0].content for hit in library.store.nearest(query, TOP, _everything())] for query in queries
        ]
        same = [len(set(own) & set(best)) for own, best in zip(found, exact_best(library.store, queries), strict=True)]
    with Library(place) as library:
        stages = [stage.fingerprint.model for stage in library.cascade.held(library.store)]
        every, busy = ask_often(library, texts, rounds)
        every_short, busy_short = ask_often(library, short, rounds)
    memory = ask_alone(place, texts)
    return {
        "photos": n,
        "warm_milliseconds": round(1000 * statistics.median(warm), 1),
        "warm_milliseconds_least": round(1000 * min(warm), 1),
        "all_stages_milliseconds": round(1000 * statistics.median(every), 1),
        "all_stages_core_milliseconds": round(1000 * busy, 1),
        "short_milliseconds": round(1000 * statistics.median(every_short), 1),
        "short_core_milliseconds": round(1000 * busy_short, 1),
        "later_stages": stages,
        "product_milliseconds": round(1000 * statistics.median(bare), 1),
        "same_of_20": [min(same), round(statistics.mean(same), 2)],
        "directions": matrix.rows.scheme.directions.shape[1] if not matrix.is_exact else matrix.dim,  # type: ignore[union-attr]
        "matrix_megabytes": round(sum(path.stat().st_size for path in place.glob("matrix-*")) / 1e6),
        "first_search_seconds": round(writing, 1),
        "memory_megabytes": {"peak": memory["VmHWM"], "own": memory["RssAnon"], "mapped": memory["RssFile"]},
    }


def ask_often(library: Library, texts: list[str], rounds: int) -> tuple[list[float], float]:
    """How long each search takes, and how long a core is busy with one on average."""
    library.search(texts[0], top=TOP)
    start = time.process_time()
    every = [seconds(lambda t=text: library.search(t, top=TOP)) for _ in range(rounds) for text in texts]  # type: ignore[misc]
    return every, (time.process_time() - start) / len(every)


def ask_alone(place: Path, texts: list[str]) -> dict[str, int]:
    """Megabytes of a process that opens a library and answers."""
    program = ASK.format(place=str(place), texts=json.dumps(texts))
    asked = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    memory: dict[str, int] = json.loads(asked.stdout)
    return memory


def _everything() -> Any:
    from seesay.library.types import Filter

    return Filter()


def exact_best(store: SqliteStore, queries: Floats) -> list[list[int]]:
    """The best contents of each query by the product with every vector."""
    ids: NDArray[np.int64] = np.zeros((len(queries), 0), np.int64)
    scores: Floats = np.zeros((len(queries), 0), np.float32)
    last = 0
    while rows := store._rows(
        "SELECT content, vector FROM vectors WHERE content > ? ORDER BY content LIMIT 20000", last
    ):
        vectors = np.frombuffer(b"".join(row[1] for row in rows), np.float16).reshape(len(rows), -1).astype(np.float32)
        numbers = np.array([row[0] for row in rows])
        scores = np.concatenate([scores, queries @ vectors.T], 1)
        ids = np.concatenate([ids, np.broadcast_to(numbers, (len(queries), len(numbers)))], 1)
        best = np.argsort(-scores, 1, kind="stable")[:, :TOP]
        scores, ids = np.take_along_axis(scores, best, 1), np.take_along_axis(ids, best, 1)
        last = int(numbers[-1])
    return ids.tolist()


if __name__ == "__main__":
    main()
