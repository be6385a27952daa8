"""`seesay.ground`: the box of a phrase in an image."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seesay.errors import SeesayError
from seesay.images.sources import ImageSource
from seesay.verbs.inputs import NamedImage, read_image
from seesay.verbs.loading import answering_model, name_of
from seesay.verbs.results import Box, Drawn, in_pixels, lines

if TYPE_CHECKING:
    from PIL.Image import Image

    from seesay.drawing.overlay import Mark, Word
    from seesay.grounding.heat import Floats
    from seesay.grounding.learned import LearnedBoxes
    from seesay.images.regions import Boxes
    from seesay.runtime.protocol import Answering
    from seesay.settings.doubt import Doubt
    from seesay.text.typed.known_words import Reading

_REGIONS = "search-100"
_FAINT = 0.25
"""A phrase that gains less than this share of what the best one gains refers to nothing in particular."""


@dataclass(frozen=True, slots=True)
class GroundedPhrase:
    """A phrase and its box.

    Attributes:
        phrase: The words.
        score: The model's own; it compares boxes of one image, and says nothing across images.
        box: Left, top, right, bottom as fractions of the image.
        point: Where the heat of the phrase is greatest: x and y as fractions.
        unknown: Words of it that the model has never learned.
        probability: That the image shows it, where that has been measured for the weights (`seesay tune`).
        is_found: Whether the box is to be believed: false where the image probably does not show the phrase.
    """

    phrase: str
    score: float
    box: Box
    point: tuple[float, float]
    unknown: tuple[str, ...] = ()
    probability: float | None = None
    is_found: bool = True


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Grounding(Drawn):
    """Phrases with their boxes in an image.

    Attributes:
        model: The weights that found them.
        image: The image that was given.
        size: Its width and height in pixels.
        phrases: The phrases with their boxes; of a sentence those that refer to something.
        heat: (h, w) of the first phrase, from 0 to 1 (`seesay.explainers.explanation.scale_heat`).
        warnings: What one should know before relying on the boxes.
    """

    model: str
    image: NamedImage
    size: tuple[int, int]
    phrases: tuple[GroundedPhrase, ...]
    heat: "Floats"
    warnings: tuple[str, ...]
    _marks: "tuple[Mark, ...]"
    _words: "tuple[Word, ...]"

    def __len__(self) -> int:
        return len(self.phrases)

    def __iter__(self) -> Iterator[GroundedPhrase]:
        return iter(self.phrases)

    def __getitem__(self, place: int) -> GroundedPhrase:
        return self.phrases[place]

    def pixels(self, phrase: GroundedPhrase) -> list[int]:
        """The box of a phrase in pixels: left, top, width, height."""
        return in_pixels(phrase.box, self.size)

    def draw(self, *, heat: bool = False) -> "Image":
        """The image with a box for each phrase; `heat` lays the heat of the first phrase under them."""
        from seesay.drawing.overlay import draw_alignment, draw_heat, fit

        shown = fit(self.image.open(), 800)
        return draw_alignment(draw_heat(shown, self.heat) if heat else shown, self._marks, self._words, side=800)

    def __repr__(self) -> str:
        rows = [f"  {row.phrase}: {say_found(row)} at {self.pixels(row)}" for row in self.phrases]
        return lines(
            f"Grounding of {self.image.name} by {self.model} (left, top, width, height)", *rows, *self.warnings
        )

    def to_dict(self) -> dict[str, Any]:
        """As `seesay ground --json` prints it."""
        rows = [
            {
                "phrase": row.phrase,
                "score": round(row.score, 4),
                "box": [round(edge, 4) for edge in row.box],
                "pixels": self.pixels(row),
                "point": [round(x, 4) for x in row.point],
                "unknown": list(row.unknown),
                "probability": None if row.probability is None else round(row.probability, 4),
                "found": row.is_found,
            }
            for row in self.phrases
        ]
        return {"model": self.model, "photo": self.image.name, "size": list(self.size), "phrases": rows}


def ground(
    image: ImageSource,
    phrases: str | Sequence[str] = (),
    *,
    sentence: str = "",
    model: "Answering | str | Path" = "dvsa",
    n: int = 1,
    regions: str = "",
    exact: bool = False,
) -> Grounding:
    """Find the boxes of phrases, or of the parts of a sentence.

    A phrase about something that is not there is said to be not found, where that has been measured for the weights;
    the best box is given all the same.

    Args:
        image: Anything that `seesay.open_image` opens.
        phrases: What to look for, such as `a red ball`; one or several.
        sentence: Instead of phrases: neighbouring words that refer to the same place are joined, each part has a box.
        model: Weights by name or folder, or a loaded model.
        n: Boxes for each phrase.
        regions: Boxes to choose from: `search-N`, `windows-N` or `grid-RxC`. By default weights that have learned to
            draw boxes draw those of phrases freely; others, and the parts of a sentence, choose from `search-100`.
        exact: Take every word as it is written; by default one that the model has never learned is read as the known
            one that it is spelled like (`seesay.text.typed.known_words`).

    Raises:
        SeesayError: The image cannot be opened, there is nothing to look for, or the weights find no regions.

    Example:
        >>> seesay.ground("photo.jpg", "a red ball")[0].box  # doctest: +SKIP
        (0.21, 0.48, 0.35, 0.66)
    """
    asked = [phrases] if isinstance(phrases, str) else list(phrases)
    if bool(asked) == bool(sentence.strip()):
        what = "both phrases and a sentence" if asked else "nothing to look for"
        raise SeesayError(f"there is {what}", allowed='phrases such as "a red ball", or one sentence')
    if not all(phrase.strip() for phrase in asked):
        raise SeesayError("a phrase has no words", allowed='a few words, such as "a red ball"')

    given = read_image(image)
    photo = given.open()

    from seesay.grounding.learned import learned_boxes
    from seesay.images.proposals import available, propose_regions
    from seesay.text.typed.known_words import read_words

    scheme, told = available(regions or _REGIONS)
    aligner = answering_model(model, "phrases", "sees an image as a whole and finds no regions")
    learned = learned_boxes(aligner) if asked else None
    is_free = learned is not None and not regions
    boxes = None if is_free else propose_regions(photo, scheme)
    readings = [read_words(text, aligner.tokenizer, exact=exact) for text in asked or [sentence]]
    if boxes is not None and not asked:
        found, marks, words, heat = _align(aligner, photo, readings[0], boxes)
    else:
        found, marks, words, heat = _find(aligner, photo, readings, boxes, learned, n)
    notes = [each.notes(without="only the rest was looked for", lost="the box means nothing") for each in readings]
    warnings = (*(note for own in notes for note in own), *(() if is_free else told))
    return Grounding(
        name_of(aligner, model), given, photo.size, tuple(found), heat, warnings, tuple(marks), tuple(words)
    )


_Found = tuple[list[GroundedPhrase], "list[Mark]", "list[Word]", "Floats"]


def _find(
    aligner: "Answering", photo: "Image", asked: "list[Reading]", boxes: "Boxes | None",
    learned: "LearnedBoxes | None", n: int,
) -> _Found:  # fmt: skip
    """The best boxes of each phrase, read by itself: among regions, or as the model has learned to draw them."""
    import numpy as np

    from seesay.catalogue.weights import doubt_of
    from seesay.drawing.overlay import Mark, Word, colour_of
    from seesay.explainers.explanation import scale_heat
    from seesay.explainers.registry import choose_explainer
    from seesay.grounding.closer import look_closer
    from seesay.grounding.locating import locate_among, locate_freely
    from seesay.grounding.presence import signs_of
    from seesay.grounding.tuned import grounding_of
    from seesay.runtime.witness import Witness

    how, presence = grounding_of(aligner), doubt_of(aligner.weights, "presence")
    features, closer = aligner.features([photo]), look_closer(photo, how.closer, aligner.features)
    texts = [reading.text for reading in asked]
    vectors = aligner.encode_phrases(texts)
    free = locate_freely(aligner, learned, closer, vectors, n) if learned and closer else None
    located = free if boxes is None else None
    if located is None:
        assert boxes is not None
        explainer = choose_explainer(aligner)
        located = locate_among(aligner, features, closer, lambda seen: explainer.locate(aligner, seen, texts), boxes, n)
    witness = Witness(presence.matcher, aligner) if presence and presence.matcher else None
    signs = signs_of(texts, features, closer, located.heat, witness, free.presence if free else None).rows
    found, marks, words = [], [], []
    for row, (reading, chosen) in enumerate(zip(asked, located.boxes, strict=True)):
        phrase = reading.written
        scores = vectors[row] @ aligner.encode_regions(features, chosen.astype(np.float32))[0].T  # (n_boxes,)
        for rank, (box, score) in enumerate(zip(chosen, scores, strict=True)):
            label = phrase if n == 1 else f"{phrase} {rank + 1}"
            own = _grounded(phrase, box, float(score), located.points[row], reading.unknown)
            own = judge(own, reading, presence, signs[row])
            found.append(own)
            if own.is_found:
                marks.append(Mark(box, label, colour_of(row)))
        words += [Word(phrase, colour_of(row))]
    return found, marks, words if len(asked) > 1 else [], scale_heat(located.heat[0])


def _align(aligner: "Answering", photo: "Image", reading: "Reading", boxes: "Boxes") -> _Found:
    """Every part of a sentence with its box; parts that refer to nothing in particular have none.

    Function words, and words that the model has never learned, have no box of their own.
    """
    from seesay.drawing.overlay import Mark, Word, colour_of
    from seesay.explainers.explanation import scale_heat
    from seesay.explainers.registry import choose_explainer
    from seesay.grounding.chains import align_words
    from seesay.grounding.closer import heat_of, look_closer, points_of
    from seesay.grounding.tuned import grounding_of
    from seesay.text.function_words import name_things
    from seesay.text.tokens import LONGEST, tokenize

    how = grounding_of(aligner)
    features, closer = aligner.features([photo]), look_closer(photo, how.closer, aligner.features)
    tokens = tokenize(reading.text)[:LONGEST]
    if not tokens:
        raise SeesayError(f"the sentence {reading.written!r} has no words")
    explainer = choose_explainer(aligner)
    heats = heat_of(features, closer, lambda seen: explainer.locate_words(aligner, seen, reading.text))
    named = zip(tokens, name_things(tokens), strict=True)
    grounded = [names and token in aligner.tokenizer for token, names in named]
    parts = align_words(heats, boxes, grounded=grounded, settings=how)
    least = _FAINT * max(part.gain for part in parts)
    found: list[GroundedPhrase] = []
    marks: list[Mark] = []
    words: list[Word] = []
    for part in parts:
        own = tokens[part.first : part.last]
        colour = colour_of(len(marks)) if part.score > 0 and part.gain >= least else None
        words += [Word(token, colour) for token in own]
        if colour is not None:
            marks.append(Mark(boxes[part.region], " ".join(own), colour))
            point = points_of(heats[part.first : part.last].sum(0, keepdims=True), how, closer)[0]
            unknown = [token for token in own if token in reading.unknown]
            found.append(_grounded(" ".join(own), boxes[part.region], part.score, point, unknown))
    return found, marks, words, scale_heat(heats[0])


def _grounded(text: str, box: Any, score: float, point: Any, unknown: Sequence[str]) -> GroundedPhrase:
    left, top, right, bottom = (float(edge) for edge in box)
    x, y = (float(part) for part in point)
    return GroundedPhrase(text, score, (left, top, right, bottom), (x, y), tuple(unknown))


def judge(
    phrase: GroundedPhrase, reading: "Reading", presence: "Doubt | None", signs: Iterable[float] = ()
) -> GroundedPhrase:
    """A phrase with how probable it is that the image shows it; one of unknown words alone is never found.

    Args:
        signs: What speaks for it beside its score (`seesay.grounding.presence.Signs.rows`).
    """
    from seesay.text.function_words import name_things
    from seesay.text.tokens import tokenize

    if reading.is_lost:
        return replace(phrase, probability=0.0, is_found=False)
    if presence is None:
        return phrase
    n_named = sum(name_things(tokenize(reading.text)))
    probability = float(presence.probability(phrase.score, n_named, *signs))
    return replace(phrase, probability=probability, is_found=not presence.doubts(probability))


def say_found(phrase: GroundedPhrase) -> str:
    """How sure a box is, as people read it: a percentage where it is one, else the model's own score."""
    said = f"{phrase.score:.3f}" if phrase.probability is None else f"{100 * phrase.probability:.0f} %"
    return said if phrase.is_found else f"{said}, not found"
