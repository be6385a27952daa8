"""A network prepared for inference gives the numbers of the network as published."""

from pathlib import Path

import pytest
import torch
from efficientnet_lite_pytorch import EfficientNet
from safetensors.torch import save_file

from seesay.errors import SeesayError
from seesay.images.backbones import file_digest, find_network, load_backbone, network_names, weights_file
from seesay.images.io import open_image
from seesay.images.networks import classic
from seesay.images.views import preprocess


def random_pixels(size: int, n: int = 2) -> torch.Tensor:
    return torch.randint(0, 256, (n, size, size, 3), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))


# "Same" padding is one-sided for even sizes and symmetric for odd ones: both ways are folded differently.
@pytest.mark.parametrize("size", [64, 71])
def test_the_folded_network_equals_the_packages_own(size: int) -> None:
    backbone = load_backbone("efficientnet-lite0", size=size)
    original = EfficientNet.from_name("efficientnet-lite0", image_size=size)
    original.load_state_dict(torch.load(weights_file("efficientnet-lite0"), weights_only=True))
    pixels = random_pixels(size)
    with torch.inference_mode():
        normalised = (pixels.float().permute(0, 3, 1, 2) - 127) / 128
        expected_map, expected_logits = original.eval().extract_features(normalised), original(normalised)
    feature_map, vector = backbone(pixels)
    torch.testing.assert_close(feature_map, expected_map.permute(0, 2, 3, 1), atol=1e-4, rtol=1e-4)
    assert backbone.classifier is not None
    torch.testing.assert_close(backbone.classifier(vector), expected_logits, atol=1e-4, rtol=1e-4)


def test_the_packaged_network_sees_a_dog_in_a_photo_of_dogs(shared_data: Path) -> None:
    photo = shared_data / "flickr8k" / "Flicker8k_Dataset" / "1001773457_577c3a7d70.jpg"
    backbone = load_backbone("efficientnet-lite0")
    assert backbone.classifier is not None
    _, vector = backbone(torch.from_numpy(preprocess(open_image(photo), backbone.size, "squash")))
    best = int(backbone.classifier(vector).argmax())
    assert 151 <= best <= 268  # ImageNet's breeds of dogs


def test_a_network_from_a_file_sees_pixels_normalised_as_it_was_trained(tmp_path: Path) -> None:
    with torch.device("meta"):
        shapes = {key: t.shape for key, t in classic.build("alexnet").state_dict().items() if "features" in key}
    generator = torch.Generator().manual_seed(0)
    path = tmp_path / "alexnet.safetensors"
    save_file({key: 0.05 * torch.randn(shape, generator=generator) for key, shape in shapes.items()}, path)
    backbone = load_backbone("alexnet", size=64, weights=path)
    pixels = random_pixels(64)
    mean, std = torch.tensor([[0.485, 0.456, 0.406], [0.229, 0.224, 0.225]])
    with torch.inference_mode():
        expected = classic.load("alexnet", path).features_map(((pixels / 255 - mean) / std).permute(0, 3, 1, 2))
    feature_map, vector = backbone(pixels)
    torch.testing.assert_close(feature_map.permute(0, 3, 1, 2), expected, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(vector, expected.mean((2, 3)), atol=1e-4, rtol=1e-4)
    assert backbone.digest == file_digest(path)


def test_the_networks_own_size_is_taken_where_none_is_given() -> None:
    assert load_backbone("efficientnet-lite0").size == find_network("efficientnet-lite0").size == 224


def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    with pytest.raises(SeesayError, match="there is no backbone 'resnet51'") as caught:
        load_backbone("resnet51")
    assert caught.value.allowed == ", ".join(network_names())


def test_a_network_without_weights_asks_for_a_file(tmp_path: Path) -> None:
    with pytest.raises(SeesayError, match=r"vgg16 comes without weights\n.*state dict.*\n.*--backbone-weights FILE"):
        load_backbone("vgg16")
    with pytest.raises(SeesayError, match=r"the weights file .*vgg\.pth of vgg16 does not exist"):
        load_backbone("vgg16", weights=tmp_path / "vgg.pth")


def test_an_input_too_small_for_the_network_is_refused() -> None:
    with pytest.raises(SeesayError, match=r"an input of 31 pixels is too small .*\n  allowed: 32 or more"):
        load_backbone("efficientnet-lite0", size=31)
