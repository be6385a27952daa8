"""How a captioner writes: beam, length, and the neighbours of reranking.

Of the beams that with the highest mean of BLEU-1 to 4 is chosen, which is what m-RNN's tables show; then, likewise, how
many words may not be said twice; then, among the sentences of a beam of ten, the similarity, k and m with the highest
CIDEr + BLEU-4.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

from seesay.captioning.bank import Bank, Hypotheses, features_in, references_of, write_hypotheses
from seesay.captioning.captions import caption_in_ways
from seesay.captioning.consensus import Consensus, Metric, rerank
from seesay.captioning.reranking import refine_images
from seesay.captioning.settings import Settings
from seesay.data.examples import Examples
from seesay.engines import answering
from seesay.metrics.captions import caption_report
from seesay.metrics.neighbours import nearest
from seesay.models.base import Captioner

BEAMS = (1, 3, 5, 10)
POWERS = (0.5, 0.7, 1.0)
LEAST = (1, 8, 12)
NO_REPEATS = (0, 2, 3)
KS = (10, 20, 40, 60, 100)
MS = (25, 50, 100, 125, 150, 175)
N_CANDIDATES = 10
FIGURES = ("bleu1", "bleu2", "bleu3", "bleu4", "cider", "rouge_l")
METRICS: tuple[Metric, ...] = ("cider", "bleu")

Way = dict[str, Any]
"""A setting."""
Row = dict[str, Any]
"""A setting with what its captions reach on dev."""


def choose_decoding(
    measure: Callable[[Sequence[Way]], Sequence[Mapping[str, float]]], max_length: int
) -> tuple[Way, list[Row]]:
    """The best way to search for a caption, and all that were tried.

    Args:
        measure: What captions reach on dev (`FIGURES`), for each of the ways in which they are written.
        max_length: Words at which a sentence is cut.
    """
    rows: list[Row] = []

    def best(ways: Sequence[Way]) -> Way:
        own = [{**way, **found} for way, found in zip(ways, measure(ways), strict=True)]
        rows.extend(own)
        found = max(range(len(own)), key=lambda place: sum(own[place][f"bleu{n}"] for n in (1, 2, 3, 4)))
        return ways[found]

    way = best(
        [
            {"beam": beam, "length_power": power, "min_length": least, "max_length": max_length, "no_repeat": 0}
            for beam, power, least in product(BEAMS, POWERS, LEAST)
            if beam > 1 or power == POWERS[0]  # the best next word does not depend on it
        ]
    )
    return best([{**way, "no_repeat": n} for n in NO_REPEATS]), rows


def choose_reranking(
    hypotheses: Hypotheses, bank: Hypotheses, near: Any, references: Sequence[Sequence[Sequence[str]]]
) -> tuple[Row, list[Row]]:
    """The best similarity, k and m, and all that were tried.

    Args:
        hypotheses: For each dev image, the sentences that are reranked.
        bank: The captions of training images.
        near: (n_images, K) the training images that are nearest to each dev image.
        references: What people wrote about the dev images.
    """
    rows: list[Row] = []
    ks = [k for k in KS if k <= near.shape[1]] or [near.shape[1]]
    for metric in METRICS:
        similarities = Consensus(bank, metric).similarities(hypotheses, near)
        for k, m in product(ks, MS):
            first = [several[0] for several in rerank(hypotheses, similarities.scores(m, k))]
            rows.append({"metric": metric, "k": k, "m": m, **figures_of(first, references)})
    best = max(rows, key=lambda row: float(row["cider"] + row["bleu4"]))
    return {key: best[key] for key in ("metric", "k", "m")}, rows


def choose_captions(
    model: Captioner,
    devs: Sequence[Examples],
    bank: Bank,
    max_length: int,
    on_row: Callable[[Row], None] | None = None,
) -> tuple[dict[str, Any], list[Row], list[Row]]:
    """The table `captioning` of a captioner's weights, with all that was tried on the way.

    Args:
        devs: Dev images of one collection or several: the mean of their figures chooses how to decode. Reranking is
            chosen on the first.
        bank: Captioned training images of the first.
        on_row: Told what each of some thirty ways of decoding reaches.
    """
    answers = answering(model)
    references = [references_of(dev) for dev in devs]

    def measure(ways: Sequence[Way]) -> list[dict[str, float]]:
        """One search for all ways with the same rule for repetition, each of which captions all dev images."""
        found: dict[int, dict[str, float]] = {}
        for n in dict.fromkeys(way["no_repeat"] for way in ways):
            places = [place for place, way in enumerate(ways) if way["no_repeat"] == n]
            how = [Settings(**ways[place]) for place in places]
            written = [caption_in_ways(answers, features_in(dev), how) for dev in devs]
            for place, *of_devs in zip(places, *written, strict=True):
                found[place] = mean_figures(
                    [
                        figures_of([caption.words for caption in captions], said)
                        for captions, said in zip(of_devs, references, strict=True)
                    ]
                )
                if on_row:
                    on_row({**ways[place], **found[place]})
        return [found[place] for place in range(len(ways))]

    way, rows = choose_decoding(measure, max_length)
    others, dev = bank.without(devs[0]), devs[0]
    hypotheses = write_hypotheses(answers, dev, Settings(**way, candidates=N_CANDIDATES))
    near = nearest(refine_images(answers, features_in(dev)), others.vectors, max(KS))
    reranking, reranked = choose_reranking(hypotheses, others.captions, near, references[0])
    return {**way, "candidates": N_CANDIDATES, **reranking}, rows, reranked


def mean_figures(several: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """The mean of each figure, to four decimals.

    Example:
        >>> mean_figures([{"cider": 0.6}, {"cider": 0.9}])
        {'cider': 0.75}
    """
    return {name: round(sum(each[name] for each in several) / len(several), 4) for name in several[0]}


def figures_of(sentences: Sequence[Any], references: Sequence[Sequence[Sequence[str]]]) -> dict[str, float]:
    """What captions reach, to four decimals."""
    report: Mapping[str, Any] = caption_report(sentences, references, meteor=False)
    return {name: round(report[name], 4) for name in FIGURES}
