"""A network in whole numbers of 8 bits, whose weights are rounded when it is opened.

Its folder holds a graph without weights, and a table of ranges that was measured on training photos
(`seesay.export.rounding`). The weights are those of the network in half precision: nothing ships twice.
"""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seesay.catalogue.weights import UPPER
from seesay.errors import SeesayError
from seesay.runtime.folder import HALF, MODEL, WEIGHTS, inside, read_object
from seesay.runtime.graph_file import read_initializers
from seesay.runtime.session import Session, open_session
from seesay.runtime.tensors import read_tensors
from seesay.system.digests import digest_file

RANGES = "ranges.safetensors"
ELSEWHERE = "rounded"
"""Where the graph says that its weights are: nowhere, they are computed."""
N_LEVELS, ZERO = 255, 128
RELU = 6.0
_MOST = 127
_ROWS, _SCALE = ".rows", ".scale"
"""How the names of tensors end that are stored as bytes, and of what their rows are multiplied by."""

Arrays = dict[str, NDArray[Any]]
Floats = NDArray[np.float32]


def round_layer(weight: Floats, bias: Floats, inputs: Floats, outputs: Floats, means: Floats) -> Arrays:
    """A convolution whose inputs and outputs are whole numbers.

    Args:
        weight: (O, I, k, k); I is 1 where every channel has a kernel of its own.
        bias: (O,).
        inputs: What one step of each channel read is worth, or of all of them: (I,) or (1,).
        outputs: The same of what it gives, (O,) or (1,).
        means: Of the channels that it reads, on training photos.

    Returns:
        `weight` int8, `scale` and `zero` (O,), `bias` int32, in units of scale.
    """
    depthwise = weight.shape[1] == 1 and len(weight) == len(means)
    n_kernel = weight[0, 0].size
    read = np.broadcast_to(inputs, means.shape).astype(np.float32)
    given = np.broadcast_to(outputs, bias.shape).astype(np.float32)
    each = read[:, None] if depthwise else np.repeat(read, n_kernel)[None]
    whole = weight.reshape(len(weight), -1) * each  # (O, I · k · k), in steps of what is read
    step = np.maximum(np.maximum(whole.max(1), -whole.min(1)), np.float32(1e-12)) / np.float32(_MOST)
    whole /= step[:, None]
    rounded = np.rint(whole)
    if depthwise:
        rounded = _keep_sums(whole, rounded)
    np.clip(rounded, -_MOST, _MOST, out=rounded)
    whole -= rounded  # what rounding takes off each weight
    steps = (means / read).astype(np.float32)
    lost = whole.sum(1) * steps if depthwise else whole @ np.repeat(steps, n_kernel)
    limit = 2**31 - 1
    return {
        "weight": rounded.astype(np.int8).reshape(weight.shape),
        "scale": step / given,
        "zero": np.zeros(len(step), np.int8),
        "bias": np.clip(np.rint(bias / step.astype(np.float64) + lost), -limit, limit).astype(np.int32),
    }


def _keep_sums(whole: Floats, rounded: Floats) -> Floats:
    """Round some weights of a kernel the other way, those that were nearest to it, so that its sum stays."""
    short = np.rint((whole - rounded).sum(1))  # of each kernel, as many steps
    sign = np.sign(short)[:, None]
    order = np.argsort(-(whole - rounded) * sign, axis=1, kind="stable")
    place = np.argsort(order, axis=1, kind="stable")
    found: Floats = rounded + sign * (place < np.abs(short)[:, None])
    return found


def round_graph(
    folder: Path, about: Mapping[str, Any], file: str, weights: Mapping[str, Floats]
) -> tuple[Path, Arrays]:
    """The graph of a folder, and the initialisers that it has to be opened with.

    Args:
        about: network.json.
        file: The graph's name.
        weights: In single or half precision, by the name of their layer and `.weight` or `.bias`.

    Raises:
        SeesayError: The table of ranges or the graph is damaged, or does not fit the weights.
    """
    path = inside(folder, file, folder / "network.json")
    table = inside(folder, RANGES, folder / "network.json")
    for each, key in ((table, "ranges"), (path, "graph")):
        try:
            found = digest_file(each)
        except OSError as error:
            raise SeesayError(f"cannot read {each}: {error.strerror or error}", hint=HINT) from error
        if found != about.get(key):
            raise SeesayError(f"{each} is not the one that {folder / 'network.json'} was written for", hint=HINT)
    ranges = read_tensors(table)
    layers = {name.removesuffix(".inputs") for name in ranges if name.endswith(".inputs")}
    arrays: Arrays = {}
    try:
        for layer in sorted(layers):
            parts = (ranges[f"{layer}.{part}"] for part in ("inputs", "outputs", "means"))
            weight, bias = (np.asarray(weights[f"{layer}.{part}"], np.float32) for part in ("weight", "bias"))
            arrays |= {f"{layer}.{part}": array for part, array in round_layer(weight, bias, *parts).items()}
        wanted = [name for name in about["float"] if name not in arrays]
        arrays |= {name: np.asarray(weights[name], np.float32) for name in wanted}
    except (KeyError, ValueError, TypeError) as error:
        raise SeesayError(f"{table} does not fit the weights: {error}", hint=HINT) from error
    return path, arrays


HINT = "--precision float, or install seesay again"
"""What is left where the files of a network in 8 bits are not what they were."""


@lru_cache(maxsize=4)
def open_rounded(folder: Path, source: Path, threads: int) -> Session:
    """The graph of a whole network, opened once.

    Args:
        folder: Of the network in 8 bits.
        source: Of the one that it is rounded from.
    """
    path = source / "network.onnx"
    stored = read_initializers(path)
    weights = {name.removeprefix(MODEL).removesuffix(HALF): array for name, array in stored.items()}
    return _open(folder, "network.onnx", weights, threads)


@lru_cache(maxsize=4)
def open_upper(folder: Path, source: Path, threads: int) -> Session:
    """The graph of an upper half, opened once.

    Args:
        folder: Of the network in 8 bits.
        source: Of the weights whose upper half it is.
    """
    path = source / WEIGHTS
    weights: dict[str, Floats] = {}
    stored = read_tensors(path, UPPER)
    for name, array in stored.items():
        if name.endswith(_ROWS):
            own = name.removesuffix(_ROWS)
            weights[own] = array.astype(np.float32) * stored[own + _SCALE].astype(np.float32).reshape(-1, 1, 1, 1)
        elif name.endswith(".bias"):
            weights[name] = array.astype(np.float32)
    return _open(folder, "upper.onnx", weights, threads)


def _open(folder: Path, file: str, weights: Mapping[str, Floats], threads: int) -> Session:
    path, arrays = round_graph(folder, read_object(folder / "network.json"), file, weights)
    return open_session(path, threads, arrays)


def release() -> None:
    """Let go of graphs that no network holds open."""
    open_rounded.cache_clear()
    open_upper.cache_clear()
