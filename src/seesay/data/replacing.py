"""Sentences that are wrong by one word: a colour, number, thing, action or place that nobody said of the photo.

A word is replaced by another of its group that none of the photo's captions has, so that the new sentence is wrong as
far as anybody said. Two-way trials ask for the difference (`seesay.data.trials`), wrong sentences teach it
(`seesay.training.eye.wrong`).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from seesay.text.tokens import tokenize

Groups = Mapping[str, tuple[str, ...]]
"""Kind → groups of words any two of which exclude each other, roughly."""
GROUPS: Groups = {
    "colour": ("red blue green yellow black white brown orange pink purple gray",),
    "count": ("two three four five six",),
    "object": (
        "dog cat horse bird cow sheep elephant",
        "dogs cats horses birds cows sheep elephants",
        "car bus truck bicycle motorcycle boat train",
        "ball frisbee hat umbrella guitar camera phone book",
        "beach street forest kitchen stadium mountain desert",
    ),
    "action": (
        "running jumping swimming sitting sleeping eating climbing dancing",
        "runs jumps swims sits sleeps eats climbs dances",
    ),
}
"""What trials ask for."""
TAUGHT: Groups = {**GROUPS, "preposition": ("on under behind inside", "above below", "left right", "up down")}
"""What wrong sentences teach."""
_ALIKE = (
    {"gray", "grey", "silver", "white"}, {"purple", "pink", "violet"}, {"orange", "red", "yellow"},
    {"brown", "tan", "orange"}, {"bicycle", "bike", "motorcycle", "motorbike"}, {"truck", "car", "van", "vehicle"},
    {"dog", "dogs", "puppy", "puppies"}, {"cat", "cats", "kitten"}, {"hat", "cap", "helmet"},
    {"phone", "cellphone", "camera"}, {"street", "road", "city"}, {"forest", "trees", "woods"},
    {"mountain", "hill", "cliff", "mountains"}, {"running", "runs", "run", "jumping", "jumps", "leaping", "leaps"},
    {"sitting", "sits", "seated", "sit"}, {"climbing", "climbs", "climb", "climber"},
    {"under", "underneath", "beneath", "below"}, {"inside", "in", "into", "indoors"},
)  # fmt: skip
"""Words that people use for the same thing: none of them takes the place of another, or is taken for absent."""


@dataclass(frozen=True)
class Replacement:
    """A word of a photo's sentence, and what may stand for it to make the sentence wrong.

    Attributes:
        sentence: Which of the photo's sentences.
        at: The word's place among its tokens.
        word: The word itself, as tokens are written.
        others: Words of its group that nobody said of the photo, one at least.
    """

    sentence: int
    at: int
    word: str
    others: tuple[str, ...]


def replacements(sentences: Sequence[str], groups: Sequence[str]) -> Iterator[Replacement]:
    """All that can be replaced in the sentences of one photo, by the given groups of words.

    Example:
        >>> [(found.word, found.others) for found in replacements(["two dogs on a beach"], GROUPS["count"])]
        [('two', ('three', 'four', 'five', 'six'))]
    """
    tokenized = [tokenize(sentence) for sentence in sentences]
    said = {word for tokens in tokenized for word in tokens}
    said = said.union(*(alike for alike in _ALIKE if said & alike))
    split = [group.split() for group in groups]
    left = [tuple(word for word in words if word not in said) for words in split]
    for place, tokens in enumerate(tokenized):
        for at, token in enumerate(tokens):
            for words, others in zip(split, left, strict=True):
                # A sentence with two of a group, a black dog on a white sofa, says too little about which is meant.
                if token in words and others and sum(other in words for other in tokens) == 1:
                    yield Replacement(place, at, token, others)


def replace_word(sentence: str, word: str, other: str) -> str:
    """The sentence as it is written, with another word for the first `word`.

    Example:
        >>> replace_word("Two dogs, on a beach.", "two", "six")
        'six dogs, on a beach.'
    """
    return re.sub(rf"\b{re.escape(word)}\b", other, sentence, count=1, flags=re.IGNORECASE)
