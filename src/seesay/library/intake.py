"""Taking in photos: a file is read and decoded once, and becomes a vector, a thumbnail and what it says of itself."""

import hashlib
import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from seesay.errors import SeesayError
from seesay.images.io import open_image
from seesay.library.cascade import Rescorer, encode_both
from seesay.library.encoding import Encoder
from seesay.library.metadata import Metadata, read_metadata
from seesay.library.store import Batch, Content, Failure, File, as_path
from seesay.library.thumbnails import make_thumbnail

LARGEST = 500_000_000
"""Bytes of a file that are read; no photo is larger."""


@dataclass(slots=True)
class Work:
    """What a worker made of a few files.

    Attributes:
        waiting: Files whose content another worker has at hand at this moment: they are looked at again at the end.
    """

    batch: Batch = field(default_factory=Batch)
    waiting: list[File] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Opened:
    file: File
    digest: str
    image: Image.Image
    about: Metadata
    thumbnail: bytes


class Intake:
    """Makes a batch of a few files; several threads share it."""

    def __init__(self, encoder: Encoder, digests: set[str], second: Rescorer | None = None) -> None:
        self.encoder = encoder
        self.second = second
        self._pixels = max(encoder.pixels, second.pixels) if second else encoder.pixels
        self._known = digests
        self._taken: set[str] = set()
        self._lock = threading.Lock()

    def __call__(self, files: list[File]) -> Work:
        work = Work()
        opened: list[_Opened] = []
        for file in files:
            try:
                # As the disk shows it when it is read: a file that changes meanwhile is looked at again next time.
                file, data = _read(file)
                digest = hashlib.sha256(data).hexdigest()[:32]
                if digest in self._known:
                    work.batch.photos.append((file, digest))
                elif not self._take(digest):
                    work.waiting.append(file)
                else:
                    image = open_image(data, at_least=self._pixels)
                    opened.append(_Opened(file, digest, image, read_metadata(data), make_thumbnail(image)))
            except SeesayError as error:
                work.batch.failures.append(_failure(file, error))
        if opened:
            images = [photo.image for photo in opened]
            regions: Sequence[NDArray[np.float16] | None] = [None] * len(images)
            if self.second:
                vectors, tags, several = encode_both(self.encoder, self.second, images)
                regions = list(several)
            else:
                vectors, tags = self.encoder.encode_photos(images)
            for photo, vector, likeliest, seen in zip(opened, vectors, tags, regions, strict=True):
                about = photo.about
                described = about.width, about.height, about.taken, about.camera
                kept = vector.astype(np.float16)
                work.batch.contents.append(Content(photo.digest, *described, kept, photo.thumbnail, likeliest, seen))
                work.batch.photos.append((photo.file, photo.digest))
        return work

    def _take(self, digest: str) -> bool:
        """Whether this is the first file of that content in this run."""
        with self._lock:
            if digest in self._taken:
                return False
            self._taken.add(digest)
            return True


def _read(file: File) -> tuple[File, bytes]:
    path = as_path(file.path)
    try:
        if not path.is_file():  # a pipe that took the name meanwhile would never end
            raise SeesayError(f"cannot open {path}: not a regular file")
        with path.open("rb") as opened:
            status = os.fstat(opened.fileno())
            if status.st_size > LARGEST:
                raise SeesayError(
                    f"cannot open {path}: {status.st_size:,} bytes are too many", allowed=f"up to {LARGEST:,} bytes"
                )
            return File(file.path, status.st_size, status.st_mtime_ns), opened.read()
    except OSError as error:
        raise SeesayError(f"cannot open {path}: {(error.strerror or str(error)).lower()}") from error


def _failure(file: File, error: SeesayError) -> Failure:
    # The path is told beside the reason wherever a failure is shown.
    reason = error.what
    for start in (f"cannot open {as_path(file.path)}: ", "cannot open the given bytes: "):
        reason = reason.removeprefix(start)
    return Failure(file, f"{reason} (allowed: {error.allowed})" if error.allowed else reason, error.hint)
