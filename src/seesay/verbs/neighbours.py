"""`seesay.find_neighbours`: the nearest photos by a captioner's feature and by its network's (m-RNN Figure 3)."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seesay.errors import SeesayError
from seesay.verbs.galleries import Gallery, GalleryImage, open_gallery
from seesay.verbs.inputs import Images, NamedImage, find_missing, read_images, refuse
from seesay.verbs.loading import answering_model, label_of, name_of
from seesay.verbs.results import Bars, Drawn, lines, no_bars

if TYPE_CHECKING:
    from PIL.Image import Image

    from seesay.data.collection import Collection
    from seesay.images.arrays import Floats
    from seesay.runtime.protocol import Answering
    from seesay.verbs.features import Seen

_BATCH = 512


@dataclass(frozen=True, slots=True)
class Neighbour:
    """An image that is near to another one, and the cosine of their features."""

    image: GalleryImage
    cosine: float


@dataclass(frozen=True, slots=True)
class NeighboursOfImage:
    """An image and its neighbours, the nearest first.

    Attributes:
        image: The image that was given.
        refined: By the captioner's feature, which was trained for sentences.
        original: By the network's own feature, which was trained for classifying objects.
    """

    image: NamedImage
    refined: tuple[Neighbour, ...]
    original: tuple[Neighbour, ...]


@dataclass(frozen=True, slots=True, repr=False)
class Neighbours(Drawn):
    """Images with their neighbours.

    Attributes:
        model: The weights that compared.
        label: What drawings call them.
        within: Where neighbours were looked for.
        images: Those that were given.
        failures: Why images could not be used, by name.
    """

    model: str
    label: str
    within: str
    images: tuple[NeighboursOfImage, ...]
    failures: dict[str, str]

    def __len__(self) -> int:
        return len(self.images)

    def __iter__(self) -> Iterator[NeighboursOfImage]:
        return iter(self.images)

    def __getitem__(self, place: int) -> NeighboursOfImage:
        return self.images[place]

    def draw(self) -> "Image":
        """Two rows an image: itself with its refined neighbours, and under them the original ones."""
        from seesay.drawing.sheets import Cell, draw_sheet

        labels = [
            f"nearest by the refined feature of {self.label}",
            "nearest by the network's own feature",
        ]
        columns = 1 + max(len(near) for row in self.images for near in (row.refined, row.original))
        cells: list[Cell] = []
        for row in self.images:
            own = Cell(row.image.source, Path(row.image.name).name, accented=True)
            for first, near in ((own, row.refined), (Cell(), row.original)):
                several = [Cell(each.image.path, each.image.sentence, f"{each.cosine:.2f}") for each in near]
                cells += [first, *several, *([Cell()] * (columns - 1 - len(several)))]
        return draw_sheet(
            cells, columns, row_labels=labels * len(self.images), width=200, shape=1.0, crop=True, n_lines=3
        )

    def __repr__(self) -> str:
        rows = [
            f"  {row.image.name}: {', '.join(f'{each.image.name} {each.cosine:.2f}' for each in row.refined)}"
            for row in self.images
        ]
        return lines(f"Neighbours in {self.within} by the refined feature of {self.model}", *rows)

    def to_dict(self) -> dict[str, Any]:
        """As `seesay neighbours --json` prints it."""

        def plain(near: tuple[Neighbour, ...]) -> list[dict[str, Any]]:
            return [{"photo": str(each.image.path), "cosine": round(each.cosine, 4)} for each in near]

        rows = [
            {"photo": row.image.name, "refined": plain(row.refined), "original": plain(row.original)}
            for row in self.images
        ]
        return {"model": self.model, "in": self.within, "neighbours": rows, "failures": self.failures}


def find_neighbours(
    photos: Images,
    within: "Collection | str | Path",
    *,
    images: Path | None = None,
    split: str = "all",
    model: "Answering | str | Path" = "mrnn",
    n: int = 5,
    skip_unusable: bool = False,
    bars: Bars = no_bars,
) -> Neighbours:
    """Find the nearest photos of a collection, by the captioner's feature and by its network's own.

    Both are compared by their cosine. The photo itself, and copies of it, are left out.

    Args:
        photos: One or several, as anything that `seesay.open_image` opens.
        within: A captioned collection, its path or its name in `SEESAY_DATA`, or a folder of photos.
        images: The folder of the images, where the collection does not hold them.
        split: Which split of a collection; `all` for the whole.
        model: Weights by name or folder, or a loaded captioner.
        n: Neighbours by each feature.
        skip_unusable: Leave out photos that cannot be opened, which `failures` then names, instead of an error.
        bars: Shows progress (`seesay.verbs.results.Bars`).

    Raises:
        SeesayError: A photo cannot be opened, there are no others, or the weights write no captions.

    Example:
        >>> seesay.find_neighbours("dog.jpg", "~/Pictures")[0].refined[0].image.name  # doctest: +SKIP
        'puppy.jpg'
    """
    gallery = open_gallery(within, images, split)
    given = read_images(photos)
    if not skip_unusable:
        refuse(find_missing(given))

    from seesay.verbs.features import see

    captioner = answering_model(model, "step", "writes no captions")
    name = name_of(captioner, model)
    title = f"features of {gallery.name}"
    with (
        see(captioner, given, bars, keep_maps=True) as asked,
        see(captioner, gallery.named(), bars, keep_maps=True, title=title) as all_seen,
    ):
        if not skip_unusable:
            refuse(asked.failures)
        bank = all_seen.distinct()
        if not bank.images or any(bank.keys == [key] for key in asked.keys):
            raise SeesayError(
                f"{gallery.name} has no photos that could be neighbours", hint=f"seesay data check {gallery.name}"
            )
        rows: list[tuple[Neighbour, ...]] = []
        if asked.images:
            for queries, known in zip(_look(captioner, asked), _look(captioner, bank), strict=True):
                if not known.shape[1]:
                    raise SeesayError(f"{name} reads no images", allowed="a captioner that does")
                rows += _nearest(gallery, asked, queries, bank, known, n)
    both = zip(asked.images, rows[: len(asked.images)], rows[len(asked.images) :], strict=True)
    found = tuple(NeighboursOfImage(image, refined, original) for image, refined, original in both)
    return Neighbours(name, label_of(captioner), gallery.name, found, asked.failures | bank.failures)


def _look(captioner: "Answering", seen: "Seen") -> "tuple[Floats, Floats]":
    """What a captioner makes of images, and what it is given: (n, D) each."""
    import numpy as np

    refined, original = [], []
    for features in seen.batches(_BATCH):
        refined.append(captioner.refine(captioner.encode_images(features)))
        original.append(features.pooled)
    return np.concatenate(refined), np.concatenate(original)


def _nearest(
    gallery: Gallery, asked: "Seen", queries: "Floats", bank: "Seen", known: "Floats", n: int
) -> list[tuple[Neighbour, ...]]:
    """The neighbours of each image that was asked for, by one kind of feature."""
    from seesay.metrics.neighbours import cosines, nearest

    found = []
    for row, key in enumerate(asked.keys):
        query = queries[row : row + 1]
        order = [int(place) for place in nearest(query, known, n + 1)[0] if bank.keys[place] != key][:n]
        near = cosines(query, known[order])[0].tolist() if order else []
        found.append(
            tuple(
                Neighbour(gallery.find(bank.images[place]), cosine) for place, cosine in zip(order, near, strict=True)
            )
        )
    return found
