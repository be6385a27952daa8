"""A library whose disk is too small for what is to be indexed."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from seesay.errors import SeesayError
from seesay.library.library import Library
from seesay.library.stores import sqlite
from seesay.library.types import Counts

Open = Callable[..., Library]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "library"


def test_a_disk_that_is_too_small_for_the_vectors_is_said_before_anything_is_encoded(
    photos: Path, open_library: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = open_library()
    needed = 4 * 2 * library.encoder.fingerprint.dim
    monkeypatch.setattr(sqlite.shutil, "disk_usage", lambda _: SimpleNamespace(free=needed - 1))
    with pytest.raises(SeesayError, match=r"the vectors of 4 photos alone take .*\n  try: .*seesay plan --photos 4"):
        library.index(photos)
    assert library.store.counts() == Counts(0, 0, 0)
    monkeypatch.setattr(sqlite.shutil, "disk_usage", lambda _: SimpleNamespace(free=needed))
    assert library.index(photos).n_added == 4
