"""How scores of search become the share of people who would say that a photo fits.

For sentences people were asked (`seesay.data.judgements`), and a curve is fitted to their answers. For noun phrases and
single words nobody was: there the people who described the photos stand for them. A phrase that one of them wrote fits
its photo, and of such phrases the others say every content word in a share c of the cases, which is measured by leaving
its writer out. So the describers of any photo say the words of a phrase with probability c · P(yes), and the curve for
P(yes) is the one under which what they said is most probable (positive-unlabelled learning, Elkan & Noto 2008). What
somebody chose to mention is easier to mention than what nobody did, so c is rather too high and P(yes) rather too low.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seesay.data.collection import Collection
from seesay.data.judgements import read_judgements
from seesay.data.photos import photo_id
from seesay.errors import SeesayError
from seesay.metrics.calibration import expected_calibration_error, fit_logistic, log_likelihood, sigmoid
from seesay.settings.calibration import MOST_IN_A_PHRASE, Calibration, count_words, tenfolds
from seesay.text.lemmas import lemmatize
from seesay.text.tokens import tokenize

CEILINGS = (1.0, 0.9, 0.8, 0.7, 0.6)
"""Shares at which people's agreement may end."""
ALMOST_ALL = 0.8
"""The share of words that two spellings of one sentence have in common."""
LIKELIHOOD_RATIO = 1.92
"""Of two curves the simpler one is taken unless the other is likelier by more than chance, at one in twenty."""
N_QUERIES = 2000
"""Of each kind: noun phrases, and whole sentences."""


@dataclass(frozen=True, eq=False)
class Queries:
    """What people might search for in a split, and which photos their describers say it of.

    Attributes:
        texts: Noun phrases first, then sentences.
        n_words: (n_texts,) content words of each.
        rarest: (n_texts,) how often training captions have the rarest of them.
        owners: (n_texts,) the photo that each was written about.
        said: (n_texts, n_photos) whether describers of the photo said every content word of the query; of its own
            photo, whether the others did who did not write it.
        n_phrases: How many of the texts are noun phrases.
    """

    texts: list[str]
    n_words: NDArray[np.int64]
    rarest: NDArray[np.int64]
    owners: NDArray[np.int64]
    said: NDArray[np.bool_]
    n_phrases: int

    @property
    def fits(self) -> NDArray[np.bool_]:
        """(n_texts, n_photos) where it was said, and where the query was written."""
        known = self.said.copy()
        known[np.arange(len(self.owners)), self.owners] = True
        return known

    def of_phrases(self) -> "Queries":
        """The noun phrases alone, as far as they are not longer than what has the curve of phrases."""
        short = np.flatnonzero(self.n_words[: self.n_phrases] <= MOST_IN_A_PHRASE)
        texts = [self.texts[place] for place in short]
        return Queries(
            texts, self.n_words[short], self.rarest[short], self.owners[short], self.said[short], len(texts)
        )  # fmt: skip

    def mentioned(self) -> NDArray[np.float64]:
        """c of each query: how often others say every word of a query that fits, by how many and how rare: (n_texts,).

        Where others say none of the queries of their own photo, or all of them, c is not known and counts as 1: what
        was written is then all that fits.
        """
        own = self.said[np.arange(len(self.owners)), self.owners].astype(np.float64)
        if not 0 < own.mean() < 1:
            return np.ones(len(own))
        design = np.stack([np.ones(len(own)), count_words(self.n_words), tenfolds(self.rarest)], 1)
        return sigmoid(design @ fit_logistic(design, own))


def gather_queries(
    photos: Collection,
    entities: Collection | None,
    content_words: Callable[[str], list[str]],
    rarest: Callable[[str], int],
    n: int = N_QUERIES,
) -> Queries:
    """Noun phrases and sentences in equal parts, since people search with both, and which photos they are said of.

    Args:
        photos: A split whose photos stand for a library.
        entities: Noun phrases of the same photos (Flickr30k Entities); None for sentences alone.
        content_words: The words of a query that say what is to be seen.
        rarest: How often training saw the rarest content word of a query.
    """
    described = {photo_id(item.name): item for item in entities.items} if entities else {}
    phrases: dict[str, tuple[int, int]] = {}  # → its photo, and the describer who wrote it
    sentences: dict[str, tuple[int, int]] = {}
    for place, item in enumerate(photos.items):
        for number, sentence in enumerate(item.sentences):
            sentences.setdefault(sentence, (place, number))
        if (parsed := described.get(photo_id(item.name))) is None:
            continue
        writer_of = [find_sentence(sentence, item.sentences) for sentence in parsed.sentences]
        for phrase in parsed.phrases:
            if phrase.chain != "0" and (writer := writer_of[phrase.sentence]) is not None:  # 0: about nothing visible
                phrases.setdefault(" ".join(tokenize(phrase.text)), (place, writer))
    rng = np.random.default_rng(0)
    kinds = [[text for text in texts if content_words(text)] for texts in (phrases, sentences)]
    drawn = [[kind[place] for place in rng.permutation(len(kind))[:n]] for kind in kinds]
    texts = [*drawn[0], *drawn[1]]
    writers = [phrases[text] for text in drawn[0]] + [sentences[text] for text in drawn[1]]
    lemmas = iter(lemmatize(photos.sentences))
    told = [[set(next(lemmas)) for _ in item.sentences] for item in photos.items]
    # One describer of every photo is left out, as the writer is of a query's own photo.
    without_one = [set[str]().union(*(own[:-1] or own)) for own in told]
    wanted = [
        {lemma for word, lemma in zip(tokenize(text), words, strict=True) if word in content}
        for text, words in zip(texts, lemmatize(texts), strict=True)
        if (content := set(content_words(text)))
    ]
    said = np.array([[words <= others for others in without_one] for words in wanted])
    for row, (words, (place, writer)) in enumerate(zip(wanted, writers, strict=True)):
        others = [own for number, own in enumerate(told[place]) if number != writer]
        said[row, place] = words <= set[str]().union(*others)
    owners = np.array([place for place, _ in writers])
    n_words = np.array([len(words) for words in wanted])
    return Queries(texts, n_words, np.array(list(map(rarest, texts))), owners, said, len(drawn[0]))


def find_sentence(sentence: str, among: Sequence[str]) -> int | None:
    """The place of a sentence among those of a photo, which another collection orders and spells in its own way.

    Example:
        >>> find_sentence("A dog runs .", ["Two men", "a dog runs"]), find_sentence("A cat", ["Two men"])
        (1, None)
    """
    words = set(tokenize(sentence))
    shared = [len(words & own) / max(len(words | own), 1) for own in (set(tokenize(each)) for each in among)]
    best = int(np.argmax(shared))
    return best if shared[best] >= ALMOST_ALL else None


def fit_said(scores: NDArray[np.float32], queries: Queries) -> Calibration:
    """The curve P(yes) for the scores of search, (n_texts, n_photos), from what describers said.

    Raises:
        SeesayError: The curve would be a step.
    """
    mentioned = queries.mentioned()
    foreign = np.ones(scores.shape, bool)
    foreign[np.arange(len(queries.owners)), queries.owners] = False  # chosen because it is said
    said = queries.said
    if not said[foreign].any():  # photos with one describer each: all that is known is what was written of which
        foreign, said = np.ones(scores.shape, bool), queries.fits
    rows = np.broadcast_to(np.arange(len(scores))[:, None], scores.shape)[foreign]
    return fit_calibration(
        scores[foreign],
        said[foreign],
        queries.n_words[rows],
        queries.rarest[rows],
        ceilings=(1.0,),
        mentioned=mentioned[rows],
    )


Pairs = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Places of sentences and of photos."""


def read_part(
    path: Path, collection: Collection, part: str
) -> tuple[NDArray[np.float64], Collection, list[str], Pairs]:
    """People's judgements of one part.

    Returns:
        The share of yes of each pair, the photos, the sentences, and the sentence and the photo of each pair.
    """
    judged = read_judgements(path, collection, part)
    items, item_of = np.unique([each.item for each in judged], return_inverse=True)
    numbers, sentence_of = np.unique([each.sentence for each in judged], return_inverse=True)
    photos = replace(collection, items=tuple(collection.items[item] for item in items))
    sentences = collection.sentences
    return np.array([each.yes for each in judged]), photos, [sentences[n] for n in numbers], (sentence_of, item_of)


def fit_judged(
    scores: NDArray[np.float32],
    yes: NDArray[np.float64],
    n_words: NDArray[np.int64],
    rarest: NDArray[np.int64],
    phrases: Calibration | None,
) -> tuple[Calibration, dict[str, float]]:
    """The curve for sentences from people's judgements, with that of phrases, and how well it fits the judgements.

    Args:
        scores: (n,) of the judged pairs.
        yes: (n,) the share of people who said yes.
        n_words: (n,) content words of each pair's sentence.
        rarest: (n,) how often training captions have the rarest of them.
    """
    curve = fit_calibration(scores, yes, n_words, rarest)
    return replace(curve, phrases=phrases), judge(curve.probability(scores, n_words, rarest), yes, float(yes.mean()))


def judge(probabilities: NDArray[np.float64], yes: NDArray[np.float64], constant: float) -> dict[str, float]:
    """How good probabilities are: mean negative log-likelihood, beside that of one constant, and calibration error."""
    n = len(yes)
    return {
        "log-loss": round(-log_likelihood(probabilities, yes) / n, 4),
        "log-loss of a constant": round(-log_likelihood(np.full(n, constant), yes) / n, 4),
        "expected calibration error": round(expected_calibration_error(probabilities, yes), 4),
    }


def fit_calibration(
    scores: ArrayLike,
    yes: ArrayLike,
    n_words: ArrayLike,
    rarest: ArrayLike = 0,
    ceilings: Sequence[float] = CEILINGS,
    mentioned: ArrayLike = 1.0,
) -> Calibration:
    """The curve that makes what was observed most probable: logistic regression under each ceiling.

    Args:
        scores: (n,) of pairs of a photo and a sentence.
        yes: (n,) whether the photo fits, or the share of people who say so.
        n_words: (n,) content words of each pair's sentence.
        rarest: How often training captions have the rarest of them, one number or (n,).
        ceilings: Those that are tried; the first one is taken where no other is likelier by more than chance.
        mentioned: How often a pair that fits is observed to, one share or (n,).

    Raises:
        SeesayError: All pairs fit, or none, there are too few of them, or the curve would be a step.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> scores, n_words = rng.uniform(0, 1, 40_000), rng.integers(1, 5, 40_000)
        >>> yes = rng.random(40_000) < 0.6 / (1 + np.exp(-((8 + n_words) * scores - 3 - n_words)))
        >>> curve = fit_calibration(scores, yes, n_words)
        >>> curve.ceiling, round(float(curve.probability(0.5, n_words=2)), 1)
        (0.6, 0.3)
    """
    x, y = np.asarray(scores, np.float64), np.asarray(yes, np.float64)
    n, seen = count_words(n_words), np.broadcast_to(np.asarray(mentioned, np.float64), x.shape)
    share = float(y.mean()) if len(y) else 0.0
    if not 0 < share < 1:
        raise SeesayError(f"of {len(x)} pairs {share:.0%} fit", allowed="some that fit and some that do not")
    design = np.stack([x, n * x, np.ones_like(x), n, np.broadcast_to(tenfolds(rarest), x.shape)], 1)  # (N, 5)
    tried = [
        (ceiling, fit_logistic(design, y, ceiling * seen))
        for ceiling in ceilings
        if ceiling * float(seen.mean()) > share
    ]
    if not tried:
        raise SeesayError(
            f"{share:.0%} of {len(x)} pairs fit: too few pairs, or too alike, for a curve",
            hint="--data with a collection that has more dev photos",
        )
    likely = [log_likelihood(ceiling * seen * sigmoid(design @ beta), y) for ceiling, beta in tried]
    ceiling, beta = next(each for each, own in zip(tried, likely, strict=True) if own >= max(likely) - LIKELIHOOD_RATIO)
    if np.abs(y - ceiling * seen * sigmoid(design @ beta)).max() < 1e-3:
        raise SeesayError("pairs that fit and pairs that do not are wholly apart: no curve is the best")
    slope, slope_per_word, offset, offset_per_word, per_frequency = map(float, beta)
    return Calibration(slope, slope_per_word, offset, offset_per_word, ceiling, per_frequency)


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
