"""How cosines become probabilities: fit the curve on dev photos and say how far it can be trusted.

A library is imitated by a split of Flickr8K: every photo is paired with phrases and sentences that people wrote about
the photos. A photo fits a query where its describers said every content word of it, in whatever form. Queries are the
noun phrases of Flickr30k Entities and whole sentences in equal parts, since people search with both.

    SEESAY_DATA=… python benchmarks/calibration.py [vse] [--later dvsa mrnn] [--write]

The curve is fitted on dev and judged on test. `--write` puts it into the config.json of the weights, which `seesay
search` reads. With later stages, whose blends their config.json has, the last one's is what is calibrated, and the
average precision is told before and after them: how well photos that fit stand before those that do not. `--later`
without a name calibrates the first stage alone.
"""

import argparse
import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from cascade import blended, score_all
from recording import parse_arguments, record
from seesay import data
from seesay.data.collection import Collection
from seesay.data.photos import photo_id
from seesay.library.ranking.calibration import WORDS, Calibration, fit_calibration
from seesay.library.ranking.cascade import Blend
from seesay.models.base import Matcher
from seesay.models.pretrained import find, load
from seesay.system.files import replace_atomically
from seesay.text.function_words import content_words
from seesay.text.lemmas import lemmatize
from seesay.text.tokens import tokenize

N_QUERIES = 2000
BINS = (0.0, 0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", nargs="?", default="vse")
    parser.add_argument("--later", nargs="*", default=["dvsa", "mrnn"], help="weights of later stages, if any")
    parser.add_argument("--write", action="store_true")
    arguments = parse_arguments(parser, "calibration")
    models = Models.load(arguments.model, arguments.later)
    dev, test = (gather_pairs(models, split) for split in ("dev", "test"))
    for pairs in (dev, test):
        print(f"average precision: {pairs.precision}")
    curve = fit_calibration(dev.scores, dev.fits, dev.n_words)
    cosines, fits, n_words = test.scores, test.fits, test.n_words
    rows = judge(curve, cosines, fits, n_words)
    print(f"curve fitted on dev: {curve.to_table()}")
    print("on test, of pairs with a probability between: said, true, pairs")
    for row in rows:
        print(f"  {row['from']:.2f} – {row['to']:.2f}   {row['said']:.3f}   {row['true']:.3f}   {row['pairs']:>9,}")
    probabilities = by_length(curve, cosines, n_words)
    words = {}
    for (word, least), (_, most) in zip(WORDS, (("", 2.0), *WORDS), strict=False):
        words[word] = round(float(fits[(probabilities >= least) & (probabilities < most)].mean()), 4)
    print(f"share that fits, by word: {words}")
    if arguments.write:
        last = arguments.later[-1] if arguments.later else arguments.model
        write(find(last).folder, curve, under="cascade" if arguments.later else None)
    record(
        arguments, ("torch", "numpy"), model=arguments.model, later=arguments.later,
        fitted_on="flickr8k/dev", judged_on="flickr8k/test",
        average_precision={"dev": dev.precision, "test": test.precision},
        n_queries=2 * N_QUERIES, calibration=curve.to_table(), reliability=rows, share_that_fits=words,
    )  # fmt: skip


class Pairs(NamedTuple):
    """Every query with every photo of a split.

    Attributes:
        scores: (n,) cosines, or blends.
        fits: (n,) whether describers of the photo said every content word of the query.
        n_words: (n,) content words of the query.
        precision: Mean average precision in percent, by kind of query and by stage.
    """

    scores: np.ndarray
    fits: np.ndarray
    n_words: np.ndarray
    precision: dict[str, dict[str, float]]


class Models(NamedTuple):
    first: Matcher
    later: list[tuple[Matcher, Blend]]

    @classmethod
    def load(cls, first: str, later: Sequence[str]) -> "Models":
        found = [find(name) for name in later]
        blends = [Blend.from_table(weights.about.get("cascade"), weights.name) for weights in found]
        return cls(load(first), [(load(name), blend) for name, blend in zip(later, blends, strict=True)])

    def blended(self, cosines: np.ndarray, photos: Collection, queries: Sequence[str]) -> np.ndarray:
        """The scores of search: (n_queries, n_photos)."""
        for model, blend in self.later:
            cosines = blended(blend, cosines, score_all(model, photos, queries))
        return cosines


def gather_pairs(models: Models, split: str) -> Pairs:
    photos = data.load("flickr8k").split(split)
    entities = {photo_id(item.name): item for item in data.load("flickr30k_entities").items}
    phrases = dict.fromkeys(
        " ".join(tokenize(phrase.text))
        for item in photos.items
        for phrase in entities[photo_id(item.name)].phrases
        if phrase.chain != "0"  # words about nothing visible
    )
    rng = np.random.default_rng(0)
    queries = [
        kind[place]
        for kind in ([text for text in texts if content_words(text)] for texts in (phrases, photos.sentences))
        for place in rng.permutation(len(kind))[:N_QUERIES]
    ]
    lemmas = iter(lemmatize(photos.sentences))
    said = [{word for _ in item.sentences for word in next(lemmas)} for item in photos.items]
    wanted = [
        {lemma for word, lemma in zip(tokenize(query), words, strict=True) if word in content}
        for query, words in zip(queries, lemmatize(queries), strict=True)
        if (content := set(content_words(query)))
    ]
    fits = np.array([[words <= told for told in said] for words in wanted])
    cosines = score_all(models.first, photos, queries)  # (n_queries, n_photos)
    scores = models.blended(cosines, photos, queries)
    n_words = np.repeat([len(words) for words in wanted], len(said))
    kinds = {"phrases": slice(0, N_QUERIES), "sentences": slice(N_QUERIES, None)}
    precision = {
        kind: {
            "first": mean_average_precision(cosines[rows], fits[rows]),
            "all": mean_average_precision(scores[rows], fits[rows]),
        }
        for kind, rows in kinds.items()
    }
    return Pairs(scores.ravel(), fits.ravel(), n_words, precision)


def mean_average_precision(scores: np.ndarray, fits: np.ndarray) -> float:
    """In percent, over the queries that some photo fits."""
    ordered = np.take_along_axis(fits, np.argsort(-scores, axis=1), 1)[fits.any(1)]  # (n_queries, n_photos)
    at = ordered.cumsum(1) / np.arange(1, ordered.shape[1] + 1)
    return round(100 * float(((at * ordered).sum(1) / ordered.sum(1)).mean()), 2)


def by_length(curve: Calibration, cosines: np.ndarray, n_words: np.ndarray) -> np.ndarray:
    probabilities = np.empty(len(cosines))
    for n in np.unique(n_words):
        probabilities[n_words == n] = curve.probability(cosines[n_words == n], int(n))
    return probabilities


def judge(curve: Calibration, cosines: np.ndarray, fits: np.ndarray, n_words: np.ndarray) -> list[dict[str, float]]:
    """What the curve says and what is true, over intervals of what it says."""
    probabilities = by_length(curve, cosines, n_words)
    rows = []
    for low, high in pairwise(BINS):
        inside = (probabilities >= low) & (probabilities < high)
        if inside.any():
            said, true = float(probabilities[inside].mean()), float(fits[inside].mean())
            row = {"from": low, "to": high, "said": round(said, 4), "true": round(true, 4)}
            rows.append({**row, "pairs": int(inside.sum())})
    return rows


def write(folder: Path, curve: Calibration, *, under: str | None) -> None:
    path = folder / "config.json"
    about = json.loads(path.read_text(encoding="utf-8"))
    place = about[under] if under else about
    place["calibration"] = {**curve.to_table(), "data": "flickr8k/dev"}
    with replace_atomically(path) as temporary:
        temporary.write_text(json.dumps(about, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"written to {path}")


if __name__ == "__main__":
    main()
