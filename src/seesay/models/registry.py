"""Which model families there are; a family is imported when it is asked for, so no one waits for torch to see names."""

from typing import TYPE_CHECKING, Any

from seesay.catalogue.weights import Weights
from seesay.system.registry import Registry

if TYPE_CHECKING:
    from seesay.models.base import Matcher

_REGISTRY: "Registry[type[Matcher]]" = Registry(
    "model family", "seesay.models", "register_model", "seesay.models", attribute="family"
)

register_model = _REGISTRY.register
"""Makes a class a model family, which recipes and weights call by the name that is given."""


def family_class(family: str) -> "type[Matcher]":
    """The class of a model family; an unknown name is answered with those that are installed."""
    return _REGISTRY.find(family)


def families() -> list[str]:
    """The names of all model families, those of other packages among them.

    Example:
        >>> families()[:3]
        ['clip', 'dvsa', 'dvsa-captions']
    """
    return _REGISTRY.names()


def search_role(weights: Weights) -> dict[str, Any] | None:
    """Which `stage` of search weights can be, and the `dim` of what they keep of an image; None for none.

    Example:
        >>> from seesay.catalogue.weights import find
        >>> search_role(find("mrnn"))
        {'stage': 'captions', 'dim': 512}
    """
    about = weights.about
    if "search" not in about:  # written by an older release: the class knows
        kind = family_class(about["family"])
        config = kind.config_type(**about["config"])
        return {"stage": kind.stage, "dim": kind.view_dim_for(config)} if kind.stage else None
    role: dict[str, Any] | None = about["search"]
    return role
