"""Photos to features: the network's graph, and what is made of its map."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from seesay.errors import SeesayError
from seesay.images.regions import Boxes, fixed_regions, region_weights
from seesay.images.views import preprocess, short_side
from seesay.runtime.folder import Session, check_opset, inside, open_session, read_json
from seesay.runtime.graph_file import read_graph_file

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class ImageFeatures:
    """The features of images, as `seesay.images.features.Features` has them for torch.

    Attributes:
        pooled: (n, D), one vector an image.
        map: (n, h, w, C), the final map.
        parts: (n, N, C), the means over the regions of a fixed scheme.
        classes: (n, 1000), ImageNet's logits, where the network has them.
    """

    pooled: Floats
    map: Floats | None = None
    parts: Floats | None = None
    classes: Floats | None = None

    def __len__(self) -> int:
        return len(self.pooled)

    def regions(self, boxes: Boxes) -> Floats:
        """The mean of the map over each region, fractions of the image (N, 4): (n, N, C)."""
        if self.map is None:
            raise ValueError("these features hold no map")
        n, height, width, channels = self.map.shape
        weights = region_weights(boxes, height, width)  # (N, h · w)
        means: Floats = np.matmul(weights, self.map.reshape(n, height * width, channels))
        return means


class Network:
    """An exported network, whose graph is opened with the first photo.

    Args:
        folder: That holds network.onnx and network.json.
        digest: Of the network's weights that features have to come from.
        threads: As for `seesay.runtime.folder.GraphFolder`.
    """

    def __init__(self, folder: Path, *, digest: str = "", threads: int = 0) -> None:
        self.folder, self.threads = folder, threads
        if not (folder / "network.json").is_file():
            raise SeesayError(f"there is no exported network {folder}", hint="seesay export WEIGHTS -o DIR")
        self.about = read_json(folder / "network.json")
        if digest and self.about.get("digest") != digest:
            raise SeesayError(
                f"{folder} is the network {str(self.about.get('digest'))[:12]}, wanted is {digest[:12]}",
                hint="seesay export WEIGHTS -o DIR",
            )
        self.size, self.crop = int(self.about["size"]), str(self.about["crop"])

    @property
    def pixels(self) -> int:
        """The shorter side below which photos must not be decoded."""
        return short_side(self.size) if self.crop == "ten-crop" else self.size

    @cached_property
    def session(self) -> Session:
        path = inside(self.folder, "network.onnx", self.folder / "network.json")
        found = read_graph_file(path)
        check_opset(path, found.opset)
        if path.stat().st_size != self.about.get("bytes"):
            raise SeesayError(
                f"the graph {path} has {path.stat().st_size} bytes, network.json was written for "
                f"{self.about.get('bytes')}",
                hint="seesay export",
            )
        for stored in found.stored.values():
            if stored.location:
                raise SeesayError(f"the graph {path} has numbers in {stored.location!r}", allowed="none elsewhere")
        return open_session(path, self.threads)

    def run(self, pixels: NDArray[np.uint8]) -> tuple[Floats, Floats, Floats | None]:
        """The maps (n, h, w, C), vectors (n, D) and ImageNet's logits of views (n, H, W, 3)."""
        found = self.session({"pixels": pixels})
        return found[0], found[1], found[2] if len(found) > 2 else None

    def features(self, images: Sequence[Image.Image], schemes: Sequence[str] = ()) -> ImageFeatures:
        """Features of opened photos, rounded to half precision as they are where they are stored.

        Args:
            schemes: Regions whose means are wanted; one at most.
        """
        views = [preprocess(image, self.size, self.crop) for image in images]
        n, n_views = len(views), len(views[0])
        maps, vectors, classes = self.run(np.concatenate(views))
        pooled = _half(vectors.reshape(n, n_views, -1).mean(1))
        logits = None if classes is None else classes.reshape(n, n_views, -1).mean(1)
        if self.crop == "ten-crop":
            return ImageFeatures(pooled, classes=logits)
        by_view = maps.reshape(n, n_views, *maps.shape[1:])
        if self.crop == "mirror":
            by_view = np.stack([by_view[:, 0], by_view[:, 1, :, ::-1]], 1)
        found = ImageFeatures(pooled, _half(by_view.mean(1)), classes=logits)
        parts = [_half(found.regions(fixed_regions(scheme))) for scheme in schemes]
        return ImageFeatures(pooled, found.map, parts[0] if parts else None, logits)


def _half(array: Floats) -> Floats:
    return array.astype(np.float16).astype(np.float32)
