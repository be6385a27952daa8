"""Which phrases describe a region, and which region a phrase? (HM-LSTM Table 4, on the boxes of Flickr30k Entities.)

The regions are all annotated boxes of the images, the phrases all annotated phrases with a box. A region and a phrase
belong together where they are of one chain of one image. Phrases of the same words are one candidate (`distinct`), or
stand as often as people wrote them (`all`, which is how the paper counts them). No model that reads a phrase alone can
tell equal ones apart, and ties count against it: "a man" in two hundred images is two hundred rivals of which one or
two are right.

Any matcher can be asked. One that knows regions encodes them; to any other a region is an image of its own, whose
features are the mean of the map within the box. A captioner answers by likelihoods, as it does for whole images.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from seesay.data import Collection
from seesay.errors import SeesayError
from seesay.grounding.boxed_phrases import BoxedPhrase, boxed_phrases
from seesay.images.extraction import features_of
from seesay.images.regions import Boxes
from seesay.layers.dropout import without_dropout
from seesay.metrics.grounding import RegionPhraseReport, region_phrase_report
from seesay.models.base import Matcher
from seesay.system.progress import Progress
from seesay.text.tokens import tokenize

CANDIDATES = ("distinct", "all")


@dataclass(frozen=True)
class PhraseEvaluation:
    """Region-phrase ranking.

    Attributes:
        rows: For each way to count candidates, the `model` and `random` scores, in percent.
        n_candidates: How many phrases there are to choose from, for each way.
    """

    rows: dict[str, dict[str, RegionPhraseReport]]
    n_candidates: dict[str, int]
    n_regions: int
    n_images: int


@dataclass(frozen=True)
class Annotations:
    """The boxes and phrases of images, and what belongs together.

    Attributes:
        boxes: Of each image that has any, its distinct boxes.
        items: Which images of the collection these are.
        texts: The distinct phrases, in lower case and without marks.
        phrase_text: (n_phrases,) which text each annotated phrase is.
        pairs: (n_pairs, 2) region, counted over all images, and annotated phrase.
    """

    boxes: list[Boxes]
    items: list[int]
    texts: list[str]
    phrase_text: NDArray[np.int64]
    pairs: NDArray[np.int64]


def gather_annotations(phrases: Sequence[BoxedPhrase]) -> Annotations:
    """Number the boxes and the texts of phrases, which stand image after image."""
    boxes: list[Boxes] = []
    items: list[int] = []
    places: dict[tuple[int, tuple[float, ...]], int] = {}
    numbers: dict[str, int] = {}
    pairs: list[tuple[int, int]] = []
    kept: list[list[tuple[float, ...]]] = []
    for number, phrase in enumerate(phrases):
        if not items or items[-1] != phrase.item:
            items.append(phrase.item)
            kept.append([])
        numbers.setdefault(" ".join(tokenize(phrase.text)), len(numbers))
        for box in map(tuple, phrase.boxes.tolist()):
            if (phrase.item, box) not in places:
                places[phrase.item, box] = len(places)
                kept[-1].append(box)
            pairs.append((places[phrase.item, box], number))
    boxes = [np.array(some, np.float32) for some in kept]
    phrase_text = np.array([numbers[" ".join(tokenize(phrase.text))] for phrase in phrases], np.int64)
    return Annotations(boxes, items, list(numbers), phrase_text, np.unique(np.array(pairs, np.int64), axis=0))


def evaluate_phrases(
    model: Matcher, collection: Collection, *, store: Path | None = None, on_progress: Progress | None = None
) -> PhraseEvaluation:
    """Rank phrases for regions and regions for phrases.

    Args:
        model: Any matcher.
        collection: Images with boxes and phrases (`seesay.data.entities.attach`).
        store: The folder of the feature store, where it is not the user's own.
        on_progress: Called with the images whose features are there, and all.
    """
    phrases = boxed_phrases(collection)
    if not phrases:
        raise SeesayError(
            f"no phrase of {collection.name} has a box", hint="--entities with the folder of Flickr30k Entities"
        )
    about = gather_annotations(phrases)
    paths = [path for item in about.items if (path := collection.items[item].image)]
    if len(paths) < len(about.items):
        raise SeesayError(
            f"{len(about.items) - len(paths):,} of {len(about.items):,} images with boxes are missing",
            hint=f"seesay data check {collection.root}",
        )
    table = features_of(paths, model.feature_spec, ("pooled", "map"), root=store, on_progress=on_progress)
    with torch.inference_mode(), without_dropout(model):
        regions = torch.cat([model.region_vectors(table.rows([row]), some) for row, some in enumerate(about.boxes)])
        scores = score_phrases(model, regions, about.texts).numpy()  # (n_regions, n_texts)
    chance = np.random.default_rng(0).random(scores.shape, np.float32)
    rows, n_candidates = {}, {}
    for way in CANDIDATES:
        columns = np.arange(len(about.texts)) if way == "distinct" else about.phrase_text
        pairs = about.pairs
        if way == "distinct":
            pairs = np.unique(np.stack([pairs[:, 0], about.phrase_text[pairs[:, 1]]], 1), axis=0)
        rows[way] = {
            "model": region_phrase_report(scores[:, columns], pairs),
            "random": region_phrase_report(_shuffled(chance, len(columns)), pairs),
        }
        n_candidates[way] = len(columns)
    return PhraseEvaluation(rows, n_candidates, len(regions), len(about.items))


def score_phrases(model: Matcher, regions: Tensor, texts: Sequence[str]) -> Tensor:
    """How well each phrase fits each region: inner products, or likelihoods that are divided as for whole images."""
    if model.normalisations:
        return model.score(regions, model.encode_texts(texts))
    return regions @ encode_phrase_texts(model, texts).T


def encode_phrase_texts(model: Matcher, texts: Sequence[str], *, batch: int = 256) -> Tensor:
    """One vector for each phrase, in batches of similar length: (n, D)."""
    order = sorted(range(len(texts)), key=lambda place: len(texts[place].split()))
    batches = (order[start : start + batch] for start in range(0, len(order), batch))
    vectors = [model.phrase_vectors([texts[place] for place in places]) for places in batches]
    return torch.cat(vectors)[torch.tensor(order).argsort()]


def _shuffled(chance: NDArray[np.float32], n_columns: int) -> NDArray[np.float32]:
    """Random scores for as many candidates as are wanted."""
    if n_columns <= chance.shape[1]:
        return chance[:, :n_columns]
    return np.random.default_rng(1).random((len(chance), n_columns), np.float32)
