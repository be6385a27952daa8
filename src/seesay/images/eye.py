"""The eye as a network for other models: EfficientNet-Lite2 whose upper half has learned with language.

Its weights are those of the weights folder `eye` (`seesay.models.eye_ear`), of which only the upper half is read here;
the lower half is that of ImageNet. Rows that are compared with a paper do not use it: it has learned from photos and
captions that the papers had not.
"""

from dataclasses import replace
from pathlib import Path

import torch
from torch import nn

from seesay.errors import SeesayError
from seesay.images.backbones import Backbone, Network, find_network, register_network
from seesay.images.halves import split_network
from seesay.images.state_dicts import check_fit, read_state, unpack_state

WEIGHTS = Path(__file__).parents[1] / "weights" / "eye" / "model.safetensors"
_UPPER = "upper."


@register_network("eye")
class Eye(Network):
    """The upper half of the weights `eye` on the lower half of EfficientNet-Lite2; it names no ImageNet classes."""

    size = 300
    lower, upper = "efficientnet-lite2", "eye"

    def find_weights(self) -> Path:
        if not WEIGHTS.is_file():
            raise SeesayError("the weights of the eye are not installed", allowed=str(WEIGHTS))
        return WEIGHTS

    def build(self, weights: Path, size: int) -> Backbone:
        start = find_network(self.lower)
        backbone = start.build(start.find_weights(), size)
        lower, upper = split_network(backbone)
        state = unpack_state(read_state(weights))
        own = {name.removeprefix(_UPPER): part.float() for name, part in state.items() if name.startswith(_UPPER)}
        check_fit("eye", upper.state_dict(), own, weights)
        upper.load_state_dict(own)
        network = nn.Sequential(*lower, *upper).eval().requires_grad_(False).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        return replace(backbone, name="eye", network=network, classifier=None)
