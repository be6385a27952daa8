"""Words that hold a sentence together and name nothing that could be seen: a closed list, so no parser is needed."""

_LISTS = """
    a an the this that these those each every either neither another other others some any no both all such own same
    i me my mine myself you your yours yourself he him his himself she her hers herself it its itself we us our ours
    they them their theirs themselves one who whom whose which what someone somebody something anyone anything
    everyone everything nobody nothing
    am is are was were be been being do does did doing done has have had having can could will would shall should may
    might must 's 're 've 'll 'd 'm n't not
    of in on at by to from with without into onto upon off out over under up down through across along around about
    above below behind beside besides between among against near toward towards during before after while until as
    like for per via past within outside inside amongst amid
    and or but nor so yet if because than though although whether
    there here then when where why how very too also just only again still already ever never now
"""
FUNCTION_WORDS = frozenset(_LISTS.split())
"""Determiners, pronouns, auxiliaries, prepositions, conjunctions and the adverbs that go with them, as tokens."""


def name_things(words: list[str]) -> list[bool]:
    """Which words speak of something rather than about how the others hang together.

    Example:
        >>> name_things(["a", "dog", "on", "the", "snow"])
        [False, True, False, False, True]
    """
    return [word not in FUNCTION_WORDS for word in words]
