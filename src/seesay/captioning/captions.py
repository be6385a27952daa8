"""Captions for pictures: a captioner's sentences, and their order by what people said about similar pictures.

Decoding gives hypotheses. Where there is a captioned collection, those that agree with the captions of a picture's
neighbours come first (`seesay.captioning.consensus`, m-RNN section 8); neighbours are near in the captioner's own
refined features.
"""

from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import torch
from PIL import Image

from seesay.captioning.beam import beam
from seesay.captioning.decoding import sample
from seesay.captioning.reranking import Reranker, order_by_consensus
from seesay.captioning.sentences import Caption, join_words
from seesay.captioning.settings import Sampling, Settings
from seesay.captioning.steps import Hypothesis
from seesay.data.collection import Collection
from seesay.errors import SeesayError
from seesay.images.extraction import FeatureTable
from seesay.images.features import Features
from seesay.models.base import Captioner, Picture
from seesay.models.pretrained import load_captioner
from seesay.system.progress import Progress
from seesay.text.tokens import tokenize

DEFAULT = "mrnn"
"""The weights that write captions where nobody chooses others."""
AT_ONCE = 64
"""Pictures that are decoded together: with a beam of ten some 640 rows, whose words fit into a processor's cache."""


@torch.inference_mode()
def caption_images(
    model: Captioner,
    features: Features | FeatureTable,
    *,
    n_best: int = 1,
    start: str = "",
    settings: Settings | None = None,
    sampling: Sampling | None = None,
    reranker: Reranker | None = None,
    on_progress: Progress | None = None,
) -> list[list[Caption]]:
    """Write captions for pictures whose features are given.

    Args:
        model: Any captioner.
        features: Of the pictures, in memory or as a table that is read block by block.
        n_best: Captions for each picture; the beam is at least as wide.
        start: First words, which every caption continues.
        settings: How; those of the weights where it is not given.
        sampling: Draw captions instead of searching for the best.
        reranker: Order them by consensus.
        on_progress: Called with the pictures that have captions, and all.

    Returns:
        For each picture its captions, the best first; drawn ones, where they are not reranked, as they were drawn.

    Raises:
        SeesayError: `start` has a word that the model does not know.
    """
    settings = settings or Settings.of(model)
    prefix = read_start(model, start)
    width = max(n_best, settings.candidates if reranker else settings.beam)
    n = width if reranker else n_best  # what is reranked is a choice among many
    n_blocks = -(-len(features) // AT_ONCE)
    noise = torch.Generator().manual_seed(sampling.seed if sampling else 0)
    seeds = torch.randint(2**62, (n_blocks,), generator=noise).tolist()
    limits: dict[str, Any] = {
        "prefix": prefix, "min_length": settings.min_length, "max_length": settings.max_length,
        "no_repeat": settings.no_repeat,
    }  # fmt: skip
    captions: list[list[Caption]] = []
    for block, seed in enumerate(seeds):
        rows = range(block * AT_ONCE, min((block + 1) * AT_ONCE, len(features)))
        images = model.encode_images(_take(features, rows))
        if sampling:
            found = sample(
                model, model.start(images), temperature=sampling.temperature, top_k=sampling.top_k, seed=seed, n=n,
                **limits,
            )  # fmt: skip
        else:
            found = beam(
                model, model.start(images), width=width, n_best=n, length_power=settings.length_power, **limits
            )
        own = [[_spell(model, hypothesis) for hypothesis in hypotheses] for hypotheses in found]
        captions += order_by_consensus(own, model.refine(images), reranker, settings) if reranker else own
        if on_progress:
            on_progress(len(captions), len(features))
    return [several[:n_best] for several in captions]


def caption(
    pictures: Picture | Sequence[Picture],
    model: Captioner | str | Path = DEFAULT,
    *,
    references: Collection | None = None,
    n_best: int = 1,
    start: str = "",
    settings: Settings | None = None,
    sampling: Sampling | None = None,
) -> list[list[Caption]]:
    """Write captions for pictures.

    Args:
        pictures: Paths, file contents or opened pictures; one or several.
        model: Trained weights by name or folder, or a captioner that is loaded already.
        references: A captioned collection to rerank against, such as `seesay.load_data("flickr8k")`.
        n_best: Captions for each picture.
        start: First words, which every caption continues.
        settings: How; those of the weights where it is not given.
        sampling: Draw captions instead of searching for the best.

    Returns:
        For each picture its captions, the best first.

    Example:
        >>> caption("photo.jpg")[0][0].text  # doctest: +SKIP
        'a dog runs through the grass'
    """
    captioner = model if isinstance(model, Captioner) else load_captioner(model)
    several = [pictures] if isinstance(pictures, Path | str | bytes | Image.Image) else list(pictures)
    settings = settings or Settings.of(captioner)
    reranker = Reranker.of(captioner, references, settings.metric) if references else None
    return caption_images(
        captioner, captioner.features(several), n_best=n_best, start=start, settings=settings, sampling=sampling,
        reranker=reranker,
    )  # fmt: skip


def read_start(model: Captioner, start: str) -> list[int]:
    """The numbers of the first words of captions.

    Raises:
        SeesayError: There are words that the model does not know, which are named, or there is no word at all.
    """
    words = tokenize(start)
    if unknown := [word for word in dict.fromkeys(words) if word not in model.vocabulary]:
        name = model.weights.name if model.weights else model.family
        raise SeesayError(
            f"{name} does not know {', '.join(map(repr, unknown))}, and cannot go on from {start!r}",
            allowed=f"the {len(model.vocabulary) - 4:,} words that it has learned",
        )
    if start.strip() and not words:
        raise SeesayError(f"{start!r} has no words to go on from", hint='--start "a man in"')
    return model.vocabulary.encode(words)


def _take(features: Features | FeatureTable, rows: range) -> Features:
    if isinstance(features, FeatureTable):
        return features.rows(rows)
    parts: dict[str, Any] = {field.name: getattr(features, field.name) for field in fields(features)}
    return replace(features, **{name: part[rows] for name, part in parts.items() if part is not None})


def _spell(model: Captioner, hypothesis: Hypothesis) -> Caption:
    words = tuple(model.vocabulary.decode(hypothesis.words))
    return Caption(join_words(words), words, hypothesis.log_prob, hypothesis.finished)
