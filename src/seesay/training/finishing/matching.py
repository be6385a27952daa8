"""Which matcher orders a captioner's captions, and what its cosine counts for.

Chosen on the dev photos of several collections together by the mean of CIDEr: a matcher can prefer what one collection
talks about.
"""

from collections.abc import Mapping, Sequence
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
N_CANDIDATES = (5, 10)

Written = Sequence[Sequence[Caption]]


def choose_matching(
    captioner: Answering, matcher: str, devs: Mapping[str, Examples]
) -> tuple[Matching, dict[str, dict[str, dict[str, float]]]]:
    """The number of candidates and the weight with the best mean CIDEr, and what each reaches by collection.

    Args:
        devs: The dev part of each collection, by its name.
    """
    settings = Settings.of(captioner)
    judge = CaptionJudge(captioner, Matching(matcher, 0.0, max(N_CANDIDATES)))
    written = {
        name: caption_images(captioner, features_in(dev), n_best=max(N_CANDIDATES), settings=settings, judge=judge)
        for name, dev in devs.items()
    }
    references = {name: references_of(dev) for name, dev in devs.items()}
    rows: dict[tuple[int, float], dict[str, dict[str, float]]] = {}
    for n in N_CANDIDATES:
        for weight in WEIGHTS:
            rows[n, weight] = {
                name: _figures(captions, references[name], n, settings.length_power, weight)
                for name, captions in written.items()
            }
    n, weight = max(rows, key=lambda key: float(np.mean([figures["cider"] for figures in rows[key].values()])))
    table = {f"{n} candidates, weight {weight:g}": figures for (n, weight), figures in rows.items()}
    return Matching(matcher, weight, n), table


def _figures(captions: Written, references: Any, n: int, power: float, weight: float) -> dict[str, float]:
    """What the best of the n likeliest captions of each image reach."""
    best = []
    for own in captions:
        likeliest = [own[place] for place in np.argsort(-score_captions(own, power, 0.0), kind="stable")[:n]]
        best.append(likeliest[int(score_captions(likeliest, power, weight).argmax())].words)
    return {name: value for name, value in figures_of(best, references).items() if name in ("bleu4", "cider")}
