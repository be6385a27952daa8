"""`seesay doctor`: what is there, what is missing, and what to type."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from seesay.catalogue import weights
from seesay.cli import health
from seesay.system.digests import digest_file

Call = Callable[..., Any]


@pytest.fixture
def packaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Weights of one name that a release could have."""
    folder = tmp_path / "weights"
    (folder / "small").mkdir(parents=True)
    (folder / "small/config.json").write_text("{}")
    (folder / "small/model.safetensors").write_bytes(b"weights")
    health.write_digests(folder)
    return folder


def states(folder: Path) -> dict[str, str]:
    return {each.name: each.state for each in health.examine_weights(folder)}


def test_unchanged_weights_are_ok(packaged: Path) -> None:
    assert states(packaged) == {"small": "ok"}


def test_changed_weights_are_named(packaged: Path) -> None:
    (packaged / "small/model.safetensors").write_bytes(b"others")
    assert states(packaged) == {"small": "changed"}


@pytest.mark.parametrize("lost", ["small", "small/model.safetensors", "small/config.json"])
def test_missing_weights_are_named(packaged: Path, lost: str) -> None:
    path = packaged / lost
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    assert states(packaged) == {"small": "missing"}


def test_graphs_and_networks_are_part_of_a_release(packaged: Path) -> None:
    graph = packaged / "small/texts.onnx"
    graph.write_bytes(b"a graph")
    files = {"texts": {"file": "texts.onnx", "digest": digest_file(graph)}}
    (packaged / "small/config.json").write_text(json.dumps({"graphs": {"files": files}}))
    (packaged / "network").mkdir()
    (packaged / "network/network.json").write_text("{}")
    (packaged / "network/network.onnx").write_bytes(b"a network")
    health.write_digests(packaged)
    assert states(packaged) == {"network": "ok", "small": "ok"}
    graph.write_bytes(b"another")
    (packaged / "network/network.onnx").write_bytes(b"another")
    assert states(packaged) == {"network": "changed", "small": "changed"}
    graph.unlink()
    shutil.rmtree(packaged / "network")
    assert states(packaged) == {"network": "missing", "small": "missing"}


def test_a_network_that_is_made_of_others_is_part_of_a_release(packaged: Path) -> None:
    (packaged / "halves").mkdir()
    (packaged / "halves/network.json").write_text('{"upper": "small"}')
    health.write_digests(packaged)
    assert states(packaged) == {"halves": "ok", "small": "ok"}
    (packaged / "halves/network.json").write_text('{"upper": "other"}')
    assert states(packaged) == {"halves": "changed", "small": "ok"}


def test_own_weights_are_no_problem(packaged: Path) -> None:
    shutil.copytree(packaged / "small", packaged / "trained")
    assert states(packaged) == {"small": "ok", "trained": "own"}


def test_the_digests_are_those_of_the_weights_that_ship() -> None:
    found = {each.name: each.state for each in health.examine_weights(weights.PACKAGED)}
    assert set(found.values()) == {"ok"}, "renew them: python -m seesay.cli.health"


def test_the_report_says_what_to_type(
    seesay: Call, packaged: Path, own_library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(weights, "PACKAGED", packaged)
    monkeypatch.setenv("SEESAY_CACHE", str(tmp_path / "cache"))
    (tmp_path / "cache/features").mkdir(parents=True)
    (tmp_path / "cache/features/rows").write_bytes(b"12345")
    monkeypatch.setattr(health, "requires", lambda _: ['none-such>=1; extra == "nothing"', "numpy"])
    code, out, err = seesay("doctor")
    assert (code, err) == (0, "")
    assert "weights   small: ok, 0.0 MB" in out
    assert f"library   {own_library}: nothing indexed yet" in out
    assert f"cache     {tmp_path / 'cache/features'}: 0.0 MB in 1 files" in out
    assert "optional  nothing: needs none-such; pip install 'seesay[nothing]'" in out
    assert not own_library.exists()  # looking makes no library
    (packaged / "small/model.safetensors").unlink()
    code, out, err = seesay("doctor", "--json")
    assert (code, err) == (1, "")
    found = json.loads(out)
    assert found["weights"] == [{"name": "small", "state": "missing", "digest": "", "bytes": 0}]
    assert found["caches"][0]["bytes"] == 5
    assert found["problems"] == ["the weights small are missing; try: pip install --force-reinstall --no-deps seesay"]
    assert "seesay: the weights small are missing" in seesay("doctor").err


def test_a_library_of_other_weights_is_named(seesay: Call, indexed: Path, retrained: None) -> None:
    found = json.loads(seesay("doctor", "--json").out)
    assert found["library"]["photos"] == 4
    assert "the library was made with other weights; try: seesay library rebuild" in found["problems"]
