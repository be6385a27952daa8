"""The photos that a verb searches: a captioned collection, or a folder."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from seesay.errors import SeesayError
from seesay.verbs.inputs import NamedImage, find_photos

if TYPE_CHECKING:
    from seesay.data.collection import Collection


@dataclass(frozen=True, slots=True)
class GalleryImage:
    """An image of a gallery.

    Attributes:
        path: Its file.
        name: As the collection calls it, or its path within the folder.
        sentence: The first that people wrote about it; empty in a folder of photos.
    """

    path: Path
    name: str
    sentence: str = ""


@dataclass(frozen=True, slots=True)
class Gallery:
    """Images to look among.

    Attributes:
        name: As it was asked for.
        images: By path, in their order.
    """

    name: str
    images: dict[Path, GalleryImage]

    def named(self) -> list[NamedImage]:
        """The images, for what takes any."""
        return [NamedImage(str(path), path) for path in self.images]

    def find(self, image: NamedImage) -> GalleryImage:
        """The image of the gallery that `named` gave."""
        return self.images[Path(image.name)]


def open_gallery(within: "Collection | str | Path", images: Path | None = None, split: str = "all") -> Gallery:
    """The images of a collection, or of a folder.

    Args:
        within: A captioned collection, its path or its name in `SEESAY_DATA`, or a folder of photos.
        images: The folder of the images, where the collection does not hold them.
        split: Which split of a collection; `all` for the whole.

    Raises:
        SeesayError: There is no such collection and no such folder, or the folder has no photos.
    """
    from seesay import data

    if not isinstance(within, str | Path):
        collection = within
    else:
        try:
            collection = data.load(within, images=images)
        except data.UnreadableError:
            raise
        except SeesayError:
            folder = Path(within)
            is_folder = os.path.isdir(folder)  # noqa: PTH112 - takes a name of any length
            photos = find_photos([folder])[0] if is_folder and images is None else []
            if not photos:
                raise
            return Gallery(
                str(within), {photo: GalleryImage(photo, str(photo.relative_to(folder))) for photo in photos}
            )
    chosen = collection if split == "all" else collection.split(split)
    rows = [GalleryImage(item.image, item.name, item.sentences[0].rstrip(" .")) for item in chosen.items if item.image]
    return Gallery(str(within) if isinstance(within, str | Path) else collection.name, {row.path: row for row in rows})
