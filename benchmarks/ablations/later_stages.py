"""Does any other model behind the eye make search better, on everybody's photos?

Each model reranks the photos that the eye finds best, as a later stage of search would, on the dev parts of Flickr8K,
COCO and IAPR TC-12. Its scores are brought onto those of the eye by mean and deviation, and blended with a weight; the
choice is the weight with the best mean of R@1 + R@5 + R@10 among those under which no collection loses.

    SEESAY_DATA=… python -m benchmarks.ablations.later_stages [dvsa hmlstm smlstm mrnn identifier]
"""

import argparse
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.recording import parse_arguments, record
from seesay import data
from seesay.data.collection import Collection
from seesay.models.pretrained import load
from seesay.settings.blend import Mix
from seesay.training.finishing.cascade import recalls
from seesay.training.finishing.scores import Scores, best, score_texts

COLLECTIONS = ("flickr8k", "coco-all", "iapr")
WEIGHTS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5)
K = 20
N_QUERIES = 1500


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", default=["dvsa", "hmlstm", "smlstm", "mrnn", "identifier"])
    parser.add_argument("--first", default="eye")
    arguments = parse_arguments(parser, "later_stages")
    splits = {name: data.load(name).split("dev").with_images() for name in COLLECTIONS}
    queries = {name: draw(split) for name, split in splits.items()}
    first = load(arguments.first)
    before = {name: score_texts(first, split, queries[name][0]) for name, split in splits.items()}
    rows: dict[str, Any] = {}
    for name in arguments.models:
        model = load(name)
        own = {
            part: score_texts(model, split, queries[part][0], among=best(before[part], K))
            for part, split in splits.items()
        }
        rows[name] = choose(before, own, {part: owners for part, (_, owners) in queries.items()})
        print(name, rows[name], flush=True)
    record(
        arguments, ("torch", "numpy"), first=arguments.first, k=K, queries_of_each=N_QUERIES, split="dev",
        metric="R@1 + R@5 + R@10 of photos", rows=rows,
    )  # fmt: skip


def draw(split: Collection) -> tuple[list[str], NDArray[np.int64]]:
    """Sentences of a split with the photos that they were written about."""
    written = [(place, text) for place, item in enumerate(split.items) for text in item.sentences]
    drawn = np.random.default_rng(0).permutation(len(written))[:N_QUERIES]
    return [written[at][1] for at in drawn], np.array([written[at][0] for at in drawn])


def choose(before: dict[str, Scores], own: dict[str, Scores], owners: dict[str, NDArray[np.int64]]) -> dict[str, Any]:
    """What every weight finds, and the one that is chosen."""
    near = {name: np.take_along_axis(scores, best(scores, K), 1) for name, scores in before.items()}
    seen = {name: np.take_along_axis(own[name], best(scores, K), 1) for name, scores in before.items()}
    # One scale for all collections, as a stage has one.
    slope = float(np.mean([near[name].std() / seen[name].std() for name in before]))
    offset = float(np.mean([near[name].mean() - slope * seen[name].mean() for name in before]))
    found: dict[float, dict[str, float]] = {}
    for weight in WEIGHTS:
        mix = Mix(K, weight, slope, offset)
        blended = {name: recalls(mix.blend(scores, own[name]), owners[name]) for name, scores in before.items()}
        found[weight] = {name: round(sum(each.values()), 1) for name, each in blended.items()}
    good = [weight for weight in WEIGHTS if all(found[weight][name] >= found[0.0][name] for name in before)]
    chosen = max(good, key=lambda weight: sum(found[weight].values()))
    return {"chosen": chosen, "by_weight": {str(weight): row for weight, row in found.items()}}


if __name__ == "__main__":
    main()
