"""Verbs that the parser took for nouns."""

import pytest

from seesay.text._dependencies import Dependencies
from seesay.text._repairs import free_verbs


def repaired(table: str) -> dict[str, tuple[str, str, str]]:
    """Tag, head and relation of each word after the repair. A line of the table: word, tag, head, relation."""
    rows = [line.split() for line in table.strip().splitlines()]
    words = [row[0] for row in rows]
    parse = Dependencies(
        tuple(words.index(row[2]) for row in rows), tuple(row[1] for row in rows), tuple(row[3] for row in rows)
    )
    after = free_verbs(words, parse)
    return {
        word: (tag, words[head], relation)
        for word, tag, head, relation in zip(words, after.tags, after.heads, after.relations, strict=True)
    }


def test_a_plural_after_a_is_the_verb_of_the_word_before_it() -> None:
    assert repaired("""
        a     DT  leaps det
        dog   NN  leaps compound
        leaps NNS leaps ROOT
    """) == {"a": ("DT", "dog", "det"), "dog": ("NN", "leaps", "nsubj"), "leaps": ("VBZ", "leaps", "ROOT")}


def test_a_verb_at_the_end_of_a_prepositional_phrase_belongs_to_the_noun_above() -> None:
    after = repaired("""
        man   NN  man  ROOT
        in    IN  man  prep
        a     DT  runs det
        green JJ  runs amod
        vest  NN  runs compound
        runs  NNS in   pobj
    """)
    assert after["vest"] == ("NN", "in", "pobj")
    assert after["a"] == ("DT", "vest", "det")
    assert after["runs"] == ("VBZ", "man", "acl")


def test_a_colour_before_a_verb_is_the_thing_worn() -> None:
    after = repaired("""
        woman   NN  woman   ROOT
        in      IN  woman   prep
        black   JJ  holding amod
        holding VBG in      pobj
        cups    NNS holding dobj
    """)
    assert after["black"] == ("JJ", "in", "pobj")
    assert after["holding"] == ("VBG", "woman", "acl")
    assert after["cups"] == ("NNS", "holding", "dobj")


@pytest.mark.parametrize(
    "table",
    [
        """
        two DT dogs nummod
        sled NN dogs compound
        dogs NNS dogs ROOT
        """,
        """
        a DT men det
        dozen NN men compound
        men NNS men ROOT
        """,
        """
        a DT dog det
        hunting VBG dog amod
        dog NN dog ROOT
        """,
    ],
)
def test_real_noun_phrases_stay_as_they_are(table: str) -> None:
    expected = {row.split()[0]: tuple(row.split()[1:]) for row in table.strip().splitlines()}
    assert repaired(table) == expected
