"""What a person types into a search box: what the photos show, what they do not show, and when they are from.

"photos of a dog without a ball from 2019" is a dog, without: a ball, from: 2019. What stands in quotation marks is
taken as it is. Nothing here knows a model or a library: text goes in, and what it says comes out.
"""

import re
from dataclasses import dataclass
from datetime import date

from seesay.text.function_words import FUNCTION_WORDS
from seesay.text.tokens import tokenize
from seesay.text.typed.dates import Dates, find_dates

_PICTURES = r"(?:photo(?:graph)?s?|pictures?|pics?|images?|snapshots?|shots)"
_FILLER = re.compile(
    rf"^\s*(?:please\s+)?(?:(?:show|find|give|get)(?:\s+me)?|search(?:\s+for)?|look\s+for|i\s+(?:want|need)(?:\s+to\s+see)?)?"
    rf"(?:\s*\b(?:all|any|some|a|the|my|of|our))*\s*\b{_PICTURES}\b(?:\s+(?:of|with|showing|that\s+shows?|where|in\s+which))?\s*"
)
_ORDER = re.compile(r"^\s*(?:please\s+)?(?:show\s+me|find\s+me|search\s+for|look\s+for)\s+(?:some\s+|all\s+)?")
_NOBODY = re.compile(r"(?<![\w-])(?:with\s+)?(?:nobody|no\s*-?\s*one)(?:\s+(?:is\s+)?(?:there|around|else))?(?![\w-])")
_SIGN = r"(?!\s+(?:smoking|parking|entry|trespassing|stopping|swimming)(?:\s+sign|\s*$))"
_NOT = re.compile(
    r"(?<![\w-])(?:but\s+)?(?:"
    rf"without(?:\s+any)?|with\s+no|no{_SIGN}|excluding|except(?:\s+for)?|minus"
    r"|(?:(?:who|that|which)\s+)?(?:(?:is|are|was|were|do|does|did|has|have)\s+)?(?:not|never)(?:\s+(?:with|of))?"
    r"|(?:(?:who|that|which)\s+)?(?:is|are|was|were|do|does|did|has|have)n['’]t(?:\s+(?:with|of))?"
    r")(?![\w-])"
)
_DASH = re.compile(r"(?<!\S)-(?=[^\W\d_])(?P<word>[^\s-]\S*)")
_CLAUSE = re.compile(r"[,;.!?]|(?<!\w)(?:but|while|with)(?!\w)")
_PLACED = re.compile(r"(?<!\w)(?:in|on|at|near|under|beside|behind|through|during|inside|outside|by)(?!\w)")
_DOING = re.compile(r"(?<!\w)(?:(?:is|are|was|were)(?!\w)|(?<=\w\s)\w{2,}ing(?!\w))")
_LIVING = """
    people person persons man men woman women child children kid kids boy boys girl girls baby babies adult adults
    dog dogs cat cats bird birds horse horses animal animals player players
"""
_ABLE = frozenset(_LIVING.split())
"""Who do things themselves: in "without people swimming" it is they who swim, in "without a shirt swimming" not."""
_LISTED = re.compile(r"(?<!\w)(?:and|or|nor)(?!\w)")
_EDGES = " \t,;.!?"
_QUOTED = re.compile(r'"([^"]*)"|“([^”]*)”|„([^“”]*)[“”]|«([^»]*)»')
LONGEST = 1000
"""Letters of a text that is taken apart; what is longer was not typed into a search box."""
_MARK = "\ue000"  # of a private-use area: nobody means it, and who types it has typed a blank


@dataclass(frozen=True, slots=True)
class TypedQuery:
    """What a person has typed, taken apart.

    Attributes:
        text: What the photos show; empty where only the rest was typed.
        without: What they do not show.
        dates: When they are from.
    """

    text: str = ""
    without: tuple[str, ...] = ()
    dates: Dates | None = None

    def notes(self) -> list[str]:
        """What was understood beside the plain text, to be shown with the answer.

        Example:
            >>> read_typed("a beach without people in 2019", date(2026, 11, 18)).notes()
            ['without: people', 'from: 2019']
        """
        said = [f"without: {', '.join(self.without)}"] if self.without else []
        return [*said, f"from: {self.dates.said}"] if self.dates else said


def read_typed(text: str, today: date) -> TypedQuery:
    """Take apart what a person has typed; what is in quotation marks stays as it is.

    Args:
        today: What "last summer" is counted from.

    Example:
        >>> read_typed("show me photos of a dog without a ball", date(2026, 11, 18))
        TypedQuery(text='a dog', without=('a ball',), dates=None)
        >>> read_typed('a sign that says "no people"', date(2026, 11, 18)).text
        'a sign that says no people'
    """
    if len(text) > LONGEST:
        return TypedQuery(text)
    text = text.replace(_MARK, " ")
    quoted = ["".join(found) for found in _QUOTED.findall(text)]
    places = iter(range(len(quoted)))
    plain = _QUOTED.sub(lambda _: f" {_MARK}{next(places)}{_MARK} ", text)
    lowered = " ".join(plain.lower().split())

    def restore(piece: str) -> str:
        piece = re.sub(rf"{_MARK}(\d+){_MARK}", lambda found: quoted[int(found[1])], piece)
        return " ".join(piece.split()).strip(_EDGES)

    dated = find_dates(lowered, today)
    rest, dates = dated if dated else (lowered, None)
    rest, without = _take_negations(rest)
    stripped = _ORDER.sub("", _FILLER.sub("", rest, count=1), count=1)
    # A search for "my pictures" alone is one for what pictures look like.
    rest = stripped if tokenize(restore(stripped)) or dates or without else rest
    if rest == lowered:
        return TypedQuery(restore(plain))  # nothing was understood, so nothing is changed, capitals neither
    return TypedQuery(restore(rest), tuple(restore(each) for each in without), dates)


def _take_negations(text: str) -> tuple[str, list[str]]:
    """What is left of a query without its negations, and what they deny."""
    without: list[str] = []
    text, n_nobody = _NOBODY.subn(" ", text)
    if n_nobody:
        without.append("people")
    without += [dashed["word"] for dashed in _DASH.finditer(text)]
    text = _DASH.sub(" ", text)
    while found := _NOT.search(text):
        denied, rest = _divide(text[found.end() :])
        listed = [each.strip(_EDGES) for each in _LISTED.split(denied)]
        named = [each for each in listed if tokenize(each) or _MARK in each]
        if not named:
            break
        without += named
        before = re.sub(r"(?<!\w)(?:and|or|nor|but)\s*$", "", text[: found.start()].rstrip())
        text = f"{before} {rest.removeprefix('but ')}"
    return " ".join(text.split()).strip(_EDGES), list(dict.fromkeys(without))


def _divide(text: str) -> tuple[str, str]:
    """What a negation denies, and what follows.

    It ends with its clause, with the next negation, and after its thing where a place begins or something is done.
    """
    ends = [found.start() for found in (_CLAUSE.search(text), _NOT.search(text)) if found]
    for follows in (_PLACED, _DOING):
        for found in follows.finditer(text):
            named = [token for token in tokenize(text[: found.start()]) if token not in FUNCTION_WORDS]
            if named and not (follows is _DOING and named[-1] in _ABLE):
                ends.append(found.start())
                break
    end = min(ends, default=len(text))
    return text[:end], text[end:].lstrip(_EDGES)
