"""Does search find the right photo when the collection grows? Flickr8K's test captions against more and more photos.

The 1,000 test photos are hidden among others of the library, drawn at random: 1,000, 10,000, 50,000 and all. Every
stage of the search that ships is measured on its own: the vectors alone, corrected for hubness, with the tags of rare
words, and with the regions that rerank the best few.

`k` is how many photos a later stage would have to look at to have the right one among them for 90 % of the captions.

    SEESAY_DATA=… python -m benchmarks.scale.quality LIBRARY [--captions 5000]
"""

import argparse
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.scale.real import Floats, Real, read_real
from benchmarks.scale.sections import write_section
from seesay import data
from seesay.library.library import Library
from seesay.library.ranking.query import Sentence, read_query
from seesay.library.stores.sqlite import SqliteStore
from seesay.library.types import Tags

SIZES = (1000, 10_000, 50_000)
STAGES = ("vectors", "hubness", "tags", "regions")
Ranks = NDArray[np.int64]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("library", type=Path)
    parser.add_argument("--captions", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    real = read_real(arguments.library)
    items = data.load("flickr8k").split("test").with_images().items
    places = {Path(os.fsdecode(path)).name: row for row, path in enumerate(real.paths)}
    asked = [
        (text, places[item.image.name])
        for item in items
        if item.image is not None and item.image.name in places
        for text in item.sentences
    ]
    asked = asked[:: max(1, len(asked) // arguments.captions)][: arguments.captions]
    with Library(arguments.library) as library:
        sentences = [read_query(library.encoder, text).fits[0] for text, _ in asked]  # what is denied is left out
        reranker = Reranker(arguments.library, library, real)
        same = agree(library, real, reranker, asked[:: max(1, len(asked) // 50)])
    owners = np.array([owner for _, owner in asked])
    rng = np.random.default_rng(arguments.seed)
    right = np.unique(owners)
    others = rng.permutation(np.setdiff1d(np.arange(len(real)), right))
    sizes = [size for size in SIZES if size < len(real)] + [len(real)]
    sets = {size: np.concatenate([right, others[: max(0, size - len(right))]]) for size in sizes}
    found = ranks(real, sentences, owners, sets, reranker)
    reranker.store.close()
    rows = [
        {"photos": len(sets[size]), "stage": stage, **figures(found[size, stage])} for size in sizes for stage in STAGES
    ]
    write_section(
        "quality", captions=len(asked), test_photos=len(right), seed=arguments.seed, rows=rows,
        same_top_10_as_search=same,
    )  # fmt: skip


class Reranker:
    """The later stage of the library's search: what it adds to the scores of the best photos."""

    def __init__(self, folder: Path, library: Library, real: Real) -> None:
        self.store = SqliteStore(folder)
        (self.stage,) = library.cascade.held(self.store)
        self.ids = real.ids

    def rerank(self, sentence: Sentence, corrected: Floats, final: Floats, chosen: NDArray[Any]) -> None:
        """Bring the final scores of the best of the chosen photos up to date."""
        mix = self.stage.blend.mix_of(sentence.text, self.stage.knows)
        k = min(mix.k, len(chosen))
        best = chosen[np.argpartition(-final[chosen], k - 1)[:k]]
        views = self.store.views(self.stage.stage, self.ids[best].tolist())
        seen = np.stack([views[content] for content in self.ids[best].tolist()])
        final[best] += mix.gain(corrected[best], self.stage.score(seen, sentence.text))


def ranks(
    real: Real,
    sentences: Sequence[Sentence],
    owners: NDArray[Any],
    sets: dict[int, NDArray[Any]],
    reranker: Reranker,
) -> dict[tuple[int, str], Ranks]:
    """For each set of photos and stage, how many photos of it score higher than the right one."""
    tags = tags_by_class(real)
    found: dict[tuple[int, str], list[int]] = {(size, stage): [] for size in sets for stage in STAGES}
    for start in range(0, len(sentences), 100):
        some = sentences[start : start + 100]
        texts = np.stack([sentence.vector for sentence in some])
        plain = texts[:, :-1] @ real.vectors[:, :-1].T  # (n, N)
        corrected = plain + texts[:, -1:] * real.vectors[:, -1]
        tagged = corrected.copy()
        for row, sentence in enumerate(some):
            for place, worth in bonus(sentence, tags).items():
                tagged[row, place] += worth
        for row in range(len(some)):
            owner = owners[start + row]
            for stage, scores in zip(STAGES, (plain, corrected, tagged), strict=False):
                better = scores[row] > scores[row, owner]
                for size, chosen in sets.items():
                    found[size, stage].append(int(better[chosen].sum()))
            for size, chosen in sets.items():
                final = tagged[row].copy()
                reranker.rerank(some[row], corrected[row], final, chosen)
                found[size, "regions"].append(int((final[chosen] > final[owner]).sum()))
    return {key: np.array(each) for key, each in found.items()}


def tags_by_class(real: Real) -> dict[int, list[tuple[int, float]]]:
    """Photos that have a tag, by class, with its probability."""
    place_of = {int(content): place for place, content in enumerate(real.ids.tolist())}
    found: dict[int, list[tuple[int, float]]] = {}
    for number, content, probability in real.tags:
        found.setdefault(number, []).append((place_of[content], probability))
    return found


def bonus(sentence: Sentence, tags: dict[int, list[tuple[int, float]]]) -> dict[int, float]:
    """What the tags of a sentence's rare words add to the score of some photos."""
    held: dict[int, list[tuple[int, float]]] = {}
    for number in sentence.classes:
        for place, probability in tags.get(number, ()):
            held.setdefault(place, []).append((number, probability))
    worth: dict[int, float] = {}
    for place, each in held.items():
        kept: Tags = tuple(each)
        worth[place] = sum(clue.worth(kept) for clue in sentence.clues)
    return worth


def figures(found: Ranks) -> dict[str, float]:
    return {
        "R@1": round(100 * float((found < 1).mean()), 1),
        "R@5": round(100 * float((found < 5).mean()), 1),
        "R@10": round(100 * float((found < 10).mean()), 1),
        "median_rank": float(np.median(found) + 1),
        "k": int(np.quantile(found, 0.9)) + 1,
    }


def agree(library: Library, real: Real, reranker: Reranker, asked: Sequence[tuple[str, int]]) -> float:
    """The share of the ten best photos of `Library.search` that are the ten best here, copies aside."""
    tags, place_of = tags_by_class(real), {int(content): place for place, content in enumerate(real.ids.tolist())}
    same = n = 0
    for text, _ in asked:
        sentence = read_query(library.encoder, text).fits[0]
        corrected = real.vectors @ sentence.vector
        scores = corrected.copy()
        for place, worth in bonus(sentence, tags).items():
            scores[place] += worth
        reranker.rerank(sentence, corrected, scores, np.arange(len(real)))
        results = library.search(text, top=10)
        shown = [place_of[result.photo.content] for result in results]
        best = set(np.argsort(-scores)[: 10 + sum(len(result.copies) for result in results)].tolist())
        same, n = same + len(best.intersection(shown)), n + len(shown)
    return round(same / n, 4)


if __name__ == "__main__":
    main()
