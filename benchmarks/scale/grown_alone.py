"""Search without a server among vectors grown from real ones (`benchmarks.scale.grown`).

- `library`: a SQLite library of a million. It is asked as a person asks it: sentences, with tags (each vector has those
  of the photo that it was grown from) and with regions for the photos that the sentences find.
- `bytes`: the bytes of ten million, in a file that is mapped as a library's own is. The whole vectors of so many would
  take 41 GB in SQLite, so those that are compared again are grown once more when they are asked for; what is timed is
  the pass over the bytes, and what is counted is how many have to be compared again for an exact answer.

    SEESAY_DATA=… python -m benchmarks.scale.grown_alone LIBRARY NEIGHBOURS library|bytes [--size N]
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.scale.exact import caption_texts, measure
from benchmarks.scale.grown import N_SEEDS, grow_from, rounded
from benchmarks.scale.growth import Grown
from benchmarks.scale.real import Floats, Real, read_real, sentence_vectors
from benchmarks.scale.sections import read_sections, write_section
from benchmarks.speed.warm import N_VIEWS, give_views, write_photos
from seesay.library.library import Library
from seesay.library.stores.codes import N_SAMPLE, Codes, Scheme, encode_blocks
from seesay.library.stores.shortlist import best_places, exact_best
from seesay.library.stores.sqlite import SqliteStore
from seesay.library.types import Folder

TOP = 20
N_QUERIES = 40
TOLERANCE = 0.1
"""By which a score by bytes may be wrong, as in SQLite libraries."""
SIZES = {"library": 1_000_000, "bytes": 10_000_000}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("library", type=Path)
    parser.add_argument("neighbours", type=Path)
    parser.add_argument("what", choices=SIZES)
    parser.add_argument("--size", type=int)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--pass-over", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.pass_over:
        print(json.dumps(time_passes(arguments.pass_over)))
        return
    grown = grow_from(arguments.library, arguments.neighbours, arguments.size or SIZES[arguments.what])
    with tempfile.TemporaryDirectory(dir=arguments.neighbours.parent) as folder:
        if arguments.what == "library":
            row = measure_library(arguments.library, Path(folder), grown, arguments.rounds)
        else:
            row = measure_bytes(arguments, Path(folder), grown)
    section = f"grown_{arguments.what}"
    before = read_sections().get(section, {"rows": []})["rows"]
    rows = [*(each for each in before if each["photos"] != row["photos"]), row]
    write_section(section, seeds=len(grown.real), rows=sorted(rows, key=lambda each: each["photos"]))


def measure_library(source: Path, place: Path, grown: Grown, rounds: int) -> dict[str, Any]:
    texts = caption_texts()
    real = read_real(source, N_SEEDS)
    with Library(place) as library:
        library.store.start(library.encoder.fingerprint, {each.stage: each.fingerprint for each in library.stages})
        library.store.set_folders([Folder(place / "photos")])
        store = library.store
        assert isinstance(store, SqliteStore)
        n, tags = 0, tags_by_place(real)
        for number, rows in enumerate(grown.blocks()):
            seeds = enumerate(grown.draws(number).seeds.tolist(), n + 1)
            own = [(name, content, p) for content, seed in seeds for name, p in tags.get(seed, ())]
            n = write_photos(store, place, n, rows)
            with store._transaction() as connection:
                connection.executemany("INSERT INTO tags VALUES (?, ?, ?)", own)
        with Library(source) as other:
            views = {
                stage.stage: list(other.store.views(stage.stage, real.ids[:N_VIEWS].tolist()).values())
                for stage in library.stages
            }
    give_views(place, views, texts)
    return measure(place, texts, rounds) | {"made": n}


def tags_by_place(real: Real) -> dict[int, list[tuple[int, float]]]:
    """Class and probability of the tags of each real photo that has some, by its place."""
    places = {content: place for place, content in enumerate(real.ids.tolist())}
    found: dict[int, list[tuple[int, float]]] = {}
    for name, content, probability in real.tags:
        found.setdefault(places[content], []).append((name, probability))
    return found


def measure_bytes(arguments: argparse.Namespace, place: Path, grown: Grown) -> dict[str, Any]:
    queries = sentence_vectors(N_QUERIES)
    spread = np.unique(np.linspace(0, grown.n - 1, N_SAMPLE).astype(np.int64))
    scheme = Scheme.fit(rounded(grown.rows(spread)))
    best: Any = (np.zeros((len(queries), 0), np.float32), np.zeros((len(queries), 0), np.int64))

    def vectors() -> Iterator[Floats]:
        nonlocal best
        start = 0
        for block in grown.blocks():
            rows = rounded(block)
            scores = np.concatenate([best[0], queries @ rows.T], 1)
            ids = np.concatenate([best[1], np.tile(np.arange(start, start + len(rows)), (len(queries), 1))], 1)
            kept = np.argpartition(-scores, TOP - 1, 1)[:, :TOP]
            best = np.take_along_axis(scores, kept, 1), np.take_along_axis(ids, kept, 1)
            start += len(rows)
            yield rows

    sums = []
    with (place / "codes").open("wb") as file:
        for block in encode_blocks(scheme, vectors()):
            sums.append(block.sum(0, dtype=np.int32))
            file.write(block.data)
    np.save(place / "sums.npy", np.concatenate(sums))
    np.savez(place / "scheme.npz", table=scheme.to_array(), step=scheme.step, queries=queries)
    codes = open_codes(place)
    same, n_again = [], []
    for query, right in zip(queries, best[1], strict=True):
        asked = 0

        def exact(places: Any, query: Floats = query) -> Floats:
            nonlocal asked
            asked = len(places)
            return rounded(grown.rows(places)) @ query

        found, _ = exact_best(codes.products(query), TOP, exact, TOLERANCE, nearly=True)
        same.append(len(set(found.tolist()) & set(right.tolist())))
        n_again.append(asked)
    program = [sys.executable, "-m", "benchmarks.scale.grown_alone", str(arguments.library), str(arguments.neighbours)]
    told = subprocess.run([*program, "bytes", "--pass-over", str(place)], check=True, capture_output=True, text=True)
    return {
        "photos": grown.n,
        "directions": scheme.directions.shape[1],
        "queries": len(queries),
        "same_of_20": [min(same), round(float(np.mean(same)), 2)],
        "compared_again": [int(np.median(n_again)), max(n_again)],
        "matrix_megabytes": round(sum(path.stat().st_size for path in place.iterdir()) / 1e6),
        **json.loads(told.stdout.splitlines()[-1]),
    }


def open_codes(place: Path) -> Codes:
    table = np.load(place / "scheme.npz")
    return Codes(
        Scheme.from_array(table["table"], float(table["step"])),
        np.memmap(place / "codes", np.int8, "r"),
        np.load(place / "sums.npy"),
    )


def time_passes(place: Path) -> dict[str, Any]:
    """CPU time of finding the best by their bytes, in a process that does nothing else, and its memory."""
    codes, spent = open_codes(place), []
    for query in np.load(place / "scheme.npz")["queries"]:
        start = time.process_time()
        best_places(codes.products(query), 512)
        spent.append(1000 * (time.process_time() - start))
    about = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines() if ":" in line)
    return {
        "pass_cpu_milliseconds": round(float(np.median(spent[1:])), 1),
        "peak_megabytes": int(about["VmHWM"].split()[0]) // 1024,
        "own_megabytes": int(about["RssAnon"].split()[0]) // 1024,
    }


if __name__ == "__main__":
    main()
