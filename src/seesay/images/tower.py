"""Published image towers as networks: `backbone = "tower"`, with the folder that holds one as its weights.

A folder in the layout of `transformers` is read into torch. A folder that `seesay models add` has made holds the
tower's graph, which ONNX Runtime runs here as it does for people who search.
"""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from seesay.errors import SeesayError
from seesay.images.backbones import Backbone, Network, register_network
from seesay.system.files import expand_home, models_dir
from seesay.towers.families import Towers, read_config
from seesay.towers.folder import CONFIG, Published, open_published, read_object
from seesay.towers.pair import VisionGraph, open_run, run_vision
from seesay.towers.views import View, view_of
from seesay.towers.vision import VisionTower

GRAPH, ABOUT = "network.onnx", "network.json"
VISION = ("vision_model", "visual_projection")
"""How the names of an image tower's tensors begin."""


@dataclass(frozen=True)
class TowerBackbone(Backbone):
    """A tower in torch, whose vector is not made of its map."""

    def see(self, pixels: Tensor) -> tuple[Tensor, Tensor]:
        found: tuple[Tensor, Tensor] = self.network(pixels)
        return found


def open_graph(folder: Path) -> Callable[[NDArray[np.uint8]], list[NDArray[Any]]]:
    """What runs a tower's graph: from pixels (n, H, W, 3) to its map and its vector."""
    session, about = open_run(folder / GRAPH), read_object(folder / ABOUT)
    if "published" in about:
        graph = VisionGraph.from_table(about["published"], str(folder / ABOUT))
        return lambda pixels: run_vision(session, graph, pixels)
    return lambda pixels: list(session.run(["map", "pooled"], {"pixels": pixels}))


@register_network("pixels")
class Pixels(Network):
    """The photo itself, from -1 to 1, for towers that learn here: its map is the pixels, its vector their mean."""

    size = 64

    def find_weights(self) -> Path:
        return Path(self.name)  # there are none

    def digest_of(self, weights: Path) -> str:
        return hashlib.sha256(self.name.encode()).hexdigest()

    def build(self, weights: Path, size: int) -> Backbone:
        middle = (127.5, 127.5, 127.5)
        return Backbone(self.name, size, self.digest_of(weights), nn.Identity(), _Mean(), middle, middle)


class _Mean(nn.Module):
    def forward(self, pixels: Tensor) -> Tensor:
        return pixels.mean((2, 3))


@register_network("tower")
class Tower(Network):
    """Any tower that `seesay.towers` reads."""

    takes_file = takes_graph = True

    def no_weights(self) -> SeesayError:
        return SeesayError(
            "the tower that these features come from is not among the added ones",
            allowed="the folder that it was published in",
            hint="seesay models add FOLDER",
        )

    def check_weights(self, weights: Path) -> Path:
        return _find_graph(weights) or open_published(weights).folder

    def digest_of(self, weights: Path) -> str:
        graph = _find_graph(weights)
        return str(read_object(graph / ABOUT).get("digest")) if graph else open_published(weights).digest()

    def find_digest(self, digest: str) -> Path | None:
        """An added tower of these weights."""
        for about in sorted(models_dir().glob(f"*/*/{ABOUT}")):
            if read_object(about).get("digest") == digest:
                return about.parent
        return None

    def graph_folder(self, weights: Path | None) -> Path | None:
        return _find_graph(weights) if weights else None

    def own_view(self, weights: str) -> tuple[int, str]:
        if not weights:
            return 0, ""
        place = Path(weights)
        if graph := _find_graph(place):
            about = read_object(graph / ABOUT)
            return int(about["size"]), str(about["crop"])
        view = view_of(open_published(place))
        return view.size, view.crop

    def build(self, weights: Path, size: int) -> Backbone:
        if graph := _find_graph(weights):
            nothing = (0.0, 0.0, 0.0)
            empty = nn.Identity()
            return Backbone(
                self.name, size, self.digest_of(weights), empty, empty, nothing, nothing,
                graph=open_graph(graph),
            )  # fmt: skip
        published = open_published(weights)
        return build_tower(published, read_config(published.config, str(weights / CONFIG)), view_of(published), size)


def find_tower(name: str | Path) -> Path:
    """The folder of a tower: one that was added by name, or any."""
    known = models_dir() / name if Path(name).name == str(name) else None
    return known if known is not None and known.is_dir() else expand_home(name)


def build_tower(published: Published, towers: Towers, view: View, size: int = 0) -> TowerBackbone:
    """The image tower of a published folder in torch.

    Raises:
        SeesayError: Its tensors do not fit its configuration, or the size is not its own.
    """
    if size not in (0, view.size):
        raise SeesayError(f"the tower {published.folder.name} is shown {view.size} pixels, not {size}", allowed="0")
    check_view(published, towers, view)
    shape = towers.vision
    with torch.device("meta"):
        tower = VisionTower(shape)
    fill(tower, published, towers, VISION)
    tower.vision_model.embeddings.resize(view.size // shape.patch)
    tower.eval().requires_grad_(False)
    return TowerBackbone("tower", view.size, published.digest(), tower, nn.Identity(), view.mean, view.std)


def check_view(published: Published, towers: Towers, view: View) -> None:
    """Refuse a tower that looks at other squares than its preprocessor makes."""
    shape = towers.vision
    if view.size // shape.patch != shape.grid and not shape.layers.scales:  # DINOv2 takes any size
        raise SeesayError(
            f"the preprocessor of {published.folder} makes {view.size} pixels, the tower looks at "
            f"{shape.grid} patches of {shape.patch}",
            allowed=f"{shape.grid * shape.patch} pixels",
        )


def fill(module: nn.Module, published: Published, towers: Towers, prefixes: tuple[str, ...]) -> None:
    """Fill a module, which may lie on torch's `meta` device, from a published folder.

    Raises:
        SeesayError: A tensor is missing or has another shape, which is found out before any is read; or one has
            numbers that are not finite.
    """
    places = check_tensors(module, published, towers, prefixes)
    from safetensors import safe_open

    tensors: dict[str, Tensor] = {}
    wanted = {name: tensor.shape for name, tensor in module.state_dict().items()}
    for path in {path for path, _ in places.values()}:
        with safe_open(path, "pt") as file:
            for own, (where, name) in places.items():
                if where == path:
                    tensor = file.get_tensor(name).float()
                    if not tensor.isfinite().all():
                        raise SeesayError(f"{path}: {name} has numbers that are not finite", allowed="finite numbers")
                    tensors[own] = tensor.reshape(wanted[own])
    module.load_state_dict(tensors, assign=True)


def check_tensors(
    module: nn.Module, published: Published, towers: Towers, prefixes: tuple[str, ...]
) -> Mapping[str, tuple[Path, str]]:
    """Where each tensor of a module lies: its file, and its published name there."""
    named = {towers.own_name(name): name for name in published.shapes}
    found: dict[str, tuple[Path, str]] = {}
    for own, tensor in module.state_dict().items():
        name = named.get(own)
        if name is None:
            raise SeesayError(
                f"{published.folder} has no tensor {own}, which its {CONFIG} asks for",
                allowed=f"a {towers.family} whose files belong together",
            )
        shape, path = published.shapes[name]
        # A class token or positions may have a dimension of one in front of what they are.
        if tuple(size for size in shape if size != 1) != tuple(size for size in tensor.shape if size != 1):
            raise SeesayError(
                f"{path}: {name} is {shape}, by {CONFIG} it is {tuple(tensor.shape)}",
                allowed=f"a {towers.family} whose files belong together",
            )
        found[own] = (path, name)
    foreign = [own for own in named if own.split(".")[0] in prefixes and own not in found]
    if foreign:
        raise SeesayError(
            f"{published.folder} has the tensor {named[min(foreign)]}, which its {CONFIG} does not ask for",
            allowed=f"a {towers.family} whose files belong together",
        )
    return found


def _find_graph(weights: Path) -> Path | None:
    """The folder of a tower's graph: itself, or inside of an added model."""
    if (weights / ABOUT).is_file():
        return weights
    return next((path.parent for path in sorted(weights.glob(f"*/{ABOUT}"))), None) if weights.is_dir() else None
