"""Layers of a TFLite file, written by the `flatbuffers` package, are read as the numbers that they stand for."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seesay.errors import SeesayError
from seesay.images.networks.tflite import CONVOLUTION, DEPTHWISE, LINEAR, read_layers

CONV_2D, DEPTHWISE_CONV_2D, FULLY_CONNECTED, SOFTMAX = 3, 4, 9, 25


def stored(shape: tuple[int, ...], axis: int = 0, *, n_scales: int | None = None, kind: Any = np.int8) -> Any:
    values = np.random.default_rng(sum(shape)).integers(-100, 100, shape).astype(kind)
    n = shape[axis] if n_scales is None else n_scales
    return values, np.linspace(0.5, 1.0, n, dtype=np.float32), axis


def bias(n: int) -> Any:
    return stored((n,), kind=np.int32)


def test_weights_are_scaled_by_output_channel_and_laid_out_as_torch_has_them(tmp_path: Path, write_tflite: Any) -> None:
    convolution, depthwise, linear = stored((4, 3, 3, 2)), stored((1, 3, 3, 4), 3), stored((5, 4), n_scales=1)
    layers = [
        (CONV_2D, convolution, bias(4)),
        (SOFTMAX, convolution, bias(4)),
        (DEPTHWISE_CONV_2D, depthwise, bias(4)),
        (FULLY_CONNECTED, linear, bias(5)),
    ]
    found = read_layers(write_tflite(tmp_path / "toy.tflite", layers))
    assert [(layer.kind, layer.weight.shape) for layer in found] == [
        (CONVOLUTION, (4, 2, 3, 3)),
        (DEPTHWISE, (4, 1, 3, 3)),
        (LINEAR, (5, 4)),
    ]
    values, scale, _ = convolution
    assert found[0].weight[3, 1, 0, 2] == values[3, 0, 2, 1] * scale[3]
    values, scale, _ = depthwise
    assert found[1].weight[2, 0, 1, 0] == values[0, 1, 0, 2] * scale[2]
    values, scale, _ = linear
    np.testing.assert_array_equal(found[2].weight, values * scale[0])
    values, scale, _ = bias(5)
    np.testing.assert_allclose(found[2].bias, values * scale, rtol=1e-6)


@pytest.mark.parametrize(
    ("content", "reason"),
    [(b"", "it does not begin as one"), (b"PK\3\4" * 9, "it does not begin as one"), (b"\0\0\0\1TFL3", "offset")],
)
def test_what_is_no_tflite_file_is_refused_in_one_sentence(tmp_path: Path, content: bytes, reason: str) -> None:
    path = tmp_path / "other.tflite"
    path.write_bytes(content)
    with pytest.raises(SeesayError, match=rf"other\.tflite is not a whole TFLite file with 8-bit weights: .*{reason}"):
        read_layers(path)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(SeesayError, match=r"cannot read .*absent\.tflite: No such file"):
        read_layers(tmp_path / "absent.tflite")


def test_scales_that_do_not_fit_the_weights_are_refused(tmp_path: Path, write_tflite: Any) -> None:
    path = write_tflite(tmp_path / "toy.tflite", [(CONV_2D, stored((4, 1, 1, 2), n_scales=3), bias(4))])
    with pytest.raises(SeesayError, match=r"3 scales for numbers of shape \(4, 1, 1, 2\)"):
        read_layers(path)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), max_size=8), st.integers(0, 10_000))
def test_a_damaged_file_gives_layers_or_one_sentence(
    tmp_path: Path, write_tflite: Any, changes: list[tuple[int, int]], end: int
) -> None:
    path = write_tflite(tmp_path / "toy.tflite", [(CONV_2D, stored((4, 1, 1, 2)), bias(4))])
    content = bytearray(path.read_bytes())
    for place, value in changes:
        content[place % len(content)] = value
    path.write_bytes(content[: max(end % (2 * len(content)), 8)])
    reason = ""
    try:
        read_layers(path)
    except SeesayError as error:  # any other error fails the test
        reason = str(error)
    assert not reason or reason.startswith(f"{path} is not a whole TFLite file")
