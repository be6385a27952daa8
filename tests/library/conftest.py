"""A library of coloured photos."""

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from PIL import Image

from seesay.library.library import Library
from seesay.library.sqlite import SqliteStore
from seesay.library.store import Batch, Content, File, Fingerprint, Store


@pytest.fixture(scope="session")
def toy() -> ModuleType:
    """tests/library/toy.py, which is a program too."""
    spec = importlib.util.spec_from_file_location("toy", Path(__file__).with_name("toy.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["toy"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """A folder with one photo of each colour, two of them one level deeper."""
    folder = tmp_path / "photos"
    (folder / "2019").mkdir(parents=True)
    for colour, place in (
        ("red", "red.png"),
        ("green", "green.png"),
        ("blue", "2019/blue.jpg"),
        ("white", "2019/white.png"),
    ):
        Image.new("RGB", (48, 36), {"green": (0, 255, 0)}.get(colour, colour)).save(folder / place)
    return folder


@pytest.fixture
def open_library(tmp_path: Path, toy: ModuleType) -> Callable[..., Library]:
    """The library of the test, opened anew as another process would, with a model that knows colours."""

    def open_anew(variant: str = "1", calibration: Any = None) -> Library:
        return Library(tmp_path / "library", encoder=toy.ColourEncoder(variant, calibration))

    return open_anew


@pytest.fixture
def library(open_library: Callable[..., Library], photos: Path) -> Library:
    """That library with the photos in it."""
    library = open_library()
    library.index(photos, workers=1)
    return library


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """An empty store for vectors of three numbers."""
    store = SqliteStore(tmp_path / "library")
    store.start(Fingerprint("toy", "1", "none", 3))
    return store


@pytest.fixture
def put(store: Store) -> Callable[..., None]:
    """Write photos by path, each with a vector; `about` goes to their contents."""

    def write(vectors: dict[str, list[float]], *, mtime_ns: int = 10**18, **about: Any) -> None:
        batch = Batch()
        for path, vector in vectors.items():
            row = np.array(vector, np.float16)
            described = {"width": 4, "height": 3, "taken": None, "camera": None, "thumbnail": b"jpeg"} | about
            digest = described.pop("digest", f"digest of {path}")
            batch.contents.append(Content(digest=digest, vector=row, **described))
            batch.photos.append((File(path.encode(), 10, mtime_ns), digest))
        assert store.write(batch) == []

    return write
