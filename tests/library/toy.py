"""A model that knows colours, small enough to follow by hand and free of torch; and photos for it.

A photo is what its four quarters show, twelve numbers; a sentence is the colours that it names. Run as a program, it
indexes a folder in processes of its own and ends some of them in the middle: see tests/library/test_robustness.py.
"""

import itertools
import json
import os
import random
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path

import filelock  # noqa: F401 - as below
import numpy as np
from numpy.typing import NDArray
from PIL import Image

# Imported here, so that a child spends its calls on photos and not on imports.
import seesay.library.indexing.index
import seesay.library.indexing.intake
import seesay.models.registry  # noqa: F401
from seesay.errors import SeesayError
from seesay.library.library import Library
from seesay.library.ranking.calibration import Calibration
from seesay.library.ranking.cascade import Blend
from seesay.library.stores import sqlite
from seesay.library.types import Fingerprint, Tags, Vector
from seesay.settings.tags import TagSettings
from seesay.text.function_words import content_words
from seesay.text.vocabulary import Vocabulary

COLOURS = {"red": (255, 0, 0), "green": (0, 255, 0), "blue": (0, 0, 255), "white": (255, 255, 255)}
BLEND = Blend(("colours",), k=10, weight=0.5, slope=1.0, offset=0.0)
QUARTERS = np.array([[0, 0, 0.5, 0.5], [0.5, 0, 1, 0.5], [0, 0.5, 0.5, 1], [0.5, 0.5, 1, 1]], np.float32)


class ColourEncoder:
    """`variant` stands for weights that were trained anew."""

    def __init__(self, variant: str = "1", calibration: Calibration | None = None) -> None:
        self.fingerprint = Fingerprint("colours", variant, "quarters", 12)
        self.calibration = calibration
        self.tag_settings = TagSettings()
        self.words = Vocabulary.build([" ".join(COLOURS)] * 1000)
        self.pixels = 64
        self.n_encoded = 0

    @contextmanager
    def inference_session(self) -> Iterator[Callable[[], None]]:
        yield lambda: None

    def encode_photos(self, images: Sequence[Image.Image]) -> tuple[Vector, list[Tags]]:
        self.n_encoded += len(images)
        quarters = [np.asarray(image.resize((2, 2), Image.Resampling.BOX), np.float32).ravel() for image in images]
        return np.stack([_unit(row) for row in quarters]), [((int(row.argmax()), 0.5),) for row in quarters]

    @property
    def model(self) -> None:
        raise SeesayError("colours have no model that could be asked for more")

    def encode_text(self, text: str) -> Vector:
        return _unit(np.tile(_named(text).mean(0), 4))

    def count_words(self, text: str) -> dict[str, int]:
        return {word: self.words.count(word) for word in content_words(text)}


class Corners:
    """A second stage: regions are quarters, three numbers each; a sentence has a vector for each colour it names."""

    stage = "regions"

    def __init__(self, blend: Blend, variant: str = "1") -> None:
        self.blend = blend
        self.fingerprint = Fingerprint("corners", variant, "quarters", 3)
        self.pixels = 8
        self.asked: list[tuple[int, str]] = []

    @contextmanager
    def inference_session(self) -> Iterator[Callable[[], None]]:
        yield lambda: None

    def encode_photos(self, images: Sequence[Image.Image]) -> NDArray[np.float16]:
        quarters = [np.asarray(image.resize((2, 2), Image.Resampling.BOX)).reshape(4, 3) / 255 for image in images]
        return np.stack(quarters).astype(np.float16)

    def knows(self, word: str) -> bool:
        return word in COLOURS

    def score(self, regions: Vector, text: str) -> Vector:
        self.asked.append((len(regions), text))
        return np.asarray((regions @ _named(text).T / 255).max(1).sum(1), np.float32)

    def point(self, regions: Vector, text: str) -> tuple[Vector, NDArray[np.float32]]:
        colour = _named(text).mean(0)
        lengths = np.linalg.norm(regions.astype(np.float32), axis=-1) * np.linalg.norm(colour)
        scores = (regions @ colour / np.maximum(lengths, 1e-6)).astype(np.float32)  # (n, 4): cosines
        return scores.max(1), QUARTERS[scores.argmax(1)]


class Brightness:
    """A third stage, which likes bright photos whatever is asked for."""

    stage = "captions"

    def __init__(self, blend: Blend) -> None:
        self.blend = blend
        self.fingerprint = Fingerprint("brightness", "1", "mean", 1)
        self.pixels = 8
        self.asked: list[tuple[int, str]] = []

    @contextmanager
    def inference_session(self) -> Iterator[Callable[[], None]]:
        yield lambda: None

    def encode_photos(self, images: Sequence[Image.Image]) -> NDArray[np.float16]:
        return np.array([[[np.asarray(image).mean() / 255]] for image in images], np.float16)

    def knows(self, word: str) -> bool:
        return True

    def score(self, views: Vector, text: str) -> Vector:
        self.asked.append((len(views), text))
        return np.asarray(views[:, 0, 0], np.float32)


def _named(text: str) -> Vector:
    """The colours that a sentence names, or nearly black: (T, 3)."""
    return np.array([COLOURS[word] for word in text.split() if word in COLOURS] or [(1, 1, 1)], np.float32)


def _unit(row: Vector) -> Vector:
    return np.asarray(row / max(float(np.linalg.norm(row)), 1e-6), np.float32)


def draw(path: Path, number: int) -> Path:
    """A photo that no other number has."""
    pixels = np.random.default_rng(number).integers(0, 256, (3, 4, 3), dtype=np.uint8)
    Image.fromarray(pixels).resize((24, 18), Image.Resampling.NEAREST).save(path)
    return path


def index_in_children(library: Path, folder: Path, n_kills: int) -> dict[str, list[int]]:
    """Index with a process that is killed at a random one of its function calls, n_kills times."""
    _index(library.with_name("first"), folder)  # what is found out once in a process is found out here
    _, n_calls = _in_child(lambda: _index(library.with_name("rehearsal"), folder))
    moments = random.Random(0)
    signals, counts = [], []
    for _ in range(n_kills):
        status, _ = _in_child(lambda: _index(library, folder), kill_at=moments.randint(1, n_calls))
        signals.append(os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0)
        counts.append(_n_photos(library))
    return {"signals": signals, "counts": counts}


def index_twice_at_once(library: Path, folder: Path) -> dict[str, list[int]]:
    """Two processes that know nothing of each other's lock index the same folder."""
    sqlite.hold_lock = lambda *_, **__: nullcontext()  # type: ignore[assignment]
    child = os.fork()
    _index(library, folder)
    if child == 0:
        os._exit(0)
    return {"statuses": [os.waitpid(child, 0)[1]]}


class HangingEncoder(ColourEncoder):
    """Says that it has photos at hand, and does nothing with them until it is told to."""

    def encode_photos(self, images: Sequence[Image.Image]) -> tuple[Vector, list[Tags]]:
        print("at hand", flush=True)
        sys.stdin.read()
        return super().encode_photos(images)


def index_and_hang(library: str, folder: Path) -> None:
    """Index with one thread that gets no further than its first photos."""
    with Library(library, encoder=HangingEncoder(), stages=[Corners(BLEND)]) as opened:
        opened.index(folder, workers=1)


def _index(library: Path, folder: Path) -> None:
    with Library(library, encoder=ColourEncoder()) as opened:
        opened.index(folder, workers=2)


def _n_photos(library: Path) -> int:
    """How many a library has, opened as anybody would."""
    with Library(library, encoder=ColourEncoder()) as opened:
        return opened.store.counts().photos


def _in_child(act: Callable[[], None], kill_at: int = 0) -> tuple[int, int]:
    """Act in another process, which kills itself at the call of this number; its status and how many calls it made."""
    receive, send = os.pipe()
    child = os.fork()
    if child == 0:
        calls = itertools.count(1)

        def watch(frame: object, event: str, _: object) -> None:
            if next(calls) == kill_at:
                os.kill(os.getpid(), signal.SIGKILL)

        threading.setprofile(watch)
        sys.setprofile(watch)
        act()
        os.write(send, str(next(calls)).encode())
        os._exit(0)
    os.close(send)
    with os.fdopen(receive) as pipe:
        n_calls = int(pipe.read() or 0)
    return os.waitpid(child, 0)[1], n_calls


if __name__ == "__main__":
    action, library, folder = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    act: dict[str, Callable[[], object]] = {
        "hang": lambda: index_and_hang(os.environ["SEESAY_LIBRARY"], folder),
        "kill": lambda: index_in_children(library, folder, 20),
        "twice": lambda: index_twice_at_once(library, folder),
    }
    print(json.dumps(act[action]()))
