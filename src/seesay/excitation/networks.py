"""The layers of a backbone as an explicit list, for excitation backprop to go on below the last map.

AlexNet and VGG are a row of convolutions with ReLU after each, and every map of theirs can be explained. The maps of
EfficientNet-Lite and ResNet are negative in places below the last one, and theirs is where an explanation ends.
"""

import torch
from torch import Tensor, nn

from seesay.errors import SeesayError
from seesay.excitation.rules import Layers, propagate, run
from seesay.images.backbones import Backbone
from seesay.images.networks.classic import PlainNetwork


def head_layers(backbone: Backbone) -> list[nn.Module]:
    """From a backbone's last map (n, C, h, w) to its vector (n, D).

    Example:
        >>> from seesay.images.backbones import load_backbone
        >>> [type(layer).__name__ for layer in head_layers(load_backbone("efficientnet-lite0", size=64))]
        ['AdaptiveAvgPool2d', 'Flatten']
    """
    plain = _plain(backbone)
    classifier = None if plain is None else plain.classifier
    if plain is None or classifier is None:
        return [nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    return [plain.features[-1], plain.avgpool, nn.Flatten(), *list(classifier)[: plain.fc7]]


def map_layers(backbone: Backbone) -> list[nn.Module]:
    """From pixels (n, 3, H, W) to a backbone's last map.

    Raises:
        SeesayError: Its maps are negative in places.
    """
    plain = _plain(backbone)
    if plain is None:
        raise SeesayError(
            f"the maps of {backbone.name} below the last one are negative in places",
            allowed="alexnet, vgg16, vgg19",
        )
    return list(plain.features)[:-1]


@torch.no_grad()
def descend(layers: Layers, pixels: Tensor, at_map: Tensor, n_poolings: int = 1) -> Tensor:
    """Carry an explanation from a network's last map on to a finer one.

    Args:
        layers: As `map_layers` gives them.
        pixels: (n, 3, H, W), normalised as the network wants them.
        at_map: (n, h, w, C), the probabilities of the last map (`MatchSaliency.activations`).
        n_poolings: How many poolings to go below: each makes the map about twice as fine.

    Returns:
        (n, h', w') summed over channels.

    Raises:
        SeesayError: The network has fewer poolings.
    """
    places = [place for place, layer in enumerate(layers) if isinstance(layer, nn.MaxPool2d | nn.AvgPool2d)]
    if not 0 <= n_poolings <= len(places):
        raise SeesayError(f"{n_poolings} poolings below the last map", allowed=f"0 to {len(places)}")
    lowest = places[-n_poolings] if n_poolings else len(layers)
    activations = run(layers, pixels)
    found = propagate(layers[lowest:], activations[lowest:], at_map.permute(0, 3, 1, 2))
    return found[0].sum(1)


def _plain(backbone: Backbone) -> PlainNetwork | None:
    network = getattr(backbone.network, "network", None)
    return network if isinstance(network, PlainNetwork) else None
