"""The byte matrix of a million and of ten million photos: memory of a process that searches it, and CPU time of a pass.

Neither depends on what the bytes are, so they are random ones, in a file that is mapped as a library's own is. The
directions are those that the library of real photos has. What else a search does is in `benchmarks.scale.exact`: it
does not grow with the photos, because a few hundred are rescored however many there are.

    python -m benchmarks.scale.million LIBRARY [--sizes 1000000 10000000]
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.scale.sections import write_section
from seesay.library.stores.codes import Codes
from seesay.library.stores.shortlist import best_places
from seesay.library.stores.sqlite import SqliteStore

N_BEST = 512
"""Photos that are rescored at least."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("library", type=Path)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument("--one", type=int, help="measure one size in this process, and print it")
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(measure(arguments.library, arguments.one)))
        return
    rows = []
    for size in arguments.sizes:
        program = [sys.executable, "-m", "benchmarks.scale.million", str(arguments.library), "--one", str(size)]
        told = subprocess.run(program, check=True, capture_output=True, text=True).stdout
        rows.append(json.loads(told.splitlines()[-1]))
    write_section("million", rows=rows)


def measure(library: Path, n: int) -> dict[str, Any]:
    store = SqliteStore(library)
    codes = store._keeper.current().rows
    assert isinstance(codes, Codes), "the library is too small to keep bytes"
    scheme = codes.scheme
    store.close()
    kept = scheme.directions.shape[1]
    rng = np.random.default_rng(0)
    with tempfile.NamedTemporaryFile(dir=library.parent) as file:
        block = rng.integers(-127, 128, 1 << 24, np.int8).tobytes()
        for start in range(0, n * kept, len(block)):
            file.write(block[: n * kept - start])
        file.flush()
        flat = np.memmap(file.name, np.int8, "r", shape=(n * kept,))
        many = Codes(scheme, flat, np.zeros(n, np.int32))
        queries = rng.standard_normal((6, many.dim)).astype(np.float32)
        spent = []
        for query in queries:
            start_cpu = time.process_time()
            best_places(many.products(query), N_BEST)
            spent.append(1000 * (time.process_time() - start_cpu))
        about = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines() if ":" in line)
    return {
        "photos": n,
        "directions": kept,
        "pass_cpu_milliseconds": round(float(np.median(spent[1:])), 1),
        "matrix_megabytes": round(n * (kept + 12) / 1e6),
        "peak_megabytes": int(about["VmHWM"].split()[0]) // 1024,
        "own_megabytes": int(about["RssAnon"].split()[0]) // 1024,
    }


if __name__ == "__main__":
    main()
