"""Captions for images without torch."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from seesay.captioning.sentences import Caption, join_words
from seesay.errors import SeesayError
from seesay.runtime.decoding import Hypothesis, Limits, beam, greedy, sample
from seesay.runtime.matching import Model
from seesay.runtime.network import ImageFeatures
from seesay.runtime.random import block_seeds
from seesay.text.tokens import tokenize

AT_ONCE = 64
"""Pictures that are decoded together."""


@dataclass(frozen=True)
class Search:
    """How captions are written; what dev has chosen for weights stands in their config.json, under `captioning`.

    Attributes:
        beam: Width of the beam; 1 takes the likeliest word again and again.
        length_power: See `seesay.captioning.beam.beam`.
        min_length: Words without which a sentence does not end.
        max_length: Words at which a sentence is cut.
        no_repeat: No run of so many words is said twice; 0 allows everything.
    """

    beam: int = 10
    length_power: float = 0.0
    min_length: int = 1
    max_length: int = 30
    no_repeat: int = 0

    @classmethod
    def of(cls, model: Model, **changes: Any) -> "Search":
        """That of a model's weights, but for the changes."""
        own = {field.name for field in fields(cls)}
        chosen = {key: value for key, value in model.about.get("captioning", {}).items() if key in own}
        return replace(cls(**chosen), **changes)


@dataclass(frozen=True)
class Sampling:
    """Draw captions instead of searching for the best."""

    temperature: float = 1.0
    top_k: int = 0
    seed: int = 0


def write_captions(
    model: Model,
    features: ImageFeatures,
    *,
    n_best: int = 1,
    start: str = "",
    search: Search | None = None,
    sampling: Sampling | None = None,
) -> list[list[Caption]]:
    """Captions of images whose features are given, the best first; drawn ones as they were drawn.

    Raises:
        SeesayError: The weights write no captions, or `start` has a word that the model does not know.
    """
    search = search or Search.of(model)
    limits = Limits(read_start(model, start), search.min_length, search.max_length, search.no_repeat)
    images = model.encode_images(features)
    blocks = [images[first : first + AT_ONCE] for first in range(0, len(images), AT_ONCE)]
    found: list[list[Hypothesis]] = []
    for block, seed in zip(blocks, block_seeds(sampling.seed if sampling else 0, len(blocks)), strict=True):
        state = model.start(block)
        width = max(n_best, search.beam)
        if sampling:
            drawn = {"temperature": sampling.temperature, "top_k": sampling.top_k}
            found += sample(model, state, **drawn, seed=seed, n=n_best, limits=limits)  # type: ignore[arg-type]
        elif width == 1:
            found += [[sentence] for sentence in greedy(model, state, limits)]
        else:
            found += beam(
                model, state, width=width, n_best=n_best, length_power=search.length_power, limits=limits
            )  # fmt: skip
    return [[_spell(model, hypothesis) for hypothesis in several] for several in found]


def read_start(model: Model, start: str) -> list[int]:
    """The numbers of the first words of captions."""
    words = tokenize(start)
    if unknown := [word for word in dict.fromkeys(words) if word not in model.vocabulary]:
        raise SeesayError(
            f"{model.name} does not know {', '.join(map(repr, unknown))}, and cannot go on from {start!r}",
            allowed=f"the {len(model.vocabulary) - 4:,} words that it has learned",
        )
    if start.strip() and not words:
        raise SeesayError(f"{start!r} has no words to go on from", hint='--start "a man in"')
    numbers: list[int] = model.vocabulary.encode(words)
    return numbers


def caption(model: Model, images: Sequence[Any], **how: Any) -> list[list[Caption]]:
    """Open images and write captions for them; arguments as for `write_captions`."""
    return write_captions(model, model.features(images), **how)


def _spell(model: Model, hypothesis: Hypothesis) -> Caption:
    words = tuple(model.vocabulary.decode(hypothesis.words))
    return Caption(join_words(words), words, hypothesis.log_prob, hypothesis.finished)
