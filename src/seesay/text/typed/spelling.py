"""Known words that are spelled like an unknown one: what a person who mistyped has probably meant."""

import gzip
from functools import cache
from pathlib import Path
from typing import Protocol

COMMON = 100_000
"""A word among so many of the most frequent ones of English text was meant as it is written: "lute" is no typing error
for "cute". A smaller number replaces more real words, a larger one keeps more of the usual misspellings."""
SHORTEST = 3
"""Letters from which an edit is taken back; of three letters only a swap, and a letter that is missing after the first:
everything else is one edit from them."""
_TWO_EDITS = 8
"""Letters from which a second edit is taken back."""
_MIXED = 5
"""Letters from which two edits are taken back where they only change the order of the inner letters."""


class Words(Protocol):
    """What a model, or its tokenizer, answers about the words that it has learned."""

    def common_words(self, n: int) -> list[str]:
        """Up to so many of its words, the most frequent first, as far as it knows."""

    def knows(self, word: str) -> bool:
        """Whether a word, as it is spelled, means something to it."""


def nearest_spelling(word: str, words: Words) -> str | None:
    """The known word that was probably meant, of those that are equally near the most frequent; None for none.

    Example:
        >>> from seesay.text.vocabulary import Vocabulary
        >>> known = Vocabulary.build(["a dog and a motorcycle", "two dogs"], min_count=1)
        >>> [nearest_spelling(word, known) for word in ("dgo", "dgs", "motorcylce", "motrcylce", "zeppelin")]
        ['dog', 'dogs', 'motorcycle', 'motorcycle', None]
        >>> nearest_spelling("vedio", Vocabulary.build(["a video"], min_count=1))
        'video'
    """
    if not word.isalpha() or len(word) < SHORTEST:
        return None
    most = 2 if len(word) >= _TWO_EDITS else 1
    letters, is_short = set(word), len(word) == SHORTEST
    found: list[tuple[int, int, str]] = []
    for rank, known in enumerate(words.common_words(COMMON)):
        if abs(len(known) - len(word)) > most or len(known) < SHORTEST:
            continue
        if is_short and sorted(known) != sorted(word) and (len(known) == SHORTEST or known[0] != word[0]):
            continue
        # An edit takes at most one letter away: cheap to find out, and leaves few words to compare in full.
        if len(letters.difference(known)) <= most:
            distance = edits_between(word, known)
            if distance <= (2 if _is_mixed(word, known) else most):
                found.append((distance, rank, known))
    return min(found)[-1] if found else None


def _is_mixed(word: str, known: str) -> bool:
    """Whether two words have the same letters, and only those between the first and the last stand in other places."""
    return len(word) >= _MIXED and (word[0], word[-1]) == (known[0], known[-1]) and sorted(word) == sorted(known)


def edits_between(one: str, other: str) -> int:
    """How many letters have to be added, left out, replaced or swapped with the next one (optimal string alignment).

    Example:
        >>> edits_between("dgo", "dog"), edits_between("bech", "beach"), edits_between("cat", "dog")
        (1, 1, 3)
    """
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        before, above, row = row, before, [i]
        for j, wanted in enumerate(other, 1):
            best = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != wanted))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == wanted:
                best = min(best, above[j - 2] + 1)
            row.append(best)
    return row[-1]


def other_number(word: str, words: Words) -> str | None:
    """The singular of a plural that is unknown, or the plural of a singular; None where that is unknown too.

    Example:
        >>> from seesay.text.vocabulary import Vocabulary
        >>> known = Vocabulary.build(["a tuba, two maracas, a berry, a brush and a calf"], min_count=1)
        >>> [other_number(word, known) for word in ("tubas", "maraca", "berries", "brushes", "calves", "zebras")]
        ['tuba', 'maracas', 'berry', 'brush', 'calf', None]
    """
    endings = (("ies", "y"), ("ves", "f"), ("ves", "fe"), ("s", ""), ("es", ""))
    forms = [
        word.removesuffix(ending) + singular
        for ending, singular in endings
        if word.endswith(ending) and len(word) > len(ending) + 1
    ]
    forms.append(f"{word}s")
    if word.endswith(("s", "x", "z", "ch", "sh", "o")):  # "trees" is not the plural of "tre"
        forms.append(f"{word}es")
    if word.endswith("y"):
        forms.append(f"{word[:-1]}ies")
    return next((form for form in forms if words.knows(form)), None)


def is_common(word: str) -> bool:
    """Whether a word is frequent in English text.

    Example:
        >>> is_common("lute"), is_common("bicylce")
        (True, False)
    """
    return word in _common()


@cache
def _common() -> frozenset[str]:
    """Those that `tools/make_common_words.py` wrote."""
    return frozenset(gzip.decompress((Path(__file__).parent / "common.txt.gz").read_bytes()).decode().split())
