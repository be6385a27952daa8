"""The eye and the ear beside the joint embedding: dev Sums on three collections, typos, and words that nobody taught.

* Sum: of the six recalls on the dev photos of Flickr8K, COCO and IAPR TC-12.
* Typos: 200 captions of Flickr8K's dev photos, each with one letter left out, doubled, swapped with its neighbour or
  replaced, in a word of four letters or more; R@10 of their photo without and with the edit.
* Words: names of ImageNet classes none of whose words a training caption has, as queries over all dev photos. A photo
  counts as showing the class where the ImageNet network's first class is that one. Given is the chance that such a
  photo scores above one that does not show it: 50 % for a model that knows nothing.

    SEESAY_DATA=… python -m benchmarks.quality.eye MODEL… [--images coco-all=DIR]
"""

import argparse
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from benchmarks.recording import parse_arguments, record
from seesay import data
from seesay.data import Collection
from seesay.data.examples import Examples
from seesay.images.activations import ActivationTable
from seesay.images.extraction import features_of
from seesay.images.features import LOWER, FeatureSpec
from seesay.images.halves import split_network
from seesay.library.classes import CLASS_NAMES
from seesay.metrics.retrieval import retrieval_report
from seesay.models.base import Matcher
from seesay.models.pretrained import load
from seesay.scoring import encode_all
from seesay.text.tokens import tokenize

COLLECTIONS = ("flickr8k", "coco-all", "iapr")
N_TYPOS = 200
LETTERS = "abcdefghijklmnopqrstuvwxyz"
EYE = FeatureSpec("efficientnet-lite2", size=260)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="+")
    parser.add_argument("--images", action="append", default=[], metavar="COLLECTION=DIR")
    parser.add_argument("--no-sums", action="store_true", help="typos and words alone")
    arguments = parse_arguments(parser, "eye_words")
    places = dict(given.split("=", 1) for given in arguments.images)
    devs = {name: read_dev(name, places.get(name)) for name in COLLECTIONS}
    report = {Path(name).name: measure(load(name), devs, sums=not arguments.no_sums) for name in arguments.models}
    record(arguments, ("torch", "numpy"), split="dev", models=report)


def read_dev(name: str, images: str | None) -> Collection:
    return data.load(name, images=Path(images) if images else None).split("dev")


def measure(model: Matcher, devs: dict[str, Collection], *, sums: bool = True) -> dict[str, Any]:
    report: dict[str, Any] = {}
    images: list[Tensor] = []
    for name, dev in devs.items():
        examples = Examples.of(dev, features_of(dev.images, model.feature_spec, model.outputs))
        if not sums:
            examples = replace(examples, sentences=examples.sentences[:1])
        vectors, texts = encode_all(model, examples)
        images.append(vectors)
        if sums:
            report[name] = retrieval_report(model.score(vectors, texts), examples.image_of)
            print(name, report[name]["sum"], flush=True)
    if sums:
        report["mean_sum"] = round(sum(report[name]["sum"] for name in devs) / len(devs), 2)
    report["typos"] = measure_typos(model, devs["flickr8k"], images[0])
    report["words"] = measure_words(model, devs, torch.cat(images))
    print(report["typos"], report["words"], flush=True)
    return report


def measure_typos(model: Matcher, dev: Collection, images: Tensor) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    photos = rng.choice(len(dev), N_TYPOS, replace=False)
    sentences = [dev.items[photo].sentences[0] for photo in photos]
    edited = [misspell(sentence, rng) for sentence in sentences]
    recalls = {}
    for kind, texts in (("as written", sentences), ("one edit", edited)):
        scores = (model.encode_texts(texts) @ images.T).numpy()  # (n, photos)
        ranks = (scores > scores[np.arange(N_TYPOS), photos][:, None]).sum(1)
        recalls[kind] = {f"r{k}": round(100 * float((ranks < k).mean()), 1) for k in (1, 5, 10)}
    return {"n": N_TYPOS, "recalls": recalls, "examples": edited[:3]}


def misspell(sentence: str, rng: np.random.Generator) -> str:
    """One edit in one word of four letters or more; a sentence without such a word stays as it is."""
    words = sentence.split()
    long = [place for place, word in enumerate(words) if len(word) >= 4 and word.isalpha()]
    if not long:
        return sentence
    place = int(rng.choice(long))
    word, at = words[place], int(rng.integers(1, len(words[place]) - 1))
    letter = LETTERS[int(rng.integers(len(LETTERS)))]
    words[place] = [
        word[:at] + word[at + 1 :],
        word[:at] + word[at] + word[at:],
        word[:at] + word[at + 1] + word[at] + word[at + 2 :],
        word[:at] + letter + word[at + 1 :],
    ][int(rng.integers(4))]
    return " ".join(words)


def measure_words(model: Matcher, devs: dict[str, Collection], images: Tensor) -> dict[str, Any]:
    shown = first_classes(tuple(path for dev in devs.values() for path in dev.images))
    chances = {}
    for number, name in enumerate(CLASS_NAMES):
        positives = shown == number
        if positives.any() and not taught_words().intersection(tokenize(name)):
            scores = (model.encode_texts([f"a photo of a {name}"]) @ images.T).numpy()[0]
            above = scores[positives][:, None] - scores[~positives]
            chances[name] = 100 * float((above > 0).mean() + 0.5 * (above == 0).mean())
    mean = round(float(np.mean(list(chances.values()))), 1)
    return {"n_classes": len(chances), "chance": mean, "classes": {k: round(v, 1) for k, v in chances.items()}}


@cache
def taught_words() -> frozenset[str]:
    """All words of training captions."""
    sentences = (sentence for name in COLLECTIONS for sentence in data.load(name).split("train").sentences)
    return frozenset(word for sentence in sentences for word in tokenize(sentence))


@cache
@torch.inference_mode()
def first_classes(paths: tuple[Path, ...]) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The first ImageNet class of each photo, by the network as it was published."""
    table = features_of(paths, EYE, (LOWER,))
    assert isinstance(table, ActivationTable)
    backbone = EYE.load_backbone()
    _, upper = split_network(backbone)
    found = []
    for start in range(0, len(paths), 64):
        lower = table.rows(range(start, min(start + 64, len(paths)))).lower
        assert lower is not None
        assert backbone.classifier is not None
        found.append(backbone.classifier(upper(lower.float().permute(0, 3, 1, 2)).mean((2, 3))).argmax(1))
    return torch.cat(found).numpy()


if __name__ == "__main__":
    with torch.inference_mode():
        main()
