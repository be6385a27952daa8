"""How far percentages can be believed: what is shown, beside the share of people who said yes.

The curves are those that `seesay tune --only calibration` fitted to one part of people's judgements of Flickr8K's test
photos (`fit`); here is the other part (`report`), which shares neither photos nor sentences with it. Search is asked
through a library of all test photos, as a person would; `match` and `identify` are asked for each pair.

    SEESAY_DATA=… python -m benchmarks.quality.calibration

For noun phrases and single words nobody was asked. There the people who described the test photos stand for them: of
what fits, they say every word in a measured share c of the cases, so what they say of photos, divided by c, is what is
observed (`seesay.training.finishing.calibration`); the photo that a phrase was written about does not count.
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.recording import parse_arguments, record
from seesay import data
from seesay.catalogue.weights import calibration_of, find
from seesay.data.collection import Collection
from seesay.library import Library
from seesay.library.ranking.calibration import WORDS
from seesay.library.ranking.query import read_sentence
from seesay.models.pretrained import load
from seesay.settings.calibration import MOST_IN_A_PHRASE, Calibration
from seesay.text.function_words import content_words
from seesay.training.finishing.calibration import Queries, gather_queries, judge, read_part
from seesay.training.finishing.scores import score_pairs

BINS = (0.0, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0)
N_PHRASES = 300
BEFORE = Calibration(6.739, 3.0245, -2.8441, -2.0978, 0.8)
"""The curve of `eye` that was fitted on dev to whether describers say every word, which is not whether a photo fits."""
Floats = NDArray[np.float64]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--identifier", default="identifier")
    parser.add_argument("--library", type=Path, help="where the library of the test photos is kept for another time")
    arguments = parse_arguments(parser, "calibration")
    flickr8k = data.load("flickr8k")
    constant = float(read_part(data.locate("judgements"), flickr8k, "fit")[0].mean())
    yes, photos, texts, pairs = read_part(data.locate("judgements"), flickr8k, "report")
    test = flickr8k.split("test")
    with library_of(test, arguments.library) as library:
        phrases = gather_queries(
            test,
            data.load("flickr30k_entities"),
            content_words,
            lambda text: read_sentence(library.encoder, text).rarest,
        ).of_phrases()
        model = library.encoder.fingerprint.model
        places = [[item.name for item in test.items].index(item.name) for item in photos.items]
        found = {"search": search_all(library, texts, len(test))[:, places][pairs]}
        asked = list(range(min(N_PHRASES, len(phrases.texts))))
        shown = search_all(library, [phrases.texts[place] for place in asked], len(test))
    n_words = np.array([len(content_words(texts[row])) for row in pairs[0]])
    for command, name in (("match", model), ("identify", arguments.identifier)):
        curve = calibration_of(find(name))
        if curve is not None:
            matcher = load(name)
            rarest = np.array([min(map(matcher.caption_words.count, content_words(text))) for text in texts])[pairs[0]]
            scores = score_pairs(matcher, photos, texts, pairs)
            found[command] = curve.probability(scores, n_words, rarest)
            if command == "match":
                found[f"{command}, fitted to describers' words"] = BEFORE.probability(scores, n_words)
    judged = {name: {**judge(own, yes, constant), "reliability": reliability(own, yes)} for name, own in found.items()}
    for name, row in judged.items():
        print(name, row)
    told = judge_phrases(shown, phrases, asked)
    print(f"phrases: {told}")
    record(
        arguments, ("torch", "numpy"), model=model, identifier=arguments.identifier, judgements="judgements",
        fitted_on="fit", judged_on="report", pairs=len(yes), yes=round(float(yes.mean()), 4), judged=judged,
        by_word=by_word(found["search"], yes), phrases=told,
    )  # fmt: skip


@contextmanager
def library_of(collection: Collection, place: Path | None) -> Iterator[Library]:
    """A library of photos, each under its place in the collection; one that is there already is taken as it is."""
    if place is not None and place.exists():
        with Library(place) as library:
            yield library
        return
    with TemporaryDirectory() as temporary:
        folder = Path(temporary) / "photos"
        folder.mkdir()
        for number, path in enumerate(collection.images):
            (folder / f"{number}{path.suffix}").symlink_to(path.resolve())
        with Library(place or Path(temporary) / "library") as library:
            library.index(folder)
            yield library


def search_all(library: Library, texts: Sequence[str], n_photos: int) -> Floats:
    """The score that search shows for every photo: (n_texts, n_photos); copies have that of the photo they are of."""
    scores = np.zeros((len(texts), n_photos))
    for row, text in enumerate(texts):
        for result in library.search(text, top=n_photos):
            for photo in (result.photo, *result.copies):
                scores[row, int(photo.path.stem)] = result.score
    return scores


def reliability(predicted: Floats, observed: Floats) -> list[dict[str, float]]:
    """Predicted and observed, over intervals of the probability."""
    rows = []
    for low, high in pairwise(BINS):
        inside = (predicted >= low) & (predicted < high)
        if inside.any():
            means = {"predicted": float(predicted[inside].mean()), "observed": float(observed[inside].mean())}
            rows.append(
                {"from": low, "to": high, **{k: round(v, 4) for k, v in means.items()}, "pairs": int(inside.sum())}
            )
    return rows


def by_word(predicted: Floats, observed: Floats) -> dict[str, dict[str, float]]:
    """The share of yes among what is called likely, maybe and unlikely."""
    found = {}
    for (word, least), (_, most) in zip(WORDS, (("", 2.0), *WORDS), strict=False):
        inside = (predicted >= least) & (predicted < most)
        found[word] = {"observed": round(float(observed[inside].mean()), 4), "pairs": int(inside.sum())}
    return found


def judge_phrases(shown: Floats, phrases: Queries, asked: Sequence[int]) -> Mapping[str, Any]:
    """The same for phrases, by number of content words."""
    rows = np.array(asked)
    foreign = np.ones(shown.shape, bool)
    foreign[np.arange(len(rows)), phrases.owners[rows]] = False
    mentioned = phrases.mentioned()[rows]
    told: dict[str, Any] = {}
    for n in range(1, MOST_IN_A_PHRASE + 1):
        own = phrases.n_words[rows] == n
        inside = foreign & own[:, None]
        observed = (phrases.said[rows] / mentioned[:, None])[inside]
        bins = reliability(shown[inside], observed)
        known = shown[np.arange(len(rows)), phrases.owners[rows]][own]
        total = sum(row["pairs"] for row in bins)
        told[f"{n} content word{'s' if n > 1 else ''}"] = {
            "queries": int(own.sum()),
            "c": round(float(mentioned[own].mean()), 4),
            "calibration error": round(
                sum(row["pairs"] * abs(row["predicted"] - row["observed"]) for row in bins) / total, 4
            ),
            "mean of the photos they were written about": round(float(known.mean()), 4),
            "reliability": bins,
        }
    return told


if __name__ == "__main__":
    main()
