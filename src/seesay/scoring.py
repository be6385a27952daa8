"""All images against all sentences, in blocks, here or on a cluster; used by training and by evaluation.

Also which region of its image each noun phrase of a sentence refers to (HM-LSTM section 3.3).
"""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from seesay.data.examples import Examples, Indices
from seesay.grounding.heat import box_overlaps
from seesay.images.extraction import FeatureTable
from seesay.images.features import Features
from seesay.images.regions import Boxes, whole_and_grid
from seesay.layers.dropout import without_dropout
from seesay.layers.sequences import Sequences, join_rows
from seesay.metrics.captions import perplexity
from seesay.metrics.identification import Trials
from seesay.metrics.neighbours import nearest
from seesay.models.base import Captioner, Matcher
from seesay.models.hmlstm import HMLSTM
from seesay.models.identifier import Identifier
from seesay.system.spread import Spread, spread_here

MOST_COMPARED = 8000
"""Images of a collection among which similar ones are looked for."""


@torch.inference_mode()
def score_all(
    model: Matcher,
    source: Examples,
    *,
    batch: int = 256,
    score: Callable[[Tensor, Any], Tensor] | None = None,
    spread: Spread = spread_here,
    encoding: Spread = spread_here,
) -> Tensor:
    """The scores of every image and every sentence of a source: (n_images, n_texts).

    Args:
        score: From what the two encoders gave; `model.score` where nothing else is given.
        spread: Where the scores are computed: by default here and at once, elsewhere a block of images at a time.
        encoding: Where images and sentences are encoded.
    """
    with without_dropout(model):
        images, texts = encode_all(model, source, batch=batch, encoding=encoding)
        n_images = len(images)
        n_at_once = max(1, n_images) if spread is spread_here else batch
        blocks = [images[start : start + n_at_once] for start in range(0, n_images, n_at_once)]
        return torch.cat(list(spread(partial(_ready_to_score, score or model.score, texts), blocks)))


def encode_all(
    model: Matcher, source: Examples, *, batch: int = 256, encoding: Spread = spread_here
) -> tuple[Tensor, Any]:
    """Every image and every sentence of a source as the model keeps them; see `score_all`."""
    table = source.table
    if table is None:
        raise ValueError("a source without images has no scores")
    n_images, n_texts = len(table), len(source.sentences)
    with without_dropout(model), torch.inference_mode():
        places = [range(start, min(start + batch, n_images)) for start in range(0, n_images, batch)]
        images = torch.cat(list(encoding(lambda: lambda some: model.encode_images(table.rows(some)), places)))
        # Sentences of like length go together: a batch is padded to its longest.
        order = sorted(range(n_texts), key=lambda text: len(source.sentences[text].split()))
        sentences = [
            [source.sentences[text] for text in order[start : start + batch]] for start in range(0, n_texts, batch)
        ]
        encoded = list(encoding(lambda: model.encode_texts, sentences))
        return images, join_rows(encoded)[torch.tensor(order).argsort()]


def _ready_to_score(score: Callable[[Tensor, Any], Tensor], texts: Any) -> Callable[[Tensor], Tensor]:
    """What scores a block of images with all sentences."""

    def work(images: Tensor) -> Tensor:
        with torch.inference_mode():
            return score(images, texts)

    return work


def similar_images(source: Examples, n: int) -> Indices:
    """Similar other images of each image of a source, the nearest first: (n_images, at most n).

    Of a large collection they are the nearest among a drawn part of it: comparing all with all would take as long as
    an epoch.
    """
    assert source.table is not None
    vectors = source.table.rows(range(len(source.table))).pooled.numpy()
    bank = np.arange(len(vectors))
    if len(vectors) > MOST_COMPARED:
        bank = np.sort(np.random.default_rng(0).choice(len(vectors), MOST_COMPARED, replace=False))
    found = bank[nearest(vectors, vectors[bank], n + 1)]
    others = found != np.arange(len(found))[:, None]
    # An image that is not in the bank, or twice in the collection, is not among its own nearest.
    others[others.all(axis=1), -1] = False
    similar: Indices = found[others].reshape(len(found), -1)
    return similar


@torch.inference_mode()
def score_trials(model: Identifier, source: Examples, trials: Trials, *, n_at_once: int = 2048) -> Tensor:
    """The logits of all candidates of trials: (n, k)."""
    assert source.table is not None
    n_candidates = trials.images.shape[1]
    scores = torch.zeros(trials.images.shape)
    with without_dropout(model):
        images = model.encode_images(source.table.rows(range(len(source.table))))
        used, place_of = np.unique(trials.texts, return_inverse=True)
        sentences = [source.sentences[text] for text in used]
        encoded = join_rows([model.encode_texts(sentences[start : start + 512]) for start in range(0, len(used), 512)])
        assert isinstance(encoded, Sequences)
        # Trials of like length go together: a batch is padded to its longest.
        order = np.argsort(encoded.lengths.numpy()[place_of], kind="stable")
        for some in np.array_split(order, max(1, -(-len(order) * n_candidates // n_at_once))):
            candidates = images[torch.from_numpy(trials.images[some])]  # (n, k, dim)
            scores[torch.from_numpy(some)] = model.choose(candidates, encoded[torch.from_numpy(place_of[some])])
    return scores


def read_rows(source: Examples, rows: Sequence[int]) -> Features:
    """The features of some of the images of a source that has images."""
    assert source.table is not None
    return source.table.rows(rows)


@torch.inference_mode()
def measure_perplexity(model: Captioner, source: Examples, *, batch: int = 128) -> float:
    """Perplexity of a source's sentences given their images; the end of a sentence counts as a word."""
    order = sorted(range(len(source.sentences)), key=lambda text: len(source.sentences[text].split()))
    total, n_words = 0.0, 0
    with without_dropout(model):
        for start in range(0, len(order), batch):
            own = order[start : start + batch]
            sentences = [source.sentences[text] for text in own]
            images = model.encode_images(read_rows(source, source.image_of[own].tolist()))
            total += float(model.log_prob(images, sentences).sum())
            n_words += int(model.predicted_rows(sentences)[2].sum())
    return perplexity([total], [n_words], base=math.e)


@torch.inference_mode()
def find_correspondences(
    model: HMLSTM,
    source: Examples,
    maps: FeatureTable | None = None,
    *,
    parts_only: bool = False,
    proposals: Sequence[Boxes] | None = None,
    n_images: int = 64,
) -> tuple[Tensor, Tensor]:
    """The best region of every noun phrase of a source's sentences, and how well it fits: (P,) both.

    Confidences are cosines; one below 0 is none.

    Args:
        maps: The features of the same images with their maps. Where they are given a region is chosen by how well it
            fits the part of the image that is warm for the phrase. The region of the largest cosine is mostly a small
            one that shows what is typical, the head of a dog for "a dog", and misses the rest of it.
        parts_only: Choose among the regions other than the whole image, which is the first.
        proposals: The regions of each image, the whole first, in place of the model's own; the source has maps then.
        n_images: Images at a time; one where each has its own regions.
    """
    n_images = n_images if proposals is None else 1
    assert source.table is not None
    found: list[tuple[Tensor, Tensor]] = []
    starts = np.append(source.first_of, len(source.sentences))
    with without_dropout(model):
        for start in range(0, len(starts) - 1, n_images):
            end = min(start + n_images, len(starts) - 1)
            texts = model.encode_trees(source.sentences[starts[start] : starts[end]])
            own = source.image_of[starts[start] : starts[end]]
            images, place = np.unique(own, return_inverse=True)
            features, boxes = source.table.rows(images.tolist()), model.boxes if proposals is None else proposals[start]
            regions = model.encode_regions(features, boxes)  # (n, N, D)
            owner = torch.from_numpy(place)[texts.owner]  # (P,)
            warm = None if maps is None else maps.rows(images.tolist())
            found.append(choose_regions(model, regions, texts.phrases, owner, warm, boxes=boxes, parts_only=parts_only))
    return torch.cat([region for region, _ in found]), torch.cat([confidence for _, confidence in found])


def choose_regions(
    model: HMLSTM,
    regions: Tensor,
    phrases: Tensor,
    owner: Tensor,
    maps: Features | None = None,
    *,
    boxes: Boxes | None = None,
    parts_only: bool = False,
) -> tuple[Tensor, Tensor]:
    """The region of its image that each phrase chooses, and the confidence in it: (P,) both.

    Args:
        regions: (n, N, D) of `boxes` in each image.
        phrases: (P, D).
        owner: (P,) the image of each phrase.
        maps: The images' features with their maps, where regions are chosen by heat.
        boxes: (N, 4), by default `model.boxes`.
        parts_only: Choose among the regions other than the first, which is the whole image.
    """
    first, candidates = int(parts_only), model.boxes if boxes is None else boxes
    cosines = torch.bmm(regions[owner], phrases.unsqueeze(2)).squeeze(2)  # (P, N)
    region = cosines[:, first:].argmax(1) + first
    if maps is not None and maps.map is not None and len(owner):
        _, height, width, _ = maps.map.shape
        cells = model.encode_regions(maps, whole_and_grid(height, width)[1:])  # (n, h · w, D)
        heat = torch.bmm(cells[owner], phrases.unsqueeze(2)).view(-1, height, width)
        region = torch.from_numpy(box_overlaps(heat.double().numpy(), candidates[first:]).argmax(1) + first)
    return region, cosines.gather(1, region.unsqueeze(1)).squeeze(1).clamp(min=0)
