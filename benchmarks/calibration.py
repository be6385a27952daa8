"""How cosines become probabilities: fit the curve on dev photos and say how far it can be trusted.

A library is imitated by a split of Flickr8K: every photo is paired with phrases and sentences that people wrote about
the photos. A photo fits a query where its describers said every content word of it, in whatever form. Queries are the
noun phrases of Flickr30k Entities and whole sentences in equal parts, since people search with both.

    SEESAY_DATA=… python benchmarks/calibration.py [vse] [--write]

The curve is fitted on dev and judged on test. `--write` puts it into the config.json of the weights, which `seesay
search` reads.
"""

import argparse
import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch

from recording import parse_arguments, record
from seesay import data
from seesay.data.photos import photo_id
from seesay.files import replace_atomically
from seesay.images.extraction import features_of
from seesay.library.calibration import WORDS, Calibration, content_words, fit_calibration
from seesay.models.base import Matcher
from seesay.models.pretrained import find, load
from seesay.text.lemmas import lemmatize
from seesay.text.tokens import tokenize

N_QUERIES = 2000
BINS = (0.0, 0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", nargs="?", default="vse")
    parser.add_argument("--write", action="store_true")
    arguments = parse_arguments(parser, "calibration")
    matcher = load(arguments.model)
    curve = fit_calibration(*gather_pairs(matcher, "dev"))
    cosines, fits, n_words = gather_pairs(matcher, "test")
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
        write(find(arguments.model).folder, curve)
    record(
        arguments, ("torch", "numpy"), model=arguments.model, fitted_on="flickr8k/dev", judged_on="flickr8k/test",
        n_queries=2 * N_QUERIES, calibration=curve.to_table(), reliability=rows, share_that_fits=words,
    )  # fmt: skip


def gather_pairs(matcher: Matcher, split: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Cosines, whether they fit, and content words, of every query with every photo of a split."""
    photos = data.load("flickr8k").split(split)
    table = features_of(photos.images, matcher.feature_spec, matcher.outputs)
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
    with torch.inference_mode():
        images = matcher.encode_images(table.rows(range(len(table))))
        texts = torch.cat([matcher.encode_texts(queries[start : start + 500]) for start in range(0, len(queries), 500)])
        cosines = (texts @ images.T).numpy()  # (n_queries, n_photos)
    fits = np.array([[words <= told for told in said] for words in wanted])
    n_words = np.repeat([len(words) for words in wanted], len(said))
    return cosines.ravel(), fits.ravel(), n_words


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


def write(folder: Path, curve: Calibration) -> None:
    path = folder / "config.json"
    about = json.loads(path.read_text(encoding="utf-8"))
    about["calibration"] = {**curve.to_table(), "data": "flickr8k/dev"}
    with replace_atomically(path) as temporary:
        temporary.write_text(json.dumps(about, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"written to {path}")


if __name__ == "__main__":
    main()
