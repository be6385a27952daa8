"""Captions for pictures: a captioner's sentences, and their order by what people said about similar pictures.

Decoding gives hypotheses (`seesay.decoding`). Where there is a captioned collection, those that agree with the captions
of a picture's neighbours come first (`seesay.consensus`, m-RNN section 8); neighbours are near in what the captioner
itself sees, its refined features.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, cast, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

from seesay.consensus import PAPER_K_M, Consensus, Metric, nearest, rerank
from seesay.data.collection import Collection
from seesay.decoding import Hypothesis, beam, sample
from seesay.errors import SeesayError
from seesay.images.extraction import FeatureStore, FeatureTable, Progress, extract
from seesay.images.features import Features
from seesay.metrics.frequencies import DocumentFrequencies
from seesay.models.base import Captioner, Picture
from seesay.models.config import read_config
from seesay.models.pretrained import load_captioner
from seesay.text.tokens import tokenize

DEFAULT = "mrnn"
"""The weights that write captions where nobody chooses others."""
AT_ONCE = 64
"""Pictures that are decoded together: with a beam of ten some 640 rows, whose words fit into a processor's cache."""
FREQUENCIES = "frequencies.safetensors"
"""Beside the weights: in how many of their training pictures people use an n-gram."""

KNOWS_RARE = 1000
"""Captioned pictures from which on a collection's own words say which of them are rare."""


@dataclass(frozen=True)
class Settings:
    """How captions are written; what dev has chosen for weights stands in their config.json, under `captioning`.

    Attributes:
        beam: Width of the beam where captions are not reranked.
        candidates: Width of the beam, and sentences of it, where they are.
        length_power: See `seesay.decoding.beam`.
        min_length: Words without which a sentence does not end.
        max_length: Words at which a sentence is cut.
        no_repeat: No run of so many words is said twice; 0 allows everything.
        metric: Similarity of sentences in reranking: `cider` or `bleu`.
        k: Neighbours whose captions count.
        m: Captions, the most similar ones, that the mean is over; 0 takes the paper's number for the metric.
    """

    beam: int = 10
    candidates: int = 10
    length_power: float = 0.0
    min_length: int = 1
    max_length: int = 30
    no_repeat: int = 0
    metric: str = "cider"
    k: int = 60
    m: int = 0

    def __post_init__(self) -> None:
        if self.metric not in get_args(Metric):
            raise SeesayError(f"there is no similarity {self.metric!r}", allowed=get_args(Metric))
        for key in ("beam", "candidates", "min_length", "max_length", "k"):
            if getattr(self, key) < 1:
                raise SeesayError(f"{key} is {getattr(self, key)}", allowed="1 or more")
        if self.m == 0:
            object.__setattr__(self, "m", PAPER_K_M[cast(Metric, self.metric)][1])

    @classmethod
    def of(cls, model: Captioner, **changes: object) -> "Settings":
        """Those of a model's weights, but for the changes that are not None.

        Example:
            >>> Settings.of(load_captioner("mrnn-flickr8k"), beam=3, metric=None).beam  # doctest: +SKIP
            3
        """
        about = model.weights.about if model.weights else {}
        origin = str(model.weights.folder / "config.json") if model.weights else "captioning"
        own = read_config(cls, about.get("captioning", {}), origin)
        given = {key: value for key, value in changes.items() if value is not None}
        if unknown := given.keys() - {field.name for field in fields(cls)}:
            raise SeesayError(f"there is no setting {min(unknown)!r}", allowed=[field.name for field in fields(cls)])
        if given.get("metric", own.metric) != own.metric:
            given = {"m": 0, **given}  # a number of captions was chosen for one similarity only
        return replace(own, **given)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Sampling:
    """Draw captions instead of searching for the best (`seesay.decoding.sample`)."""

    temperature: float = 1.0
    top_k: int = 0
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Caption:
    """One sentence about a picture.

    Attributes:
        text: As a person would write it, but for capitals and full stop.
        words: Its tokens.
        log_prob: Natural logarithm of its probability.
        finished: Whether it ended by itself; otherwise it was cut at the maximum length.
        consensus: Mean similarity to what people said about the picture's neighbours; None where it is not reranked.
    """

    text: str
    words: tuple[str, ...]
    log_prob: float
    finished: bool
    consensus: float | None = None


@dataclass(frozen=True, eq=False)
class Reranker:
    """The pictures of a captioned collection as a captioner sees them, and their captions."""

    vectors: NDArray[np.float32]  # (n_pictures, D)
    consensus: Consensus
    n_failed: int = 0

    @classmethod
    def of(
        cls,
        model: Captioner,
        collection: Collection,
        metric: str = "cider",
        *,
        on_progress: Progress | None = None,
    ) -> "Reranker":
        """Take the references of a collection: its training pictures, or all where it has no splits.

        Pictures that are missing or damaged are left out; `n_failed` counts them. Which words are rare, as CIDEr asks,
        the collection itself says best; one that is too small to know takes the table that lies with the weights.

        Raises:
            SeesayError: No picture is left.
        """
        collection = collection.split("train") if "train" in collection.splits else collection
        store = FeatureStore(model.feature_spec, outputs=model.outputs)
        extraction = extract(collection.images, store, on_progress=on_progress)
        items = [(item, key) for item in collection.items if item.image and (key := extraction.keys[item.image])]
        if not items:
            raise SeesayError(
                f"{collection.name} has no pictures whose captions could be compared",
                hint=f"seesay data check {collection.root}",
            )
        table = FeatureTable(store, [key for _, key in items])
        captions = [[tokenize(sentence) for sentence in item.sentences] for item, _ in items]
        frequencies = _read_frequencies(model) if len(items) < KNOWS_RARE else None
        consensus = Consensus(captions, cast(Metric, metric), frequencies=frequencies)
        return cls(refine_pictures(model, table), consensus, len(collection) - len(items))

    def scores(
        self, vectors: NDArray[np.float32], captions: Sequence[Sequence[Caption]], k: int, m: int
    ) -> list[NDArray[np.float64]]:
        """The consensus score of each caption of pictures with these refined features (n, D)."""
        hypotheses = [[caption.words for caption in own] for own in captions]
        return self.consensus.similarities(hypotheses, nearest(vectors, self.vectors, k)).scores(m)


def _read_frequencies(model: Captioner) -> DocumentFrequencies | None:
    path = model.weights.folder / FREQUENCIES if model.weights else None
    return DocumentFrequencies.load(path) if path and path.is_file() else None


@torch.inference_mode()
def refine_pictures(model: Captioner, table: FeatureTable, *, batch: int = 512) -> NDArray[np.float32]:
    """What a captioner sees in pictures, as vectors whose neighbours look alike to it: (n, D)."""
    blocks = [range(start, min(start + batch, len(table))) for start in range(0, len(table), batch)]
    refined = torch.cat([model.refine(model.encode_images(table.rows(rows))) for rows in blocks])
    return cast(NDArray[np.float32], refined.numpy())


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
        captions += _in_consensus(own, model.refine(images), reranker, settings) if reranker else own
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


def join_words(words: Sequence[str]) -> str:
    """A sentence of tokens, as a person would write it; its tokens are the same again.

    Example:
        >>> join_words(["a", "man", "'s", "dog", "is", "n't", "brown"])
        "a man's dog isn't brown"
    """
    return "".join(word if word.startswith("'") or word == "n't" else f" {word}" for word in words).lstrip()


def _take(features: Features | FeatureTable, rows: range) -> Features:
    if isinstance(features, FeatureTable):
        return features.rows(rows)
    parts: dict[str, Any] = {field.name: getattr(features, field.name) for field in fields(features)}
    return replace(features, **{name: part[rows] for name, part in parts.items() if part is not None})


def _spell(model: Captioner, hypothesis: Hypothesis) -> Caption:
    words = tuple(model.vocabulary.decode(hypothesis.words))
    return Caption(join_words(words), words, hypothesis.log_prob, hypothesis.finished)


def _in_consensus(
    captions: list[list[Caption]], refined: Tensor, reranker: Reranker, settings: Settings
) -> list[list[Caption]]:
    scores = reranker.scores(refined.numpy(), captions, settings.k, settings.m)
    scored = [
        [replace(each, consensus=float(score)) for each, score in zip(own, of_own, strict=True)]
        for own, of_own in zip(captions, scores, strict=True)
    ]
    return rerank(scored, scores)
