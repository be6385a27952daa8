"""From a published folder to weights of our own, with their graphs: what `seesay models add` does."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open

from seesay.errors import SeesayError
from seesay.export.exporting import SAMPLES, export_weights
from seesay.export.network import export_network
from seesay.images.features import FeatureSpec
from seesay.images.tower import VISION, build_tower, check_tensors, check_view, fill
from seesay.models.pretrained import save
from seesay.models.tower import Tower, TowerConfig
from seesay.system.files import prepare_folder
from seesay.text.pieces import Pieces
from seesay.towers.looking import Candidate
from seesay.towers.text import TextTower
from seesay.towers.vision import VisionTower

LARGEST = 2 << 30
"""Bytes of a graph's file, by its format."""
_TEXT = ("text_model", "text_projection")


def add_towers(candidate: Candidate, target: Path, *, precision: str, tell: Callable[[str], None]) -> dict[str, Any]:
    """Make a weights folder of towers that see and read.

    Args:
        target: The folder, which must not exist; it appears whole or not at all.
        precision: Of the image tower's graph (`seesay.export.exporting.PRECISIONS`).
        tell: Called with what is being done.

    Returns:
        The table `graphs` of the written config.json.

    Raises:
        SeesayError: Tensors do not fit the configuration, or a graph does not answer as torch does.
    """
    published, towers = candidate.published, candidate.towers
    assert towers.text is not None
    assert candidate.rule is not None
    with torch.device("meta"):
        text, vision = TextTower(towers.text), VisionTower(towers.vision)
    # Before anything is read:
    check_tensors(text, published, towers, _TEXT)
    check_tensors(vision, published, towers, VISION)
    check_view(published, towers, candidate.view)
    _check_sizes(text=text, image=vision)
    tell(f"reading {published.folder}")
    pieces = Pieces(candidate.tokenizer, candidate.rule, str(published.folder))
    spec = FeatureSpec("tower", weights=str(published.folder), expected_digest=published.digest())
    scale, bias = _scale(candidate)
    config = TowerConfig(towers.family, towers.text, towers.vision.dim, scale, bias)
    with torch.device("meta"):
        model = Tower(config, pieces, spec)
    assert model.text is not None
    fill(model.text, published, towers, _TEXT)
    model.eval().requires_grad_(False)
    with prepare_folder(target) as scratch:
        folder = scratch / target.name
        folder.mkdir()
        save(folder, model, {"name": target.name, "temperature": 1 / scale, "added": {"from": published.folder.name}})
        tell("writing graphs and comparing them with torch")
        table = export_weights(folder, precision=precision, model=model)
        folder.rename(target)
    return table


def add_eye(candidate: Candidate, target: Path, *, precision: str, tell: Callable[[str], None]) -> None:
    """Make a folder of an image tower alone: its graph, for models that look through it."""
    published = candidate.published
    with torch.device("meta"):
        vision = VisionTower(candidate.towers.vision)
    check_tensors(vision, published, candidate.towers, VISION)
    _check_sizes(image=vision)
    tell(f"reading {published.folder}")
    backbone = build_tower(published, candidate.towers, candidate.view)
    spec = FeatureSpec("tower", weights=str(published.folder))
    with prepare_folder(target) as scratch:
        folder = scratch / target.name
        tell("writing its graph and comparing it with torch")
        export_network(spec, backbone, folder, sorted(SAMPLES.glob("*.jpg")), precision)
        folder.rename(target)


def _scale(candidate: Candidate) -> tuple[float, float]:
    """The scale and the bias of cosines in the loss."""
    found = {"logit_scale": 4.6052, "logit_bias": 0.0}
    for name in found:
        if name in candidate.published.shapes:
            shape, path = candidate.published.shapes[name]
            if shape not in ((), (1,)):
                raise SeesayError(f"{path}: {name} is {shape}", allowed="one number")
            with safe_open(path, "pt") as file:
                found[name] = float(file.get_tensor(name).float().reshape(()))
            if not math.isfinite(found[name]):
                raise SeesayError(f"{path}: {name} is {found[name]}", allowed="a finite number")
    scale = float(torch.tensor(found["logit_scale"]).exp().clamp(1e-3, 1e4))
    return scale, found["logit_bias"]


def _check_sizes(**towers: torch.nn.Module) -> None:
    """Refuse a tower that no one file of a graph can hold."""
    for side, tower in towers.items():
        size = 4 * sum(tensor.numel() for tensor in tower.state_dict().values())
        if size >= LARGEST:
            raise SeesayError(
                f"the {side} tower takes {size / 1e9:.1f} GB, which is more than a graph's file holds",
                allowed=f"up to {LARGEST / 1e9:.1f} GB a tower: a smaller model of the same kind",
            )
