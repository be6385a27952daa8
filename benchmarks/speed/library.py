"""How fast a library is: indexing, searching cold and warm, looking for changes, refusing what is too large.

- index: photos per second on Flickr8K's files and on 12-megapixel JPEGs, as a share of what the network alone does on
  pixels that lie ready in memory, on the same cores in the same run, a thread of photos for each core; beside it one
  thread of photos whose every photo uses all cores; peak memory of a process that indexes.
- query: a cold query is a whole `seesay search` process, against the same with torch's encoder; a warm one is a call in
  a process that has answered before, against NumPy's bare product of the matrix and the query. Vectors beyond the real
  ones are random.
- rescan: a folder that has not changed, against listing it and asking for every file's size and time.
- refusal: a picture of 30,000 × 30,000 pixels.

How well a library finds photos, stage by stage, is measured by benchmarks/quality/cascade.py.

    SEESAY_DATA=… python -m benchmarks.speed.library [--only index,query,rescan,refusal] [--rounds 5] [--photos 200]
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from benchmarks.recording import parse_arguments, record
from seesay import data
from seesay.errors import SeesayError
from seesay.images.batches import BATCH
from seesay.images.io import open_image
from seesay.images.views import preprocess
from seesay.library.library import Library
from seesay.library.types import Batch, Content, File, Folder
from seesay.runtime.exact import is_exact
from seesay.runtime.matching import Model

N_VIEWS = {"regions": 20, "captions": 1}
SIZES = (1_000, 10_000, 100_000)
QUERY = "two dogs play in the snow"
SEARCH = "from seesay.cli.main import run; run(['search', {query!r}, '--no-index', '--json', '--library', {place!r}])"
WITH_TORCH = """
from seesay.library.library import Library
from seesay.models.pretrained import load
from seesay.library.ranking.query import Query, Sentence
from seesay.library.ranking.search import find_photos
from seesay.library.types import Filter
import numpy, torch
with Library({place!r}) as library, torch.inference_mode():
    vector = load("vse").encode_texts([{query!r}])[0].numpy()
    find_photos(library.store, Query(fits=(Sentence(vector, 4),)), None, Filter(), top=10)
"""
INDEX = "from seesay.library.library import Library; Library({place!r}).index({folder!r})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="index,query,rescan,refusal")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--photos", type=int, default=200)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    arguments = parse_arguments(parser, "library")
    result: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        if "index" in arguments.only:
            result["index"] = measure_index(place, arguments.photos, arguments.rounds)
        if "query" in arguments.only:
            result["query"] = [measure_query(place, n, arguments.rounds) for n in arguments.sizes]
        if "rescan" in arguments.only:
            result["rescan"] = measure_rescan(place, max(arguments.sizes), arguments.rounds)
        if "refusal" in arguments.only:
            result["refusal"] = measure_refusal(place, arguments.rounds)
    record(arguments, ("onnxruntime", "torch", "numpy", "pillow"), rounds=arguments.rounds, **result)


def measure_index(place: Path, n_photos: int, rounds: int) -> list[dict[str, Any]]:
    """Indexing against the network alone, interleaved; both with one thread per core."""
    paths = data.load("flickr8k").split("test").images[:n_photos]
    small, large = place / "flickr8k", place / "12 megapixels"
    for folder in (small, large):
        folder.mkdir()
    for path in paths:
        shutil.copy(path, small / path.name)
    for path in paths[: max(8, n_photos // 8)]:
        with Image.open(path) as image:
            image.convert("RGB").resize((4000, 3000), Image.Resampling.BICUBIC).save(large / path.name, quality=90)
    return [_index_rates(place, folder, rounds) for folder in (small, large)]


def _index_rates(place: Path, folder: Path, rounds: int) -> dict[str, Any]:
    workers = len(os.sched_getaffinity(0))
    stored = Model("dvsa", threads=workers).network
    whole = (stored.in_precision("int8") if is_exact() else None) or stored  # as libraries are made
    single = whole.with_threads(1)
    files = sorted(folder.iterdir())
    pixels = [preprocess(open_image(path), whole.size, whole.crop) for path in files]
    batches = [np.concatenate(pixels[start : start + BATCH]) for start in range(0, len(pixels), BATCH)]
    for each in (whole, single):
        each.run(batches[0])  # opens the graph
    network, together, pipeline = [], [], []
    for number in range(rounds):
        with ThreadPoolExecutor(workers) as pool:
            network.append(len(files) / _seconds(partial(_drain, pool, single.run, batches)))
        with ThreadPoolExecutor(1) as pool:
            together.append(len(files) / _seconds(partial(_drain, pool, whole.run, batches)))
        library = Library(place / f"{folder.name} {number}")
        with ExitStack() as stack:
            models: list[Any] = [library.encoder, *library.stages]
            for model in models:
                stack.enter_context(model.inference_session())  # all is loaded once, whatever the number of photos
            pipeline.append(len(files) / _seconds(partial(library.index, folder)))
        assert library.store.counts().photos == len(files)
        library.close()
    memory = _peak_megabytes(INDEX.format(place=str(place / f"{folder.name} memory"), folder=str(folder)))
    ratio = statistics.median(p / n for p, n in zip(pipeline, network, strict=True))
    row = {
        "photos": folder.name,
        "n": len(files),
        "network_photos_per_second": round(statistics.median(network), 1),
        "network_on_all_cores_photos_per_second": round(statistics.median(together), 1),
        "indexed_photos_per_second": round(statistics.median(pipeline), 1),
        "share_of_time_outside_the_network": round(1 - ratio, 3),
        "peak_megabytes": memory,
    }
    print(row)
    return row


def measure_query(place: Path, n: int, rounds: int) -> dict[str, Any]:
    """Cold and warm queries in a library of n photos."""
    folder = place / f"library of {n}"
    library = fill(folder, n)
    search, with_torch = (text.format(place=str(folder), query=QUERY) for text in (SEARCH, WITH_TORCH))
    cold, torch_cold, warm, bare = [], [], [], []
    library.search(QUERY)  # writes the matrix
    matrix = library.store._keeper.current().rows  # type: ignore[attr-defined]
    vector = library.encoder.encode_text(QUERY)
    for _ in range(rounds):
        cold.append(_seconds(lambda: _run(search)))
        torch_cold.append(_seconds(lambda: _run(with_torch)))
        warm.append(_seconds(lambda: library.search(QUERY, top=20)))
        bare.append(_seconds(lambda: np.argsort(-(matrix @ vector))[:20]))
    row = {
        "photos": n,
        "cold_seconds": round(statistics.median(cold), 3),
        "cold_with_torch_seconds": round(statistics.median(torch_cold), 3),
        "torch_over_cold": round(statistics.median(t / c for t, c in zip(torch_cold, cold, strict=True)), 1),
        "warm_milliseconds": round(1000 * statistics.median(warm), 1),
        "bare_product_milliseconds": round(1000 * statistics.median(bare), 1),
        "peak_megabytes": _peak_megabytes(search),
    }
    library.close()
    print(row)
    return row


def fill(folder: Path, n: int) -> Library:
    """A library of n photos that are not there, with random vectors and views; the views are the same for all."""
    library = Library(folder)
    stages = {stage.stage: stage.fingerprint for stage in library.stages}
    library.store.start(library.encoder.fingerprint, stages)
    library.store.set_folders([Folder(folder / "photos")])
    rng = np.random.default_rng(0)
    views = {
        stage: (rng.standard_normal((N_VIEWS[stage], fingerprint.dim), dtype=np.float32) / 28).astype(np.float16)
        for stage, fingerprint in stages.items()
    }
    for start in range(0, n, 1000):
        rows = rng.standard_normal((min(1000, n - start), library.encoder.fingerprint.dim), dtype=np.float32)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        batch = Batch()
        for number, row in enumerate(rows, start):
            content = Content(
                f"{number:032x}", 640, 480, None, None, row.astype(np.float16), b"", ((number % 1000, 0.5),), views
            )
            path = folder / "photos" / f"{number // 1000:03}" / f"{number}.jpg"
            batch.contents.append(content)
            batch.photos.append((File(os.fsencode(path), 1, 10**18), content.digest))
        library.store.write(batch)
    return library


def measure_rescan(place: Path, n: int, rounds: int) -> dict[str, Any]:
    """A folder of n files that have not changed."""
    folder = place / "rescanned"
    library = fill(folder, n)
    for photo in library.latest(n):
        photo.path.parent.mkdir(parents=True, exist_ok=True)
        photo.path.write_bytes(b"x")
        os.utime(photo.path, ns=(10**18, 10**18))
    ours, listing = [], []
    for _ in range(rounds):
        ours.append(_seconds(lambda: library.index(folder / "photos")))
        listing.append(_seconds(lambda: [entry.stat() for entry in _walk(str(folder / "photos"))]))
    assert library.store.counts().photos == n
    library.close()
    row = {
        "files": n,
        "seconds": round(statistics.median(ours), 2),
        "listing_seconds": round(statistics.median(listing), 2),
        "over_listing": round(statistics.median(o / w for o, w in zip(ours, listing, strict=True)), 1),
    }
    print(row)
    return row


def _walk(folder: str) -> list[os.DirEntry[str]]:
    found = []
    with os.scandir(folder) as entries:
        for entry in entries:
            found += _walk(entry.path) if entry.is_dir() else [entry]
    return found


def measure_refusal(place: Path, rounds: int) -> dict[str, Any]:
    """A PNG of 30,000 × 30,000 pixels, refused, against a photo of 12 megapixels, opened."""
    huge, usual = place / "huge.png", place / "usual.jpg"
    Image.new("1", (30_000, 30_000)).save(huge)
    Image.effect_noise((4000, 3000), 60).convert("RGB").save(usual, quality=90)

    def refuse() -> None:
        try:
            open_image(huge, at_least=300)
        except SeesayError:
            return
        raise AssertionError("it was opened")

    refused, opened = [], []
    for _ in range(rounds):
        refused.append(_seconds(refuse))
        opened.append(_seconds(lambda: open_image(usual, at_least=300)))
    row = {
        "milliseconds": round(1000 * statistics.median(refused), 2),
        "of_opening_12_megapixels": round(statistics.median(r / o for r, o in zip(refused, opened, strict=True)), 3),
    }
    print(row)
    return row


def _drain(pool: ThreadPoolExecutor, network: Callable[[Any], Any], batches: list[Any]) -> None:
    list(pool.map(network, batches))


def _seconds(act: Callable[[], object]) -> float:
    start = time.perf_counter()
    act()
    return time.perf_counter() - start


def _run(program: str) -> None:
    subprocess.run([sys.executable, "-c", program], check=True, stdout=subprocess.DEVNULL)


def _peak_megabytes(program: str) -> int:
    """The most memory that a process had; in a process of its own, as the system counts all children together."""
    watch = (
        "import resource, subprocess, sys\n"
        f"subprocess.run([sys.executable, '-c', {program!r}], check=True, stdout=subprocess.DEVNULL)\n"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    finished = subprocess.run([sys.executable, "-c", watch], check=True, capture_output=True, text=True)
    return round(int(finished.stdout) / 1024)


if __name__ == "__main__":
    main()
