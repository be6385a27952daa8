"""The cascade of search, stage by stage: Flickr8K's test sentences over a library of its test photos, with latencies.

How many photos a later stage reranks and how much it counts has been chosen on the dev photos by `seesay tune --only
cascade`, one stage after the other. The test figures are those of `Library.search`, tags
and all; a photo that is shown as a copy of another is found. Latencies are of single queries in turns.

    SEESAY_DATA=… python -m benchmarks.quality.cascade [vse] [dvsa] [mrnn]
"""

import argparse
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.recording import parse_arguments, record
from seesay import data
from seesay.data.collection import Collection
from seesay.library.library import Library
from seesay.library.ranking.search import Result
from seesay.library.stages import open_stage
from seesay.settings.blend import Blend
from seesay.training.finishing.cascade import AT, recalls
from seesay.training.finishing.scores import read_blend, score_stages


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("first", nargs="?", default="vse")
    parser.add_argument("later", nargs="*", default=["dvsa", "mrnn"])
    parser.add_argument("--limit", type=int, help="sentences of each split that are asked, for a quick look")
    arguments = parse_arguments(parser, "cascade")
    names = [arguments.first, *arguments.later]
    flickr8k = data.load("flickr8k")
    blends = [read_blend(name) for name in arguments.later]
    dev = read_dev(names, flickr8k.split("dev"), arguments.limit)
    print(f"dev: {dev}, by {blends}")
    measured = measure(names, blends, flickr8k.split("test"), arguments.limit)
    for stage, row in measured.items():
        print(f"test, {stage}: {row}")
    record(
        arguments, ("torch", "numpy"), stages=names, blends=[blend.to_table() for blend in blends],
        dev=dict(zip(measured, dev, strict=True)), test=measured,
    )  # fmt: skip


def read_dev(names: Sequence[str], photos: Collection, limit: int | None) -> list[dict[str, float]]:
    """What each number of stages finds on a split, by the blends that were chosen there."""
    queries = [(place, text) for place, item in enumerate(photos.items) for text in item.sentences][:limit]
    owners, texts = np.array([place for place, _ in queries]), [text for _, text in queries]
    return [recalls(score_stages(names[:n], photos, texts), owners) for n in range(1, len(names) + 1)]


def measure(names: Sequence[str], blends: Sequence[Blend], photos: Collection, limit: int | None) -> dict[str, Any]:
    """What a library of a split's photos finds, by more and more stages, and how long a query takes."""
    queries = [(item.image.name, text) for item in photos.items if item.image for text in item.sentences][:limit]
    later = [open_stage(name, blend) for name, blend in zip(names[1:], blends, strict=True)]
    with TemporaryDirectory() as folder:
        place, shown = Path(folder) / "library", Path(folder) / "photos"
        shown.mkdir()
        for image in photos.images:
            shutil.copy(image, shown)
        stages = {
            " + ".join(names[: n + 1]): Library(place, model=names[0], stages=later[:n]) for n in range(len(names))
        }
        stages[" + ".join(names)].index(shown)
        ranks: dict[str, list[int]] = {stage: [] for stage in stages}
        seconds: dict[str, list[float]] = {stage: [] for stage in stages}
        for name, text in queries:
            for stage, library in stages.items():
                start = time.perf_counter()
                results = library.search(text, top=max(AT))
                seconds[stage].append(time.perf_counter() - start)
                ranks[stage].append(rank_of(name, results))
        for library in stages.values():
            library.close()
    return {
        stage: {**shares(np.array(ranks[stage])), "milliseconds": round(1000 * float(np.median(seconds[stage])), 2)}
        for stage in stages
    }


def rank_of(name: str, results: Sequence[Result]) -> int:
    """Where a photo stands among results, from 0; as many as there are where it is not among them."""
    for rank, result in enumerate(results):
        if any(photo.path.name == name for photo in (result.photo, *result.copies)):
            return rank
    return max(AT)


def shares(ranks: NDArray[Any]) -> dict[str, float]:
    return {f"R@{n}": round(100 * float((ranks < n).mean()), 1) for n in AT}


if __name__ == "__main__":
    main()
