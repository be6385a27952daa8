"""How scores of search become probabilities."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seesay.data.collection import Collection
from seesay.data.photos import photo_id
from seesay.errors import SeesayError
from seesay.metrics.calibration import fit_logistic, log_likelihood, sigmoid
from seesay.settings.calibration import Calibration, count_words
from seesay.text.lemmas import lemmatize
from seesay.text.tokens import tokenize

CEILINGS = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4)
N_QUERIES = 2000
"""Of each kind: noun phrases, and whole sentences."""


@dataclass(frozen=True, eq=False)
class Queries:
    """What people might search for in a split, and which photos fit.

    Attributes:
        texts: Noun phrases first, then sentences.
        n_words: (n_texts,) content words of each.
        fits: (n_texts, n_photos) whether describers of the photo said every content word of the query.
        n_phrases: How many of the texts are noun phrases.
    """

    texts: list[str]
    n_words: NDArray[np.int64]
    fits: NDArray[np.bool_]
    n_phrases: int


def gather_queries(
    photos: Collection,
    entities: Collection | None,
    content_words: Callable[[str], list[str]],
    n: int = N_QUERIES,
) -> Queries:
    """Noun phrases and sentences in equal parts, since people search with both, and which photos they fit.

    Args:
        photos: A split whose photos stand for a library.
        entities: Noun phrases of the same photos (Flickr30k Entities); without them there are sentences only.
        content_words: The words of a query that say what is to be seen.
    """
    described = {photo_id(item.name): item for item in entities.items} if entities else {}
    phrases = dict.fromkeys(
        " ".join(tokenize(phrase.text))
        for item in photos.items
        if photo_id(item.name) in described
        for phrase in described[photo_id(item.name)].phrases
        if phrase.chain != "0"  # words about nothing visible
    )
    rng = np.random.default_rng(0)
    kinds = [[text for text in texts if content_words(text)] for texts in (phrases, photos.sentences)]
    drawn = [[kind[place] for place in rng.permutation(len(kind))[:n]] for kind in kinds]
    texts = [*drawn[0], *drawn[1]]
    lemmas = iter(lemmatize(photos.sentences))
    told = [{word for _ in item.sentences for word in next(lemmas)} for item in photos.items]
    wanted = [
        {lemma for word, lemma in zip(tokenize(text), words, strict=True) if word in content}
        for text, words in zip(texts, lemmatize(texts), strict=True)
        if (content := set(content_words(text)))
    ]
    fits = np.array([[words <= own for own in told] for words in wanted])
    return Queries(texts, np.array([len(words) for words in wanted]), fits, len(drawn[0]))


def fit_queries(scores: NDArray[np.float32], queries: Queries) -> Calibration:
    """The curve for the scores of search, (n_texts, n_photos)."""
    n_words = np.repeat(queries.n_words, scores.shape[1])
    return fit_calibration(scores.ravel(), queries.fits.ravel(), n_words)


def fit_calibration(
    cosines: ArrayLike, fits: ArrayLike, n_words: ArrayLike, ceilings: Sequence[float] = CEILINGS
) -> Calibration:
    """The curve that makes what was observed most probable: logistic regression under each ceiling.

    Args:
        cosines: (n,) of pairs of a photo and a sentence as they occur in a library, where most do not fit.
        fits: (n,) whether they fit.
        n_words: (n,) content words of each pair's sentence.
        ceilings: Those that are tried.

    Raises:
        SeesayError: All pairs fit, or none, or the curve would be a step.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> cosines, n_words = rng.uniform(0, 1, 40_000), rng.integers(1, 5, 40_000)
        >>> fits = rng.random(40_000) < 0.6 / (1 + np.exp(-((8 + n_words) * cosines - 3 - n_words)))
        >>> curve = fit_calibration(cosines, fits, n_words)
        >>> curve.ceiling, round(float(curve.probability(0.5, n_words=2)), 1)
        (0.6, 0.3)
    """
    x, y = np.asarray(cosines, np.float64), np.asarray(fits, np.float64)
    n = count_words(n_words)
    share = float(y.mean()) if len(y) else 0.0
    if not 0 < share < 1:
        raise SeesayError(f"of {len(x)} pairs {share:.0%} fit", allowed="some that fit and some that do not")
    design = np.stack([x, n * x, np.ones_like(x), n], 1)  # (N, 4)
    tried = [(ceiling, fit_logistic(design, y, ceiling)) for ceiling in ceilings if ceiling > share]
    ceiling, beta = max(tried, key=lambda found: log_likelihood(found[0] * sigmoid(design @ found[1]), y))
    if np.abs(y - ceiling * sigmoid(design @ beta)).max() < 1e-3:
        raise SeesayError("pairs that fit and pairs that do not are wholly apart: no curve is the best")
    slope, slope_per_word, offset, offset_per_word = map(float, beta)
    return Calibration(slope, slope_per_word, offset, offset_per_word, ceiling)


def mean_average_precision(scores: NDArray[np.float32], fits: NDArray[np.bool_]) -> float:
    """In percent, over the queries that some photo fits.

    Example:
        >>> mean_average_precision(np.array([[0.9, 0.5, 0.1]]), np.array([[True, False, True]]))
        83.33
    """
    ordered = np.take_along_axis(fits, np.argsort(-scores, axis=1), 1)[fits.any(1)]  # (n_queries, n_photos)
    at = ordered.cumsum(1) / np.arange(1, ordered.shape[1] + 1)
    return round(100 * float(((at * ordered).sum(1) / ordered.sum(1)).mean()), 2)


def precisions(stages: Mapping[str, NDArray[np.float32]], queries: Queries) -> dict[str, dict[str, float]]:
    """Mean average precision in percent, by kind of query and by stage; without kinds that no query is of."""
    kinds = {"phrases": slice(0, queries.n_phrases), "sentences": slice(queries.n_phrases, None)}
    return {
        kind: {stage: mean_average_precision(scores[rows], queries.fits[rows]) for stage, scores in stages.items()}
        for kind, rows in kinds.items()
        if queries.fits[rows].any()
    }
