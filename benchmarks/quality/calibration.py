"""How far the probabilities of search can be trusted: predicted and observed, on test photos.

The curves are those that `seesay tune --only calibration` has chosen on dev. A split of Flickr8K stands for a library:
every photo is paired with noun phrases and sentences that people wrote about the photos, and fits a query where its
describers said every content word of it.

    SEESAY_DATA=… python -m benchmarks.quality.calibration [vse] [--later dvsa mrnn]

With later stages the blend of the last one is judged, and the average precision is told before and after them: how well
photos that fit stand before those that do not. `--later` without a name judges the first stage alone.
"""

import argparse
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from benchmarks.recording import parse_arguments, record
from seesay import data
from seesay.catalogue.weights import find, tuned_table
from seesay.library.ranking.calibration import WORDS
from seesay.models.pretrained import load
from seesay.settings.calibration import Calibration
from seesay.text.function_words import content_words
from seesay.training.finishing.calibration import Queries, gather_queries, precisions
from seesay.training.finishing.scores import Scores, best, read_blend, score_texts

BINS = (0.0, 0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", nargs="?", default="vse")
    parser.add_argument("--later", nargs="*", default=["dvsa", "mrnn"], help="weights of later stages, if any")
    arguments = parse_arguments(parser, "calibration")
    curve = curve_of(arguments.model, arguments.later)
    gathered = {split: gather(arguments.model, arguments.later, split) for split in ("dev", "test")}
    precision = {split: precisions(stages, queries) for split, (queries, stages) in gathered.items()}
    print(f"average precision: {precision}")
    queries, stages = gathered["test"]
    probabilities = curve.probability(stages["all"], queries.n_words[:, None])
    rows = judge(probabilities, queries.fits)
    for row in rows:
        print("  {from:.2f} – {to:.2f}   {predicted:.3f}   {observed:.3f}   {pairs:>9,}".format(**row))
    words = {}
    for (word, least), (_, most) in zip(WORDS, (("", 2.0), *WORDS), strict=False):
        words[word] = round(float(queries.fits[(probabilities >= least) & (probabilities < most)].mean()), 4)
    print(f"share that fits, by word: {words}")
    record(
        arguments, ("torch", "numpy"), model=arguments.model, later=arguments.later,
        fitted_on="flickr8k/dev", judged_on="flickr8k/test", average_precision=precision,
        n_queries=len(queries.texts), calibration=curve.to_table(), reliability=rows, share_that_fits=words,
    )  # fmt: skip


def curve_of(first: str, later: Sequence[str]) -> Calibration:
    """The curve that search uses after some stages."""
    weights = find(later[-1] if later else first)
    table = tuned_table(weights, "cascade.calibration" if later else "calibration")
    return Calibration.from_table(table, str(weights.folder / "config.json"))


def gather(first: str, later: Sequence[str], split: str) -> tuple[Queries, dict[str, Scores]]:
    """The queries of a split, and the scores of the first stage and of all."""
    photos = data.load("flickr8k").split(split)
    queries = gather_queries(photos, data.load("flickr30k_entities"), content_words)
    scores = cosines = score_texts(load(first), photos, queries.texts)
    for name in later:
        blend = read_blend(name)
        own = score_texts(load(name), photos, queries.texts, among=best(scores, blend.k))
        scores = blend.blend(scores, own)
    return queries, {"first": cosines, "all": scores}


def judge(probabilities: np.ndarray, fits: np.ndarray) -> list[dict[str, float]]:
    """Predicted and observed, over intervals of the probability."""
    rows = []
    for low, high in pairwise(BINS):
        inside = (probabilities >= low) & (probabilities < high)
        if inside.any():
            predicted, observed = float(probabilities[inside].mean()), float(fits[inside].mean())
            row = {"from": low, "to": high, "predicted": round(predicted, 4), "observed": round(observed, 4)}
            rows.append({**row, "pairs": int(inside.sum())})
    return rows


if __name__ == "__main__":
    main()
