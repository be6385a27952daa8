"""How a model reads what a person has typed: which words it knows, which it takes for others, which it does without.

Which words a model knows is a question that its tokenizer answers (`seesay.text.typed.spelling.Words`): one over whole
words knows those that its training captions had, one over subwords nearly all.
"""

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from seesay.text.function_words import SILENT_WORDS
from seesay.text.tokens import tokenize
from seesay.text.typed.languages import foreign_language
from seesay.text.typed.spelling import Words, is_common, nearest_spelling, other_number

LONGEST = 100
"""Words of a text that are looked at, as many as the models read."""
_N_NAMED = 5
_WIDEST = 40
"""How many words a message names, and how many letters of each."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A text as a model reads it.

    Attributes:
        written: As it was typed.
        text: As it is read: with known words in place of those in `replaced`.
        replaced: Unknown words, each with the known one that it was taken for.
        unknown: Content words that mean nothing to the model.
        near: What some of the unknown words may have been meant as, where nothing was to be replaced.
        language: Which other language the text seems to be in, or which script; None for English.
        is_lost: Whether no content word is left that the model knows: there is nothing to go by.
    """

    written: str = ""
    text: str = ""
    replaced: tuple[tuple[str, str], ...] = ()
    unknown: tuple[str, ...] = ()
    near: tuple[tuple[str, str], ...] = ()
    language: str | None = None
    is_lost: bool = False

    def notes(self, *, without: str = "the rest counts", lost: str = "the answer means nothing") -> list[str]:
        """What a person should know of it, a sentence each.

        Args:
            without: What becomes of a text of which only some words are unknown.
            lost: What becomes of one of which no word is known.
        """
        found = [f"{word!r} is read as {instead!r}" for word, instead in self.replaced]
        if self.language:
            return [
                *found,
                f"{name_words([self.written])} seems to be {_called(self.language)}, and only English is understood",
            ]
        if self.unknown:
            found.append(f"the model has never learned {name_words(self.unknown)}: {lost if self.is_lost else without}")
        elif self.is_lost:
            found.append(f"there are no words in {name_words([self.written])}: {lost}")
        found += [f"did you mean {instead!r} instead of {word!r}?" for word, instead in self.near]
        return found


def read_words(
    text: str, words: Words, *, exact: bool = False, is_named: Callable[[str], bool] = lambda word: False
) -> Reading:
    """How a model reads a text.

    An unknown word is read as its singular or plural, or without its accents, where the model knows that; or as the
    known word of the nearest spelling, unless it is a usual word of English that the model happens not to know.

    Args:
        text: As a person has typed it.
        words: Those that the model knows.
        exact: Take every word as it is written; what else may have been meant is only said.
        is_named: Whether a word that the model does not know means something otherwise, such as a tag.

    Example:
        >>> from seesay.text.vocabulary import Vocabulary
        >>> known = Vocabulary.build(["a dog in the snow", "two tubas"], min_count=1)
        >>> reading = read_words("a dgo with a tuba, chromodynamics", known)
        >>> reading.text, reading.unknown
        ('a dog with a tubas chromodynamics', ('chromodynamics',))
        >>> reading.notes()[:2]
        ["'dgo' is read as 'dog'", "'tuba' is read as 'tubas'"]
        >>> read_words("a dgo", known, exact=True).notes(lost="nothing is found")
        ["the model has never learned 'dgo': nothing is found", "did you mean 'dog' instead of 'dgo'?"]
    """
    tokens = tokenize(text)[:LONGEST]
    if not tokens:
        return Reading(text, text, is_lost=True)
    content = [token for token in tokens if token not in SILENT_WORDS]
    missing = [word for word in dict.fromkeys(content) if not words.knows(word) and not is_named(word)]
    if not missing:
        return Reading(text, text)
    if language := foreign_language(tokens, [token for token in tokens if not words.knows(token)]):
        return Reading(text, text, unknown=tuple(missing), language=language, is_lost=True)
    meant = {word: found for word in missing if (found := _meant(word, words)) is not None}
    if exact:
        is_lost = len(missing) == len(set(content))
        return Reading(text, text, unknown=tuple(missing), near=tuple(meant.items()), is_lost=is_lost)
    unknown = tuple(word for word in missing if word not in meant)
    read = " ".join(meant.get(token, token) for token in tokens) if meant else text
    return Reading(text, read, tuple(meant.items()), unknown, is_lost=len(unknown) == len(set(content)))


def name_words(words: Sequence[str]) -> str:
    """Words in quotes, one after another; of many the first, and what is too long for a word is cut.

    Example:
        >>> name_words(["dgo"]), name_words(["dgo", "snwo"])
        ("'dgo'", "'dgo' and 'snwo'")
        >>> name_words([*"abcdefgh"])
        "'a', 'b', 'c', 'd', 'e' and 3 more"
    """
    shown = [repr(word if len(word) <= _WIDEST else f"{word[:_WIDEST]}…") for word in words[:_N_NAMED]]
    last = f"{len(words) - _N_NAMED} more" if len(words) > _N_NAMED else shown.pop()
    return f"{', '.join(shown)} and {last}" if shown else last


def _meant(word: str, words: Words) -> str | None:
    plain = _without_accents(word)
    if plain != word and words.knows(plain):
        return plain
    if found := other_number(plain, words):
        return found
    return None if is_common(word) else nearest_spelling(plain, words)


def _without_accents(word: str) -> str:
    return "".join(letter for letter in unicodedata.normalize("NFD", word) if not unicodedata.combining(letter))


def _called(language: str) -> str:
    return f"written in {language}" if language.startswith("the ") or language.endswith("characters") else language
