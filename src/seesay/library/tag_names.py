"""The names of tags: which classes of the network\'s classifier a word names."""

from collections.abc import Sequence
from difflib import get_close_matches
from functools import cache
from typing import TYPE_CHECKING

from seesay.errors import SeesayError
from seesay.library.classes import CLASS_NAMES
from seesay.library.types import Tags
from seesay.text.tokens import tokenize

if TYPE_CHECKING:
    pass
SHOWN = 0.1
"""The probability from which a tag is shown and can be filtered by."""


def classes_named(word: str) -> dict[int, float]:
    """Classes in whose name a word occurs, in singular or plural.

    Example:
        >>> [CLASS_NAMES[number] for number in classes_named("guitars")]
        ['acoustic guitar', 'electric guitar', 'guitar pick']
    """
    return dict.fromkeys(classes_by_word().get(singular(word), ()), 1.0)


def find_classes(name: str) -> tuple[int, ...]:
    """The classes of a tag as a person writes it: those that have all its words.

    Raises:
        SeesayError: There is none; similar ones are named.

    Example:
        >>> [CLASS_NAMES[number] for number in find_classes("Electric Guitar")]
        ['electric guitar']
    """
    words = [singular(word) for word in tokenize(name)]
    found = set.intersection(*({*classes_by_word().get(word, ())} for word in words)) if words else set()
    if not found:
        known = sorted({*classes_by_word(), *CLASS_NAMES})
        similar = get_close_matches(name.lower(), known, n=5)
        raise SeesayError(
            f"there is no tag {name!r}", allowed=similar or "names of things, such as guitar, church or espresso"
        )
    return tuple(sorted(found))


def shown_names(tags: Tags) -> tuple[str, ...]:
    """The names of the tags that are likely enough to be shown, likeliest first."""
    return tuple(CLASS_NAMES[number] for number, probability in tags if probability >= SHOWN)


def singular(word: str) -> str:
    """A word without the ending of its plural, roughly; names and queries are treated alike.

    Example:
        >>> [singular(word) for word in ("guitars", "churches", "berries", "bus", "glass", "gas")]
        ['guitar', 'church', 'berry', 'bus', 'glass', 'gas']
    """
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        if word.endswith("ies") and len(word) > 4:
            return word[:-3] + "y"
        return word[:-2] if word.endswith(("ches", "shes", "xes", "sses")) else word[:-1]
    return word


@cache
def classes_by_word() -> dict[str, Sequence[int]]:
    """The classes that each word occurs in."""
    found: dict[str, list[int]] = {}
    for number, name in enumerate(CLASS_NAMES):
        for word in dict.fromkeys(singular(word) for word in tokenize(name)):
            found.setdefault(word, []).append(number)
    return dict(found)
