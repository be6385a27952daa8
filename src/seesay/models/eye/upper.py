"""An eye: the upper half of an image network as a part of a model, which learns with it.

The lower half stays that of ImageNet, and what it makes of a photo is kept on disk (`seesay.images.activations`).
"""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import torch
from torch import Tensor, nn

from seesay.images.activations import Lower, load_lower
from seesay.images.backbones import Backbone
from seesay.images.features import FeatureSpec, preprocess
from seesay.images.halves import split_network
from seesay.images.io import open_image
from seesay.models.base import ImageLike


def upper_half(backbone: Backbone, *, learns: bool) -> nn.Sequential:
    """The upper half of a network with those of its weights open that learn."""
    _, upper = split_network(backbone)
    upper.requires_grad_(learns)
    # Depthwise kernels are 4 % of the upper half's weights, and their gradients a third of its time: they stay.
    for module in upper.modules():
        if isinstance(module, nn.Conv2d) and module.groups > 1:
            module.requires_grad_(False)
    return upper


class Eye:
    """Of a model whose `upper` is the upper half of its network: from photos to activations, from these to maps."""

    upper: nn.Sequential
    feature_spec: FeatureSpec

    @cached_property
    def _lower(self) -> Lower:
        return load_lower(self.feature_spec)

    def activations(self, images: Sequence[ImageLike]) -> Tensor:
        """What the lower half makes of photos: (n, h, w, c)."""
        size = self.feature_spec.size
        pixels = [preprocess(open_image(image, at_least=size), size, "squash") for image in images]
        return torch.from_numpy(np.concatenate([self._lower(view) for view in pixels]))

    def feature_map(self, activations: Tensor) -> Tensor:
        """The eye's map (n, C, h, w) from the lower half's activations (n, h, w, c)."""
        x = activations.float().permute(0, 3, 1, 2)  # a view: channels-last is how they are stored
        feature_map: Tensor = self.upper(x)
        return feature_map
