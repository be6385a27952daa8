"""Checkpoints: all that a run needs to go on, in one safetensors file that is replaced in one step.

The tensors are the model's, the averaged weights and the optimiser's, told apart by a prefix; everything else (where
the run stands, the states of the random generators, the recipe) is JSON in the file's metadata. Nothing that can run
code is read, and a checksum over all of it tells a damaged file from a sound one. Weights alone, as they are kept for
the best evaluation, have the same form.
"""

import json
import random
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as to_bytes
from torch import Tensor, nn

from seesay.errors import SeesayError
from seesay.system.files import replace_atomically
from seesay.system.reading import require_regular
from seesay.training.optimisation import WeightAverage
from seesay.training.recipe import Recipe

CHECKPOINT, WEIGHTS = "checkpoint", "weights"  # the kinds of file
_FORMAT = "1"


@dataclass(slots=True)
class Progress:
    """Where a run stands. Epochs and batches count from 0 and name what comes next."""

    step: int = 0
    epoch: int = 0
    batch: int = 0
    is_measured: bool = False  # the untrained model has been measured
    best: dict[str, float] = field(default_factory=dict)
    best_step: int = 0
    best_epoch: int = 0
    n_worse: int = 0  # evaluations since the best one
    sums: dict[str, list[float]] = field(default_factory=dict)  # sum and count of figures since the log's last line
    seconds: float = 0.0
    log_bytes: int = 0
    finished: str = ""  # why: "epochs" or "patience"


def write_tensors(path: Path, kind: str, tensors: Mapping[str, Tensor], about: Mapping[str, Any]) -> None:
    """Write tensors and a JSON description into one file, whole or not at all."""
    kept: dict[str, Tensor] = {}
    seen: set[int] = set()
    for name, tensor in tensors.items():
        flat = tensor.detach().cpu().contiguous()
        # safetensors refuses tensors that share memory, as tied weights do; each name gets its own copy.
        kept[name] = flat.clone() if flat.untyped_storage().data_ptr() in seen else flat
        seen.add(flat.untyped_storage().data_ptr())
    text = json.dumps(about)
    metadata = {"seesay": kind, "format": _FORMAT, "about": text, "crc32": _checksum(kept, text)}
    with replace_atomically(path) as temporary:
        try:
            temporary.write_bytes(to_bytes(kept, metadata))
        except (OSError, SafetensorError) as error:
            raise SeesayError(f"cannot write {path}: {error}", hint="make room on the disk and run again") from error


def read_tensors(path: Path, kind: str) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read what `write_tensors` wrote.

    Raises:
        SeesayError: The file is missing, damaged, not one of seesay's, or of another kind.
    """
    if not path.is_file():
        raise SeesayError(f"there is no {kind} file {path}")
    try:
        require_regular(path)
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118 (not a dict)
    except (OSError, SafetensorError, ValueError) as error:
        raise SeesayError(f"{path} is damaged or is not a safetensors file: {error}") from error
    if metadata.get("seesay") != kind or metadata.get("format") != _FORMAT:
        found = f"{metadata.get('seesay', 'not of seesay')} {metadata.get('format', '')}".strip()
        raise SeesayError(f"{path} is not a {kind} file of format {_FORMAT}: it is {found}")
    text = metadata.get("about", "")
    if metadata.get("crc32") != _checksum(tensors, text):
        raise SeesayError(f"{path} is damaged: its checksum does not fit its content")
    about: dict[str, Any] = json.loads(text)
    return tensors, about


def save_checkpoint(
    path: Path,
    recipe: Recipe,
    progress: Progress,
    model: nn.Module,
    optimiser: torch.optim.Optimizer,
    average: WeightAverage | None,
    random_states: list[dict[str, Any]],
) -> None:
    """Write everything that `load_checkpoint` needs; `random_states` has one entry for each process.

    Raises:
        SeesayError: A weight is not a finite number, which would make the file worthless, or the disk refuses.
    """
    tensors = {f"model.{name}": tensor for name, tensor in model.state_dict().items()}
    for name, tensor in tensors.items():
        if tensor.is_floating_point() and not bool(torch.isfinite(tensor).all()):
            raise SeesayError(f"{name} is not finite after step {progress.step}: {path} is kept as it was")
    if average is not None:
        tensors |= {f"average.{name}": tensor for name, tensor in average.weights.items()}
    for name, parameter in model.named_parameters():
        for key, value in optimiser.state.get(parameter, {}).items():
            if isinstance(value, Tensor):
                tensors[f"optimiser.{key}.{name}"] = value
    about = {"recipe": recipe.to_dict(), "progress": asdict(progress), "random": random_states}
    write_tensors(path, CHECKPOINT, tensors, about)


def load_checkpoint(
    path: Path,
    recipe: Recipe,
    model: nn.Module,
    optimiser: torch.optim.Optimizer,
    average: WeightAverage | None,
    rank: int = 0,
    world: int = 1,
) -> Progress:
    """Put a run back to where `save_checkpoint` found it, bit for bit, the random generators of this process included.

    With another number of processes the batches and their order stay the same; what is drawn at random, as dropout is,
    goes on from a seed of its own.

    Raises:
        SeesayError: The file is damaged or foreign, or was written with another recipe or model.
    """
    tensors, about = read_tensors(path, CHECKPOINT)
    _check_recipe(path, recipe, about["recipe"])
    _load_state(path, model, _under("model.", tensors))
    if average is not None:
        saved = _under("average.", tensors)
        for name, weight in average.weights.items():
            weight.copy_(saved[name])
    parameters = dict(model.named_parameters())
    for name, tensor in _under("optimiser.", tensors).items():
        key, _, parameter = name.partition(".")
        optimiser.state[parameters[parameter]][key] = tensor
    progress = Progress(**{spec.name: about["progress"][spec.name] for spec in fields(Progress)})
    if len(about["random"]) == world:
        restore_random_state(about["random"][rank])
    else:
        seed_everything(recipe.seed, rank, progress.step)
    return progress


def save_weights(path: Path, model: nn.Module, about: Mapping[str, Any]) -> None:
    """Write a model's weights under their own names, with figures and the like as JSON beside them."""
    write_tensors(path, WEIGHTS, model.state_dict(), about)


def load_weights(path: Path, model: nn.Module) -> dict[str, Any]:
    """Put saved weights into a model and give what was written beside them."""
    tensors, about = read_tensors(path, WEIGHTS)
    _load_state(path, model, tensors)
    return about


def random_state() -> dict[str, Any]:
    """The states of the global random generators of Python, NumPy and torch, as JSON can hold them."""
    version, numbers, gauss = random.getstate()
    name, keys, position, has_gauss, cached = np.random.get_state()  # noqa: NPY002 (the global one is what is restored)
    return {
        "python": [version, list(numbers), gauss],
        "numpy": [name, np.asarray(keys).tolist(), position, has_gauss, cached],
        "torch": bytes(torch.get_rng_state().tolist()).hex(),
    }


def restore_random_state(state: Mapping[str, Any]) -> None:
    """Put the global random generators back to a state that `random_state` gave.

    Example:
        >>> state = random_state()
        >>> first = torch.rand(3), random.random()
        >>> restore_random_state(state)
        >>> torch.equal(first[0], torch.rand(3)), first[1] == random.random()
        (True, True)
    """
    version, numbers, gauss = state["python"]
    random.setstate((version, tuple(numbers), gauss))
    name, keys, *rest = state["numpy"]
    np.random.set_state((name, np.array(keys, dtype=np.uint32), *rest))  # noqa: NPY002
    torch.set_rng_state(torch.tensor(list(bytes.fromhex(state["torch"])), dtype=torch.uint8))


def seed_everything(seed: int, rank: int = 0, step: int = 0) -> None:
    """Seed Python, NumPy and torch; each process gets its own stream, so that their dropout masks differ."""
    words = np.random.SeedSequence([seed, rank, *([step] if step else [])]).generate_state(3)
    random.seed(int(words[0]))
    np.random.seed(int(words[1]))  # noqa: NPY002
    torch.manual_seed(int(words[2]))  # a CPU generator heeds 32 bits of a seed and no more


def _checksum(tensors: Mapping[str, Tensor], text: str) -> str:
    sum_ = zlib.crc32(text.encode())
    for name in sorted(tensors):
        tensor = tensors[name]
        sum_ = zlib.crc32(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode(), sum_)
        if tensor.numel():
            sum_ = zlib.crc32(tensor.reshape(-1).view(torch.uint8).numpy().data, sum_)
    return f"{sum_:08x}"


def _check_recipe(path: Path, recipe: Recipe, saved: Mapping[str, Any]) -> None:
    differences = recipe.differences(Recipe.from_dict(saved, origin=str(path)))
    if differences:
        shown = "; ".join(f"{key} is {here!r} here and {there!r} there" for key, here, there in differences[:5])
        more = f" and {len(differences) - 5} more" if len(differences) > 5 else ""
        raise SeesayError(
            f"{path} belongs to another recipe: {shown}{more}",
            hint="take another folder for this run, or start over without resuming",
        )


def _load_state(path: Path, model: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    own = model.state_dict()
    missing, surplus = sorted(own.keys() - tensors.keys()), sorted(tensors.keys() - own.keys())
    shapes = [name for name in own if name in tensors and own[name].shape != tensors[name].shape]
    if missing or surplus or shapes:
        parts = [f"it lacks {name}" for name in missing[:3]] + [f"the model has no {name}" for name in surplus[:3]]
        parts += [f"{n} is {tuple(tensors[n].shape)} there and {tuple(own[n].shape)} in the model" for n in shapes[:3]]
        raise SeesayError(f"{path} does not fit the model: {'; '.join(parts)}")
    model.load_state_dict(dict(tensors))


def _under(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
