"""A network cut in two: a lower half that stays as it is, and an upper half that learns."""

from torch import nn

from seesay.errors import SeesayError
from seesay.images.backbones import Backbone


def split_network(backbone: Backbone) -> tuple[nn.Sequential, nn.Sequential]:
    """Cut a network before the last layer that halves the map: what is kept, and what learns.

    Example:
        >>> from seesay.images.backbones import load_backbone
        >>> lower, upper = split_network(load_backbone("efficientnet-lite0", size=64))
        >>> import torch
        >>> lower(torch.zeros(1, 3, 64, 64)).shape, upper(torch.zeros(1, 112, 4, 4)).shape
        (torch.Size([1, 112, 4, 4]), torch.Size([1, 1280, 2, 2]))
    """
    layers = list(backbone.network.children())
    strides = [any(_halves(module) for module in layer.modules()) for layer in layers]
    if True not in strides[1:]:
        raise SeesayError(f"{backbone.name} has no halves", allowed="efficientnet-lite0, -lite1, -lite2, -lite3")
    cut = len(strides) - 1 - strides[::-1].index(True)
    return nn.Sequential(*layers[:cut]), nn.Sequential(*layers[cut:])


def _halves(module: nn.Module) -> bool:
    return isinstance(module, nn.Conv2d) and module.stride == (2, 2)
