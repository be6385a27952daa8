"""What becomes of a picture on its way to numbers."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from seesay.errors import SeesayError
from seesay.images.backbones import Backbone
from seesay.images.features import Features, FeatureSpec, compute
from seesay.images.views import CROPS, preprocess

SMALL = FeatureSpec("efficientnet-lite0", 64)
HALF = {"atol": 2e-3, "rtol": 2e-3}  # what half precision leaves of a number


@pytest.fixture(scope="module")
def backbone() -> Backbone:
    return SMALL.load_backbone()


def noise(width: int, height: int, seed: int = 0) -> Image.Image:
    return Image.fromarray(np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8))


def coordinates(width: int, height: int) -> Image.Image:
    """A picture whose red is the column and whose green is the row."""
    rows, columns = np.indices((height, width))
    return Image.fromarray(np.stack([columns, rows, np.zeros_like(rows)], axis=2).astype(np.uint8))


class TestSpec:
    def test_the_default_size_is_the_networks_own(self) -> None:
        assert FeatureSpec().size == 260
        assert FeatureSpec() == FeatureSpec(size=260)

    def test_unknown_networks_and_crops_are_answered_with_the_known_ones(self) -> None:
        with pytest.raises(
            SeesayError, match=r"no backbone 'lite9'\n  allowed: alexnet, efficientnet-lite0, .*resnet50"
        ):
            FeatureSpec("lite9")
        with pytest.raises(SeesayError, match=r"no crop 'centre'\n  allowed: squash, mirror, ten-crop"):
            FeatureSpec(crop="centre")

    def test_a_network_with_its_own_weights_takes_no_others(self) -> None:
        with pytest.raises(SeesayError, match=r"efficientnet-lite2 comes with its own weights, not my\.pth"):
            FeatureSpec(weights="my.pth")

    def test_the_name_differs_wherever_the_numbers_would(self, tmp_path: Path) -> None:
        for content in ("one", "other"):
            (tmp_path / f"{content}.pth").write_text(content)
        specs = [SMALL, replace(SMALL, size=96), FeatureSpec("efficientnet-lite1", 64)]
        specs += [replace(SMALL, crop=crop) for crop in CROPS[1:]]
        specs += [FeatureSpec("vgg16", 64, weights=str(tmp_path / f"{content}.pth")) for content in ("one", "other")]
        assert len({spec.name for spec in specs}) == len(specs)

    def test_the_name_does_not_depend_on_where_a_weights_file_lies(self, tmp_path: Path) -> None:
        (tmp_path / "elsewhere").mkdir()
        paths = [tmp_path / "vgg.pth", tmp_path / "elsewhere" / "renamed.pth"]
        for path in paths:
            path.write_text("the same")
        one, other = (FeatureSpec("vgg16", weights=str(path)) for path in paths)
        assert one.name == other.name
        assert one.describe() == other.describe()

    def test_what_travels_with_weights_gives_the_same_features_elsewhere(self) -> None:
        described = replace(SMALL, crop="mirror").describe()
        assert described == {
            "backbone": "efficientnet-lite0", "size": 64, "crop": "mirror", "weights": "", "digest": SMALL.digest,
        }  # fmt: skip
        del described["digest"]
        assert FeatureSpec(**described).name == replace(SMALL, crop="mirror").name

    @pytest.mark.parametrize(("crop", "pixels"), [("squash", 224), ("mirror", 224), ("ten-crop", 256)])
    def test_a_picture_is_never_decoded_smaller_than_it_is_needed(self, crop: str, pixels: int) -> None:
        assert FeatureSpec("efficientnet-lite0", crop=crop).pixels == pixels
        assert preprocess(Image.new("RGB", (pixels, pixels)), 224, crop).shape[1:] == (224, 224, 3)


class TestViews:
    def test_squashing_keeps_the_whole_picture(self) -> None:
        image = Image.new("RGB", (200, 50), "black")
        image.paste("white", (100, 0, 200, 50))
        (view,) = preprocess(image, 32, "squash")
        assert view.shape == (32, 32, 3)
        assert view[:, :12].max() == 0
        assert view[:, 20:].min() == 255

    def test_mirroring_adds_the_mirror_image(self) -> None:
        straight, mirrored = preprocess(noise(50, 40), 32, "mirror")
        assert (mirrored == straight[:, ::-1]).all()
        assert (straight == preprocess(noise(50, 40), 32, "squash")[0]).all()

    # Crops of 56 are cut from a picture whose shorter side is 64, so these are not resized at all.
    @pytest.mark.parametrize(
        ("width", "height", "corners"),
        [
            (104, 64, [(0, 0), (48, 0), (0, 8), (48, 8), (24, 4)]),
            (64, 90, [(0, 0), (8, 0), (0, 34), (8, 34), (4, 17)]),
            (64, 64, [(0, 0), (8, 0), (0, 8), (8, 8), (4, 4)]),
        ],
        ids=["landscape", "portrait", "square"],
    )
    def test_ten_crops_are_the_corners_the_centre_and_their_mirror_images(
        self, width: int, height: int, corners: list[tuple[int, int]]
    ) -> None:
        views = preprocess(coordinates(width, height), 56, "ten-crop")
        assert views.shape == (10, 56, 56, 3)
        assert [(view[0, 0, 0], view[0, 0, 1]) for view in views[:5]] == corners
        assert [(view[-1, -1, 0], view[-1, -1, 1]) for view in views[:5]] == [(x + 55, y + 55) for x, y in corners]
        assert (views[5:] == views[:5, :, ::-1]).all()

    @pytest.mark.parametrize(("width", "height"), [(300, 150), (150, 300), (20, 30), (1, 500)])
    def test_ten_crops_fit_into_pictures_of_any_size(self, width: int, height: int) -> None:
        views = preprocess(Image.new("RGB", (width, height), (10, 20, 30)), 56, "ten-crop")
        assert (views == [10, 20, 30]).all()
        assert views.shape == (10, 56, 56, 3)


class TestCompute:
    def test_the_vector_is_the_mean_of_the_map(self, backbone: Backbone) -> None:
        features = compute([noise(64, 64), noise(80, 50, 1)], backbone)
        assert features["pooled"].shape == (2, 1280)
        assert features["map"].shape == (2, 2, 2, 1280)
        mean = features["map"].astype(np.float32).mean((1, 2))
        np.testing.assert_allclose(features["pooled"], mean, **HALF)

    def test_features_do_not_depend_on_the_other_pictures_of_a_batch(self, backbone: Backbone) -> None:
        images = [noise(64, 64, seed) for seed in range(3)]
        together = compute(images, backbone)["pooled"]
        alone = np.concatenate([compute([image], backbone)["pooled"] for image in images])
        np.testing.assert_allclose(together, alone, **HALF)

    def test_a_mirrored_picture_has_the_same_vector_and_the_mirrored_map(self, backbone: Backbone) -> None:
        image = noise(64, 64)
        straight = compute([image], backbone, "mirror")
        mirrored = compute([image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)], backbone, "mirror")
        np.testing.assert_allclose(straight["pooled"], mirrored["pooled"], **HALF)
        np.testing.assert_allclose(straight["map"], mirrored["map"][:, :, ::-1], **HALF)
        squashed = [compute([picture], backbone)["pooled"] for picture in (image, image.transpose(0))]
        np.testing.assert_allclose(straight["pooled"], np.mean(squashed, 0), **HALF)
        assert np.abs(squashed[0] - squashed[1]).max() > 0.1

    def test_ten_crops_are_averaged_and_have_no_map(self, backbone: Backbone) -> None:
        image = noise(100, 80)
        features = compute([image, noise(70, 90, 1)], backbone, "ten-crop")
        assert features.keys() == {"pooled"}
        _, vectors = backbone(torch.from_numpy(preprocess(image, 64, "ten-crop")))
        np.testing.assert_allclose(features["pooled"][0], vectors.mean(0), **HALF)


class TestFeatures:
    def test_rows_become_float_tensors(self) -> None:
        features = Features.of({"pooled": np.ones((3, 4), np.float16), "map": np.zeros((3, 2, 2, 4), np.float16)})
        assert len(features) == 3
        assert features.pooled.dtype == torch.float32
        assert features.map is not None

    def test_a_region_is_the_mean_of_the_part_of_the_map_that_it_covers(self) -> None:
        feature_map = torch.arange(12.0).reshape(1, 2, 3, 2)  # rows 0 2 4 / 6 8 10 in the first channel
        boxes = np.array([[0, 0, 1, 1], [0, 0, 1 / 3, 0.5], [0.5, 0.5, 1, 1]], np.float32)
        regions = Features(torch.zeros(1, 2), feature_map).regions(boxes)
        assert regions.shape == (1, 3, 2)
        # The last box covers half of the middle cell of the lower row and its whole right cell.
        torch.testing.assert_close(regions[0, :, 0], torch.tensor([5.0, 0.0, (8 / 2 + 10) / 1.5]))
        torch.testing.assert_close(regions[..., 1], regions[..., 0] + 1)

    def test_the_region_of_the_whole_picture_is_the_vector(self, backbone: Backbone) -> None:
        features = Features.of(compute([noise(64, 64)], backbone))
        whole = features.regions(np.array([[0, 0, 1, 1]], np.float32))
        torch.testing.assert_close(whole[:, 0], features.pooled, **HALF)

    def test_the_map_comes_on_any_grid(self) -> None:
        feature_map = torch.arange(8.0).reshape(1, 2, 2, 2)
        features = Features(torch.zeros(1, 2), feature_map)
        assert features.grid(14, 14).shape == (1, 14, 14, 2)
        torch.testing.assert_close(features.grid(2, 2), feature_map)
        corners = features.grid(14, 14)[0, [0, 0, -1, -1], [0, -1, 0, -1]]
        torch.testing.assert_close(corners, feature_map.reshape(4, 2))
        torch.testing.assert_close(features.grid(14, 14).mean((1, 2)), feature_map.mean((1, 2)))

    def test_regions_of_features_without_a_map_are_refused(self) -> None:
        with pytest.raises(ValueError, match="hold no map"):
            Features(torch.zeros(1, 2)).grid(14, 14)


def test_a_spec_loads_its_network(backbone: Backbone, tmp_path: Path) -> None:
    assert (backbone.name, backbone.size, backbone.digest) == ("efficientnet-lite0", 64, SMALL.digest)
    with pytest.raises(SeesayError, match=r"absent\.pth of alexnet does not exist"):
        FeatureSpec("alexnet", weights=str(tmp_path / "absent.pth")).load_backbone()
