"""Matrices as bytes on disk: each row is whole numbers from -127 to 127 and one scale.

A module that packs keeps plain matrices in memory and computes with them; only its state dict, and so its weights file,
holds them packed. A matrix that was packed once is packed to the same numbers again.
"""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn

ROWS, SCALE = ".rows", ".scale"


def pack_rows(matrix: Tensor) -> tuple[Tensor, Tensor]:
    """A matrix (n, d) as whole numbers (n, d) int8 and a scale for each row (n,), in half precision.

    Example:
        >>> rows, scale = pack_rows(torch.tensor([[1.27, -0.64], [0.0, 0.0]]))
        >>> rows.tolist(), scale.shape
        ([[127, -64], [0, 0]], torch.Size([2]))
    """
    # The scale is rounded first: the numbers then make up for it.
    scale = (matrix.abs().amax(1) / 127).half().float().clamp(min=torch.finfo(torch.half).tiny)
    rows = (matrix / scale.unsqueeze(1)).round().clamp(-127, 127)
    return rows.to(torch.int8), scale


def unpack_rows(rows: Tensor, scale: Tensor) -> Tensor:
    """The matrix that was packed, to half a step of each row's scale."""
    return rows.float() * scale.float().unsqueeze(1)


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
        for name in packed:
            rows, scale = pack_rows(state.pop(prefix + name))
            state[prefix + name + ROWS], state[prefix + name + SCALE] = rows, scale

    def unpack(_module: nn.Module, state: dict[str, Tensor], prefix: str, *_: Any) -> None:
        for name in packed:
            rows, scale = (state.pop(prefix + name + part, None) for part in (ROWS, SCALE))
            if rows is not None and scale is not None:
                state[prefix + name] = unpack_rows(rows, scale)

    module.register_state_dict_post_hook(pack)  # type: ignore[no-untyped-call]
    module.register_load_state_dict_pre_hook(unpack)  # type: ignore[no-untyped-call]
