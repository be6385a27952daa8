"""The cascade of search, stage by stage: Flickr8K's test sentences over a library of its test photos, with latencies.

How many photos the second model looks at again and how much it counts is chosen on the dev photos: the best sum of
R@1, R@5 and R@10 over a grid. `--write` keeps the choice in the config.json of the second model's weights, where search
finds it. The test figures are those of `Library.search`, tags and all; a photo that is shown as a copy of another is
found. Latencies are of single queries in turns, first stage alone and both.

    SEESAY_DATA=… python benchmarks/cascade.py [vse] [dvsa] [--write]
"""

import argparse
import json
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from recording import parse_arguments, record
from seesay import data
from seesay.data.collection import Collection
from seesay.files import replace_atomically
from seesay.images.extraction import features_of
from seesay.library.cascade import AlignerRescorer, Blend
from seesay.library.library import Library
from seesay.library.search import Result
from seesay.models.aligner import load_aligner
from seesay.models.base import Matcher
from seesay.models.pretrained import find, load

Scores = NDArray[np.float32]
KS = (20, 50, 100, 200)
WEIGHTS = tuple(round(0.1 * step, 1) for step in range(11))
AT = (1, 5, 10)


class Choice(NamedTuple):
    blend: Blend
    recalls: dict[str, float]
    alone: dict[str, float]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("first", nargs="?", default="vse")
    parser.add_argument("second", nargs="?", default="dvsa")
    parser.add_argument("--write", action="store_true", help="keep the choice with the second model's weights")
    parser.add_argument("--limit", type=int, help="sentences of each split that are asked, for a quick look")
    arguments = parse_arguments(parser, "cascade")
    flickr8k = data.load("flickr8k")
    chosen = choose(arguments.first, arguments.second, flickr8k.split("dev"), arguments.limit)
    print(f"dev: {chosen.alone} alone, {chosen.recalls} with {chosen.blend}")
    if arguments.write:
        write(find(arguments.second).folder, chosen.blend)
    measured = measure(arguments.first, arguments.second, chosen.blend, flickr8k.split("test"), arguments.limit)
    for stage, row in measured.items():
        print(f"test, {stage}: {row}")
    record(
        arguments, ("torch", "numpy"), first=arguments.first, second=arguments.second, blend=chosen.blend.to_table(),
        dev={"first alone": chosen.alone, "both": chosen.recalls}, test=measured,
    )  # fmt: skip


def choose(first: str, second: str, photos: Collection, limit: int | None) -> Choice:
    """The blend that finds most on a split."""
    queries = [(place, text) for place, item in enumerate(photos.items) for text in item.sentences][:limit]
    own = np.array([place for place, _ in queries])
    texts = [text for _, text in queries]
    cosines, scores = (score_all(model, photos, texts) for model in (load(first), load_aligner(second)))
    order = np.argsort(-cosines, axis=1)  # (n_texts, n_photos)
    pairs = np.take_along_axis(cosines, order[:, : max(KS)], 1), np.take_along_axis(scores, order[:, : max(KS)], 1)
    # Equal spread and equal mean, so that a blend has the scale of a cosine and can be calibrated like one.
    slope = float(pairs[0].std() / pairs[1].std())
    offset = float(pairs[0].mean() - slope * pairs[1].mean())
    tried = []
    for k in KS:
        best = order[:, :k]
        for weight in WEIGHTS:
            blend = Blend(first, k, weight, round(slope, 4), round(offset, 4))
            final = cosines.copy()
            near = np.take_along_axis(cosines, best, 1)
            gain = blend.gain(near, np.take_along_axis(scores, best, 1))
            np.put_along_axis(final, best, (near + gain).astype(np.float32), 1)
            ranks = (final > final[np.arange(len(own)), own][:, None]).sum(1)
            tried.append((blend, recalls(ranks)))
    blend, found = max(tried, key=lambda pair: sum(pair[1].values()))
    return Choice(blend, found, next(row for each, row in tried if each.weight == 0))


@torch.inference_mode()
def score_all(model: Matcher, photos: Collection, texts: Sequence[str]) -> Scores:
    """Every photo of a split with every sentence: (n_texts, n_photos)."""
    features = features_of(photos.images, model.feature_spec, model.outputs).rows(range(len(photos)))
    images = model.encode_images(features)
    blocks = [texts[start : start + 100] for start in range(0, len(texts), 100)]
    return np.concatenate([model.score(images, model.encode_texts(block)).numpy().T for block in blocks])


def measure(first: str, second: str, blend: Blend, photos: Collection, limit: int | None) -> dict[str, Any]:
    """What a library of a split's photos finds, by one stage and by both, and how long a query takes."""
    queries = [(item.image.name, text) for item in photos.items if item.image for text in item.sentences][:limit]
    with TemporaryDirectory() as folder:
        place, shown = Path(folder) / "library", Path(folder) / "photos"
        shown.mkdir()
        for image in photos.images:
            shutil.copy(image, shown)
        stages = {
            "one vector a photo": Library(place, model=first, second=None),
            "and its regions": Library(place, model=first, second=AlignerRescorer(second, blend)),
        }
        stages["and its regions"].index(shown)
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
        stage: {**recalls(np.array(ranks[stage])), "milliseconds": round(1000 * float(np.median(seconds[stage])), 2)}
        for stage in stages
    }


def write(folder: Path, blend: Blend) -> None:
    path = folder / "config.json"
    about = json.loads(path.read_text(encoding="utf-8"))
    about["cascade"] = {**blend.to_table(), "chosen on": "flickr8k/dev"}
    with replace_atomically(path) as temporary:
        temporary.write_text(json.dumps(about, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def rank_of(name: str, results: Sequence[Result]) -> int:
    """Where a photo stands among results, from 0; as many as there are where it is not among them."""
    for rank, result in enumerate(results):
        if any(photo.path.name == name for photo in (result.photo, *result.copies)):
            return rank
    return max(AT)


def recalls(ranks: NDArray[Any]) -> dict[str, float]:
    return {f"R@{n}": round(100 * float((ranks < n).mean()), 1) for n in AT}


if __name__ == "__main__":
    main()
