"""Indexing on a Ray cluster."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from seesay.errors import SeesayError
from seesay.library.library import Library
from seesay.library.stores.sql import SqlStore
from seesay.system import cluster as clusters
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


def test_workers_take_from_the_queue_of_a_server_and_write_themselves(
    cluster: Cluster,
    postgres_url: str,
    tmp_path: Path,
    toy: ModuleType,
    everything_in: Callable[[SqlStore], dict[str, Any]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sys.modules["ray"].cloudpickle.register_pickle_by_value(toy)
    folder = tmp_path / "photos"
    folder.mkdir()
    for number in range(14):
        toy.draw(folder / f"{number:02}.png", number % 11)
    (folder / "broken.jpg").write_bytes(b"nothing")
    found = []
    for place, ray in ((tmp_path / "one", None), (postgres_url, "local")):
        with Library(place, encoder=toy.ColourEncoder(), stages=()) as library:
            assert isinstance(library.store, SqlStore)
            if ray:  # nothing passes through this process
                monkeypatch.setattr(type(library.store), "write", None)
            done = library.index(folder, ray=ray)
            assert (done.n_added, len(done.failures)) == (14, 1)
            # One indexer encodes copies once. Workers who have copies at hand at the same time do not know it.
            assert done.n_encoded == 11 if ray is None else 11 <= done.n_encoded <= 14
            assert library.index(folder, ray=ray).n_added == 0
            found.append(everything_in(library.store))
    assert found[0] == found[1]
    with Library(postgres_url, encoder=toy.ColourEncoder(), stages=()) as library:
        assert library.store.shared is not None
        assert library.store.shared.waiting(folder) == []


def test_a_worker_of_another_version_is_refused_by_name(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clusters, "VERSION", "0.0.1")
    with pytest.raises(SeesayError, match=r"the worker .* has seesay .*, the command that asks it has seesay 0\.0\.1"):
        cluster.map(lambda: abs, [-1])
