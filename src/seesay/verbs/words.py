"""`seesay.nearest_words`: the nearest words by a captioner's word vectors."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seesay.catalogue.weights import find as find_weights
from seesay.errors import SeesayError
from seesay.runtime.matching import Model
from seesay.system.extras import require
from seesay.verbs.loading import label_of, load_once
from seesay.verbs.results import lines


@dataclass(frozen=True, slots=True)
class WordNeighbours:
    """A word and the words nearest to it.

    Attributes:
        word: As it was given.
        known: Whether the model has learned it.
        nearest: Words with the Euclidean distances of their vectors, the nearest first; none for an unknown word.
        close_spellings: For an unknown word: known words that are spelled like it.
    """

    word: str
    known: bool
    nearest: tuple[tuple[str, float], ...] = ()
    close_spellings: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """As `seesay words --json` prints it."""
        rows = [{"word": word, "distance": round(distance, 4)} for word, distance in self.nearest]
        close = {} if self.known else {"close_spellings": list(self.close_spellings)}
        return {"word": self.word, "nearest": rows, **close}


@dataclass(frozen=True, slots=True, repr=False)
class NearestWords:
    """Words, each with those nearest to it.

    Attributes:
        model: The weights whose word vectors were compared.
        words: In the order in which they were given.
    """

    model: str
    words: tuple[WordNeighbours, ...]

    @property
    def warnings(self) -> tuple[str, ...]:
        """Which words the model has not learned, with close spellings."""
        return tuple(
            f"{self.model} does not know {row.word!r}"
            + (f"; close spellings: {', '.join(row.close_spellings)}" if row.close_spellings else "")
            for row in self.words
            if not row.known
        )

    def __len__(self) -> int:
        return len(self.words)

    def __iter__(self) -> Iterator[WordNeighbours]:
        return iter(self.words)

    def __getitem__(self, place: int) -> WordNeighbours:
        return self.words[place]

    def __repr__(self) -> str:
        rows = [
            f"  {row.word}: {', '.join(f'{word} {distance:.2f}' for word, distance in row.nearest)}"
            for row in self.words
            if row.known
        ]
        return lines(f"Nearest words by {self.model}", *rows, *self.warnings)

    def to_dict(self) -> dict[str, Any]:
        """As `seesay words --json` prints it."""
        return {"model": self.model, "words": [row.to_dict() for row in self.words]}


def nearest_words(
    words: str | Sequence[str], *, model: "Model | Any | str | Path" = "mrnn", n: int = 10
) -> NearestWords:
    """Find the words whose vectors are nearest to a word's, by Euclidean distance.

    Args:
        words: One or several.
        model: Weights of a captioner by name or folder, or a loaded one.
        n: How many nearest words.

    Raises:
        SeesayError: Something given is not one word, or the weights have no word vectors.

    Example:
        >>> seesay.nearest_words("dog", n=1)[0].nearest  # doctest: +SKIP
        (('puppy', 1.25),)
    """
    asked = _read_words([words] if isinstance(words, str) else words)

    import numpy as np

    from seesay.text.neighbours import close_spellings
    from seesay.text.neighbours import nearest_words as find

    captioner = _captioner_for(model)
    vocabulary, vectors = captioner.vocabulary, np.asarray(captioner.word_vectors())  # (V, D)
    rows = [
        WordNeighbours(word, True, nearest=tuple(find(vectors, vocabulary, token, n)))
        if token in vocabulary
        else WordNeighbours(word, False, close_spellings=tuple(close_spellings(vocabulary, token)))
        for word, token in asked.items()
    ]
    name = str(model) if isinstance(model, str | Path) else captioner.weights.name
    return NearestWords(name, tuple(rows))


_LACK = "keeps no word vectors that could be compared"


def _captioner_for(given: Any) -> Any:
    """A captioner of either engine; weights are used by their graphs wherever these hold the word vectors."""
    if isinstance(given, str | Path):
        if "words" in find_weights(given).about.get("graphs", {}).get("files", ()):
            return load_once(given, Model)
        require("train", purpose=f"{given}, whose word vectors are in no graph,")
        return load_once(given, _load)
    if not hasattr(given, "word_vectors"):
        raise SeesayError(f"{label_of(given)} {_LACK}", hint="seesay models")
    return given


def _load(name: str | Path) -> Any:
    from seesay.engines import load_words

    return load_words(name, _LACK)


def _read_words(words: Sequence[str]) -> dict[str, str]:
    """The token of each word."""
    from seesay.text.tokens import tokenize

    asked = {}
    for word in words:
        tokens = tokenize(word)
        if len(tokens) != 1:
            hint = f"seesay words {' '.join(tokens)}" if tokens else "seesay words dog"
            raise SeesayError(f"{word!r} has {len(tokens)} words", allowed="single words", hint=hint)
        asked[word] = tokens[0]
    return asked
