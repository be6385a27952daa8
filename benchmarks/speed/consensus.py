"""How long does consensus reranking take, and how long would it take with `pycocoevalcap`'s sentence scores in a loop?

The load is m-RNN's: the dev images of Flickr8K, ten hypotheses each, the 300 captions of the 60 nearest training images
as references. Hypotheses need no model here: they are one caption of each of the ten nearest training images (Devlin et
al. 2015), and the references those of the sixty after them, so that no caption meets itself.

`pycocoevalcap` scores the pairs of the first few images one after another, all given to it at once, with the document
frequencies of the training captions, which it does not have to count again. The two sides take turns; processor time
per pair is compared, and the ratio of each turn is taken before the median.

    SEESAY_DATA=... python -m benchmarks.speed.consensus
"""

import argparse
import random
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from pycocoevalcap.bleu.bleu import Bleu
from pycocoevalcap.cider.cider_scorer import CiderScorer as TheirCider

from benchmarks.recording import parse_arguments, record
from seesay import data
from seesay.captioning.consensus import PAPER_K_M, Consensus, rerank
from seesay.images.extraction import features_of
from seesay.images.features import FeatureSpec
from seesay.metrics.bleu import pair_bleu
from seesay.metrics.neighbours import nearest
from seesay.metrics.sentences import References
from seesay.text.tokens import tokenize

N_HYPOTHESES, K = 10, 60


def timed(function: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    result = function()
    return time.process_time() - start, result


def their_scorers(captions: list[list[str]], pairs: list[tuple[str, str]]) -> dict[str, Callable[[], Any]]:
    class PairCider(TheirCider):
        """Takes the captions for the collection, where their own class would take the pairs."""

        ref_len = property(lambda _: np.log(len(captions)), lambda *_: None)

    collection = TheirCider()
    for own in captions:
        collection += (own[0], own)
    collection.compute_doc_freq()

    def cider() -> Any:
        scorer = PairCider()
        scorer.document_frequency = collection.document_frequency
        for hypothesis, caption in pairs:
            scorer += (hypothesis, [caption])
        return scorer.compute_cider()

    def bleu() -> Any:
        gts = {i: [caption] for i, (_, caption) in enumerate(pairs)}
        res = {i: [hypothesis] for i, (hypothesis, _) in enumerate(pairs)}
        return Bleu(4).compute_score(gts, res, verbose=0)[1][3]

    return {"cider": cider, "bleu": bleu}


def main() -> None:
    parser = argparse.ArgumentParser(description="Consensus reranking beside pycocoevalcap")
    parser.add_argument("--data", default="flickr8k")
    parser.add_argument("--sample", type=int, default=2, help="Images whose pairs pycocoevalcap scores too.")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parse_arguments(parser, "consensus")

    chance = random.Random(arguments.seed)
    collection = data.load(arguments.data).with_images()
    train, dev = collection.split("train"), collection.split("dev")
    captions = [[" ".join(tokenize(sentence)) for sentence in item.sentences] for item in train.items]
    bank, queries = (features_of(part.images, FeatureSpec()).rows(range(len(part))).pooled for part in (train, dev))
    finding_s, near = timed(lambda: nearest(queries, bank, N_HYPOTHESES + K))
    hypotheses = [[chance.choice(captions[image]) for image in row[:N_HYPOTHESES]] for row in near]
    neighbours = near[:, N_HYPOTHESES:]

    n = arguments.sample
    pairs = [
        (hypothesis, caption)
        for several, row in zip(hypotheses[:n], neighbours[:n], strict=True)
        for hypothesis in several
        for image in row
        for caption in captions[image]
    ]
    n_pairs = sum(len(captions[image]) for row in neighbours for image in row) * N_HYPOTHESES
    print(f"{len(dev)} images, {n_pairs:,} pairs; nearest images found in {finding_s:.2f} s; {arguments.repeats} turns")
    columns = ("reranking", "seesay", "pycocoevalcap", "ratio", "least", "difference")
    print(f"{'similarity':<10} " + " ".join(f"{column:>13}" for column in columns))
    rows = {}
    for metric, theirs in their_scorers(captions, pairs).items():

        def rerank_all(metric: Any = metric) -> Any:
            similarities = Consensus(captions, metric).similarities(hypotheses, neighbours)
            return similarities, rerank(hypotheses, similarities.scores(PAPER_K_M[metric][1]))

        turns = []
        for _ in range(arguments.repeats):
            our_seconds, (similarities, _) = timed(rerank_all)
            their_seconds, their_scores = timed(theirs)
            turns.append((our_seconds, our_seconds / n_pairs, their_seconds / len(pairs)))
        ours = similarities.values[: n * N_HYPOTHESES]
        ours = ours[np.isfinite(ours)]
        if metric == "bleu":  # reranking smooths, at no cost; what is compared is plain
            packed = References([[caption] for _, caption in pairs])
            every = np.arange(len(pairs))
            ours = pair_bleu([hypothesis for hypothesis, _ in pairs], packed, every, every)[:, 3]
        ratios = [their_pair / our_pair for _, our_pair, their_pair in turns]
        row = rows[metric] = {
            "reranking_s": round(statistics.median(seconds for seconds, _, _ in turns), 3),
            "seesay_us_per_pair": round(1e6 * statistics.median(pair for _, pair, _ in turns), 3),
            "pycocoevalcap_us_per_pair": round(1e6 * statistics.median(pair for _, _, pair in turns), 1),
            "ratio": round(statistics.median(ratios), 1),
            "least_ratio": round(min(ratios), 1),
            "largest_difference": float(np.abs(ours - np.asarray(their_scores)).max()),
        }
        print(
            f"{metric:<10} {row['reranking_s']:11.2f} s {row['seesay_us_per_pair']:10.2f} µs "
            f"{row['pycocoevalcap_us_per_pair']:10.1f} µs {row['ratio']:12.0f}x {row['least_ratio']:12.0f}x "
            f"{row['largest_difference']:13.0e}",
            flush=True,
        )

    record(
        arguments,
        ("numpy", "pycocoevalcap"),
        data=arguments.data,
        n_images=len(dev),
        n_hypotheses=N_HYPOTHESES,
        k=K,
        n_pairs=n_pairs,
        n_pairs_of_pycocoevalcap=len(pairs),
        seed=arguments.seed,
        repeats=arguments.repeats,
        clock="process_time",
        finding_neighbours_s=round(finding_s, 3),
        rows=rows,
    )


if __name__ == "__main__":
    main()
