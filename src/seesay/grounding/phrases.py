"""Describing a region by phrases of a captioned collection, in a model's joint space.

A bank holds every distinct noun phrase of some sentences, nested ones included, so that "a man" stands in it and "a man
in a red shirt with a dog" too (HM-LSTM, Figure 6). The best phrases for a region say nearly the same; of a few that are
shown each should add something. So they are chosen one after the other by what they say beyond those before them
(maximal marginal relevance, Carbonell & Goldstein 1998):

    argmax_p  (1 − d) · s(v, h_p)  −  d · max_{q chosen} s(h_q, h_p)
"""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from seesay.catalogue.weights import find
from seesay.errors import SeesayError
from seesay.images.arrays import Floats, ImageFeatures
from seesay.images.regions import Boxes
from seesay.runtime.protocol import Answering
from seesay.system.files import replace_atomically
from seesay.system.reading import SETTINGS, parse_json, read_regular
from seesay.text.trees import Tree, parse

PHRASES = "phrases.json"
"""The file beside the weights that holds the phrases of the sentences they learned from."""
MIN_COUNT = 2
"""How often people have to have written a phrase for it to travel with weights; half of all were written once."""
MOST = 10_000
"""How many of them travel with weights: the most frequent."""
DIVERSITY = 0.3
N_CONSIDERED = 200  # of the best phrases, among which those that differ are looked for


@dataclass(frozen=True)
class Phrase:
    """A noun phrase that people wrote.

    Attributes:
        tree: Of the phrase alone.
        count: How often it was written.
    """

    tree: Tree
    count: int

    @property
    def text(self) -> str:
        """In lower case and without marks."""
        return " ".join(self.tree.words)


@dataclass(frozen=True)
class PhraseBank:
    """Phrases and their vectors.

    Attributes:
        texts: Distinct phrases.
        vectors: (n, D) of unit length.
    """

    texts: tuple[str, ...]
    vectors: Floats

    def __len__(self) -> int:
        return len(self.texts)


@dataclass(frozen=True, slots=True)
class FoundPhrase:
    """A phrase for a region, and how well it fits."""

    text: str
    score: float


def gather_phrases(
    sentences: Iterable[str], *, min_words: int = 2, max_words: int = 12, min_count: int = 1
) -> list[Phrase]:
    """The distinct noun phrases of sentences, nested ones included, the most frequent first.

    Args:
        min_words: Shorter phrases ("it", "water") describe too little.
        max_words: Longer ones are whole scenes.
        min_count: How often a phrase has to be there.

    Example:
        >>> for phrase in gather_phrases(["A man walks two dogs.", "A man in a red shirt."]):
        ...     print(phrase.count, phrase.text)
        2 a man
        1 two dogs
        1 a man in a red shirt
        1 a red shirt
    """
    counts: Counter[str] = Counter()
    trees: dict[str, Tree] = {}
    for sentence in parse(sentences):
        for node in sentence.nodes():
            if node.is_noun_phrase and min_words <= node.last - node.first <= max_words:
                text = " ".join(node.words)
                counts[text] += 1
                trees.setdefault(text, node)
    kept = [(text, count) for text, count in counts.most_common() if count >= min_count]
    return [Phrase(Tree.from_json(trees[text].to_json()), count) for text, count in kept]


def write_phrases(phrases: Sequence[Phrase], path: Path) -> None:
    """Keep phrases with their trees, so that nobody needs a parser to read them."""
    rows = ",\n".join(f"[{phrase.count}, {phrase.tree.to_json()}]" for phrase in phrases)
    with replace_atomically(path) as temporary:
        temporary.write_text(f"[\n{rows}\n]\n", encoding="utf-8")


def read_phrases(path: Path) -> list[Phrase]:
    """What `write_phrases` wrote.

    Raises:
        SeesayError: The file is not there, or is no such list.
    """
    try:
        rows = parse_json(read_regular(path, SETTINGS))
        return [_read_phrase(count, tree) for count, tree in rows]
    except OSError as error:
        raise SeesayError(
            f"{path.parent.name} has no phrases to describe regions with: {error.strerror or error}",
            allowed=f"weights with a {PHRASES} beside them, as training leaves them",
        ) from error
    except (ValueError, TypeError, SeesayError) as error:
        raise SeesayError(f"{path} holds no phrases: {error}", hint="train the weights again") from error


def _read_phrase(count: object, tree: object) -> Phrase:
    phrase = Phrase(Tree.from_json(json.dumps(tree)), count if type(count) is int else 0)
    if phrase.count < 1 or not phrase.text.encode():  # what is no Unicode cannot be encoded, and is a ValueError
        raise ValueError(f"{str(phrase.tree)[:60]!r}, {str(count)[:20]} times, is no phrase that people have written")
    return phrase


def build_bank(model: Answering, phrases: Sequence[Phrase], *, batch: int = 256) -> PhraseBank:
    """Encode phrases.

    Raises:
        SeesayError: There are none.
    """
    if not phrases:
        raise SeesayError("there are no phrases to describe regions with", allowed="sentences that name something")
    texts = [phrase.text for phrase in phrases]
    for phrase, text in zip(phrases, texts, strict=True):
        model.remember(text, Tree.join("S", [phrase.tree]))
    vectors = [model.encode_phrases(texts[start : start + batch]) for start in range(0, len(texts), batch)]
    return PhraseBank(tuple(texts), np.concatenate(vectors))


def has_phrases(name: str | Path) -> bool:
    """Whether weights come with phrases to describe regions by."""
    return (find(name).folder / PHRASES).is_file()


def read_bank(model: Answering) -> PhraseBank:
    """The bank of the sentences that a model's weights learned from.

    Raises:
        SeesayError: There are no phrases beside the weights.
    """
    assert model.weights is not None
    return build_bank(model, read_phrases(model.weights.folder / PHRASES))


def describe_boxes(
    model: Answering,
    bank: PhraseBank,
    features: ImageFeatures,
    boxes: Boxes,
    n: int = 5,
    *,
    diversity: float = DIVERSITY,
) -> list[list[FoundPhrase]]:
    """Phrases for each of some regions of one image, whose map is given; see `describe_regions`."""
    if len(features) != 1:
        raise ValueError(f"regions are described in one image, not in {len(features)}")
    regions = model.encode_regions(features, boxes)[0]
    return describe_regions(bank, regions, n, diversity=diversity)


def describe_regions(
    bank: PhraseBank, regions: Floats, n: int = 5, *, diversity: float = DIVERSITY
) -> list[list[FoundPhrase]]:
    """The phrases that describe regions best, each adding something to those before it.

    Args:
        regions: (n_regions, D) of unit length, of the model that the bank was built with.
        n: Phrases a region.
        diversity: d, from 0 (the best ones, however alike) to 1 (as unlike each other as can be).

    Example:
        >>> bank = PhraseBank(("a dog", "a brown dog", "a ball"), np.eye(3, dtype=np.float32)[[0, 0, 1]])
        >>> (found,) = describe_regions(bank, np.array([[0.8, 0.6, 0.0]], np.float32), 2)
        >>> [phrase.text for phrase in found]
        ['a dog', 'a ball']
    """
    if n < 1 or not 0 <= diversity <= 1:
        raise SeesayError(f"{n} phrases at a diversity of {diversity:g}", allowed="one or more, at 0 to 1")
    described = []
    for scores in regions @ bank.vectors.T:  # (n_phrases,)
        places = np.argsort(-scores, kind="stable")[: max(n, N_CONSIDERED)]
        best, vectors = scores[places], bank.vectors[places]
        likeness = np.full(len(best), -1.0)  # to the nearest of those that were chosen
        free = np.ones(len(best), bool)
        found: list[FoundPhrase] = []
        while len(found) < min(n, len(best)):
            worth = (1 - diversity) * best - (diversity * likeness if found else 0)
            place = int(np.where(free, worth, -np.inf).argmax())
            free[place] = False
            likeness = np.maximum(likeness, vectors @ vectors[place])
            found.append(FoundPhrase(bank.texts[places[place]], float(best[place])))
        described.append(found)
    return described
