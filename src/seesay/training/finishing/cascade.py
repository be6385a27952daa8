"""How many photos a later stage of search reranks, and how much it counts: for whole sentences, and for short texts.

Both are chosen on several collections at once, by one rule: of the values under which no collection loses, that with
the best mean. Whole sentences are judged by the recall of the photo that each was written about, and lose where they
find less than without the stage. Short texts are judged by the average precision of the photos whose describers used
the words, and lose where they find less than with the values for whole sentences; each number of content words has its
own values.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seesay.settings.blend import Blend, Mix

KS = (20, 50, 100)
"""Photos that may be reranked: each costs its share of the time of a search."""
WEIGHTS = tuple(round(0.1 * step, 1) for step in range(11))
AT = (1, 5, 10)

Scores = NDArray[np.float32]
Table = dict[str, dict[str, float]]


@dataclass(frozen=True, eq=False)
class Asked:
    """Texts that the photos of a collection are searched with.

    Attributes:
        before: (n_texts, n_photos) scores of the stages before.
        own: The same of this stage's model; only those of the best max(KS) photos of each text count.
        fits: (n_texts, n_photos) which photos are right; of a whole sentence the one that it was written about.
        n_words: (n_texts,) content words of each.
    """

    name: str
    before: Scores
    own: Scores
    fits: NDArray[np.bool_]
    n_words: NDArray[np.int64]

    def of_words(self, n_words: int) -> "Asked":
        """The texts of so many content words."""
        rows = self.n_words == n_words
        return Asked(self.name, self.before[rows], self.own[rows], self.fits[rows], self.n_words[rows])

    def near(self) -> tuple[Scores, Scores]:
        """The scores of the photos that may be reranked: of the stages before, and of this one."""
        best = np.argsort(-self.before, axis=1)[:, : max(KS)]
        return np.take_along_axis(self.before, best, 1), np.take_along_axis(self.own, best, 1)

    def recall(self, mix: Mix) -> float:
        """The sum of R@1, R@5 and R@10 of the photos that the texts were written about."""
        return sum(recalls(mix.blend(self.before, self.own), self.fits.argmax(1)).values())

    def precision(self, mix: Mix) -> float:
        """Mean average precision in percent."""
        order = np.argsort(-mix.blend(self.before, self.own), axis=1, kind="stable")
        fits = np.take_along_axis(self.fits, order, 1)
        at = fits.cumsum(1) / np.arange(1, fits.shape[1] + 1)
        return 100 * float(((at * fits).sum(1) / fits.sum(1)).mean())


def choose_blend(devs: Sequence[Asked], after: Sequence[str]) -> tuple[Blend, Table]:
    """How a stage counts with whole sentences; of equal values the fewest photos and the least weight.

    Returns:
        The blend, and R@1 + R@5 + R@10 by value and collection.
    """
    grid = _grid(devs)
    found = {mix: [dev.recall(mix) for dev in devs] for mix in grid}
    best = _choose(found, found[grid[0]])
    return Blend(tuple(after), best.k, best.weight, best.slope, best.offset), _tell(found, devs)


def choose_short(devs: Sequence[Asked], blend: Blend) -> tuple[tuple[Mix, ...], dict[str, Table]]:
    """How a stage counts with texts of one content word, of two, and so on, beside how it does with whole sentences.

    Returns:
        The values, and average precision by number of words, value and collection.
    """
    chosen: list[Mix] = []
    tables: dict[str, Table] = {}
    for n_words in range(1, max((int(dev.n_words.max()) for dev in devs if len(dev.n_words)), default=0) + 1):
        some = [dev.of_words(n_words) for dev in devs if (dev.n_words == n_words).any()]
        found = {mix: [dev.precision(mix) for dev in some] for mix in (blend.whole, *(_grid(some) if some else ()))}
        chosen.append(_choose(found, found[blend.whole]) if some else blend.whole)
        tables[str(n_words)] = _tell(found, some)
    while chosen and chosen[-1] == blend.whole:
        chosen.pop()
    return tuple(chosen), tables


def _grid(devs: Sequence[Asked]) -> list[Mix]:
    """The values that are tried; the first one changes nothing.

    They bring the stage's scores to the spread and mean of those before, so that a blend has the scale of a cosine and
    can be calibrated like one. There is one scale for all collections, as a library is of none of them.
    """
    pairs = [dev.near() for dev in devs]
    slope = float(np.mean([before.std() / max(float(own.std()), 1e-9) for before, own in pairs]))
    offset = float(np.mean([before.mean() - slope * own.mean() for before, own in pairs]))
    return [Mix(k, weight, round(slope, 4), round(offset, 4)) for k in KS for weight in WEIGHTS]


def _choose(found: Mapping[Mix, Sequence[float]], least: Sequence[float]) -> Mix:
    allowed = [mix for mix, row in found.items() if all(a >= b for a, b in zip(row, least, strict=True))]
    return max(allowed, key=lambda mix: round(float(np.mean(found[mix])), 9))


def _tell(found: Mapping[Mix, Sequence[float]], devs: Sequence[Asked]) -> Table:
    return {
        f"{mix.k} photos, {mix.weight}": {dev.name: round(own, 2) for dev, own in zip(devs, row, strict=True)}
        for mix, row in found.items()
    }


def recalls(scores: Scores, owners: NDArray[np.int64]) -> dict[str, float]:
    """R@1, R@5 and R@10 of the photo that each sentence was written about, in percent.

    Example:
        >>> recalls(np.array([[0.3, 0.9, 0.1], [0.2, 0.1, 0.6]], np.float32), np.array([1, 0]))
        {'R@1': 50.0, 'R@5': 100.0, 'R@10': 100.0}
    """
    ranks = ranks_of(scores, owners)
    return {f"R@{n}": round(100 * float((ranks < n).mean()), 1) for n in AT}


def ranks_of(scores: Scores, owners: NDArray[np.int64]) -> NDArray[Any]:
    """How many photos score better than a sentence's own: (n_texts,)."""
    own = scores[np.arange(len(owners)), owners][:, None]
    return np.asarray((scores > own).sum(1))
