"""A graph that was kept answers as the one that it was made of, and nothing that happens to the cache can hurt."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from seesay.runtime import folder as graph_folder
from seesay.runtime import kept
from seesay.runtime.folder import GraphFolder
from seesay.runtime.kept import GRAPHS, OFTEN, AskedOften
from seesay.runtime.matching import Model
from seesay.runtime.session import open_session

SENTENCES = ["a dog", "two dogs play in the snow", "", "xyzzy"]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SEESAY_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / GRAPHS


@pytest.fixture
def copied(exported: Path, tmp_path: Path) -> Path:
    """A copy of vse that may be broken."""
    shutil.copytree(exported / "vse", tmp_path / "vse")
    return tmp_path / "vse"


def uncached(model: Model) -> np.ndarray:
    """What the graph itself gives."""
    path = model.graphs.folder / "texts.onnx"
    session = open_session(path, 1, model.graphs._check(path, model.graphs.table["files"]["texts"]))
    return np.asarray(session(model.text_inputs(SENTENCES))[0])


@pytest.mark.parametrize("name", ["eye", "dvsa", "vse", "smlstm"])
def test_what_was_kept_answers_as_the_graph_does(cache: Path, name: str) -> None:
    first, second = Model(name), Model(name)
    wanted = first.graphs.open("texts")(first.text_inputs(SENTENCES))
    assert isinstance(first.graphs.open("texts"), AskedOften)
    assert len(list(cache.iterdir())) == 1
    found = second.graphs.open("texts")(second.text_inputs(SENTENCES))
    single = [model.graphs.open("texts")(model.text_inputs(["a dog"])) for model in (first, Model(name))]
    for own, other in zip(*single, strict=True):
        np.testing.assert_allclose(own, other, atol=2e-6)
    for own, other in zip(wanted, found, strict=True):
        np.testing.assert_array_equal(own, other)
    np.testing.assert_allclose(found[0], uncached(second), atol=2e-6)


def test_the_second_process_does_not_unpack_anything(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Model("vse").encode_texts(["a dog"])
    opened = []
    own = kept.open_session
    monkeypatch.setattr(kept, "open_session", lambda path, *rest, **how: opened.append(path) or own(path, *rest, **how))
    Model("vse").encode_texts(["a dog"])
    assert [path.is_relative_to(cache) for path in opened] == [True]


def test_a_graph_that_is_asked_often_is_opened_once_more(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = Model("vse")
    wanted = model.encode_texts(["a dog"])
    threads = watch_threads(monkeypatch)
    for _ in range(2 * OFTEN):
        np.testing.assert_allclose(model.encode_texts(["a dog"]), wanted, atol=2e-6)
    assert threads == [1]


def test_only_several_sentences_are_shared_by_two_threads(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = Model("vse")
    for _ in range(OFTEN + 1):
        model.encode_texts(["a dog"])
    monkeypatch.setattr(kept, "n_cores", lambda: 8)
    threads = watch_threads(monkeypatch)
    model.encode_texts(SENTENCES)
    model.encode_texts(["a dog"])
    model.encode_texts(SENTENCES)
    assert threads == [2]


def watch_threads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The threads of each graph that is opened from here on."""
    threads: list[int] = []
    own = kept.open_session

    def watched(path: Path, n: int, *rest: Any, **how: Any) -> Any:
        threads.append(n)
        return own(path, n, *rest, **how)

    monkeypatch.setattr(kept, "open_session", watched)
    return threads


def test_a_graph_that_another_process_removed_goes_on_being_asked(cache: Path) -> None:
    Model("vse").encode_texts(["a dog"])
    model = Model("vse")
    wanted = model.encode_texts(["a dog"])
    shutil.rmtree(cache)
    found = model.encode_texts(["a dog", "a dog"])
    np.testing.assert_allclose(found[:1], wanted, atol=2e-6)


def test_several_sentences_are_read_as_without_a_cache(cache: Path) -> None:
    model = Model("vse")
    model.encode_texts(["a dog"])
    np.testing.assert_array_equal(model.encode_texts(SENTENCES), uncached(model))


@pytest.mark.parametrize("damage", ["truncate", "empty", "remove", "garbage", "about"])
def test_what_is_damaged_is_made_again(cache: Path, damage: str) -> None:
    wanted = Model("vse").encode_texts(SENTENCES)
    (folder,) = cache.iterdir()
    weights = folder / "weights.bin"
    if damage == "truncate":
        os.truncate(weights, 1000)
    elif damage == "empty":
        (folder / "graph.onnx").write_bytes(b"")
    elif damage == "remove":
        weights.unlink()
    elif damage == "garbage":
        weights.write_bytes(bytes(weights.stat().st_size))
    else:
        (folder / "about.json").write_text("[]")
    np.testing.assert_array_equal(Model("vse").encode_texts(SENTENCES), wanted)
    assert weights.stat().st_size > 1000


def test_a_cache_that_cannot_be_written_costs_time_alone(cache: Path) -> None:
    cache.parent.mkdir()
    cache.write_text("no folder")
    assert np.isfinite(Model("vse").encode_texts(SENTENCES)).all()
    assert cache.read_text() == "no folder"


def test_what_a_killed_process_has_left_goes_with_the_next(cache: Path) -> None:
    program = (
        "import os\nfrom seesay.runtime import kept\nfrom seesay.runtime.matching import Model\n"
        "kept.digest_file = lambda *_: os._exit(9)\nModel('vse').encode_texts(['a dog'])\n"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 9
    assert [path.suffix for path in cache.iterdir()] == [".partial"]
    Model("vse").encode_texts(SENTENCES)
    assert [path.suffix for path in cache.iterdir()] == [""]


def test_other_weights_are_another_graph(cache: Path, copied: Path) -> None:
    own = Model(copied).encode_texts(SENTENCES)
    weights = bytearray((copied / "model.safetensors").read_bytes())
    place = GraphFolder(copied).places["encoder.directions.rightward.weight_hh_l0"]
    weights[place.offset : place.offset + place.length] = bytes(place.length)
    (copied / "model.safetensors").write_bytes(weights)
    assert np.abs(Model(copied).encode_texts(SENTENCES) - own).max() > 1e-3
    assert len(list(cache.iterdir())) == 2


def test_a_graph_is_checked_though_it_was_kept(cache: Path, copied: Path) -> None:
    Model(copied).encode_texts(SENTENCES)
    path = copied / "texts.onnx"
    path.write_bytes(path.read_bytes()[:-500])
    with pytest.raises(kept.SeesayError, match="damaged or truncated"):
        Model(copied).encode_texts(SENTENCES)


def test_only_the_latest_stay(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "MOST", 1)
    Model("vse").encode_texts(SENTENCES)
    Model("dvsa").encode_texts(SENTENCES)
    assert len(list(cache.iterdir())) == 1


def test_small_weights_are_not_kept(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph_folder, "LARGE", 10**9)
    Model("vse").encode_texts(SENTENCES)
    assert not cache.exists()
