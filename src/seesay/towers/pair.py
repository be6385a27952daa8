"""A pair of ONNX files as exporters publish them: one that sees, one that reads.

They take normalised pixels and token numbers by the names that `transformers` gives them, and are run as they are.
Nothing of torch is needed to add them, or to use them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seesay.errors import SeesayError
from seesay.system.tables import read_table
from seesay.towers.folder import CONFIG, TEXT, VISION, is_there, refuse_pointer

PLACES = ("", "onnx")
"""Folders, inside of the published one, that exporters put them into."""
_VECTORS = ("image_embeds", "text_embeds", "pooler_output")
"""Outputs that are the one vector of an image or a sentence, the projected one first."""
_PIXELS, _TOKENS, _MASK = "pixel_values", "input_ids", "attention_mask"
_TYPES = {_PIXELS: "tensor(float)", _TOKENS: "tensor(int64)", _MASK: "tensor(int64)"}

Floats = NDArray[np.float32]
Run = Callable[..., list[Any]]


@dataclass(frozen=True)
class VisionGraph:
    """How a published graph is shown an image.

    Attributes:
        mean, std: By which pixels of 0 to 255 are normalised.
        output: The name of what is its vector.
    """

    mean: tuple[float, ...]
    std: tuple[float, ...]
    output: str

    def to_table(self) -> dict[str, Any]:
        """As JSON keeps it."""
        return {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(self).items()}

    @classmethod
    def from_table(cls, table: Any, origin: str) -> "VisionGraph":
        """Read what `to_table` gave."""
        found = read_table(cls, table, origin)
        if len(found.mean) != 3 or len(found.std) != 3:
            raise SeesayError(f"{origin}: mean and std are of {len(found.mean)} colours", allowed="3")
        return found


def find_pair(folder: Path) -> tuple[Path, Path] | None:
    """The two files of a folder; None where it has none of them.

    Raises:
        SeesayError: One of them is missing, or is a pointer of Git LFS.
    """
    for place in PLACES:
        files = folder / place / VISION, folder / place / TEXT
        there = [path for path in files if is_there(path)]
        if len(there) == 1:
            missing = next(path for path in files if path not in there)
            raise SeesayError(f"{folder} has {there[0].name} and no {missing.name}", allowed=f"{VISION} and {TEXT}")
        if there:
            for path in files:
                refuse_pointer(path)
            if not is_there(folder / CONFIG):
                raise SeesayError(f"{folder} has no {CONFIG}, which says what its graphs are")
            return files
    return None


def open_run(path: Path, threads: int = 1) -> Any:
    """A session of ONNX Runtime for a published graph."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # ONNX Runtime has an exception of its own for every status, and none above them
        raise SeesayError(f"cannot open the graph {path}: {str(error)[:300]}") from error


def check_graph(session: Any, path: Path, inputs: Sequence[str]) -> str:
    """The output of a published graph that is its vector.

    Raises:
        SeesayError: It asks for something else than is given, or gives no such vector.
    """
    for each in session.get_inputs():
        if each.name not in inputs:
            raise SeesayError(f"the graph {path} asks for {each.name[:80]!r}", allowed=inputs)
        if each.type != _TYPES[each.name]:
            raise SeesayError(f"the graph {path} takes {each.name} as {each.type}", allowed=_TYPES[each.name])
    given = {each.name: each for each in session.get_outputs()}
    found = next((name for name in _VECTORS if name in given), None)
    if found is None or len(given[found].shape) != 2:
        raise SeesayError(f"the graph {path} gives no one vector: {', '.join(given)[:200]}", allowed=_VECTORS)
    return found


def check_pair(vision: Path, text: Path) -> tuple[str, str]:
    """The outputs of both graphs that are their vectors."""
    return check_graph(open_run(vision), vision, [_PIXELS]), check_graph(open_run(text), text, [_TOKENS, _MASK])


def run_vision(session: Any, graph: VisionGraph, pixels: NDArray[np.uint8]) -> list[Floats]:
    """A map of one place (n, 1, 1, D) and the vector (n, D) of pixels (n, H, W, 3)."""
    normalised = (pixels.astype(np.float32) - np.array(graph.mean, np.float32)) / np.array(graph.std, np.float32)
    (vectors,) = session.run([graph.output], {_PIXELS: np.ascontiguousarray(normalised.transpose(0, 3, 1, 2))})
    return [vectors[:, None, None], vectors]


def run_text(session: Any, output: str, tokens: NDArray[np.int64], mask: NDArray[np.bool_]) -> Floats:
    """Unit vectors (n, D) of rows of token numbers."""
    given: Mapping[str, NDArray[np.int64]] = {_TOKENS: tokens, _MASK: mask.astype(np.int64)}
    asked = [each.name for each in session.get_inputs()]
    (vectors,) = session.run([output], {name: given[name] for name in asked})
    return unit(vectors)


def unit(vectors: Floats) -> Floats:
    """Vectors scaled to unit length.

    Example:
        >>> unit(np.array([[3.0, 4.0]], np.float32)).astype(float).round(1).tolist()
        [[0.6, 0.8]]
    """
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    scaled: Floats = vectors / np.maximum(lengths, 1e-12)
    return scaled
