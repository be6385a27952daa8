"""A closer look: crops that cover an image, and one finer map of theirs."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from seesay.grounding.closer import FINER, Closeups, crop_boxes, heat_of, join_maps, look_closer, points_of
from seesay.images.arrays import ImageFeatures
from seesay.settings.grounding import GroundingSettings


def test_crops_lie_in_the_corners_and_in_the_middle() -> None:
    boxes = crop_boxes(0.6)
    assert boxes.shape == (5, 4)
    assert np.allclose(boxes[:, 2:] - boxes[:, :2], 0.6)
    assert boxes[:, :2].min() == 0
    assert boxes[:, 2:].max() == 1
    assert boxes[4].tolist() == pytest.approx([0.2, 0.2, 0.8, 0.8])


@pytest.mark.parametrize("side", [0.5, 0.65, 0.9])
def test_maps_of_crops_that_agree_join_to_what_they_agree_on(side: float) -> None:
    boxes = crop_boxes(side)
    assert np.allclose(join_maps(np.full((5, 2, 10, 10), 3.0), boxes), 3.0)
    # Each crop shows how far to the right a place of the image lies.
    places = (np.arange(10) + 0.5) / 10
    ramps = np.stack([np.tile(left + places * (right - left), (1, 10, 1)) for left, _, right, _ in boxes])
    joined = join_maps(ramps, boxes)
    assert joined.shape == (1, 20, 20)
    inner = slice(2, -2)  # at its edges a map goes no farther than the middle of its last cell
    assert np.allclose(joined[0, :, inner], ((np.arange(20) + 0.5) / 20)[inner], atol=0.03)


def test_what_one_crop_alone_shows_stands_where_the_crop_lies() -> None:
    boxes = crop_boxes(0.5)
    maps = np.zeros((5, 1, 4, 4))
    maps[3, 0, 3, 3] = 1.0  # the lower right corner of the crop at the lower right
    joined = join_maps(maps, boxes)
    assert np.unravel_index(joined[0].argmax(), joined[0].shape) == (7, 7)
    assert joined[0, :4, :4].max() == 0


def test_an_image_is_cut_once_and_every_crop_is_located_for_itself() -> None:
    image = Image.new("RGB", (80, 40))
    image.paste((255, 255, 255), (60, 0, 80, 40))
    sizes = []

    def see(crops: list[Image.Image]) -> ImageFeatures:
        sizes.extend(crop.size for crop in crops)
        maps = np.stack([np.asarray(crop.convert("L").resize((4, 4)), np.float32)[..., None] for crop in crops])
        return ImageFeatures(maps.mean((1, 2)), maps)

    def locate(seen: ImageFeatures) -> np.ndarray:
        assert seen.map is not None
        return seen.map[:, :, :, 0].astype(np.float64)

    closer = look_closer(image, 0.5, see)  # type: ignore[arg-type]
    assert closer is not None
    assert sizes == [(40, 20)] * 5
    heat = heat_of(see([image]), closer, locate)
    assert heat.shape == (1, FINER * 4, FINER * 4)
    x, _ = points_of(heat, GroundingSettings(blur=0.5), closer)[0]
    assert x > 0.75
    assert look_closer(image, 0.0, see) is None  # type: ignore[arg-type]
    assert heat_of(see([image]), None, locate).shape == (1, 4, 4)


class Colour:
    """A network of one number."""

    name, size, crop, pixels = "colour", 8, "squash", 8

    def __init__(self) -> None:
        self.n_seen = 0

    def ready(self, schemes: tuple[str, ...] = (), *, alone: bool = False) -> object:
        def compute(images: list[Image.Image]) -> dict[str, np.ndarray]:
            self.n_seen += len(images)
            maps = np.stack([np.asarray(image.convert("L").resize((2, 2)))[..., None] for image in images])
            return {"pooled": maps.mean((1, 2)).astype(np.float16), "map": maps.astype(np.float16)}

        return compute


def test_crops_of_many_images_are_computed_once(tmp_path: Path) -> None:
    paths = [tmp_path / f"{level}.png" for level in (10, 200)]
    for path, level in zip(paths, (10, 200), strict=True):
        Image.new("RGB", (20, 20), (level,) * 3).save(path)
    network = Colour()
    for _ in range(2):
        closeups = Closeups(paths, 0.5, network, tmp_path / "store")  # type: ignore[arg-type]
        seen = [closeups[place] for place in (1, 0)]
        assert [float(each.features.pooled[0, 0]) for each in seen if each] == [200.0, 10.0]
    assert network.n_seen == 10
    assert Closeups(paths, 0.0, network, tmp_path / "store")[0] is None  # type: ignore[arg-type]
