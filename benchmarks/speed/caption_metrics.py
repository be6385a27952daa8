"""How much faster are the caption metrics than `pycocoevalcap`, and do they say the same?

Every image of a sample of Flickr8K keeps its five captions as references; its hypothesis is a caption of another image.
Both sides get the same tokens, joined by single spaces, in the form each one takes; tokenising is not timed. They take
turns, and the ratio of each turn is taken before the median, so that a busy machine weighs on both. Time is that of the
processor. The last rows are single sentence pairs per second, the load of consensus reranking, for seesay alone.

    SEESAY_DATA=... python -m benchmarks.speed.caption_metrics
"""

import argparse
import random
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from pycocoevalcap.bleu.bleu import Bleu
from pycocoevalcap.cider.cider import Cider
from pycocoevalcap.rouge.rouge import Rouge

from benchmarks.recording import parse_arguments, record
from seesay import data
from seesay.metrics.bleu import bleu, pair_bleu
from seesay.metrics.captions import caption_report
from seesay.metrics.cider import CiderScorer, cider_d
from seesay.metrics.rouge import rouge_l
from seesay.metrics.sentences import References
from seesay.text.tokens import tokenize

N_PAIRS = 200_000


def timed(function: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    result = function()
    return time.process_time() - start, result


def compare(ours: Callable[[], Any], theirs: Callable[[], Any], repeats: int) -> dict[str, float]:
    turns = []
    for _ in range(repeats):
        our_seconds, our_scores = timed(ours)
        their_seconds, their_scores = timed(theirs)
        turns.append((our_seconds, their_seconds))
    ratios = [theirs / ours for ours, theirs in turns]
    return {
        "seesay_s": round(statistics.median(ours for ours, _ in turns), 4),
        "pycocoevalcap_s": round(statistics.median(theirs for _, theirs in turns), 4),
        "ratio": round(statistics.median(ratios), 2),
        "least_ratio": round(min(ratios), 2),
        "largest_difference": float(np.abs(np.subtract(our_scores, their_scores)).max()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Caption metrics beside pycocoevalcap")
    parser.add_argument("--data", default="flickr8k")
    parser.add_argument("--images", type=int, default=5000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parse_arguments(parser, "caption_metrics")

    chance = random.Random(arguments.seed)
    items = [item for item in data.load(arguments.data).items if len(item.sentences) == 5]
    items = chance.sample(items, min(arguments.images, len(items)))
    references = [[" ".join(tokenize(sentence)) for sentence in item.sentences] for item in items]
    hypotheses = [chance.choice(references[i - 1]) for i in range(len(references))]
    gts = dict(enumerate(references))
    res = {i: [hypothesis] for i, hypothesis in enumerate(hypotheses)}

    def all_of_theirs() -> list[float]:
        return [
            *Bleu(4).compute_score(gts, res, verbose=0)[0],
            *(m().compute_score(gts, res)[0] for m in (Rouge, Cider)),
        ]

    def all_of_ours() -> list[float]:
        report = caption_report(hypotheses, references, meteor=False)
        return [report[k] for k in ("bleu1", "bleu2", "bleu3", "bleu4", "rouge_l", "cider")]

    metrics = {  # both sides give the score of every sentence
        "BLEU-1..4": (
            lambda: bleu(hypotheses, references).each.T,
            lambda: Bleu(4).compute_score(gts, res, verbose=0)[1],
        ),
        "ROUGE-L": (lambda: rouge_l(hypotheses, references).each, lambda: Rouge().compute_score(gts, res)[1]),
        "CIDEr-D": (lambda: cider_d(hypotheses, references).each, lambda: Cider().compute_score(gts, res)[1]),
        "all, one report": (all_of_ours, all_of_theirs),
    }
    print(f"{len(items)} images with five references each, {arguments.repeats} turns, processor seconds (medians)")
    print(f"{'metric':<16} {'seesay':>8} {'pycocoevalcap':>14} {'ratio':>7} {'least':>7} {'difference':>11}")
    rows = {}
    for name, (ours, theirs) in metrics.items():
        row = rows[name] = compare(ours, theirs, arguments.repeats)
        print(
            f"{name:<16} {row['seesay_s']:8.3f} {row['pycocoevalcap_s']:14.3f} {row['ratio']:6.1f}x "
            f"{row['least_ratio']:6.1f}x {row['largest_difference']:11.1e}",
            flush=True,
        )

    packed = References(references)
    scorer = CiderScorer(packed)
    numbers = np.random.default_rng(arguments.seed)
    first = np.sort(numbers.integers(0, len(hypotheses), N_PAIRS))
    second = numbers.integers(0, len(packed.image_of), N_PAIRS)
    pairs_per_second = {}
    for name, function in (
        ("sentence BLEU", lambda: pair_bleu(hypotheses, packed, first, second)),
        ("CIDEr-D", lambda: scorer.pairs(hypotheses, first, second)),
    ):
        seconds = statistics.median(timed(function)[0] for _ in range(arguments.repeats))
        pairs_per_second[name] = round(N_PAIRS / seconds)
        print(f"{name + ' of pairs':<24} {pairs_per_second[name]:>12,} per second")

    record(
        arguments,
        ("numpy", "pycocoevalcap"),
        data=arguments.data,
        n_images=len(items),
        references_per_image=5,
        seed=arguments.seed,
        repeats=arguments.repeats,
        clock="process_time",
        rows=rows,
        pairs_per_second=pairs_per_second,
    )


if __name__ == "__main__":
    main()
