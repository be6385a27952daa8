"""The eye as a network for other models, alone or beside ImageNet's: EfficientNet-Lite2 whose upper half has learned.

Its weights are those of the weights folder `eye` (`seesay.models.eye_ear`), of which only the upper half is read here;
the lower half is that of ImageNet. `eye` has the learned upper half. `eye-imagenet` has both upper halves, whose maps
stand side by side: what language teaches, and what telling a thousand things apart does. Rows that are compared with a
paper use neither: the eye has learned from photos and captions that the papers had not.
"""

from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor, nn

from seesay.errors import SeesayError
from seesay.images.backbones import Backbone, Network, find_network, register_network
from seesay.images.halves import split_network
from seesay.images.state_dicts import check_fit, read_state, unpack_state
from seesay.system.digests import digest_file

WEIGHTS = Path(__file__).parents[1] / "weights" / "eye" / "model.safetensors"
_UPPER = "upper."


class _SideBySide(nn.Module):
    """Two upper halves on the same activations, the channels (dimension 1) of their maps one after the other."""

    def __init__(self, first: nn.Module, second: nn.Module) -> None:
        super().__init__()
        self.first, self.second = first, second

    def forward(self, lower: Tensor) -> Tensor:
        return torch.cat([self.first(lower), self.second(lower)], 1)


@register_network("eye")
class Eye(Network):
    """The upper half of the weights `eye` on the lower half of EfficientNet-Lite2; it names no ImageNet classes."""

    size = 300
    lower, upper = "efficientnet-lite2", "eye"

    def find_weights(self) -> Path:
        if not WEIGHTS.is_file():
            raise SeesayError("the weights of the eye are not installed", allowed=str(WEIGHTS))
        return WEIGHTS

    def digest_of(self, weights: Path) -> str:
        """That of the upper half alone: what else the weights hold changes no feature."""
        return digest_file(weights, _UPPER)

    def build(self, weights: Path, size: int) -> Backbone:
        start = find_network(self.lower)
        backbone = start.build(start.find_weights(), size)
        lower, upper = split_network(backbone)
        state = unpack_state(read_state(weights))
        own = {name.removeprefix(_UPPER): part.float() for name, part in state.items() if name.startswith(_UPPER)}
        check_fit("eye", upper.state_dict(), own, weights)
        upper.load_state_dict(own)
        rest: list[nn.Module] = [*upper]
        if self.both:
            published = start.build(start.find_weights(), size)
            rest = [_SideBySide(upper, split_network(published)[1])]
        network = nn.Sequential(*lower, *rest).eval().requires_grad_(False)
        return replace(
            backbone,
            name=self.name,
            network=network.to(memory_format=torch.channels_last),  # type: ignore[call-overload]
            classifier=None,
        )


@register_network("eye-imagenet")
class EyeAndImageNet(Eye):
    """Both upper halves on one lower half: the map of the eye, and behind it that of ImageNet's network."""

    both = True
