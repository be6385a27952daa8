"""Does sm-LSTM attend to the regions of its most attended words? Measured on the boxes of Flickr30k Entities.

At each step the most salient words of a sentence that lie in a boxed phrase are taken, and the peak of the step's map
has to lie in one of that phrase's boxes (the pointing game). Beside it stands the centre of the image for the same
phrases. Nothing learned from the boxes.

Whether attention selects at all is measured by its entropy, by how alike the maps of two steps are, and by what
retrieval loses when it is replaced by equal weights or by its own weights on other candidates (`Selectivity`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from seesay.data import Collection
from seesay.data.examples import Examples
from seesay.errors import SeesayError
from seesay.grounding.boxed_phrases import BoxedPhrase, boxed_phrases
from seesay.images.extraction import features_of
from seesay.layers.dropout import without_dropout
from seesay.layers.pair_sides import Share, share_evenly, share_out, share_shuffled
from seesay.metrics.grounding import peaks, pointing_game
from seesay.metrics.retrieval import retrieval_report
from seesay.models.smlstm import SMLSTM
from seesay.scoring import encode_all
from seesay.system.progress import Progress

N_RANKED = 200
"""Photos among which attention is replaced: 200,000 pairs, three times."""
N_WORDS = 2
"""Words of a step that count, as many as the paper's figures show."""


@dataclass(frozen=True)
class Attended:
    """What the steps look at.

    Attributes:
        pointing: (T,) percent of the attended words whose place the step looks at.
        centre: (T,) percent of the same words whose place is in the middle of the image.
        n_words: (T,) attended words that have a box.
        boxed: (T,) percent of the attended words that have one.
        maps: (T, h, w) the mean map of each step, over all sentences with their own images (Figure 6).
        change: (T - 1,) how far each step's map is from the one before, from 0 to 1: half the sum of differences.
    """

    pointing: NDArray[np.float64]
    centre: NDArray[np.float64]
    n_words: NDArray[np.int64]
    boxed: NDArray[np.float64]
    maps: NDArray[np.float64]
    change: NDArray[np.float64]

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain numbers and lists."""
        return {
            "pointing": self.pointing.round(2).tolist(),
            "centre": self.centre.round(2).tolist(),
            "n_words": self.n_words.tolist(),
            "boxed": self.boxed.round(2).tolist(),
            "change": self.change.round(4).tolist(),
            "maps": self.maps.round(5).tolist(),
        }


@dataclass(frozen=True)
class Selectivity:
    """Whether attention selects.

    Attributes:
        entropy: For `regions` and `words`, (T,) the entropy of attention as a share of the largest there can be: 1 is
            equal weights; None where there is one candidate only.
        correlation: For `regions` and `words`, (T - 1,) of each step's attention with that of the one before, the mean
            over pairs; None where a side has no variance.
        sums: Sum of the six recalls with attention as it is (`attention`), with equal weights (`uniform`), and with its
            weights on other candidates (`shuffled`).
        n_ranked: Photos among which those recalls are measured.
    """

    entropy: dict[str, list[float | None]]
    correlation: dict[str, list[float | None]]
    sums: dict[str, float]
    n_ranked: int


SHARES: dict[str, Share] = {"attention": share_out, "uniform": share_evenly, "shuffled": share_shuffled}


@torch.inference_mode()
def measure_selectivity(
    model: SMLSTM, collection: Collection, *, n_ranked: int = N_RANKED, store: Path | None = None
) -> Selectivity:
    """Look at the first photos of a split, each with its own sentences, and rank them with attention replaced.

    Args:
        model: With a variant that attends.
        n_ranked: Photos; all pairs are compared three times.
        store: The folder of the feature store, where it is not the user's own.
    """
    items = collection.items[:n_ranked]
    few = replace(collection, items=items)
    source = Examples.of(few, features_of(few.images, model.feature_spec, model.outputs, root=store))
    entropies: dict[str, list[NDArray[np.float64]]] = {"regions": [], "words": []}
    alike: dict[str, list[NDArray[np.float64]]] = {"regions": [], "words": []}
    sums = {}
    with without_dropout(model):
        images, texts = encode_all(model, source)
        for place in range(len(items)):
            own = np.flatnonzero(source.image_of == place)
            looked = model.look(images[place : place + 1], texts[torch.from_numpy(own)])
            lengths = texts.lengths[torch.from_numpy(own)].numpy() - 1  # the last is the sentence's context
            for name, weights in (("regions", looked.regions[:, 0]), ("words", looked.words[:, 0])):
                rows = weights.double().numpy()  # (T, L, N)
                n = np.full(len(own), rows.shape[2]) if name == "regions" else lengths
                entropies[name].append(_entropies(rows, n))
                alike[name].append(_correlations(rows, n))
        for name, share in SHARES.items():
            model.pairs.share = share
            try:
                sums[name] = retrieval_report(model.score(images, texts).numpy(), source.image_of)["sum"]
            finally:
                model.pairs.share = share_out
    return Selectivity(
        {name: _means(rows) for name, rows in entropies.items()},
        {name: _means(rows) for name, rows in alike.items()},
        sums,
        len(items),
    )


def _means(parts: list[NDArray[np.float64]]) -> list[float | None]:
    """The mean of each step over the pairs that have a number."""
    rows = np.concatenate(parts, axis=1)
    return [float(np.nanmean(row)) if not np.isnan(row).all() else None for row in rows]


def _entropies(weights: NDArray[np.float64], n: NDArray[np.int64]) -> NDArray[np.float64]:
    """(T, L, N) and how many of N there are → (T, L), as shares of log n; nan where there is one only."""
    terms = np.where(weights > 0, weights * np.log(np.maximum(weights, 1e-300)), 0.0)
    largest = np.log(np.maximum(n, 1))
    return np.where(largest > 0, -terms.sum(2) / np.where(largest > 0, largest, 1), np.nan)


def _correlations(weights: NDArray[np.float64], n: NDArray[np.int64]) -> NDArray[np.float64]:
    """Of each step with the one before: (T, L, N) → (T - 1, L); nan where a step has no variance."""
    found = np.full((len(weights) - 1, weights.shape[1]), np.nan)
    for row, count in enumerate(n):
        own = weights[:, row, :count]
        if count > 2 and (own.std(axis=1) > 0).all():
            found[:, row] = [np.corrcoef(*pair)[0, 1] for pair in pairwise(own)]
    return found


@torch.inference_mode()
def evaluate_attention(
    model: SMLSTM, collection: Collection, *, store: Path | None = None, on_progress: Progress | None = None
) -> Attended:
    """Look at every sentence of a collection with its own image.

    Args:
        model: With a variant that attends.
        collection: One split, to which `seesay.data.entities.attach` gave boxes.
        store: The folder of the feature store, where it is not the user's own.
        on_progress: Called with the images that are done, and all.

    Raises:
        SeesayError: The variant does not attend, or no phrase has a box.
    """
    if not model.pairs.attends:
        raise SeesayError(f"the variant {model.config.variant} does not attend", allowed="full, att")
    phrases = boxed_phrases(collection)
    if not phrases:
        raise SeesayError(f"no phrase of {collection.name} has a box", hint="--entities flickr30k_entities")
    table = features_of(collection.images, model.feature_spec, model.outputs, root=store)
    n_steps = model.config.n_steps
    found: list[list[tuple[NDArray[np.float64], NDArray[np.float64]]]] = [[] for _ in range(n_steps)]  # point, boxes
    total, n_sentences, n_read = 0.0, 0, 0
    change = np.zeros(n_steps - 1)
    with without_dropout(model):
        for place, item in enumerate(collection.items):
            features = table.rows([place])
            looked = model.look(model.encode_images(features), model.encode_texts(item.sentences))
            shape = model.map_shape(features)
            maps = looked.regions[:, 0].double().view(n_steps, len(item.sentences), *shape).numpy()  # (T, L, h, w)
            words = looked.words[:, 0].double().numpy()  # (T, L, J)
            own = [phrase for phrase in phrases if phrase.item == place] if item.phrases else []
            for step in range(n_steps):
                points = peaks(maps[step])
                for sentence in range(len(item.sentences)):
                    for phrase in _read(words[step, sentence], [one for one in own if one.sentence == sentence]):
                        found[step].append((points[sentence], phrase.boxes))
            total = total + maps.sum(axis=1)
            change += np.abs(np.diff(maps, axis=0)).sum(axis=(1, 2, 3)) / 2
            n_sentences += len(item.sentences)
            n_read += sum(min(N_WORDS, int((row > 0).sum())) for row in words[0])
            if on_progress:
                on_progress(place + 1, len(collection))
    middle = np.array([0.5, 0.5])
    return Attended(
        np.array([_pointing([point for point, _ in step], [boxes for _, boxes in step]) for step in found]),
        np.array([_pointing([middle] * len(step), [boxes for _, boxes in step]) for step in found]),
        np.array([len(step) for step in found]),
        np.array([100 * len(step) / max(1, n_read) for step in found]),
        np.asarray(total) / n_sentences,
        change / n_sentences,
    )


def _read(weights: NDArray[np.float64], phrases: Sequence[BoxedPhrase]) -> list[BoxedPhrase]:
    """The phrases in which the most salient words lie, one for each word."""
    top = np.argsort(-weights, kind="stable")[:N_WORDS].tolist()
    return [phrase for word in top for phrase in phrases if phrase.span[0] <= word < phrase.span[1]]


def _pointing(points: Sequence[NDArray[np.float64]], boxes: Sequence[NDArray[np.float64]]) -> float:
    return pointing_game(np.stack(points), boxes) if points else float("nan")
