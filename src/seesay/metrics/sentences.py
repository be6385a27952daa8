"""Tokenised sentences as flat arrays of word ids: the form in which every caption metric counts.

A sentence is a string, split on whitespace, or a list of tokens. Nothing is lowercased and no punctuation is removed:
tokenising is the caller's.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from seesay.errors import SeesayError
from seesay.metrics._arrays import FloatArray, IntArray

Sentence = str | Sequence[str]

END = 0  # the id that closes every packed sentence, so that no n-gram reaches from one sentence into the next
END_MARK = "\0"
_AT_ONCE = 256  # sentences split together: few enough that their tokens are still in the cache when they are looked up


@dataclass(frozen=True, slots=True)
class Scores:
    """A metric's figure for the whole collection, and the one of each hypothesis."""

    corpus: float
    each: FloatArray  # (n_hypotheses,)


@dataclass(frozen=True, slots=True)
class Packed:
    """Sentences one after another in one array."""

    ids: IntArray  # (n_words + n_sentences,) every sentence is followed by END
    starts: IntArray  # (n_sentences,) where each begins in `ids`
    lengths: IntArray  # (n_sentences,) its words, END not counted
    n_ids: int  # all ids are below


class References:
    """The reference sentences of a collection, packed once and compared with as often as wanted.

    Args:
        references: For each image, one sentence or more.
        words: Ids that words have already, END's mark among them.

    Attributes:
        words: The id of every word of the references, and of those that had one already.

    Example:
        >>> references = References([["a dog runs", "a dog"], ["two cats"]])
        >>> references.n_images, references.image_of.tolist()
        (2, [0, 0, 1])
    """

    def __init__(self, references: Sequence[Sequence[Sentence]], words: Mapping[str, int] | None = None) -> None:
        n_sentences = _count(references)
        self.n_images = len(references)
        self.starts: IntArray = np.cumsum(n_sentences) - n_sentences  # (n_images,) first sentence of each image
        self.image_of: IntArray = np.repeat(np.arange(self.n_images), n_sentences)  # (n_sentences,)
        self.sentences, ids = pack(list(chain.from_iterable(references)), words or {})
        self.words = dict(ids)

    def pack(self, hypotheses: Sequence[Sentence]) -> Packed:
        """Sentences in the ids of these references; words that no reference has get ids of their own."""
        return pack(hypotheses, self.words)[0]

    def pack_one_per_image(self, hypotheses: Sequence[Sentence]) -> Packed:
        """The same, for exactly one sentence per image."""
        _check_one_per_image(hypotheses, self.n_images)
        return self.pack(hypotheses)


def as_references(references: References | Sequence[Sequence[Sentence]]) -> References:
    """What the metrics accept: references that are packed already, or lists of sentences."""
    return references if isinstance(references, References) else References(references)


def check_references(hypotheses: Sequence[Sentence], references: Sequence[Sequence[Sentence]]) -> None:
    """Refuse anything but one hypothesis, and one reference or more, per image."""
    _check_one_per_image(hypotheses, len(_count(references)))


def as_text(sentence: Sentence) -> str:
    """A sentence as one string with single spaces.

    Example:
        >>> as_text(" a  dog"), as_text(["a", "dog"])
        ('a dog', 'a dog')
    """
    return " ".join(sentence.split() if isinstance(sentence, str) else sentence)


def pack(sentences: Sequence[Sentence], known: Mapping[str, int]) -> tuple[Packed, dict[str, int]]:
    """Sentences as ids, and the id of every word in them.

    Args:
        sentences: Strings or lists of tokens; an empty one is a sentence of no words.
        known: Ids that words have already.

    Raises:
        SeesayError: A sentence is neither a string nor a list of strings.
    """
    if isinstance(sentences, str):
        raise SeesayError("one string where a list of sentences belongs", allowed='a list: ["a dog runs"]')
    words = _Ids(known or {END_MARK: END})
    kinds = set(map(type, sentences))
    if kinds == {str}:
        ids = np.concatenate(
            [_ids_of(sentences[first : first + _AT_ONCE], words) for first in range(0, len(sentences), _AT_ONCE)]
        )
    else:
        if strange := next((kind for kind in kinds if not issubclass(kind, Sequence)), None):
            raise SeesayError(f"a sentence is a {strange.__name__}", allowed="a string, or a list of strings")
        split = (sentence.split() if isinstance(sentence, str) else sentence for sentence in sentences)
        tokens = [token for words_of_one in split for token in (*words_of_one, END_MARK)]
        if strange := next((type(token) for token in tokens if not isinstance(token, str)), None):
            raise SeesayError(f"a token is a {strange.__name__}", allowed="strings")
        ids = np.fromiter(map(words.__getitem__, tokens), np.int64, len(tokens))
    ends = np.flatnonzero(ids == END)
    if len(ends) != len(sentences):
        raise SeesayError("a sentence has the NUL character as a token", allowed="any other token")
    starts = np.concatenate([[0], ends[:-1] + 1]).astype(np.int64)[: len(sentences)]
    return Packed(ids, starts, ends - starts, len(words)), words


def _count(references: Sequence[Sequence[Sentence]]) -> IntArray:
    """(n_images,) references of each image."""
    if isinstance(references, str) or not len(references):
        raise SeesayError("there are no references", allowed="one image or more, each with one sentence or more")
    n_sentences = np.fromiter(map(len, references), np.int64, len(references))
    if n_sentences.min() == 0:
        raise SeesayError(f"image {n_sentences.argmin()} has no reference", allowed="one sentence or more per image")
    if str in set(map(type, references)):
        image = next(image for image, sentences in enumerate(references) if isinstance(sentences, str))
        raise SeesayError(f"the references of image {image} are a string", allowed="a list of sentences per image")
    return n_sentences


def _check_one_per_image(hypotheses: Sequence[Sentence], n_images: int) -> None:
    if not isinstance(hypotheses, str) and len(hypotheses) != n_images:
        raise SeesayError(
            f"{len(hypotheses)} hypotheses for the references of {n_images} images", allowed="one hypothesis per image"
        )


def _ids_of(sentences: Sequence[Sentence], words: "_Ids") -> IntArray:
    tokens = (f" {END_MARK} ".join(sentences) + f" {END_MARK}").split()  # type: ignore[arg-type]
    return np.fromiter(map(words.__getitem__, tokens), np.int64, len(tokens))


class _Ids(dict[str, int]):
    """Ids by word; a word met for the first time gets the next free one."""

    def __missing__(self, word: str) -> int:
        number = self[word] = len(self)
        return number
