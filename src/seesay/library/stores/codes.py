"""Vectors as bytes: approximate inner products with a query, in one pass over memory.

The vectors of photos vary in few directions. The directions that hold nearly all of the variance of a sample are kept,
rotated at random so that all need the same number of bits, and rounded to a byte each: a third of a kilobyte per photo
instead of five. The query is rounded to seven bits, so that no processor's product of bytes overflows.

The error is the same for every photo, about a fortieth of the spread of the scores. For exact results, the best few
hundred are compared again by their full vectors (`seesay.library.stores.shortlist`).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from seesay.system.files import n_cores

if TYPE_CHECKING:
    import onnxruntime

Floats = NDArray[np.float32]
Bytes = NDArray[np.int8]

PRODUCT = Path(__file__).with_name("product.onnx")
"""The product of a row of bytes with a matrix of bytes. ONNX Runtime computes it as fast as memory can be read; NumPy
has no routine for it."""
WIDTH = 65_536
"""Photos of a block of codes, in which the numbers of one direction lie next to each other."""
N_SAMPLE = 8192
"""Vectors that the directions are found from."""
_VARIANCE = 0.99  # that the directions hold
_STEP = 64  # directions by which their number grows
_LARGEST, _MIDDLE = 63, 64  # of a query's numbers: from -63 to 63, moved by 64 to be unsigned


@dataclass(frozen=True)
class Scheme:
    """How vectors become codes.

    Attributes:
        centre: (D,) the mean of the sample.
        directions: (D, K), orthonormal.
        step: The difference of two neighbouring codes.
    """

    centre: Floats
    directions: Floats
    step: float

    @classmethod
    def fit(cls, sample: Floats) -> "Scheme":
        """The directions that hold nearly all of the variance of a sample (n, D), however many these are."""
        dim = sample.shape[1]
        centre = sample.mean(0)
        moved = sample - centre
        values, axes = np.linalg.eigh(moved.T @ moved)  # the largest last
        held = np.cumsum(values[::-1]) / max(float(values.sum()), 1e-12)
        needed = int(np.searchsorted(held, _VARIANCE)) + 1
        kept = min(dim, -(-needed // _STEP) * _STEP)
        turned, _ = np.linalg.qr(np.random.default_rng(0).standard_normal((kept, kept)))
        directions = np.ascontiguousarray(axes[:, ::-1][:, :kept] @ turned.astype(np.float32), np.float32)
        return cls(centre, directions, max(float(np.abs(moved @ directions).max()), 1e-12) / 127)

    def encode(self, rows: Floats) -> Bytes:
        """The codes of vectors: (n, D) → (K, n)."""
        codes = np.rint((rows - self.centre) @ self.directions / np.float32(self.step))
        return np.ascontiguousarray(np.clip(codes, -127, 127).astype(np.int8).T)

    def to_array(self) -> Floats:
        """Centre and directions as they are stored: (D, 1 + K)."""
        return np.concatenate([self.centre[:, None], self.directions], 1)

    @classmethod
    def from_array(cls, array: Floats, step: float) -> "Scheme":
        return cls(array[:, 0].copy(), np.ascontiguousarray(array[:, 1:]), step)


@dataclass(frozen=True)
class Codes:
    """The codes of N vectors.

    Attributes:
        scheme: What they mean.
        flat: (K · N,) block after block, each (K, `WIDTH`) or narrower.
        sums: (N,) of the codes of each vector, which make up for the moved query.
    """

    scheme: Scheme
    flat: Bytes
    sums: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.sums)

    @property
    def dim(self) -> int:
        """Numbers of a vector."""
        return len(self.scheme.centre)

    def products(self, query: Floats) -> Floats:
        """The approximate inner products of all vectors with a query (D,): (N,)."""
        weights = self.scheme.directions.T @ query  # (K,)
        scale = max(float(np.abs(weights).max()), 1e-12) / _LARGEST
        moved = (np.rint(weights / scale) + _MIDDLE).astype(np.uint8)[None]
        run, found = _product().run, np.empty(len(self), np.float32)
        for start, block in self._blocks():
            (sums,) = run(None, {"query": moved, "codes": block})
            end = start + block.shape[1]
            np.subtract(sums[0], _MIDDLE * self.sums[start:end], out=found[start:end], casting="unsafe")
        found *= np.float32(scale * self.scheme.step)
        found += np.float32(self.scheme.centre @ query)
        return found

    def _blocks(self) -> Iterator[tuple[int, Bytes]]:
        kept = self.scheme.directions.shape[1]
        for start in range(0, len(self), WIDTH):
            width = min(WIDTH, len(self) - start)
            yield start, np.asarray(self.flat[kept * start : kept * (start + width)]).reshape(kept, width)


def encode_blocks(scheme: Scheme, blocks: Iterable[Floats]) -> Iterator[Bytes]:
    """The codes of vectors that come in blocks of any length, in blocks of `WIDTH`: (K, n) each."""
    waiting: list[Bytes] = []
    for rows in blocks:
        waiting.append(scheme.encode(rows))
        while sum(part.shape[1] for part in waiting) >= WIDTH:
            joined = np.concatenate(waiting, 1)
            yield np.ascontiguousarray(joined[:, :WIDTH])
            waiting = [joined[:, WIDTH:]]
    if waiting:
        yield np.ascontiguousarray(np.concatenate(waiting, 1))


@cache
def _product() -> "onnxruntime.InferenceSession":
    """With two threads: one alone does not read memory at full speed."""
    import onnxruntime

    options: Any = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = min(2, n_cores()), 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(PRODUCT.read_bytes(), options, providers=["CPUExecutionProvider"])
