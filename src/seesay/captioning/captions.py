"""Captions for images: a captioner's sentences, in the order in which they fit.

Decoding gives hypotheses. A matcher puts those first that fit the image best (`seesay.captioning.matching`). Where
there is a captioned collection, those that agree with the captions of an image's neighbours come first instead
(`seesay.captioning.consensus`, m-RNN section 8); neighbours are near in the captioner's own refined features.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from seesay.captioning.beam import Way, beam, beams
from seesay.captioning.decoding import greedy, sample
from seesay.captioning.matching import CaptionJudge
from seesay.captioning.random import block_seeds
from seesay.captioning.reranking import Reranker, order_by_consensus
from seesay.captioning.sentences import Caption, join_words
from seesay.captioning.settings import Sampling, Settings
from seesay.captioning.steps import Hypothesis
from seesay.errors import SeesayError
from seesay.images.arrays import Floats, ImageFeatures
from seesay.images.feature_store import FeatureTable
from seesay.runtime.protocol import Answering
from seesay.system import ranges
from seesay.system.progress import Progress
from seesay.text.tokens import tokenize

DEFAULT = "mrnn"
"""The weights that write captions where nobody chooses others."""
AT_ONCE = 64
"""Images that are decoded together: with a beam of ten some 640 rows, whose words fit into a processor's cache."""


def caption_images(
    model: Answering,
    features: ImageFeatures | FeatureTable,
    *,
    n_best: int = 1,
    start: str = "",
    settings: Settings | None = None,
    sampling: Sampling | None = None,
    judge: CaptionJudge | None = None,
    reranker: Reranker | None = None,
    on_progress: Progress | None = None,
) -> list[list[Caption]]:
    """Write captions for images whose features are given.

    Args:
        model: Any captioner, whichever engine it runs on.
        features: Of the images, in memory or as a table that is read block by block.
        n_best: Captions for each image; the beam is at least as wide.
        start: First words, which every caption continues.
        settings: How; those of the weights where it is not given.
        sampling: Draw captions instead of searching for the best.
        judge: Compare them with the image, and order them by how well they fit; drawn captions stay as they were drawn.
        reranker: Order them by consensus instead.
        on_progress: Called with the images that have captions, and all.

    Returns:
        For each image its captions, the best first; drawn ones, where they are not reranked, as they were drawn.

    Raises:
        SeesayError: `start` has a word that the model does not know.
    """
    settings = settings or Settings.of(model)
    prefix = read_start(model, start)
    ranges.require_count("n_best", n_best, ranges.BEAM)
    n = n_best
    if reranker:  # what is reranked is a choice among many
        n = max(n_best, settings.candidates)
        settings = replace(settings, beam=n)
    elif judge and not sampling:
        settings = judge.widen(settings)
        n = max(n_best, min(judge.matching.candidates, settings.beam))
    n_blocks = -(-len(features) // AT_ONCE)
    seeds = block_seeds(sampling.seed, n_blocks) if sampling else [0] * n_blocks
    captions: list[list[Caption]] = []
    for block, seed in enumerate(seeds):
        rows = range(block * AT_ONCE, min((block + 1) * AT_ONCE, len(features)))
        seen = _take(features, rows)
        images = model.encode_images(seen)
        own = caption_encoded(model, images, n, prefix=prefix, settings=settings, sampling=sampling, seed=seed)
        if judge:
            own = judge.compare(own, seen)
        if reranker:
            own = order_by_consensus(own, model.refine(images), reranker, settings)
        elif judge and not sampling:
            own = judge.order(own, settings.length_power)
        captions += own
        if on_progress:
            on_progress(len(captions), len(features))
    return [several[:n_best] for several in captions]


def caption_in_ways(
    model: Answering, features: ImageFeatures | FeatureTable, ways: Sequence[Settings]
) -> list[list[Caption]]:
    """The best caption of each image in each of several ways: what `caption_images` writes, by one search for all.

    Args:
        ways: Settings that differ in `beam`, `length_power` and `min_length` alone.

    Returns:
        For each way one caption of each image.

    Raises:
        SeesayError: Sentences of other lengths or with other repetitions need a search of their own.
    """
    limits = {(way.max_length, way.no_repeat) for way in ways}
    if len(limits) != 1:
        raise SeesayError("these ways to write captions need several searches", allowed="one max_length, one no_repeat")
    ((max_length, no_repeat),) = limits
    searches = [Way(way.beam, 1, way.min_length, way.length_power) for way in ways]
    captions: list[list[Caption]] = [[] for _ in ways]
    for start in range(0, len(features), AT_ONCE):
        seen = _take(features, range(start, min(start + AT_ONCE, len(features))))
        state = model.start(model.encode_images(seen))
        found = beams(model, state, searches, max_length=max_length, no_repeat=no_repeat)
        for own, sentences in zip(captions, found, strict=True):
            own += [_spell(model, several[0]) for several in sentences]
    return captions


def caption_encoded(
    model: Answering,
    images: Floats,
    n: int,
    *,
    settings: Settings,
    prefix: Sequence[int] = (),
    sampling: Sampling | None = None,
    seed: int = 0,
) -> list[list[Caption]]:
    """n captions for each of a few encoded images or regions (k, D), in the order in which they were found.

    Args:
        seed: Of the draw, where captions are sampled.
    """
    limits: dict[str, Any] = {
        "prefix": prefix, "min_length": settings.min_length, "max_length": settings.max_length,
        "no_repeat": settings.no_repeat,
    }  # fmt: skip
    state, width = model.start(images), max(n, settings.beam)
    if sampling:
        found = sample(model, state, temperature=sampling.temperature, top_k=sampling.top_k, seed=seed, n=n, **limits)
    elif width == 1 and settings.length_power == 0:  # the same sentences, in half the time
        found = [[sentence] for sentence in greedy(model, state, **limits)]
    else:
        found = beam(model, state, width=width, n_best=n, length_power=settings.length_power, **limits)
    return [[_spell(model, hypothesis) for hypothesis in hypotheses] for hypotheses in found]


def read_start(model: Answering, start: str) -> list[int]:
    """The numbers of the first words of captions.

    Raises:
        SeesayError: There are words that the model does not know, which are named, or there is no word at all.
    """
    words = tokenize(start)
    if unknown := [word for word in dict.fromkeys(words) if word not in model.vocabulary]:
        raise SeesayError(
            f"{model.name} does not know {', '.join(map(repr, unknown))}, and cannot go on from {start!r}",
            allowed=f"the {len(model.vocabulary) - 4:,} words that it has learned",
        )
    if start.strip() and not words:
        raise SeesayError(f"{start!r} has no words to go on from", hint='--start "a man in"')
    return model.vocabulary.encode(words)


def _take(features: ImageFeatures | FeatureTable, rows: range) -> ImageFeatures:
    return features.arrays(rows) if isinstance(features, FeatureTable) else features.rows(rows)


def _spell(model: Answering, hypothesis: Hypothesis) -> Caption:
    words = tuple(model.vocabulary.decode(hypothesis.words))
    return Caption(join_words(words), words, hypothesis.log_prob, hypothesis.finished)
