"""Photos on their way into the library: a file is read and decoded once, for vectors, thumbnail and metadata."""

import hashlib
import os
import threading
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from PIL import Image

from seesay.errors import SeesayError
from seesay.images.io import open_image
from seesay.library.indexing.encoding import PhotoEncoder, ViewEncoder, encode_all
from seesay.library.indexing.metadata import Metadata, read_metadata
from seesay.library.indexing.thumbnails import make_thumbnail
from seesay.library.types import Batch, Content, Failure, File, as_path
from seesay.system import remote
from seesay.system.reading import open_regular
from seesay.system.remote import UnreachableError
from seesay.system.results import is_marked

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
class Written:
    """What was written of a few files; small enough to be sent from one machine to another.

    Attributes:
        paths: Photos that are in the library.
        n_encoded: Contents that went through the network.
    """

    paths: tuple[bytes, ...]
    n_encoded: int
    failures: tuple[Failure, ...]

    @classmethod
    def of(cls, batch: Batch, left: Iterable[tuple[File, str]]) -> "Written":
        """Of a batch, without the files that were left because their content was dropped meanwhile."""
        paths = {file.path for file, _ in batch.photos} - {file.path for file, _ in left}
        return cls(tuple(sorted(paths)), len(batch.contents), tuple(batch.failures))


@dataclass(frozen=True, slots=True)
class _Opened:
    file: File
    digest: str
    image: Image.Image
    about: Metadata
    thumbnail: bytes


class Intake:
    """Makes a batch of a few files; several threads share it."""

    def __init__(self, encoder: PhotoEncoder, digests: Container[str], stages: Sequence[ViewEncoder] = ()) -> None:
        self.encoder = encoder
        self.stages = stages
        self._pixels = max(encoder.pixels, *(stage.pixels for stage in stages), 0)
        self._known = digests
        self._taken: set[str] = set()
        self._lock = threading.Lock()

    def __call__(self, files: list[File]) -> Work:
        work = Work()
        opened: list[_Opened] = []
        try:
            for file in files:
                self._open(file, work, opened)
            if opened:
                self._encode_all(opened, work)
        except BaseException:
            self.give_back(photo.digest for photo in opened)
            raise
        return work

    def _open(self, file: File, work: Work, opened: list[_Opened]) -> None:
        """Put a file on one of the lists, those of the work or that of photos to be encoded."""
        try:
            # As the disk shows it when it is read: a file that changes meanwhile is looked at again next time.
            file, data = _read(file)
            if is_marked(data):  # a contact sheet among the photos would be found in their place
                raise SeesayError("a drawing that seesay made, and no photo")
        except UnreachableError:
            raise  # it says nothing about the file
        except SeesayError as error:
            work.batch.failures.append(_failure(file, error))
            return
        digest = hashlib.sha256(data).hexdigest()[:32]
        if digest in self._known:
            work.batch.photos.append((file, digest))
        elif not self._take(digest):
            work.waiting.append(file)
        else:
            try:
                image = open_image(data, at_least=self._pixels)
                opened.append(_Opened(file, digest, image, read_metadata(data), make_thumbnail(image)))
            except Exception as error:  # whatever one photo does, it must not end the index of all the others
                self.give_back([digest])
                work.batch.failures.append(_failure(file, error))

    def _encode_all(self, opened: list[_Opened], work: Work) -> None:
        """Encode photos together; where that fails, each alone, to find the one that is to blame."""
        try:
            contents = self._encode(opened)
        except Exception:
            plain = Image.new("RGB", (self._pixels or 32,) * 2)
            encode_all(self.encoder, self.stages, [plain])  # where this fails too, no photo is to blame
            for photo in opened:
                try:
                    work.batch.contents += self._encode([photo])
                    work.batch.photos.append((photo.file, photo.digest))
                except Exception as error:
                    self.give_back([photo.digest])
                    work.batch.failures.append(_failure(photo.file, error))
            return
        work.batch.contents += contents
        work.batch.photos += [(photo.file, photo.digest) for photo in opened]

    def _encode(self, opened: list[_Opened]) -> list[Content]:
        images = [photo.image for photo in opened]
        vectors, tags, views = encode_all(self.encoder, self.stages, images)
        contents = []
        for row, (photo, vector, likeliest) in enumerate(zip(opened, vectors, tags, strict=True)):
            about = photo.about
            described = about.width, about.height, about.taken, about.camera
            kept = vector.astype(np.float16), photo.thumbnail, likeliest
            seen = {stage: each[row] for stage, each in views.items()}
            contents.append(Content(photo.digest, *described, *kept, seen))
        return contents

    def _take(self, digest: str) -> bool:
        """Whether nobody else has a file of that content at hand."""
        with self._lock:
            if digest in self._taken or digest in self._known:  # it may have become known a moment ago
                return False
            self._taken.add(digest)
            return True

    def give_back(self, digests: Iterable[str]) -> None:
        """Let others have a try at contents, or find them where they have been written."""
        with self._lock:
            self._taken.difference_update(digests)


def make_intake(encoder: PhotoEncoder, digests: Container[str], stages: Sequence[ViewEncoder]) -> Intake:
    """An intake for a process that does nothing else until its end: the sessions of the models stay open."""
    opened = [encoder.inference_session(), *(stage.inference_session() for stage in stages)]
    for prepare in [context.__enter__() for context in opened]:
        prepare()
    return Intake(encoder, digests, stages)


def _read(file: File) -> tuple[File, bytes]:
    path = as_path(file.path)
    if remote.is_remote(path):
        _check_size(path, file.size)
        return file, remote.read(path)
    try:
        with open_regular(path) as opened:
            status = os.fstat(opened.fileno())
            _check_size(path, status.st_size)
            data = opened.read(LARGEST + 1) or b""  # files of the system may have no size and no end
            _check_size(path, len(data))
            return File.of(file.path, status), data
    except OSError as error:
        raise SeesayError(f"cannot open {path}: {(error.strerror or str(error)).lower()}") from error


def _check_size(path: Path, size: int) -> None:
    if size > LARGEST:
        raise SeesayError(f"cannot open {path}: {size:,} bytes are too many", allowed=f"up to {LARGEST:,} bytes")


def _failure(file: File, error: Exception) -> Failure:
    if not isinstance(error, SeesayError):
        return Failure(file, f"cannot be used: {type(error).__name__} {error}".strip()[:200])
    # The path is told beside the reason wherever a failure is shown.
    reason = error.what
    for start in (f"cannot open {remote.as_url(as_path(file.path))}: ", "cannot open the given bytes: "):
        reason = reason.removeprefix(start)
    return Failure(file, f"{reason} (allowed: {error.allowed})" if error.allowed else reason, error.hint)
