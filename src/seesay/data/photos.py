"""Finding the image file of a name, somewhere below a folder."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from seesay.errors import SeesayError
from seesay.system import remote

SUFFIXES: Final = frozenset({".jpg", ".jpeg", ".png", ".webp", ".gif", ".bmp", ".tif", ".tiff"})
_DEPTH: Final = 2  # archives unpack to "flickr30k_images/flickr30k_images/"


def is_photo_name(name: str) -> bool:
    """Whether a file of this name is meant to be an image."""
    return os.path.splitext(name)[1].lower() in SUFFIXES  # noqa: PTH122 - called for every file of large folders


def photo_id(name: str) -> str:
    """The number that Flickr gave a photo, by which Flickr8K and Flickr30K name the same one differently.

    Example:
        >>> photo_id("1000268201_693b08cb0e.jpg"), photo_id("1000268201.jpg"), photo_id("1000268201")
        ('1000268201', '1000268201', '1000268201')
    """
    return name.partition(".")[0].partition("_")[0]


class Photos:
    """The images in a folder and the folders up to two levels below it.

    Folders are listed when they are first needed and remembered: asking for each of 100,000 images costs one
    listing, not 100,000 questions to the disk.

    Args:
        root: The folder to look in.
        flickr_ids: Also take a file whose Flickr number is the wanted one, as `1000268201_693b08cb0e.jpg` for
            `1000268201.jpg`.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     (Path(folder) / "train2017").mkdir()
        ...     _ = (Path(folder) / "train2017" / "000000000009.jpg").write_bytes(b"...")
        ...     photos = Photos(Path(folder))
        ...     photos.find("000000000009.jpg").parent.name, photos.find("000000000010.jpg")
        ('train2017', None)
    """

    def __init__(self, root: Path, *, flickr_ids: bool = False) -> None:
        root = remote.as_path(root)
        self._path = remote.RemotePath if remote.is_remote(root) else Path
        if not (remote.exists(root) if remote.is_remote(root) else root.is_dir()):
            raise SeesayError(
                f"there is no folder {root} to find the images in",
                allowed="the folder that holds the images, or one or two above it",
            )
        self.root = root
        self._listings: dict[str, tuple[frozenset[str], tuple[str, ...]]] = {}
        self._last_hit = str(root)
        self._all_names: frozenset[str] | None = None
        self._by_photo_id = self._index_by_photo_id() if flickr_ids else {}

    def find(self, name: str) -> Path | None:
        """Where the image `name` lies, which may have folders in it; None where it does not exist."""
        if "\0" in name:  # no file is called so, and the system does not want to be asked
            return None
        if os.path.isabs(name):  # noqa: PTH117 - strings here and below: this is asked for every image
            return Path(name) if os.path.isfile(name) else None  # noqa: PTH113 - takes a name of any length
        return self._search(name) or self._by_photo_id.get(photo_id(name))

    def _search(self, name: str) -> Path | None:
        inner, base = os.path.split(name)
        if not inner and self._all_names is not None and base not in self._all_names:
            return None
        for folder in self._folders():
            place = os.path.join(folder, inner) if inner else folder  # noqa: PTH118
            if base in self._list(place)[0]:
                self._last_hit = folder
                return self._path(place, base)
        if self._all_names is None:
            self._all_names = frozenset().union(*(self._list(folder)[0] for folder in self._folders()))
        return None

    def _index_by_photo_id(self) -> dict[str, Path]:
        return {
            photo_id(name): self._path(folder, name)
            for folder in self._folders()
            for name in sorted(self._list(folder)[0])
            if is_photo_name(name)
        }

    def _folders(self) -> Iterator[str]:
        """The folder of the last find, then all others from the top down."""
        first = self._last_hit
        yield first
        level = [str(self.root)]
        for depth in range(_DEPTH + 1):
            yield from (folder for folder in level if folder != first)
            if depth < _DEPTH:
                level = [os.path.join(folder, name) for folder in level for name in self._list(folder)[1]]  # noqa: PTH118

    def _list(self, folder: str) -> tuple[frozenset[str], tuple[str, ...]]:
        """The names of the files in a folder, and of the folders in it."""
        if folder not in self._listings:
            files: list[str] = []
            folders: list[str] = []
            if remote.is_remote(self.root):
                for found in remote.list_folder(self._path(folder)):
                    (folders if found.is_folder else files).append(found.path.name)
                self._listings[folder] = frozenset(files), tuple(sorted(folders))
                return self._listings[folder]
            try:
                with os.scandir(folder) as entries:
                    for entry in entries:
                        (folders if entry.is_dir() else files).append(entry.name)
            except OSError:
                pass  # a folder that is not there or may not be read holds no images
            self._listings[folder] = frozenset(files), tuple(sorted(folders))
        return self._listings[folder]
