"""Patterns of .gitignore by `pathspec`, in time that no pattern can drive up."""

import re
import warnings
from collections.abc import Iterable
from typing import Any

from pathspec import GitIgnoreSpec
from pathspec.patterns.gitignore.base import GitIgnorePatternError
from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

from seesay.errors import SeesayError

_STAR, _ANY_FOLDERS, _ANY_FOLDERS_FIRST = "[^/]*", "(?:/.+)?", "^(?:.+/)?"


class _Pattern(GitIgnoreSpecPattern):
    """A pattern whose matching cannot take for ever.

    A star that another star follows within the same name may end at the first place that fits: what comes later can
    only gain by that. So it is not tried anywhere else, and likewise for `**`. Without this `*a*a*a*a*b` takes minutes
    for a name of a hundred letters a.
    """

    __slots__ = ()

    @classmethod
    def pattern_to_regex(cls, pattern: Any) -> tuple[Any, bool | None]:
        regex, include = super().pattern_to_regex(pattern)
        return (regex if regex is None else _without_retries(regex)), include


def compile_patterns(lines: Iterable[str]) -> GitIgnoreSpec:
    """Patterns that are neither empty nor remarks, ready to be matched.

    Raises:
        SeesayError: One is no pattern.
    """
    return GitIgnoreSpec([_compile(line) for line in lines])


def _compile(text: str) -> _Pattern:
    try:
        with warnings.catch_warnings(action="ignore", category=FutureWarning):  # of re, for '[' in brackets
            pattern = _Pattern(text)
        if pattern.regex is None:
            raise ValueError("it can match nothing")
    except (GitIgnorePatternError, re.error, ValueError) as error:
        raise SeesayError(f"{text!r} is no pattern: {error}", allowed="names with *, ?, [a-z] or **") from error
    return pattern


def _without_retries(regex: str) -> str:
    """A regular expression of `pathspec` whose stars, but for the last of each name and of the path, match once.

    Example:
        >>> _without_retries("^[^/]*a[^/]*b$")
        '^(?>[^/]*?a)[^/]*b$'
    """
    start, *pieces = regex.split(_STAR)
    for number, piece in enumerate(pieces):
        ends_name = "/" in piece or number == len(pieces) - 1
        start += f"{_STAR}{piece}" if ends_name else f"(?>{_STAR}?{piece})"
    first, *later = start.split(_ANY_FOLDERS)
    if later and first.startswith(_ANY_FOLDERS_FIRST):
        first = f"^(?>(?:.+?/)??{first.removeprefix(_ANY_FOLDERS_FIRST)}(?=/))"
    for number, piece in enumerate(later):
        first += f"{_ANY_FOLDERS}{piece}" if number == len(later) - 1 else f"(?>(?:/.+?)??{piece}(?=/))"
    return first
