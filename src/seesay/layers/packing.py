"""Matrices as bytes on disk: each row is whole numbers from -127 to 127 and one scale.

A module that packs keeps plain matrices in memory and computes with them; only its state dict, and so its weights file,
holds them packed. A matrix that was packed once is packed to the same numbers again.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import torch
from torch import Tensor, nn

from seesay.images.state_dicts import ROWS, SCALE, scale_column, unpack_rows

_IS_PLAIN: ContextVar[bool] = ContextVar("is_plain", default=False)


def pack_rows(matrix: Tensor) -> tuple[Tensor, Tensor]:
    """A matrix (n, d), or kernels (n, …), as whole numbers int8 and a scale for each row (n,), in half precision.

    Example:
        >>> rows, scale = pack_rows(torch.tensor([[1.27, -0.64], [0.0, 0.0]]))
        >>> rows.tolist(), scale.shape
        ([[127, -64], [0, 0]], torch.Size([2]))
    """
    # The scale is rounded first: the numbers then make up for it.
    scale = (matrix.abs().flatten(1).amax(1) / 127).half().float().clamp(min=torch.finfo(torch.half).tiny)
    rows = (matrix / scale_column(scale, matrix)).round().clamp(-127, 127)
    return rows.to(torch.int8), scale


def pack_tensors(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors of a weights file with every matrix packed; the rest as it is."""
    packed: dict[str, Tensor] = {}
    for name, tensor in tensors.items():
        if tensor.ndim == 2 and tensor.is_floating_point():
            packed[name + ROWS], scale = pack_rows(tensor.float())
            packed[name + SCALE] = scale.half()
        else:
            packed[name] = tensor
    return packed


def pack_state(module: nn.Module, names: Iterable[str]) -> None:
    """Let a module's state dict hold these of its matrices packed, and be filled from such a state dict.

    Args:
        names: Of matrices, as the module's own state dict calls them.

    Example:
        >>> layer = nn.Linear(4, 2, bias=False)
        >>> pack_state(layer, ["weight"])
        >>> sorted(layer.state_dict()), layer.state_dict()["weight.rows"].dtype
        (['weight.rows', 'weight.scale'], torch.int8)
    """
    packed = list(names)

    def pack(_module: nn.Module, state: dict[str, Tensor], prefix: str, _: Any) -> None:
        for name in [] if _IS_PLAIN.get() else packed:
            rows, scale = pack_rows(state.pop(prefix + name))
            state[prefix + name + ROWS], state[prefix + name + SCALE] = rows, scale

    def unpack(_module: nn.Module, state: dict[str, Tensor], prefix: str, *_: Any) -> None:
        for name in packed:
            rows, scale = (state.pop(prefix + name + part, None) for part in (ROWS, SCALE))
            if rows is not None and scale is not None:
                state[prefix + name] = unpack_rows(rows, scale)

    module.register_state_dict_post_hook(pack)  # type: ignore[no-untyped-call]
    module.register_load_state_dict_pre_hook(unpack)  # type: ignore[no-untyped-call]


@contextmanager
def plain_state() -> Iterator[None]:
    """Let state dicts hold matrices as they are in memory, for whoever looks a tensor up by its name."""
    before = _IS_PLAIN.set(True)
    try:
        yield
    finally:
        _IS_PLAIN.reset(before)
