"""Indexing on a Ray cluster."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from seesay.library.library import Library
from seesay.library.stores.sql import SqlStore
from seesay.system.cluster import Cluster


def test_a_library_indexed_on_a_cluster_is_that_of_one_process(
    cluster: Cluster, tmp_path: Path, toy: ModuleType, everything_in: Callable[[SqlStore], dict[str, Any]]
) -> None:
    sys.modules["ray"].cloudpickle.register_pickle_by_value(toy)
    folder = tmp_path / "photos"
    folder.mkdir()
    for number in range(14):
        toy.draw(folder / f"{number:02}.png", number % 11)
    (folder / "broken.jpg").write_bytes(b"nothing")
    found = []
    for place, ray in (("one", None), ("many", "local")):
        with Library(tmp_path / place, encoder=toy.ColourEncoder(), stages=()) as library:
            done = library.index(folder, ray=ray)
            assert (done.n_added, len(done.failures)) == (14, 1)
            assert library.index(folder, ray=ray).n_added == 0
            assert isinstance(library.store, SqlStore)
            found.append(everything_in(library.store))
    assert found[0] == found[1]
