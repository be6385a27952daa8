"""Arrays in, arrays out: what every metric accepts, and the one place where it is checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from seesay.errors import SeesayError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import torch

    ArrayLike = NDArray[Any] | torch.Tensor | Sequence[Any]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


def as_array(values: ArrayLike, name: str, shape: str) -> NDArray[Any]:
    """A numpy view of an array, a nested list, or a tensor on any device, with or without gradient.

    Args:
        values: What the caller gave.
        name: What to call it in an error.
        shape: The dimensions it needs, as they are written in the documentation: `"(n_images, n_texts)"`.

    Raises:
        SeesayError: It is not numeric, or has another number of dimensions.
    """
    if hasattr(values, "detach"):  # a tensor, recognised without importing torch
        values = values.detach().cpu()
        if str(values.dtype) == "torch.bfloat16":
            values = values.float()  # numpy has no bfloat16; float32 holds every value of it
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise SeesayError(f"{name} is not a rectangular array", allowed=f"numbers of shape {shape}") from error
    n_dims = shape.count(",") + (not shape.endswith(",)"))
    if array.dtype.kind not in "biuf":
        raise SeesayError(f"{name} holds {array.dtype} values", allowed=f"numbers of shape {shape}")
    if array.ndim != n_dims:
        raise SeesayError(f"{name} has the shape {array.shape}", allowed=f"numbers of shape {shape}")
    return array


def as_indices(values: ArrayLike, name: str, shape: str, below: int) -> IntArray:
    """Like `as_array`, for whole numbers from 0 to `below` - 1."""
    array = as_array(values, name, shape)
    if array.size == 0:
        return array.astype(np.int64)
    if array.dtype.kind not in "iu":
        raise SeesayError(f"{name} holds {array.dtype} values", allowed=f"whole numbers of shape {shape}")
    if array.min() < 0 or array.max() >= below:
        wrong = array.max() if array.min() >= 0 else array.min()
        raise SeesayError(f"{name} holds {wrong}", allowed=f"0 to {below - 1}" if below else "nothing: there are none")
    return array.astype(np.int64, copy=False)
