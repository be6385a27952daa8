"""The cascade of search, stage by stage: Flickr8K's test sentences over a library of its test photos, with latencies.

How many photos a later stage looks at again and how much it counts is chosen on the dev photos, one stage after the
other: the best sum of R@1, R@5 and R@10 over a grid, and of equal ones the fewest photos. `--write` keeps the choices
in the config.json of the stages' weights, where search finds them. The test figures are those of `Library.search`, tags
and all; a photo that is shown as a copy of another is found. Latencies are of single queries in turns.

    SEESAY_DATA=… python benchmarks/cascade.py [vse] [dvsa] [mrnn] [--write]
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
from seesay.images.extraction import features_of
from seesay.library.library import Library
from seesay.library.ranking.cascade import Blend
from seesay.library.ranking.search import Result
from seesay.library.stages import open_stage
from seesay.models.base import Captioner, Matcher
from seesay.models.pretrained import find, load
from seesay.system.files import replace_atomically

Scores = NDArray[np.float32]
KS = (20, 50, 100, 200)
WEIGHTS = tuple(round(0.1 * step, 1) for step in range(11))
AT = (1, 5, 10)


class Choice(NamedTuple):
    """The blends of the later stages, and what each number of stages finds."""

    blends: list[Blend]
    recalls: list[dict[str, float]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("first", nargs="?", default="vse")
    parser.add_argument("later", nargs="*", default=["dvsa", "mrnn"])
    parser.add_argument("--write", action="store_true", help="keep the choices with the weights of the stages")
    parser.add_argument("--limit", type=int, help="sentences of each split that are asked, for a quick look")
    arguments = parse_arguments(parser, "cascade")
    names = [arguments.first, *arguments.later]
    flickr8k = data.load("flickr8k")
    chosen = choose(names, flickr8k.split("dev"), arguments.limit)
    print(f"dev: {chosen.recalls}, by {chosen.blends}")
    if arguments.write:
        for name, blend in zip(arguments.later, chosen.blends, strict=True):
            write(find(name).folder, blend)
    measured = measure(names, chosen.blends, flickr8k.split("test"), arguments.limit)
    for stage, row in measured.items():
        print(f"test, {stage}: {row}")
    record(
        arguments, ("torch", "numpy"), stages=names, blends=[blend.to_table() for blend in chosen.blends],
        dev=dict(zip(measured, chosen.recalls, strict=True)), test=measured,
    )  # fmt: skip


def choose(names: Sequence[str], photos: Collection, limit: int | None) -> Choice:
    """The blends that find most on a split, chosen one after the other."""
    queries = [(place, text) for place, item in enumerate(photos.items) for text in item.sentences][:limit]
    own = np.array([place for place, _ in queries])
    texts = [text for _, text in queries]

    def found(scores: Scores) -> dict[str, float]:
        return recalls((scores > scores[np.arange(len(own)), own][:, None]).sum(1))

    scores = score_all(load(names[0]), photos, texts)
    choice = Choice([], [found(scores)])
    for n, name in enumerate(names[1:], 1):
        own_scores = score_all(load(name), photos, texts)
        order = np.argsort(-scores, axis=1)[:, : max(KS)]
        pairs = np.take_along_axis(scores, order, 1), np.take_along_axis(own_scores, order, 1)
        # Equal spread and equal mean, so that a blend has the scale of a cosine and can be calibrated like one.
        slope = float(pairs[0].std() / pairs[1].std())
        offset = float(pairs[0].mean() - slope * pairs[1].mean())
        grid = [Blend(tuple(names[:n]), k, weight, round(slope, 4), round(offset, 4)) for k in KS for weight in WEIGHTS]
        blend = max(grid, key=lambda blend: sum(found(blended(blend, scores, own_scores)).values()))
        scores = blended(blend, scores, own_scores)
        choice.blends.append(blend)
        choice.recalls.append(found(scores))
    return choice


def blended(blend: Blend, before: Scores, scores: Scores) -> Scores:
    """The scores of search after a stage: (n_texts, n_photos)."""
    best = np.argsort(-before, axis=1)[:, : blend.k]
    near = np.take_along_axis(before, best, 1)
    final = before.copy()
    gain = blend.gain(near, np.take_along_axis(scores, best, 1))
    np.put_along_axis(final, best, (near + gain).astype(np.float32), 1)
    return final


@torch.inference_mode()
def score_all(model: Matcher, photos: Collection, texts: Sequence[str]) -> Scores:
    """Every photo of a split with every sentence: (n_texts, n_photos)."""
    features = features_of(photos.images, model.feature_spec, model.outputs).rows(range(len(photos)))
    images = model.encode_images(features)
    options = {"normalise": "mean-image"} if isinstance(model, Captioner) else {}
    blocks = [texts[start : start + 100] for start in range(0, len(texts), 100)]
    return np.concatenate([model.score(images, model.encode_texts(block), **options).numpy().T for block in blocks])


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
