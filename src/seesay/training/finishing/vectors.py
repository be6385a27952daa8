"""The vector of an eye: the weight of its second embedding, and that of its hubness, of which short texts have less.

All are chosen on several collections at once, and only what helps all of them is taken: what one collection prefers
may be about its kind of photos.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from seesay.data.collection import Collection
from seesay.errors import SeesayError
from seesay.images.features import FeatureSpec
from seesay.metrics.retrieval import retrieval_report
from seesay.models.base import Matcher
from seesay.models.eye_ear import EyeEar, EyeEarConfig
from seesay.settings.short_texts import ShortTexts
from seesay.text.function_words import FUNCTION_WORDS, content_words
from seesay.text.tokens import tokenize

BESIDE = tuple(round(0.05 * step, 2) for step in range(21))
HUBNESS = tuple(round(0.1 * step, 1) for step in range(13))
N_BANK = 6000
BANK_DIM = 64
"""Numbers that are kept of each sentence of the bank."""
SEED = 7
SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
MOST_WORDS = 3
"""Content words of the longest texts that are called short."""
N_SHORT = 500
"""Queries of each length and collection, at most."""
N_SENTENCES = 1500
"""Whole sentences of each collection, at most."""
SAID_OF = (2, 120)
"""Photos of a collection that a phrase is said of, at least and at most."""

Scores = NDArray[np.float32]


@dataclass(frozen=True)
class Dev:
    """A collection's dev part.

    Attributes:
        own: Vectors of images and of sentences, by the eye alone.
        beside: The same, by the second embedding.
        owners: (n_texts,) the image that each sentence was written about.
    """

    name: str
    own: tuple[Tensor, Tensor]
    beside: tuple[Tensor, Tensor]
    owners: NDArray[np.int64]

    def scores(self, weight: float) -> Scores:
        """(n_images, n_texts) cosines, with so much weight on the embedding beside."""
        own, beside = ((images @ texts.T).numpy() for images, texts in (self.own, self.beside))
        return np.asarray((1 - weight) * own + weight * beside, np.float32)


def put_together(
    alone: EyeEar, beside: Matcher, devs: Sequence[Dev], bank: Sequence[str]
) -> tuple[EyeEar, dict[str, dict[str, dict[str, float]]]]:
    """The eye with the embedding beside it and corrected for hubness as the dev parts prefer, and what they said."""
    weight, sums = choose_weight(devs)
    name = beside.weights.name if beside.weights else ""
    config = replace(alone.config, beside=name, beside_dim=beside.view_dim, beside_weight=weight)
    both = _like(alone, config, beside.feature_spec)
    images = [both.stand_beside(dev.own[0], dev.beside[0]) for dev in devs]
    made = with_bank(both, bank, torch.cat(images))
    assert made.bank is not None
    hubness = [made.bank(each).numpy() - made.config.hub_mean for each in images]
    hub_weight, recalls = choose_correction([dev.scores(weight) for dev in devs], hubness, devs)
    made.config = replace(made.config, hub_weight=hub_weight)
    return made, {
        "Sum by weight of the embedding beside": sums,
        "R@1 + R@5 + R@10 of images by weight of hubness": recalls,
    }


def alone(model: EyeEar, features: FeatureSpec) -> EyeEar:
    """The eye without an embedding beside it and without a bank, on the features of that embedding."""
    return _like(model, replace(model.config, beside="", n_bank=0), features)


def _like(model: EyeEar, config: EyeEarConfig, features: FeatureSpec) -> EyeEar:
    """The same parts in another arrangement."""
    made = EyeEar(config, model.subwords, features)
    own = made.state_dict().keys()
    made.load_state_dict({key: value for key, value in model.state_dict().items() if key in own}, strict=False)
    return made.eval().requires_grad_(False)


def choose_weight(devs: Sequence[Dev]) -> tuple[float, dict[str, dict[str, float]]]:
    """The weight of the embedding beside with the best mean Sum of recalls, and the Sums by collection and weight."""
    sums = {
        weight: {dev.name: float(retrieval_report(dev.scores(weight), dev.owners)["sum"]) for dev in devs}
        for weight in BESIDE
    }
    best = max(BESIDE, key=lambda weight: float(np.mean(list(sums[weight].values()))))
    return best, {str(weight): {name: round(own, 1) for name, own in row.items()} for weight, row in sums.items()}


def choose_correction(
    scores: Sequence[Scores], hubness: Sequence[Scores], devs: Sequence[Dev]
) -> tuple[float, dict[str, dict[str, float]]]:
    """The weight of hubness with the best mean recall of images among those under which no collection loses.

    Returns:
        The weight, and R@1 + R@5 + R@10 of images by weight and collection.
    """
    found: dict[float, list[float]] = {}
    for weight in HUBNESS:
        corrected = [own - weight * hub[:, None] for own, hub in zip(scores, hubness, strict=True)]
        found[weight] = [_recall_of_images(own, dev.owners) for own, dev in zip(corrected, devs, strict=True)]
    allowed = [weight for weight in HUBNESS if all(a >= b for a, b in zip(found[weight], found[0.0], strict=True))]
    best = max(allowed, key=lambda weight: float(np.mean(found[weight])))
    table = {
        str(weight): {dev.name: round(own, 1) for dev, own in zip(devs, row, strict=True)}
        for weight, row in found.items()
    }
    return best, table


def _recall_of_images(scores: Scores, owners: NDArray[np.int64]) -> float:
    better = (scores > scores[owners, np.arange(len(owners))]).sum(0)
    return sum(100 * float((better < n).mean()) for n in (1, 5, 10))


def draw_bank(collections: Sequence[Collection], n: int = N_BANK, seed: int = SEED) -> list[str]:
    """Training sentences of several collections, as many of each."""
    rng = np.random.default_rng(seed)
    drawn: list[str] = []
    for collection in collections:
        sentences = collection.split("train").sentences
        places = rng.choice(len(sentences), min(n // len(collections), len(sentences)), replace=False)
        drawn += [sentences[place] for place in places]
    return drawn


@torch.inference_mode()
def with_bank(model: EyeEar, sentences: Sequence[str], images: Tensor) -> EyeEar:
    """The same eye with a bank of sentences, whose correction does not count yet.

    Args:
        model: Without a bank.
        images: (n, dim) vectors of photos whose mean hubness is left.
    """
    texts = torch.cat([model.encode_texts(sentences[start : start + 100]) for start in range(0, len(sentences), 100)])
    made = _like(
        model, replace(model.config, n_bank=len(sentences), bank_dim=BANK_DIM, hub_weight=0.0), model.feature_spec
    )
    assert made.bank is not None
    made.bank.fill(texts)
    made.config = replace(made.config, hub_mean=round(float(made.bank(images).mean()), 4))
    return made


@dataclass(frozen=True, eq=False)
class ShortScores:
    """Short queries of a collection's dev part.

    Attributes:
        plain: (n_photos, n_queries) cosines, not corrected for hubness.
        correction: (n_photos, n_queries) what is added for hubness with whole sentences.
        n_words: (n_queries,) content words of each.
        fits: (n_photos, n_queries) whether a describer of the photo used the words.
    """

    name: str
    plain: Scores
    correction: Scores
    n_words: NDArray[np.int64]
    fits: NDArray[np.bool_]

    def precision(self, n_words: int, share: float) -> float:
        """Mean average precision in percent of the queries of so many words; nan where there are none."""
        own = np.flatnonzero(self.n_words == n_words)
        order = np.argsort(-(self.plain + share * self.correction)[:, own], axis=0, kind="stable")
        fits = np.take_along_axis(self.fits[:, own], order, 0)
        at = fits.cumsum(0) / np.arange(1, len(fits) + 1)[:, None]
        return 100 * float(((at * fits).sum(0) / fits.sum(0)).mean()) if len(own) else float("nan")


def short_queries(dev: Collection) -> dict[str, list[int]]:
    """Words, phrases and sentences that are short, with the photos whose describers used them, by a fixed seed.

    Many more photos show the thing: the precision of a search for them is low, and only its differences say something.
    """
    phrases: defaultdict[str, set[int]] = defaultdict(set)
    sentences: defaultdict[str, set[int]] = defaultdict(set)
    for place, item in enumerate(dev.items):
        for sentence in item.sentences:
            sentences[sentence].add(place)
            for phrase in short_phrases(tokenize(sentence)):
                phrases[phrase].add(place)
    said = {text: of for text, of in phrases.items() if SAID_OF[0] <= len(of) <= SAID_OF[1]} | sentences
    n_words = {text: len(content_words(text)) for text in said}
    rng = np.random.default_rng(SEED)
    drawn: dict[str, list[int]] = {}
    for n in range(1, MOST_WORDS + 1):
        own = sorted(text for text in said if n_words[text] == n)
        drawn |= {own[at]: sorted(said[own[at]]) for at in sorted(rng.permutation(len(own))[:N_SHORT])}
    return drawn


def draw_sentences(dev: Collection) -> dict[str, list[int]]:
    """Sentences with the photo that each was written about, by a fixed seed."""
    written = {text: [place] for place, item in enumerate(dev.items) for text in item.sentences}
    order = np.random.default_rng(SEED).permutation(len(written))[:N_SENTENCES]
    texts = list(written)
    return {texts[at]: written[texts[at]] for at in order}


def short_phrases(words: Sequence[str]) -> Iterator[str]:
    """The runs of words between function words that are not longer than short texts are.

    Example:
        >>> list(short_phrases("a black dog is running on the green grass .".split()))
        ['black dog', 'running', 'green grass']
    """
    run: list[str] = []
    for word in (*words, "."):
        if word.isalpha() and word not in FUNCTION_WORDS:
            run.append(word)
        else:
            if 0 < len(run) <= MOST_WORDS:
                yield " ".join(run)
            run = []


@torch.inference_mode()
def score_short(model: EyeEar, name: str, images: Tensor, queries: Mapping[str, Sequence[int]]) -> ShortScores:
    """Short queries with the photos of a dev part.

    Args:
        images: (n_photos, D) their vectors.

    Raises:
        SeesayError: The model's vectors are not corrected for hubness, or there is no query.
    """
    if model.bank is None:
        raise SeesayError("the vectors are not corrected for hubness", hint="seesay tune WEIGHTS --only vectors")
    if not queries:
        raise SeesayError(f"no words are used of {SAID_OF[0]} photos of {name}", allowed="a larger collection")
    texts = model.encode_texts(list(queries))
    plain = (images[:, :-1] @ texts[:, :-1].T).numpy()
    correction = np.repeat(np.float32(-model.config.hub_weight) * images[:, -1:].numpy(), len(queries), 1)
    fits = np.zeros(plain.shape, bool)
    for column, of in enumerate(queries.values()):
        fits[list(of), column] = True
    return ShortScores(name, plain, correction, np.array([len(content_words(text)) for text in queries]), fits)


def choose_shares(devs: Sequence[ShortScores]) -> tuple[ShortTexts, dict[str, dict[str, dict[str, float]]]]:
    """For each number of words the share of hubness with the best mean precision under which no collection loses.

    Fewer words have no larger share than more words: what is left between neighbours is chance.

    Returns:
        The shares, and mean average precision in percent by number of words, share and collection.
    """
    chosen: list[float] = []
    table: dict[str, dict[str, dict[str, float]]] = {}
    for n in range(MOST_WORDS, 0, -1):
        asked = [dev for dev in devs if (dev.n_words == n).any()]
        found = {share: [dev.precision(n, share) for dev in asked] for share in SHARES}
        most = min(chosen, default=1.0)
        allowed = [
            share
            for share in reversed(SHARES)
            if share <= most and all(a >= b for a, b in zip(found[share], found[most], strict=True))
        ]
        chosen.append(max(allowed, key=lambda share: float(np.mean(found[share])) if asked else 0.0))
        table[str(n)] = {
            str(share): {dev.name: round(own, 2) for dev, own in zip(asked, row, strict=True)}
            for share, row in found.items()
        }
    return ShortTexts(tuple(reversed(chosen))), table
