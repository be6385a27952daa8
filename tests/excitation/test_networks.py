"""Below the last map: the layers of plain networks, and what has no layers that could be followed."""

import pytest
import torch
from torch import nn

from seesay.errors import SeesayError
from seesay.excitation.networks import descend, head_layers, map_layers
from seesay.excitation.rules import propagate, run
from seesay.images.backbones import Backbone, Method, load_backbone
from seesay.images.networks.classic import PlainNetwork


def plain_backbone(*, classifier: bool = True) -> Backbone:
    """A VGG of two stages."""
    torch.manual_seed(0)
    features = nn.Sequential(
        nn.Conv2d(3, 4, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(4, 5, 3, padding=1), nn.ReLU(),
        nn.MaxPool2d(2),
    )  # fmt: skip
    head = nn.Sequential(nn.Linear(5 * 4, 6), nn.ReLU(), nn.Dropout(), nn.Linear(6, 2))
    network = PlainNetwork(features, 2, head, fc7=2).eval()
    if not classifier:
        network.classifier = None
    map_of, vector_of = Method(network, "features_map"), Method(network, "vector_of_map")
    return Backbone("vgg16", 16, "", map_of, vector_of, (0.0,) * 3, (1.0,) * 3)


@pytest.mark.parametrize("classifier", [True, False])
def test_the_listed_layers_compute_what_the_backbone_does(classifier: bool) -> None:
    backbone = plain_backbone(classifier=classifier)
    x = torch.rand(2, 3, 16, 16)
    feature_map = run(map_layers(backbone), x)[-1]
    torch.testing.assert_close(feature_map, backbone.network(x))
    torch.testing.assert_close(run(head_layers(backbone), feature_map)[-1], backbone.head(feature_map))


def test_each_pooling_makes_the_explanation_twice_as_fine_and_keeps_its_total() -> None:
    backbone = plain_backbone()
    layers = map_layers(backbone)
    for layer in layers:
        if isinstance(layer, nn.Conv2d):
            layer.weight.data.abs_()
    x = torch.rand(1, 3, 16, 16)
    at_map = torch.rand(1, 8, 8, 5)
    same, finer = descend(layers, x, at_map, 0), descend(layers, x, at_map, 1)
    torch.testing.assert_close(same, at_map.sum(3))
    assert finer.shape == (1, 16, 16)
    torch.testing.assert_close(finer.sum(), at_map.sum())


def test_it_goes_through_convolutions_as_propagate_does() -> None:
    layers = map_layers(plain_backbone())
    x, at_map = torch.rand(1, 3, 16, 16), torch.rand(1, 8, 8, 5)
    wanted = propagate(layers, run(layers, x), at_map.permute(0, 3, 1, 2))[2].sum(1)  # below the one pooling
    torch.testing.assert_close(descend(layers, x, at_map, 1), wanted)


def test_more_poolings_than_there_are_is_refused() -> None:
    with pytest.raises(SeesayError, match=r"3 poolings(.|\n)*0 to 1"):
        descend(map_layers(plain_backbone()), torch.rand(1, 3, 16, 16), torch.rand(1, 8, 8, 5), 3)


def test_a_network_with_negative_maps_is_refused_by_name() -> None:
    backbone = load_backbone("efficientnet-lite0", size=64)
    with pytest.raises(SeesayError, match=r"efficientnet-lite0(.|\n)*negative in places(.|\n)*vgg16"):
        map_layers(backbone)
