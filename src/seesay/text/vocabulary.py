"""The words a model knows, and their numbers.

A vocabulary is built from training sentences only (dev and test words would leak), travels with the weights as
`vocabulary.json`, and never changes afterwards: a word it does not hold is UNKNOWN. A sentence of unknown words alone,
in another language for instance, is a row of UNKNOWN; a sentence without tokens is an empty row.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from seesay.errors import SeesayError
from seesay.text.tokens import tokenize

PAD, START, END, UNKNOWN = 0, 1, 2, 3
SPECIAL = ("<pad>", "<start>", "<end>", "<unknown>")  # no token looks like these: tokens hold no "<"

_FORMAT = "seesay-vocabulary-1"
_KEYS = ("format", "min_count", "n_sentences", "n_unknown", "words")


@dataclass(frozen=True)
class Vocabulary:
    """Words by number and numbers by word. `Vocabulary.build` makes one from sentences.

    Attributes:
        words: The word of every id; the first four are the special signs.
        counts: How often each was seen in training: UNKNOWN counts the words that were too rare, END the sentences.
            (DVSA starts the bias of its softmax from these.)
        min_count: How often a word had to be seen to get an id of its own.
    """

    file_name: ClassVar[str] = "vocabulary.json"
    pad: ClassVar[int] = PAD
    unknown: ClassVar[int] = UNKNOWN

    words: tuple[str, ...] = field(repr=False)
    counts: tuple[int, ...] = field(repr=False)
    min_count: int
    _ids: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_ids", {word: index for index, word in enumerate(self.words)})

    @classmethod
    def build(cls, sentences: Iterable[str], min_count: int = 5) -> "Vocabulary":
        """Take every word that occurs at least `min_count` times, the most frequent first, ties in code point order.

        Raises:
            SeesayError: `min_count` is below 1, or no word is frequent enough.

        Example:
            >>> vocabulary = Vocabulary.build(["A dog runs.", "A dog sleeps."], min_count=2)
            >>> vocabulary.words
            ('<pad>', '<start>', '<end>', '<unknown>', 'a', 'dog')
            >>> vocabulary.counts
            (0, 0, 2, 2, 2, 2)
        """
        if min_count < 1:
            raise SeesayError(f"min_count is {min_count}", allowed="a whole number from 1 upwards")
        seen: Counter[str] = Counter()
        n_sentences = 0
        for sentence in sentences:
            seen.update(tokenize(sentence))
            n_sentences += 1
        frequent = sorted(
            ((word, count) for word, count in seen.items() if count >= min_count), key=lambda pair: (-pair[1], pair[0])
        )
        if not frequent:
            raise SeesayError(
                f"no word occurs {min_count} times or more in {n_sentences} training sentences",
                hint="lower min_count or give more sentences",
            )
        n_unknown = seen.total() - sum(count for _, count in frequent)
        return cls._of(frequent, min_count=min_count, n_sentences=n_sentences, n_unknown=n_unknown)

    @classmethod
    def _of(cls, pairs: Sequence[tuple[str, int]], *, min_count: int, n_sentences: int, n_unknown: int) -> "Vocabulary":
        words = SPECIAL + tuple(word for word, _ in pairs)
        counts = (0, 0, n_sentences, n_unknown, *(count for _, count in pairs))
        return cls(words, counts, min_count)

    def __len__(self) -> int:
        """How many ids there are, the special signs among them: the rows of an embedding."""
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        """Whether a token has an id of its own; the special signs are no words."""
        return isinstance(word, str) and self._ids.get(word, 0) >= len(SPECIAL)

    def count(self, word: str) -> int:
        """How often a word was seen in training; 0 for one without an id of its own.

        Example:
            >>> vocabulary = Vocabulary.build(["a dog runs", "a cat"], min_count=1)
            >>> vocabulary.count("a"), vocabulary.count("zebra")
            (2, 0)
        """
        return self.counts[self._ids[word]] if word in self else 0

    def knows(self, word: str) -> bool:
        """Whether a word, as it is spelled, means something to a model that has learned these."""
        return word in self

    def common_words(self, n: int) -> list[str]:
        """The most frequent words, the most frequent first.

        Example:
            >>> Vocabulary.build(["a dog runs", "a cat"], min_count=1).common_words(2)
            ['a', 'cat']
        """
        return list(self.words[len(SPECIAL) : len(SPECIAL) + n])

    def encode(self, sentence: str | Sequence[str]) -> list[int]:
        """The ids of a sentence or of its tokens, without START and END.

        Example:
            >>> Vocabulary.build(["a dog runs"], min_count=1).encode("A dog, a zebra!")
            [4, 5, 4, 3]
        """
        tokens = tokenize(sentence) if isinstance(sentence, str) else sentence
        ids = self._ids
        return [ids.get(token, UNKNOWN) for token in tokens]

    def decode(self, ids: Iterable[int]) -> list[str]:
        """The words of a row of ids: up to the first END, without START and PAD; UNKNOWN is shown as `<unknown>`.

        Example:
            >>> Vocabulary.build(["a dog runs"], min_count=1).decode([START, 4, 5, UNKNOWN, END, PAD])
            ['a', 'dog', '<unknown>']
        """
        words = []
        for index in map(int, ids):
            if not 0 <= index < len(self.words):
                raise SeesayError(f"there is no word {index}", allowed=f"0 to {len(self.words) - 1}")
            if index == END:
                break
            if index not in (PAD, START):
                words.append(self.words[index])
        return words

    def coverage(self, sentences: Iterable[str]) -> float:
        """The share of tokens that are known, in [0, 1]. Sentences without a token miss nothing: 1.

        Example:
            >>> Vocabulary.build(["a dog runs"], min_count=1).coverage(["a zebra runs", "a dog"])
            0.8
        """
        n_tokens = n_known = 0
        for sentence in sentences:
            tokens = tokenize(sentence)
            n_tokens += len(tokens)
            n_known += sum(token in self._ids for token in tokens)
        return n_known / n_tokens if n_tokens else 1.0

    def fingerprint(self) -> str:
        """SHA-256 of the words in their order. Vocabularies that encode alike have the same one."""
        return hashlib.sha256("\n".join(self.words).encode()).hexdigest()

    def to_json(self) -> str:
        """The text of `vocabulary.json`: one word a line with its count, in the order of the ids."""
        n_special = len(SPECIAL)
        lines = [
            f"    {json.dumps(word, ensure_ascii=False)}: {count}"
            for word, count in zip(self.words[n_special:], self.counts[n_special:], strict=True)
        ]
        return (
            f'{{\n  "format": "{_FORMAT}",\n  "min_count": {self.min_count},\n'
            f'  "n_sentences": {self.counts[END]},\n  "n_unknown": {self.counts[UNKNOWN]},\n'
            '  "words": {\n' + ",\n".join(lines) + "\n  }\n}\n"
        )

    @classmethod
    def from_json(cls, text: str, name: str = "vocabulary.json", fingerprint: str | None = None) -> "Vocabulary":
        """Read what `to_json` wrote.

        Args:
            text: The JSON text.
            name: What error messages call it, such as its path.
            fingerprint: Of the words that it was written for, where that is known: words of this fingerprint have been
                looked at before.

        Raises:
            SeesayError: It is not JSON, a key is missing or unknown, or a word is repeated or could never be met.

        Example:
            >>> vocabulary = Vocabulary.build(["a dog runs"], min_count=1)
            >>> Vocabulary.from_json(vocabulary.to_json()) == vocabulary
            True
        """
        try:
            # Pairs, not a dict: a dict would hide a word that stands there twice.
            pairs = json.loads(text, object_pairs_hook=lambda found: found)
        except (ValueError, RecursionError) as error:
            raise _refuse(name, f"it is not JSON ({error})") from error
        fields = dict(pairs) if _is_object(pairs) else {}
        if len(pairs if isinstance(pairs, list) else ()) != len(_KEYS) or set(fields) != set(_KEYS):
            raise _refuse(name, f"its keys are {', '.join(fields) or 'missing'}", allowed=_KEYS)
        if fields["format"] != _FORMAT:
            raise _refuse(name, f"its format is {fields['format']!r}", allowed=_FORMAT)
        for key, least in (("min_count", 1), ("n_sentences", 0), ("n_unknown", 0)):
            _check_count(name, key, fields[key], least)
        words = fields["words"]
        if not words or not _is_object(words):
            raise _refuse(name, "'words' is not an object of words with their counts")
        for word, count in words:
            if type(count) is not int or count < fields["min_count"]:
                _check_count(name, f"the count of {word!r}", count, fields["min_count"])
        vocabulary = cls._of(
            words,
            min_count=fields["min_count"],
            n_sentences=fields["n_sentences"],
            n_unknown=fields["n_unknown"],
        )
        if fingerprint is None or vocabulary.fingerprint() != fingerprint:
            _check_words(name, vocabulary.words[len(SPECIAL) :])
        return vocabulary


def _is_object(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(pair, tuple) for pair in value)


def _check_words(name: str, words: Iterable[str]) -> None:
    seen = set()
    for word in words:
        if tokenize(word) != [word]:
            raise _refuse(name, f"{word!r} is not a word that the tokeniser gives")
        if word in seen:
            raise _refuse(name, f"the word {word!r} stands there twice")
        seen.add(word)


def _check_count(name: str, what: str, value: Any, least: int) -> None:
    if type(value) is not int or value < least:
        raise _refuse(name, f"{what} is {value!r}", allowed=f"a whole number from {least} upwards")


def _refuse(name: str, why: str, allowed: str | Iterable[str] | None = None) -> SeesayError:
    return SeesayError(
        f"{name} is not a vocabulary: {why}",
        allowed=allowed,
        hint="take vocabulary.json from the folder of the weights",
    )
