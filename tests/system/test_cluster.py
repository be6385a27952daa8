"""Work on a Ray cluster gives what work in this process gives, whatever happens to workers."""

import os
import signal
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from seesay.captioning.consensus import Consensus
from seesay.errors import SeesayError
from seesay.images.extraction import FeatureStore, extract
from seesay.images.features import FeatureSpec
from seesay.system import cluster as clusters
from seesay.system.cluster import Cluster, ClusterGoneError, join


@pytest.fixture(autouse=True)
def _by_value() -> None:
    """Workers cannot import this file: what it defines travels with the tasks."""
    if "ray" in sys.modules:
        sys.modules["ray"].cloudpickle.register_pickle_by_value(sys.modules[__name__])


def ready_to_count(folder: Path) -> Callable[[int], tuple[int, int]]:
    (folder / f"ready {os.getpid()}").touch()
    return lambda number: (number * number, os.getpid())


def ready_to_die(folder: Path) -> Callable[[int], int]:
    def work(number: int) -> int:
        if number == 3 and not (folder / "died").exists():
            (folder / "died").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return number

    return work


def ready_to_refuse() -> Callable[[int], int]:
    def work(number: int) -> int:
        raise SeesayError(f"{number} is odd", allowed="even numbers", hint="double it")

    return work


def test_every_thing_is_worked_on_and_a_worker_gets_ready_once(cluster: Cluster, tmp_path: Path) -> None:
    made = cluster.map(partial(ready_to_count, tmp_path), list(range(30)))
    assert [square for square, _ in made] == [number * number for number in range(30)]
    assert len(list(tmp_path.iterdir())) == len({worker for _, worker in made}) <= cluster.n_workers


def test_a_killed_worker_costs_its_batch_and_no_more(cluster: Cluster, tmp_path: Path) -> None:
    assert sorted(cluster.work(partial(ready_to_die, tmp_path), range(8))) == list(range(8))
    assert (tmp_path / "died").exists()


def test_an_error_comes_back_as_it_was_raised(cluster: Cluster) -> None:
    with pytest.raises(SeesayError, match=r"1 is odd\n  allowed: even numbers\n  try: double it"):
        cluster.map(ready_to_refuse, [1])


def test_features_are_those_of_one_process(cluster: Cluster, colours: Path, tmp_path: Path) -> None:
    paths = sorted((colours / "images").iterdir())[:9]
    (tmp_path / "broken.png").write_bytes(b"nothing")
    stores = [FeatureStore(FeatureSpec("efficientnet-lite0", 64), root=tmp_path / name) for name in ("one", "many")]
    seen: list[tuple[int, int]] = []
    one = extract([*paths, tmp_path / "broken.png"], stores[0], workers=1)
    many = extract(
        [*paths, tmp_path / "broken.png"], stores[1], ray="local", on_progress=lambda *step: seen.append(step)
    )
    assert (many.keys, many.failures, many.n_computed) == (one.keys, one.failures, 9)
    assert seen[-1] == (10, 10)
    keys = [key for key in one.keys.values() if key]
    np.testing.assert_array_equal(stores[0].read("pooled", keys), stores[1].read("pooled", keys))
    assert extract(paths, stores[1], ray="local").n_computed == 0


def test_similarities_are_those_of_one_process(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seesay.captioning.consensus._PAIRS_AT_ONCE", 4)
    captions = [["a dog runs", "a dog is running"], ["a brown dog runs fast"], ["two cats sleep", "cats", "sleep"]]
    consensus = Consensus(captions)
    hypotheses = [["two dogs", "a dog runs"], ["cats sleep", "a cat", "nothing"]]
    neighbours = [[0, 1], [2, 0]]
    one = consensus.similarities(hypotheses, neighbours)
    many = consensus.similarities(hypotheses, neighbours, spread=cluster.map)
    np.testing.assert_array_equal(one.values, many.values)


def test_evaluation_is_that_of_one_process(
    cluster: Cluster, colours_run: Path, colours: Path, in_colours_cache: Path
) -> None:
    from seesay import data
    from seesay.data.examples import Examples
    from seesay.evaluation.protocols import EvaluationSet
    from seesay.evaluation.retrieval import evaluate_retrieval
    from seesay.models.pretrained import load
    from seesay.scoring import score_all

    model, test = load(colours_run / "weights"), data.load(colours).split("test")
    measured = EvaluationSet(test)
    one, many = (evaluate_retrieval(model, measured, spread=spread) for spread in (clusters.spread_here, cluster.map))
    assert many.to_report() == one.to_report()

    source: Examples = measured.read(model)
    spread = score_all(model, source, batch=3, spread=cluster.map)
    torch.testing.assert_close(spread, score_all(model, source), rtol=1e-6, atol=1e-6)


def test_a_cluster_that_is_not_there_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = pytest.importorskip("ray")

    def refuse(**_: Any) -> None:
        raise ConnectionError("Could not find any running Ray instance.\nand so on")

    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "init", refuse)
    with (
        pytest.raises(ClusterGoneError, match=r"no Ray cluster at auto: Could not find.*\n.*\n  try: ray start --head"),
        join("auto"),
    ):
        pass


def test_an_address_where_nobody_is_at_home_is_said_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = pytest.importorskip("ray")
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    with pytest.raises(ClusterGoneError, match=r"no Ray cluster at 127.0.0.1:9: .*refused"), join("127.0.0.1:9"):
        pass
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:9")
    with pytest.raises(ClusterGoneError, match=r"no Ray cluster at auto: .*refused"), join("auto"):
        pass


def test_a_cluster_that_goes_away_is_said_with_what_to_do(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    import ray.exceptions

    def fail(*_: Any, **__: Any) -> None:
        raise ray.exceptions.RaySystemError("the raylet is gone")

    theirs = Cluster(cluster._ray, "ours")
    monkeypatch.setattr(cluster._ray, "wait", fail)
    with pytest.raises(ClusterGoneError, match=r"does not answer: .*raylet is gone.*\n  try: ray start --head"):
        theirs.map(ready_to_refuse, [1])


def test_a_head_that_is_gone_is_noticed_where_no_task_comes_back(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = Cluster(cluster._ray, "ours")
    monkeypatch.setattr(cluster._ray, "wait", lambda running, **_: ([], running))
    monkeypatch.setattr(
        cluster._ray, "get_runtime_context", lambda: SimpleNamespace(gcs_address="127.0.0.1:9"), raising=True
    )
    with pytest.raises(ClusterGoneError, match=r"the cluster ours has gone away: .*\n  try: ray start --head, then"):
        theirs.map(ready_to_refuse, [1])


def test_without_ray_the_package_to_install_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(SeesayError, match=r"pip install 'seesay\[cluster\]'"), join("local"):
        pass
