"""What tags are worth: sentences with a rare word, searched with and without the classes that the word names.

Of the dev sentences of Flickr8K and COCO those that hold the name of an ImageNet class are ranked against the split's
photos, by how often training saw that word: the plain cosine, the word struck out (as if it had never been seen), and
both with λ · √p added for several λ. `seesay.library.ranking.tags` takes its weights from here.

    SEESAY_DATA=… python benchmarks/tags.py [vse]
"""

import argparse
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch

from recording import parse_arguments, record
from seesay import data
from seesay.images.extraction import features_of
from seesay.library.indexing.encoding import likeliest_tags
from seesay.library.tag_names import classes_named
from seesay.models.base import Matcher
from seesay.models.pretrained import load
from seesay.text.function_words import content_words
from seesay.text.tokens import tokenize

WEIGHTS = (0.05, 0.1, 0.2, 0.35, 0.5)
SEEN = (0, 1, 50, 100, 300, 2000)
STRUCK_OUT = "xyzzyx"  # in no vocabulary


class Query(NamedTuple):
    photo: int
    sentence: str
    word: str
    count: int


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", nargs="?", default="vse")
    arguments = parse_arguments(parser, "tags")
    matcher = load(arguments.model)
    report = {name: measure(matcher, name) for name in ("flickr8k", "coco")}
    record(arguments, ("torch", "numpy"), model=arguments.model, split="dev", recalls="R@1, R@5, R@10", data=report)


def measure(matcher: Matcher, name: str) -> list[dict[str, object]]:
    photos = data.load(name).split("dev")
    features = features_of(photos.images, matcher.feature_spec, matcher.outputs).rows(range(len(photos)))
    classifier = matcher.feature_spec.load_backbone().classifier
    assert classifier is not None
    counts = dict(zip(matcher.vocabulary.words, matcher.vocabulary.counts, strict=True))
    queries = [
        Query(place, sentence, word, counts.get(word, 0))
        for place, item in enumerate(photos.items)
        for sentence in item.sentences
        if (word := next((w for w in content_words(sentence) if len(w) > 2 and classes_named(w)), None))
        and counts.get(word, 0) < SEEN[-1]
    ]
    struck = [" ".join(STRUCK_OUT if word == q.word else word for word in tokenize(q.sentence)) for q in queries]
    with torch.inference_mode():
        images = matcher.encode_images(features)
        known, masked = (
            (matcher.encode_texts(texts) @ images.T).numpy() for texts in ([q.sentence for q in queries], struck)
        )
        tags = [dict(likeliest_tags(row)) for row in classifier(features.pooled).softmax(1).numpy()]
    named = np.array([[sum(tag.get(c, 0.0) for c in classes_named(q.word)) for tag in tags] for q in queries])
    added = np.sqrt(np.minimum(named, 1.0))  # (n_queries, n_photos)
    rows: list[dict[str, object]] = []
    for least, most in pairwise(SEEN):
        chosen = np.array([least <= query.count < most for query in queries])
        if chosen.sum() < 20:
            continue
        owners = np.array([query.photo for query in queries])[chosen]
        row: dict[str, object] = {"seen": f"{least}–{most - 1}", "sentences": int(chosen.sum())}
        row["cosine"] = recalls(known[chosen], owners)
        row["struck out"] = recalls(masked[chosen], owners)
        row |= {f"struck out + {w}": recalls((masked + w * added)[chosen], owners) for w in WEIGHTS}
        row |= {f"cosine + {w}": recalls((known + w * added)[chosen], owners) for w in WEIGHTS}
        print(name, row)
        rows.append(row)
    return rows


def recalls(scores: np.ndarray, owners: Sequence[int] | np.ndarray) -> list[float]:
    """R@1, R@5 and R@10 of the photo that each sentence was written for, in percent."""
    own = scores[np.arange(len(scores)), owners][:, None]
    better = (scores > own).sum(1)
    return [round(100 * float((better < k).mean()), 1) for k in (1, 5, 10)]


if __name__ == "__main__":
    main()
