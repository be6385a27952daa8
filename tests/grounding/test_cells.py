"""The vectors of an image's places: heat of any phrase comes from them, as from the crops themselves."""

from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from PIL import Image

from seesay.grounding import cells as module
from seesay.grounding.cells import CellMaps, cells_of, heat_from
from seesay.grounding.closer import Closer, crop_boxes
from seesay.images.arrays import ImageFeatures


class Aligner:
    """Vectors of cells are the numbers of the map."""

    name = "cells"

    def __init__(self) -> None:
        self.n_seen = 0

    def encode_regions(self, features: ImageFeatures, boxes: np.ndarray) -> np.ndarray:
        return cast(np.ndarray, features.regions(boxes))

    def features(self, images: list[Image.Image]) -> ImageFeatures:
        self.n_seen += len(images)
        maps = np.stack([np.asarray(image.convert("RGB").resize((4, 4)), np.float32) / 255 for image in images])
        return ImageFeatures(maps.mean((1, 2)), maps)


def test_heat_of_joined_vectors_is_joined_heat() -> None:
    rng = np.random.default_rng(0)
    maps = rng.normal(size=(5, 4, 4, 6)).astype(np.float32)
    closer = Closer(ImageFeatures(maps.mean((1, 2)), maps), crop_boxes(0.65))
    vectors = rng.normal(size=(3, 6)).astype(np.float32)
    model = cast(Any, Aligner())

    def locate(seen: ImageFeatures) -> np.ndarray:
        assert seen.map is not None
        return np.einsum("nd,hwd->nhw", vectors, seen.map[0]).astype(np.float64)

    cells = cells_of(model, closer)
    assert cells.shape == (6, 8, 8)
    assert np.allclose(heat_from(cells, vectors), closer.heat(locate), atol=5e-3)  # kept in half precision


def test_cells_are_computed_once_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = []
    for colour in ("red", "blue"):
        paths.append(tmp_path / f"{colour}.png")
        Image.new("RGB", (40, 30), colour).save(paths[-1])
    model = cast(Any, Aligner())
    model.weights = type("Weights", (), {"folder": tmp_path})
    model.feature_spec = type("Spec", (), {"name": "colours", "pixels": 16})
    monkeypatch.setattr(module, "weights_digest", lambda folder: "0" * 64)
    maps = CellMaps(model, paths, 0.65, tmp_path / "store")
    assert len(maps) == 2
    red, blue = maps[0], maps[1]
    assert model.n_seen == 10
    assert np.allclose(red[:, 0, 0], [1, 0, 0])
    assert np.allclose(blue[:, 5, 5], [0, 0, 1])
    again = CellMaps(model, paths[::-1], 0.65, tmp_path / "store")
    assert np.array_equal(again[1], red)
    assert model.n_seen == 10
