"""The network in 8 bits: close to the one it is rounded from, the same every time, and refused where it is damaged."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from seesay.catalogue.weights import PACKAGED
from seesay.errors import SeesayError
from seesay.images.io import open_image
from seesay.images.views import preprocess
from seesay.runtime.exact import has_rounded, is_exact
from seesay.runtime.matching import Model
from seesay.runtime.network import Network, open_network, release_graphs
from seesay.runtime.rounded import RANGES, round_layer

SAMPLES = PACKAGED.parent / "samples"
NAME = "efficientnet-lite2-300-squash-9656183eaeaf-int8"


@pytest.fixture(scope="module")
def networks() -> tuple[Network, Network]:
    """What libraries are made with, in half precision and in 8 bits."""
    whole = Model("dvsa", threads=1).network
    rounded = whole.in_precision("int8")
    assert rounded is not None
    return whole, rounded


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """The network in 8 bits and the one that it is rounded from, in a folder of their own."""
    for name in (NAME, NAME.replace("int8", "fp16")):
        shutil.copytree(PACKAGED / name, tmp_path / name)
    release_graphs()
    return tmp_path / NAME


def _views(paths: list[Path]) -> np.ndarray:
    return np.concatenate([preprocess(open_image(path, at_least=300), 300, "squash") for path in paths])


def _cosines(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    a, b = a.reshape(len(a), -1), b.reshape(len(b), -1)
    return (a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)


def test_both_halves_and_the_classes_are_close_on_every_sample(networks: tuple[Network, Network]) -> None:
    views = _views(sorted(SAMPLES.glob("*.jpg")))
    whole, rounded = (network.run(views) for network in networks)
    assert {name: array.shape for name, array in whole.items()} == {
        name: array.shape for name, array in rounded.items()
    }
    for half in (slice(0, 1280), slice(1280, 2560)):
        assert _cosines(whole["pooled"][:, half], rounded["pooled"][:, half]).min() > 0.985
    assert _cosines(whole["lower"], rounded["lower"]).min() > 0.985
    assert _cosines(whole["classes"], rounded["classes"]).min() > 0.985


def test_vectors_of_a_hundred_photos_are_close(networks: tuple[Network, Network], shared_data: Path) -> None:
    views = _views(sorted((shared_data / "flickr8k" / "Flicker8k_Dataset").glob("*.jpg"))[:100])
    eye = Model("eye", threads=1)
    whole, rounded = (eye.encode_pooled(network.run(views)["pooled"]) for network in networks)
    alike = _cosines(whole, rounded)
    assert alike.mean() > 0.998
    assert alike.min() > 0.99


def test_what_has_no_range_is_exact() -> None:
    """Weights that are whole numbers of steps, as are bias and means, lose nothing."""
    weight = np.array([[127, -3], [1, 127]], np.float32).reshape(2, 2, 1, 1) / 127
    found = round_layer(weight, np.array([1, -2], np.float32), *(np.ones(n, np.float32) for n in (1, 1, 2)))
    assert found["weight"].ravel().tolist() == [127, -3, 1, 127]
    np.testing.assert_allclose(found["scale"], 1 / 127, rtol=1e-6)
    assert found["bias"].tolist() == [127, -254]


def test_a_depthwise_kernel_keeps_its_sum() -> None:
    rng = np.random.default_rng(0)
    weight = rng.standard_normal((50, 1, 3, 3)).astype(np.float32)
    weight -= weight.mean((2, 3), keepdims=True)  # edges
    ones = np.ones(50, np.float32)
    found = round_layer(weight, 0 * ones, ones, ones, ones)
    assert not found["weight"].astype(int).sum((1, 2, 3)).any()
    plain = np.rint(weight / found["scale"][:, None, None, None]).sum((1, 2, 3))
    assert np.abs(plain).max() >= 1


def test_what_rounding_adds_on_the_mean_is_taken_off_the_bias() -> None:
    rng = np.random.default_rng(1)
    weight, means = rng.standard_normal((20, 30, 1, 1)).astype(np.float32), rng.uniform(1, 3, 30).astype(np.float32)
    unit = np.full(1, 0.02, np.float32)
    found = round_layer(weight, np.zeros(20, np.float32), unit, unit, means)
    real = found["scale"] * unit  # of a step of the sum
    given = (found["weight"][:, :, 0, 0] @ (means / unit) + found["bias"]) * real
    np.testing.assert_allclose(given, weight[:, :, 0, 0] @ means, atol=1e-3)


def test_it_is_the_same_every_time(networks: tuple[Network, Network]) -> None:
    views = _views(sorted(SAMPLES.glob("*.jpg"))[:2])
    first = networks[1].run(views)["pooled"]
    release_graphs()
    again = Model("dvsa", threads=1).network.in_precision("int8")
    assert again is not None
    assert np.array_equal(first, again.run(views)["pooled"])


def test_a_processor_that_adds_in_16_bits_would_be_noticed() -> None:
    """Two products of 255 and 127 do not fit: the probe's answer would be half."""
    assert 2 * 255 * 127 > 2**15 - 1
    assert isinstance(is_exact(), bool)


@pytest.mark.parametrize("file", [RANGES, "network.onnx"])
def test_a_damaged_table_or_graph_is_refused_by_name(copied: Path, file: str) -> None:
    data = bytearray((copied / file).read_bytes())
    data[len(data) // 2] ^= 1
    (copied / file).write_bytes(bytes(data))
    with pytest.raises(SeesayError, match=rf"{file} is not the one that .*network.json was written for"):
        _ = open_network(copied, threads=1).session


def test_a_missing_table_is_refused_by_name(copied: Path) -> None:
    (copied / RANGES).unlink()
    with pytest.raises(SeesayError, match=rf"cannot read .*{RANGES}"):
        _ = open_network(copied, threads=1).session


def test_ranges_of_another_network_are_refused(copied: Path) -> None:
    source = copied.with_name(NAME.replace("int8", "fp16")) / "network.json"
    source.write_text(json.dumps({**json.loads(source.read_text()), "digest": "0" * 64}))
    with pytest.raises(SeesayError, match="was written for another network"):
        _ = open_network(copied, threads=1).session


def test_whether_a_network_is_there_in_8_bits_is_seen_from_its_name(copied: Path, tmp_path: Path) -> None:
    assert has_rounded(NAME.replace("int8", "fp16"), copied.parent)
    assert not has_rounded("efficientnet-lite0-96-squash-123456789012-fp16", tmp_path)


def test_a_network_without_ranges_has_no_such_precision(copied: Path) -> None:
    whole = open_network(copied.with_name(NAME.replace("int8", "fp16")), threads=1)
    rounded = whole.in_precision("int8")
    assert rounded is not None
    assert rounded.in_precision("int4") is None
    assert whole.in_precision("fp16") is whole
    assert rounded.features([Image.new("RGB", (40, 30))], maps=False).map is None
