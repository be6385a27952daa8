"""Images as people give them: one or several, of any kind, and folders of them."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seesay.errors import SeesayError
from seesay.images.io import open_image
from seesay.images.sources import ALLOWED, ImageSource, as_source
from seesay.system import remote

if TYPE_CHECKING:
    from PIL.Image import Image

Images = ImageSource | Sequence[ImageSource]
"""One image, or several."""


@dataclass(frozen=True, slots=True)
class NamedImage:
    """An image that was given, and what it is called in results: its path, or `image 1` where it has none."""

    name: str
    source: "Path | bytes | Image"

    def open(self, at_least: int | None = None) -> "Image":
        """The image, upright and RGB (`seesay.open_image`)."""
        return open_image(self.source, at_least=at_least)


def read_image(image: ImageSource, number: int = 1) -> NamedImage:
    """One image that was given; `number` names it where it has no path."""
    source = as_source(image)
    if isinstance(source, Path):
        return NamedImage(str(source), source)
    own = getattr(image, "name", None) or getattr(image, "filename", None)  # of a file object, of a PIL image
    return NamedImage(own if isinstance(own, str) and own else f"image {number}", source)


def read_images(images: Images) -> list[NamedImage]:
    """The images that were given, in order; a folder stands for the photos below it.

    Raises:
        SeesayError: There are none, a folder cannot be read, or something is no image.

    Example:
        >>> [image.name for image in read_images(["a.jpg", b"the bytes of a file"])]
        ['a.jpg', 'image 2']
    """
    several = _as_list(images)
    paths = [
        image if isinstance(image, Path) else remote.as_path(os.fspath(image))
        for image in several
        if isinstance(image, str | os.PathLike)
    ]
    if len(paths) == len(several):
        found, failures = find_photos(paths)
        if failures:
            raise SeesayError(next(iter(failures.values())), allowed="images, and folders of images")
        several = list(found)
    if not several:
        raise SeesayError("there are no images", allowed=f"one image or more: {ALLOWED}")
    return [read_image(image, number) for number, image in enumerate(several, 1)]


def read_usable(images: Images, *, skip_unusable: bool) -> tuple[list[NamedImage], dict[str, str]]:
    """The images that were given and are there, and why others are not, by name.

    Raises:
        SeesayError: There are none; or one is not there, or a folder has none, and `skip_unusable` does not allow it.
    """
    failures: dict[str, str] = {}
    paths = [Path(image) for image in _as_list(images) if isinstance(image, str | os.PathLike)]
    if skip_unusable and paths and len(paths) == len(_as_list(images)):
        images, unlisted = find_photos(paths)
        failures = {str(path): why for path, why in unlisted.items()}
        if not images:
            refuse(failures)
    given = read_images(images)
    failures |= find_missing(given)
    if not skip_unusable or all(image.name in failures for image in given):
        refuse(failures)
    return [image for image in given if image.name not in failures], failures


def _as_list(images: Any) -> list[Any]:
    """One image as a list of one: text, bytes, arrays and files can be iterated over too, and are no lists."""
    is_one = (
        not isinstance(images, Iterable)
        or isinstance(images, str | bytes | bytearray | memoryview | os.PathLike)
        or hasattr(images, "read")
        or hasattr(images, "__array_interface__")  # arrays and PIL images
    )
    return [images] if is_one else list(images)


def find_photos(things: Sequence[Path]) -> tuple[list[Path], dict[Path, str]]:
    """The photos that are meant, a folder by the photos below it, in order; and why a folder gives none."""
    from seesay.library.indexing.scan import scan
    from seesay.library.types import Folder, as_path

    paths: list[Path] = []
    failures: dict[Path, str] = {}
    for thing in things:
        if not os.path.isdir(thing):  # noqa: PTH112 - which takes a sentence that is too long for a name
            paths.append(thing)
            continue
        try:
            listing = scan(Folder(thing.resolve()))
        except SeesayError as error:
            failures[thing] = error.what
            continue
        below = sorted(as_path(path).relative_to(thing.resolve()) for path in listing.files)
        paths += [thing / path for path in below]
        for folder, why in listing.unreadable.items():
            failures[as_path(folder)] = f"cannot list {as_path(folder)}: {why}"
        if not below:
            failures[thing] = f"there are no photos in {thing}"
    return list(dict.fromkeys(paths)), failures


def find_missing(images: Sequence[NamedImage]) -> dict[str, str]:
    """Which files are not there, and why: found before anything heavy is loaded for them."""
    missing: dict[str, str] = {}
    for image in images:
        if isinstance(image.source, Path) and not remote.is_remote(image.source):
            try:
                image.source.stat()
            except (OSError, ValueError) as error:
                missing[image.name] = f"cannot read {image.name}: {getattr(error, 'strerror', None) or error}"
    return missing


def refuse(failures: dict[str, str]) -> None:
    """Raise the first of the reasons for which images cannot be used, if there is one."""
    if failures:
        more = f"; {len(failures) - 1} more cannot be used" if len(failures) > 1 else ""
        raise SeesayError(f"{next(iter(failures.values()))}{more}", allowed="images that can be opened")
