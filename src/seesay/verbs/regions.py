"""`seesay.find_regions`: the regions of many photos that fit a phrase best."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seesay.errors import SeesayError
from seesay.verbs.galleries import GalleryImage, open_gallery
from seesay.verbs.loading import answering_model, name_of
from seesay.verbs.results import Bars, Box, Drawn, lines, no_bars

if TYPE_CHECKING:
    from PIL.Image import Image

    from seesay.data.collection import Collection
    from seesay.runtime.protocol import Answering
    from seesay.verbs.features import Seen

_BATCH = 256


@dataclass(frozen=True, slots=True)
class FoundRegion:
    """A region of an image.

    Attributes:
        image: The image.
        box: Left, top, right, bottom as fractions of the image.
        score: The model's own; it compares regions for one phrase.
    """

    image: GalleryImage
    box: Box
    score: float


@dataclass(frozen=True, slots=True, repr=False)
class FoundRegions(Drawn):
    """Phrases with the regions that fit them best.

    Attributes:
        model: The weights that found them.
        within: Where they were looked for.
        phrases: Each phrase with its regions, the best first; at most one region of an image.
        failures: Why images could not be used, by path.
        warnings: What one should know before relying on the regions.
    """

    model: str
    within: str
    phrases: dict[str, tuple[FoundRegion, ...]]
    failures: dict[str, str]
    warnings: tuple[str, ...]

    def __getitem__(self, phrase: str) -> tuple[FoundRegion, ...]:
        return self.phrases[phrase]

    def draw(self) -> "Image":
        """A contact sheet: the regions of one phrase under its words, or a row for each of several phrases."""
        from seesay.drawing.sheets import Cell, draw_sheet
        from seesay.images.crops import cut_out
        from seesay.images.io import open_image

        cells = [
            Cell(cut_out(open_image(row.image.path), row.box), "", row.image.name)
            for rows in self.phrases.values()
            for row in rows
        ]
        if len(self.phrases) == 1:
            title = f"“{next(iter(self.phrases))}”"
            return draw_sheet(cells, min(5, len(cells)), title=title, width=220, shape=1.0, crop=True)
        columns = len(next(iter(self.phrases.values())))
        labels = [f"“{phrase}”" for phrase in self.phrases]
        return draw_sheet(cells, columns, row_labels=labels, width=180, shape=1.0, crop=True)

    def __repr__(self) -> str:
        rows = [
            f"  {phrase}: {row.score:.3f} in {row.image.name}"
            for phrase, found in self.phrases.items()
            for row in found
        ]
        return lines(f"Regions of {self.within} by {self.model}", *rows, *self.warnings)

    def to_dict(self) -> dict[str, Any]:
        """As `seesay regions --json` prints it."""
        rows = [
            {
                "snippet": phrase,
                "regions": [
                    {
                        "photo": str(row.image.path),
                        "score": round(row.score, 4),
                        "box": [round(edge, 4) for edge in row.box],
                    }
                    for row in found
                ],
            }
            for phrase, found in self.phrases.items()
        ]
        return {"model": self.model, "in": self.within, "snippets": rows, "failures": self.failures}


def find_regions(
    phrases: str | Sequence[str],
    within: "Collection | str | Path",
    *,
    images: Path | None = None,
    split: str = "all",
    model: "Answering | str | Path" = "dvsa",
    n: int = 10,
    crops: bool = False,
    bars: Bars = no_bars,
) -> FoundRegions:
    """Find the regions of many photos that fit phrases best, at most one in each photo.

    Args:
        phrases: Such as `red bus`; one or several.
        within: A captioned collection, its path or its name in `SEESAY_DATA`, or a folder of photos.
        images: The folder of the images, where the collection does not hold them.
        split: Which split of a collection; `all` for the whole.
        model: Weights by name or folder, or a loaded model.
        n: Regions for each phrase.
        crops: Show a joint embedding many crops of each photo, one by one, in place of the regions of its map: slower,
            and finer where the network was never taught places.
        bars: Shows progress (`seesay.verbs.results.Bars`).

    Raises:
        SeesayError: A phrase has no words, there are no photos, or the weights find no regions.

    Example:
        >>> cups = seesay.find_regions("a red cup", "~/Pictures")["a red cup"]  # doctest: +SKIP
        >>> cups[0].box  # doctest: +SKIP
        (0.25, 0.5, 0.5, 0.75)
    """
    asked = [phrases] if isinstance(phrases, str) else list(phrases)
    if not asked or not all(phrase.strip() for phrase in asked):
        raise SeesayError("a phrase has no words", allowed='a few words, such as "red bus"')
    gallery = open_gallery(within, images, split)

    from seesay.verbs.features import see

    title = f"features of {gallery.name}"
    aligner = answering_model(model)
    if aligner.is_embedding and (crops or (aligner.can("regions") and not aligner.can("phrases"))):
        from seesay.verbs.crops import search_crops, search_places

        parts = search_crops if crops else search_places
        placed, failures = parts(aligner, gallery.named(), asked, n, bars, title)
        own = {
            phrase: tuple(FoundRegion(gallery.find(image), box, score) for image, box, score in rows)
            for phrase, rows in placed.items()
        }
        return FoundRegions(name_of(aligner, model), gallery.name, own, failures, _unknown(aligner, asked))
    if crops:
        raise SeesayError(f"{aligner.name} keeps regions of its own", allowed="crops for a joint embedding")
    if aligner.is_embedding and not aligner.can("phrases"):
        raise SeesayError(f"{aligner.name} sees an image as a whole and has no vectors of places", hint="--crops")
    aligner = answering_model(model, "phrases", "sees an image as a whole and finds no regions")
    with see(aligner, gallery.named(), bars, keep_maps=True, title=title) as all_seen:
        seen = all_seen.distinct()
        if not seen.images:
            raise SeesayError(f"{gallery.name} has no photos to look at", hint=f"seesay data check {gallery.name}")
        best = _search(aligner, seen, asked, n)
    found = {
        phrase: tuple(
            FoundRegion(gallery.find(seen.images[place]), _box(aligner, region), score) for place, region, score in rows
        )
        for phrase, rows in best.items()
    }
    return FoundRegions(name_of(aligner, model), gallery.name, found, seen.failures, _unknown(aligner, asked))


def _unknown(model: "Answering", phrases: Sequence[str]) -> tuple[str, ...]:
    from seesay.text.tokens import tokenize

    return tuple(
        f"the model knows no word of {phrase!r}: its regions mean nothing"
        for phrase in phrases
        if not any(word in model.tokenizer for word in tokenize(phrase))
    )


def _search(aligner: "Answering", seen: "Seen", phrases: list[str], n: int) -> dict[str, list[tuple[int, int, float]]]:
    """For each phrase the best images, each with its best region and the score."""
    import numpy as np

    vectors = aligner.encode_phrases(phrases)
    scores, best = [], []
    for features in seen.batches(_BATCH):
        fits = aligner.encode_images(features) @ vectors.T  # (b, N, n_phrases)
        scores.append(fits.max(1))
        best.append(fits.argmax(1))
    score, region = np.concatenate(scores), np.concatenate(best)  # (n_images, n_phrases)
    order = np.argsort(-score, axis=0, kind="stable")[:n].T  # (n_phrases, n)
    return {
        phrase: [(place, int(region[place, row]), float(score[place, row])) for place in order[row].tolist()]
        for row, phrase in enumerate(phrases)
    }


def _box(aligner: "Answering", region: int) -> Box:
    from seesay.images.arrays import OUTPUTS
    from seesay.images.regions import fixed_regions

    scheme = next(output for output in aligner.outputs if output not in OUTPUTS)
    left, top, right, bottom = (float(edge) for edge in fixed_regions(scheme)[region])
    return left, top, right, bottom
