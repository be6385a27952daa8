"""Which matcher orders a captioner's captions, and what its cosine and the captioner's own draws count for.

Chosen on the dev photos of several collections together by the mean of CIDEr: a matcher can prefer what one collection
talks about.
"""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from seesay.captioning.bank import features_in, references_of
from seesay.captioning.captions import caption_images
from seesay.captioning.matching import CaptionJudge, Matching, score_captions
from seesay.captioning.sentences import Caption
from seesay.captioning.settings import Settings
from seesay.data.examples import Examples
from seesay.runtime.protocol import Answering
from seesay.training.finishing.captions import figures_of

DATA = ("flickr8k", "coco-all")
"""The collections whose dev photos choose, if nobody says otherwise."""
WEIGHTS = (0.0, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 20.0)
AGREEMENTS = (0.0, 1.0, 2.0, 3.0, 5.0, 8.0)
N_CANDIDATES = (5, 10)

Written = Sequence[Sequence[Caption]]


def choose_matching(
    captioner: Answering, matcher: str, devs: Mapping[str, Examples]
) -> tuple[Matching, dict[str, dict[str, dict[str, float]]]]:
    """The number of candidates and the weights with the best mean CIDEr, and what each reaches by collection.

    Args:
        devs: The dev part of each collection, by its name.
    """
    settings = Settings.of(captioner)
    judge = CaptionJudge(captioner, Matching(matcher, 0.0, max(N_CANDIDATES), max(AGREEMENTS)))
    written = {
        name: caption_images(captioner, features_in(dev), n_best=max(N_CANDIDATES), settings=settings, judge=judge)
        for name, dev in devs.items()
    }
    references = {name: references_of(dev) for name, dev in devs.items()}
    rows: dict[tuple[int, float, float], dict[str, dict[str, float]]] = {}
    for n, weight, agreement in product(N_CANDIDATES, WEIGHTS, AGREEMENTS):
        rows[n, weight, agreement] = {
            name: _figures(captions, references[name], n, settings.length_power, weight, agreement)
            for name, captions in written.items()
        }
    best = max(rows, key=lambda key: float(np.mean([figures["cider"] for figures in rows[key].values()])))
    table = {_say(*key): figures for key, figures in rows.items()}
    n, weight, agreement = best
    return Matching(matcher, weight, n, agreement), table


def _say(n: int, weight: float, agreement: float) -> str:
    return f"{n} candidates, weight {weight:g}" + (f", agreement {agreement:g}" if agreement else "")


def _figures(
    captions: Written, references: Any, n: int, power: float, weight: float, agreement: float
) -> dict[str, float]:
    """What the best of the n likeliest captions of each image reach."""
    best = []
    for own in captions:
        likeliest = [own[place] for place in np.argsort(-score_captions(own, power, 0.0), kind="stable")[:n]]
        best.append(likeliest[int(score_captions(likeliest, power, weight, agreement).argmax())].words)
    return {name: value for name, value in figures_of(best, references).items() if name in ("bleu4", "cider")}
