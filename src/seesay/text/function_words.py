"""Words that hold a sentence together and name nothing that could be seen: a closed list, so no parser is needed.

The list has two parts. The words of the first say nothing about a photo at all. Those of the second say little: where
things are relative to each other, how many there are, whose they are. A person who searches for "a dog behind a fence"
wants it behind, and people who describe photos say so or do not. So search counts the second part among the content
words of a query, and its calibration was fitted to that count; grounding, which looks for what can be pointed at,
leaves out both.
"""

from seesay.text.tokens import tokenize

_SILENT = """
    a an the this that these those some another other one of in on at to into onto over under up down out off by for
    from with without near and or while as is are was were be being been has have had it its he his she her they
    their there who which 's very
"""
_RELATING = """
    each every either neither others any no both all such own same
    i me my mine myself you your yours yourself him himself hers herself itself we us our ours
    them theirs themselves whom whose what someone somebody something anyone anything
    everyone everything nobody nothing
    am do does did doing done having can could will would shall should may
    might must 're 've 'll 'd 'm n't not
    upon through across along around about
    above below behind beside besides between among against toward towards during before after until
    like per via past within outside inside amongst amid
    but nor so yet if because than though although whether
    here then when where why how too also just only again still already ever never now
"""
SILENT_WORDS = frozenset(_SILENT.split())
"""Those that no description of a photo could lack or contradict."""
FUNCTION_WORDS = SILENT_WORDS | frozenset(_RELATING.split())
"""Determiners, pronouns, auxiliaries, prepositions, conjunctions and the adverbs that go with them, as tokens."""


def content_words(sentence: str) -> list[str]:
    """The words of a sentence that say what is to be seen, as search counts them.

    Example:
        >>> content_words("Two dogs are playing in the snow")
        ['two', 'dogs', 'playing', 'snow']
    """
    return [word for word in tokenize(sentence) if word not in SILENT_WORDS]


def name_things(words: list[str]) -> list[bool]:
    """Which words name something that can be pointed at.

    Example:
        >>> name_things(["a", "dog", "on", "the", "snow"])
        [False, True, False, False, True]
    """
    return [word not in FUNCTION_WORDS for word in words]
