"""`seesay.describe`: describe the regions of an image."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seesay.errors import SeesayError
from seesay.images.sources import ImageSource
from seesay.verbs.inputs import NamedImage, read_image
from seesay.verbs.loading import answering_model, load_once
from seesay.verbs.results import Box, Drawn, in_pixels, lines

if TYPE_CHECKING:
    from PIL.Image import Image

    from seesay.grounding.describing import Described, Retrieved
    from seesay.grounding.phrases import PhraseBank
    from seesay.runtime.protocol import Answering


@dataclass(frozen=True, slots=True)
class DescribedRegion:
    """A region and what is said of it.

    Attributes:
        box: Left, top, right, bottom as fractions of the image.
        phrases: A phrase that was written for it, or several that people wrote of such regions; the best first.
        scores: Of each phrase: the logarithm of its probability where it was written, else how well it fits.
        written: Whether the phrase was written for this region.
        fit: How well the phrase fits the region by another model; None where that was not asked.
    """

    box: Box
    phrases: tuple[str, ...]
    scores: tuple[float, ...]
    written: bool
    fit: float | None = None

    @property
    def text(self) -> str:
        """The best phrase."""
        return self.phrases[0]

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and lists, without the box in pixels."""
        if not self.written:
            pairs = zip(self.phrases, self.scores, strict=True)
            said: dict[str, Any] = {"phrases": [{"text": text, "score": round(score, 4)} for text, score in pairs]}
        else:
            fit = None if self.fit is None else round(self.fit, 4)
            said = {"caption": self.text, "log_prob": round(self.scores[0], 4), "fit": fit}
        return {**said, "box": [round(edge, 4) for edge in self.box]}


@dataclass(frozen=True, slots=True, repr=False)
class Description(Drawn):
    """The regions of an image with what is said of each.

    Attributes:
        model: The weights that described.
        image: The image that was given.
        size: Its width and height in pixels.
        regions: The regions, the best fitting first.
        warnings: What one should know before relying on them.
    """

    model: str
    image: NamedImage
    size: tuple[int, int]
    regions: tuple[DescribedRegion, ...]
    warnings: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.regions)

    def __iter__(self) -> Iterator[DescribedRegion]:
        return iter(self.regions)

    def __getitem__(self, place: int) -> DescribedRegion:
        return self.regions[place]

    def pixels(self, region: DescribedRegion) -> list[int]:
        """The box of a region in pixels: left, top, width, height."""
        return in_pixels(region.box, self.size)

    def draw(self) -> "Image":
        """The image with a box and its phrase for each region."""
        from seesay.drawing.overlay import Mark, colour_of, draw_boxes, fit

        marks = [Mark(row.box, row.text, colour_of(place)) for place, row in enumerate(self.regions)]
        return draw_boxes(fit(self.image.open(), 960), marks)

    def __repr__(self) -> str:
        rows = [f"  {' / '.join(row.phrases)} at {self.pixels(row)}" for row in self.regions]
        return lines(
            f"Description of {self.image.name} by {self.model} (left, top, width, height)", *rows, *self.warnings
        )

    def to_dict(self) -> dict[str, Any]:
        """As `seesay describe --json` prints it."""
        rows = [{**row.to_dict(), "pixels": self.pixels(row)} for row in self.regions]
        return {"model": self.model, "photo": self.image.name, "size": list(self.size), "regions": rows}


def describe(
    image: ImageSource,
    boxes: Sequence[Box] = (),
    *,
    model: str | Path = "dvsa-captions",
    n: int = 5,
    n_phrases: int = 3,
    salience: str | Path = "dvsa",
    regions: str = "search-100",
) -> Description:
    """Say what is in the salient regions of an image, or in regions of one's own.

    Args:
        image: Anything that `seesay.open_image` opens.
        boxes: Regions of one's own: left, top, right, bottom as fractions of the image.
        model: Weights by name or folder: of a captioner of regions (dvsa-captions), which writes a phrase for each, or
            of a model of phrases (hmlstm), which finds several among those that people wrote.
        n: Salient regions, at most.
        n_phrases: Phrases for each, where they are found and not written.
        salience: Weights that say which regions are salient and which phrases fit.
        regions: Regions to choose from: `search-N`, `windows-N` or `grid-RxC`.

    Raises:
        SeesayError: The image cannot be opened, a box lies outside it, or the weights describe no regions.

    Example:
        >>> seesay.describe("photo.jpg")[0].text  # doctest: +SKIP
        'a brown dog'
    """
    from seesay.grounding.phrases import has_phrases
    from seesay.images.proposals import available
    from seesay.system.extras import has

    regions, told = available(regions)
    require_able(model)
    for left, top, right, bottom in boxes:
        if not (0 <= left < right <= 1 and 0 <= top < bottom <= 1):
            allowed = "left, top, right, bottom as fractions from 0 to 1"
            raise SeesayError(f"the box is {(left, top, right, bottom)}", allowed=allowed)
    given = read_image(image)
    photo = given.open()
    if has_phrases(model):
        found = _retrieve(model, salience, photo, boxes, n, n_phrases, regions)
    else:
        found = _write(model, salience, photo, boxes, n, regions)
    warnings = () if boxes else told
    if not has_phrases(model) and not has("parse"):
        warnings += ("sentences are not told from phrases: that needs pip install 'seesay[parse]'",)
    return Description(str(model), given, photo.size, tuple(found), warnings)


_SALIENCE = "phrases", "sees an image as a whole and finds no regions"


def _open_with_phrases(name: str | Path) -> "tuple[Answering, PhraseBank]":
    from seesay.grounding.phrases import read_bank

    model = answering_model(name, "phrases", "has no vectors for phrases")
    return model, read_bank(model)


def require_able(model: str | Path) -> None:
    """Refuse weights that neither write phrases nor find them, and name those that do."""
    from seesay.catalogue.weights import Weights, find, installed
    from seesay.grounding.phrases import has_phrases

    def is_able(weights: Weights) -> bool:
        graphs = weights.about.get("graphs", {}).get("files", ())
        return {"regions", "step"} <= set(graphs) or has_phrases(weights.folder)

    wanted = find(model)
    if "graphs" in wanted.about and not is_able(wanted):
        able = [weights.name for weights in installed() if is_able(weights)]
        raise SeesayError(f"{wanted.name} describes no regions", allowed=able, hint="seesay models")


def _write(
    model: str | Path, salience: str | Path, photo: "Image", own: Sequence[Box], n: int, regions: str
) -> list[DescribedRegion]:
    import numpy as np

    from seesay.grounding.describing import describe_boxes, describe_image

    describer = answering_model(model, "step", "describes no regions")
    found: list[Described]
    if own:
        found = describe_boxes(describer, describer.features([photo]), np.array(own, np.float32))
    else:
        found = describe_image(describer, answering_model(salience, *_SALIENCE), photo, n=n, regions=regions)
    return [DescribedRegion(row.box, (row.caption.text,), (row.caption.log_prob,), True, row.fit) for row in found]


def _retrieve(
    model: str | Path, salience: str | Path, photo: "Image", own: Sequence[Box], n: int, n_phrases: int, regions: str
) -> list[DescribedRegion]:
    import numpy as np

    from seesay.grounding.describing import retrieve_boxes, retrieve_image

    finder, bank = load_once(model, _open_with_phrases)
    found: list[Retrieved]
    if own:
        found = retrieve_boxes(finder, bank, finder.features([photo]), np.array(own, np.float32), n_phrases)
    else:
        aligner = answering_model(salience, *_SALIENCE)
        found = retrieve_image(finder, bank, aligner, photo, n=n, n_phrases=n_phrases, regions=regions)
    return [
        DescribedRegion(
            row.box, tuple(phrase.text for phrase in row.phrases), tuple(phrase.score for phrase in row.phrases), False
        )
        for row in found
    ]
