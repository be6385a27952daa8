"""What an eye is put together from: the network of its lower half, and a second embedding beside its own."""

from seesay.errors import SeesayError
from seesay.images.backbones import find_network
from seesay.images.features import FeatureSpec
from seesay.models.pretrained import load
from seesay.models.vse import VSE
from seesay.settings.eye_ear import EyeEarConfig


def lower_network(config: EyeEarConfig, features: FeatureSpec) -> FeatureSpec:
    """The network of the lower half, where features may be those of a network that has the eye's upper half."""
    network = find_network(features.backbone)
    if network.both != config.on_vectors:
        raise SeesayError(
            f"config.on_vectors is {str(config.on_vectors).lower()}, the features are those of {features.backbone}",
            allowed="on_vectors with eye-imagenet, and with no other network",
        )
    return FeatureSpec(network.lower, features.size, features.crop) if config.on_vectors else features


def load_beside(name: str, dim: int, features: FeatureSpec) -> VSE:
    """The second embedding of an eye: a VSE on the same network, which is not trained further."""
    found = load(name)
    if not isinstance(found, VSE) or found.outputs != ("pooled",) or found.view_dim != dim:
        raise SeesayError(
            f"{name} cannot be the second embedding of an eye with config.beside_dim {dim}",
            allowed="a vse of the network's vector, with its dim as beside_dim",
        )
    if found.feature_spec != features:
        raise SeesayError(f"{name} uses the network {found.feature_spec.name}, the eye uses {features.name}")
    return found.requires_grad_(False)
