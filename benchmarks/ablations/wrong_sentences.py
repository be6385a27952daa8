"""What wrong sentences teach the ear: retrieval on three dev sets, and two-way trials by kind.

All weights are put together as they ship: `vse` beside them, corrected for hubness, both chosen anew (`seesay tune
--only vectors`). Photos are known by their stored vectors, so that only sentences take time.

`A+B` is the mean of two weights. Rows of the record under other names stay.

    SEESAY_DATA=… python -m benchmarks.ablations.wrong_sentences "as shipped"=eye "without wrong sentences"=FOLDER …
"""

import argparse
import json
from typing import Any

import numpy as np
import torch
from torch import Tensor

from benchmarks.recording import parse_arguments, record
from seesay.data.collection import Collection
from seesay.data.examples import Examples, read_split
from seesay.data.trials import GROUPS, draw_trials
from seesay.evaluation.tasks.trials import choose_right
from seesay.images.extraction import features_of
from seesay.images.features import Features, FeatureSpec
from seesay.metrics.retrieval import retrieval_report
from seesay.models.base import Matcher
from seesay.models.eye_ear import EyeEar
from seesay.models.pretrained import load
from seesay.training.finishing import vectors

COLLECTIONS = ("flickr8k", "coco-all", "iapr")
TRIALS = "flickr8k"
BESIDE = "vse"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weights", nargs="+", metavar="NAME=WEIGHTS")
    arguments = parse_arguments(parser, "wrong_sentences")
    beside = load(BESIDE)
    devs = [read_split(name, "dev") for name in COLLECTIONS]
    seen = [_see(beside, dev) for dev in devs]
    read = [_read(beside, dev.sentences) for dev in devs]
    bank = vectors.draw_bank([read_split(name, "train") for name in COLLECTIONS])
    for given in arguments.weights:
        name, _, weights = given.partition("=")
        found = _measure(_mean(weights.split("+"), beside), beside, devs, seen, read, bank)
        print(name, found, flush=True)
        earlier = json.loads(arguments.output.read_text())["models"] if arguments.output.is_file() else {}
        record(arguments, ("seesay", "torch"), models={**earlier, name: found})


def _mean(names: list[str], beside: Matcher) -> EyeEar:
    """An eye alone, or the mean of several of one shape."""
    models = [load(name) for name in names]
    first, *others = (vectors.alone(model, beside.feature_spec) for model in models if isinstance(model, EyeEar))
    with torch.no_grad():
        for place, other in enumerate(others, start=2):
            for own, more in zip(first.parameters(), other.parameters(), strict=True):
                own.lerp_(more, 1 / place)
    return first


@torch.inference_mode()
def _see(beside: Matcher, dev: Collection) -> tuple[Tensor, Tensor]:
    """The vectors of a dev part by both image networks, and by the embedding that reads the second of them."""
    spec = FeatureSpec("eye-imagenet", beside.feature_spec.size, beside.feature_spec.crop)
    pooled = features_of(dev.images, spec).rows(range(len(dev))).pooled
    return pooled, beside.encode_images(Features(pooled[:, pooled.shape[1] // 2 :]))


@torch.inference_mode()
def _read(model: Matcher, sentences: list[str]) -> Tensor:
    return torch.cat([model.encode_texts(sentences[start : start + 500]) for start in range(0, len(sentences), 500)])


@torch.inference_mode()
def _measure(
    alone: EyeEar,
    beside: Matcher,
    devs: list[Collection],
    seen: list[tuple[Tensor, Tensor]],
    read: list[Tensor],
    bank: list[str],
) -> dict[str, Any]:
    own = [
        vectors.Dev(
            dev.name,
            (alone.encode_pooled(pooled), _read(alone, dev.sentences)),
            (other, texts),
            Examples.of(dev, None).image_of,
        )
        for dev, (pooled, other), texts in zip(devs, seen, read, strict=True)
    ]
    made, _ = vectors.put_together(alone, beside, own, bank)
    sums: dict[str, float] = {}
    for each, (pooled, _) in zip(own, seen, strict=True):
        texts = torch.nn.functional.pad(
            made.stand_beside(each.own[1], each.beside[1]), (0, 1), value=-made.config.hub_weight
        )
        report = retrieval_report(made.score(made.encode_pooled(pooled), texts), each.owners)
        sums[each.name] = round(float(report["sum"]), 1)
    return {
        "sums": sums,
        "mean": round(float(np.mean(list(sums.values()))), 2),
        "beside_weight": made.config.beside_weight,
        "hub_weight": made.config.hub_weight,
        "trials": {split: _try(made, split) for split in ("dev", "test")},
    }


def _try(model: EyeEar, split: str) -> dict[str, float]:
    """The share of trials in percent where the right sentence is preferred, by kind."""
    photos = read_split(TRIALS, split)
    trials = draw_trials(photos)
    right = choose_right(model, photos, trials)
    kinds = np.array([trial.kind for trial in trials])
    return {kind: 100 * float(right[kinds == kind].mean()) for kind in GROUPS} | {"all": 100 * float(right.mean())}


if __name__ == "__main__":
    main()
