"""Weights files of networks that the user brings: read, renamed where another program wrote them, and checked."""

from collections.abc import Container, Mapping
from pathlib import Path

import torch
from torch import Tensor

from seesay.errors import SeesayError
from seesay.system.reading import require_regular

ROWS, SCALE = ".rows", ".scale"
"""What the names of a packed matrix end in: its whole numbers, and the scale of each row."""


def read_state(path: Path) -> dict[str, Tensor]:
    """The tensors of a `.safetensors` or `.pth` state dict by name; nothing in it can run code."""
    try:
        require_regular(path)
        if path.suffix == ".safetensors":
            from safetensors.torch import load_file

            state = load_file(path)
        elif path.suffix in (".pth", ".pt"):
            state = torch.load(path, map_location="cpu", weights_only=True)
        else:
            raise SeesayError(f"the weights file {path} has an unknown ending", allowed=[".safetensors", ".pth", ".pt"])
    except OSError as error:
        raise SeesayError(f"cannot read the weights file {path}: {error.strerror or error}") from error
    except SeesayError:
        raise
    except Exception as error:  # there is no common type for a damaged archive or a refused pickle
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise SeesayError(f"the weights file {path} is damaged or holds more than tensors: {reason}") from error
    if not isinstance(state, Mapping) or not all(isinstance(value, Tensor) for value in state.values()):
        raise SeesayError(
            f"the weights file {path} is no state dict", allowed="a flat mapping from parameter names to tensors"
        )
    return dict(state)


def unpack_state(tensors: Mapping[str, Tensor], wanted: Container[str] | None = None) -> dict[str, Tensor]:
    """Tensors with those that were packed to bytes (`seesay.layers.packing`) whole again: all, or those `wanted`.

    Example:
        >>> packed = {"w.rows": torch.tensor([[127, 0]]), "w.scale": torch.tensor([0.5]), "bias": torch.ones(1)}
        >>> unpack_state(packed)["w"]
        tensor([[63.5000,  0.0000]])
    """
    plain = dict(tensors)
    for name in [key.removesuffix(ROWS) for key in tensors if key.endswith(ROWS)]:
        if (wanted is None or name in wanted) and name + SCALE in plain:
            plain[name] = unpack_rows(plain.pop(name + ROWS), plain.pop(name + SCALE))
    return plain


def unpack_rows(rows: Tensor, scale: Tensor) -> Tensor:
    """The matrix that was packed, to half a step of each row's scale."""
    return rows.float() * scale_column(scale.float(), rows)


def scale_column(scale: Tensor, rows: Tensor) -> Tensor:
    """A scale for each row, in the shape of the rows."""
    return scale.reshape(-1, *[1] * (rows.ndim - 1))


def from_style_transfer(state: dict[str, Tensor], names: list[str], path: Path) -> dict[str, Tensor]:
    """VGG19's convolutions under `names`, with the colour conversion in front of them folded into the first.

    Layer 0 of that file turns RGB in [0, 1] into the BGR minus mean that Caffe's VGG was trained on.
    """
    numbers = sorted({int(key.partition(".")[0]) for key in state if key.partition(".")[0].isdigit()})
    numbered = [f"{number}.{part}" for number in numbers for part in ("weight", "bias")]
    if set(numbered) != set(state) or len(numbered) != len(names) + 2 or state["0.weight"].shape != (3, 3, 1, 1):
        raise SeesayError(
            f"the weights file {path} has {len(numbers)} numbered layers that are not those of vgg_normalised.pth",
            allowed=f"a 1×1 convolution and the {len(names) // 2} convolutions of VGG19",
        )
    renamed = {name: state[key] for name, key in zip(names, numbered[2:], strict=True)}
    mean, std = torch.tensor([0.485, 0.456, 0.406]), torch.tensor([0.229, 0.224, 0.225])
    colours = state["0.weight"][:, :, 0, 0]
    first = renamed["features.0.weight"]
    offset = colours @ mean + state["0.bias"]
    renamed["features.0.weight"] = torch.einsum("ochw,ci->oihw", first, colours * std)
    renamed["features.0.bias"] = renamed["features.0.bias"] + torch.einsum("ochw,c->o", first, offset)
    return renamed


def check_fit(name: str, wanted: Mapping[str, Tensor], given: Mapping[str, Tensor], path: Path) -> None:
    """Refuse tensors that are not those of a network; names what is missing, unknown or has another shape."""
    problems = []
    if missing := [key for key in wanted if key not in given]:
        problems.append(f"it lacks {_some(missing)}")
    if unexpected := [key for key in given if key not in wanted]:
        problems.append(f"{name} has no {_some(unexpected)}")
    if different := [
        f"{key} {tuple(given[key].shape)} where {name} has {tuple(tensor.shape)}"
        for key, tensor in wanted.items()
        if key in given and given[key].shape != tensor.shape
    ]:
        problems.append(f"it has {_some(different)}")
    if problems:
        raise SeesayError(
            f"the weights file {path} does not fit {name}: {'; '.join(problems)}",
            allowed=f"torchvision's state dict of {name}, with or without the classifier",
        )


def _some(things: list[str], n: int = 3) -> str:
    rest = f" and {len(things) - n} more" if len(things) > n else ""
    return ", ".join(things[:n]) + rest
