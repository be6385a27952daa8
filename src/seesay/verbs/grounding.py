"""`seesay.ground`: where in an image is what a phrase refers to?"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seesay.errors import SeesayError
from seesay.images.sources import ImageSource
from seesay.verbs.inputs import NamedImage, read_image
from seesay.verbs.loading import model_for, name_of
from seesay.verbs.results import Box, Drawn, in_pixels, lines

if TYPE_CHECKING:
    from PIL.Image import Image

    from seesay.drawing.overlay import Mark, Word
    from seesay.grounding.heat import Floats
    from seesay.images.regions import Boxes
    from seesay.models.aligner import Aligner

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
        unknown: Words of it that name something and that the model has never learned.
    """

    phrase: str
    score: float
    box: Box
    point: tuple[float, float]
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Grounding(Drawn):
    """Phrases with their boxes in an image.

    Attributes:
        model: The weights that found them.
        image: The image that was given.
        size: Its width and height in pixels.
        phrases: The phrases with their boxes; of a sentence those that refer to something.
        heat: (h, w) of the first phrase, from 0 to 1.
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
        rows = [f"  {row.phrase}: {row.score:.3f} at {self.pixels(row)}" for row in self.phrases]
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
            }
            for row in self.phrases
        ]
        return {"model": self.model, "photo": self.image.name, "size": list(self.size), "phrases": rows}


def ground(
    image: ImageSource,
    phrases: str | Sequence[str] = (),
    *,
    sentence: str = "",
    model: "Aligner | str | Path" = "dvsa",
    n: int = 1,
    regions: str = "search-100",
) -> Grounding:
    """Find the boxes of phrases, or of the parts of a sentence.

    A phrase about something that is not there gets a box too.

    Args:
        image: Anything that `seesay.open_image` opens.
        phrases: What to look for, such as `a red ball`; one or several.
        sentence: Instead of phrases: neighbouring words that refer to the same place are joined, each part has a box.
        model: Weights by name or folder, or a loaded model.
        n: Boxes for each phrase.
        regions: Boxes to choose from: `search-N`, `windows-N` or `grid-RxC`.

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
    picture = given.open()

    from seesay.images.proposals import propose_regions, searched
    from seesay.models.aligner import Aligner, load_aligner

    searched(regions)
    aligner = model_for(model, load_aligner, Aligner, "sees an image as a whole and finds no regions")
    boxes = propose_regions(picture, regions)
    find = _align(aligner, picture, sentence, boxes) if sentence.strip() else _find(aligner, picture, asked, boxes, n)
    found, marks, words, heat, warnings = find
    return Grounding(
        name_of(aligner, model), given, picture.size, tuple(found), heat, tuple(warnings), tuple(marks), tuple(words)
    )


_Found = tuple[list[GroundedPhrase], "list[Mark]", "list[Word]", "Floats", list[str]]


def _find(aligner: "Aligner", picture: "Image", phrases: list[str], boxes: "Boxes", n: int) -> _Found:
    """The best boxes of each phrase, read by itself."""
    import torch

    from seesay.drawing.overlay import Mark, Word, colour_of
    from seesay.grounding.heat import best_boxes, box_overlaps, heat_maps, point_at
    from seesay.grounding.tuned import grounding_of
    from seesay.text.tokens import tokenize

    how = grounding_of(aligner)
    features = aligner.features([picture])
    with torch.inference_mode():
        vectors = aligner.encode_phrases(phrases)
        scores = vectors @ aligner.encode_regions(features, boxes)[0].T  # (n_phrases, N)
    heats = heat_maps(aligner, features, vectors)
    found, marks, words, warnings = [], [], [], []
    for row, (phrase, overlaps) in enumerate(zip(phrases, box_overlaps(heats, boxes, **how.rule), strict=True)):
        tokens = tokenize(phrase)
        warnings += _warn_of_unknown(aligner, phrase, tokens)
        for rank, place in enumerate(best_boxes(overlaps, boxes, n)):
            label = phrase if n == 1 else f"{phrase} {rank + 1}"
            point = point_at(heats[row : row + 1], how.blur)[0]
            unknown = _unknown(aligner, tokens)
            found.append(_grounded(phrase, boxes[place], float(scores[row, place]), point, unknown))
            marks.append(Mark(boxes[place], label, colour_of(row)))
        words += [Word(phrase, colour_of(row))]
    return found, marks, words if len(phrases) > 1 else [], _scale(heats[0]), warnings


def _align(aligner: "Aligner", picture: "Image", sentence: str, boxes: "Boxes") -> _Found:
    """Every part of a sentence with its box; parts that refer to nothing in particular have none.

    Function words, and words that the model has never learned, have no box of their own.
    """
    import torch

    from seesay.drawing.overlay import Mark, Word, colour_of
    from seesay.grounding.chains import align_words
    from seesay.grounding.heat import heat_maps, point_at
    from seesay.grounding.tuned import grounding_of
    from seesay.text.function_words import name_things
    from seesay.text.tokens import tokenize

    how = grounding_of(aligner)
    features = aligner.features([picture])
    with torch.inference_mode():
        texts = aligner.encode_texts([sentence])
    tokens = tokenize(sentence)[: int(texts.lengths[0])]
    if not tokens:
        raise SeesayError(f"the sentence {sentence!r} has no words")
    heats = heat_maps(aligner, features, texts.states[0, : len(tokens)])
    named = zip(tokens, name_things(tokens), strict=True)
    laid = [names and token in aligner.tokenizer for token, names in named]
    parts = align_words(heats, boxes, laid=laid, settings=how)
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
            point = point_at(heats[part.first : part.last].sum(0, keepdims=True), how.blur)[0]
            found.append(_grounded(" ".join(own), boxes[part.region], part.score, point, _unknown(aligner, own)))
    return found, marks, words, _scale(heats[0]), _warn_of_unknown(aligner, sentence, tokens)


def _grounded(text: str, box: Any, score: float, point: Any, unknown: list[str]) -> GroundedPhrase:
    left, top, right, bottom = (float(edge) for edge in box)
    x, y = (float(part) for part in point)
    return GroundedPhrase(text, score, (left, top, right, bottom), (x, y), tuple(unknown))


def _scale(heat: "Floats") -> "Floats":
    first = heat - heat.min()
    scaled: Floats = first / max(float(first.max()), 1e-9)
    return scaled


def _unknown(aligner: "Aligner", tokens: list[str]) -> list[str]:
    """The words that name something and that the model has never learned, each once."""
    return [token for token in _named(tokens) if token not in aligner.tokenizer]


def _warn_of_unknown(aligner: "Aligner", text: str, tokens: list[str]) -> list[str]:
    """Which words of a text a box cannot be about: whoever sees only the picture would take it for an answer."""
    unknown = _unknown(aligner, tokens)
    if not unknown:
        return []
    what = "only its other words were looked for" if len(unknown) < len(_named(tokens)) else "its box means nothing"
    return [f"the model has never learned {', '.join(map(repr, unknown))} of {text!r}: {what}"]


def _named(tokens: list[str]) -> list[str]:
    from seesay.text.function_words import name_things

    naming = zip(tokens, name_things(tokens), strict=True)
    return list(dict.fromkeys(token for token, names in naming if names))
