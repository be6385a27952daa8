"""What bringing the library up to date costs when little or nothing has changed.

A scan compares files with what the library knows of them, whatever its vectors are. So the library of this benchmark
knows every file of the collection by path, size, time and digest, and has made-up vectors: nothing had to go through
the network before a scan of all of them could be measured.

- nothing changed: a scan and a comparison with what is known; no file is opened;
- one in a hundred photos changed: each is replaced by a re-encoded one, indexed, and put back;
- a folder moved: contents are recognised by their digest, and nothing is computed again.

By CPU time of the process that does it, and by the clock, on a machine that others use.

    python -m benchmarks.scale.scans PHOTOS LIBRARY [--only-unchanged]
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from benchmarks.scale.sections import read_sections, write_section
from seesay.images.extraction import content_key
from seesay.library.encoder import WeightsEncoder
from seesay.library.library import DEFAULT_MODEL
from seesay.library.stores.database import FILE
from seesay.library.stores.sqlite import SqliteStore
from seesay.library.types import Batch, Content, File, Folder

N_RUNS = 5
INDEX = """
import json, sys, time
start = time.time()
from seesay.cli.main import run
try:
    run(['index', sys.argv[1], '--library', sys.argv[2], '--workers', '1', '--json'])
finally:
    print(json.dumps({"cpu_seconds": round(time.process_time(), 2), "seconds": round(time.time() - start, 2)}))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("photos", type=Path)
    parser.add_argument("library", type=Path)
    parser.add_argument("--only-unchanged", action="store_true", help="keep what is recorded of changes")
    arguments = parser.parse_args()
    photos, library = arguments.photos.resolve(), arguments.library
    if not (library / FILE).exists():
        fill(photos, library)
    n = sum(1 for _ in photos.rglob("*.jpg"))
    unchanged = [index(photos, library) for _ in range(N_RUNS)]
    print(unchanged, flush=True)
    if arguments.only_unchanged:
        before = read_sections()["scans"]
        assert before["photos"] == n, "what is recorded of changes is of another collection"
        kept = {name: before[name] for name in ("changed", "moved", "changes_date")}
        write_section("scans", photos=n, unchanged=unchanged, **kept)
        return
    moved = measure_moved(photos, library)
    print(moved, flush=True)
    changed = measure_changed(photos, library)
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    write_section("scans", photos=n, unchanged=unchanged, changed=changed, moved=moved, changes_date=today)


def fill(photos: Path, library: Path) -> None:
    """Write every file of a folder with its digest and a vector of its own."""
    made_with = WeightsEncoder(DEFAULT_MODEL).fingerprint
    store, rng = SqliteStore(library), np.random.default_rng(0)
    store.start(made_with)
    store.set_folders([Folder(photos)])
    paths = sorted(photos.rglob("*.jpg"))
    for start in range(0, len(paths), 1000):
        contents, files = [], []
        for path in paths[start : start + 1000]:
            digest = content_key(path)
            vector = rng.standard_normal(made_with.dim).astype(np.float32)
            unit = (vector / np.linalg.norm(vector)).astype(np.float16)
            contents.append(Content(digest, 256, 256, None, None, unit, b""))
            files.append((File.of(os.fsencode(path), path.stat()), digest))
        store.write(Batch(contents, files))
    store.close()


def index(photos: Path, library: Path) -> dict[str, Any]:
    program = [sys.executable, "-c", INDEX, str(photos), str(library)]
    told = subprocess.run(program, check=True, capture_output=True, text=True).stdout
    report, _, spent = told.rstrip().rpartition("\n")
    (done,) = json.loads(report)["folders"]
    kept = {name: done[name] for name in ("photos", "added", "changed", "removed", "encoded")}
    return kept | json.loads(spent)


def measure_changed(photos: Path, library: Path) -> dict[str, Any]:
    """Replace one photo in a hundred, all from the second half, by one that was saved again; then all is as it was."""
    paths = sorted(photos.rglob("*.jpg"))
    chosen = paths[len(paths) // 2 :: 50]
    kept = photos.with_name("kept")
    kept.mkdir(exist_ok=True)
    for number, path in enumerate(chosen):
        (kept / str(number)).hardlink_to(path)
        data = BytesIO()
        with Image.open(path) as image:
            image.save(data, "JPEG", quality=60)
        path.unlink()  # a link: the collection's own file stays
        path.write_bytes(data.getvalue())
    try:
        return index(photos, library)
    finally:
        for number, path in enumerate(chosen):
            (kept / str(number)).replace(path)
        shutil.rmtree(kept)


def measure_moved(photos: Path, library: Path) -> dict[str, Any]:
    """Rename a folder of some thousand photos, and back."""
    folder = next(path for path in sorted(photos.glob("*/*"), reverse=True) if any(path.iterdir()))
    folder.rename(folder.with_name("moved"))
    row = index(photos, library)
    folder.with_name("moved").rename(folder)
    return row | {"then_back": index(photos, library)}


if __name__ == "__main__":
    main()
