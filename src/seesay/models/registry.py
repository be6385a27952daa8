"""Which model families there are; a family is imported when it is asked for, so no one waits for torch to see names."""

from typing import TYPE_CHECKING, Any

from seesay.catalogue.weights import ENSEMBLE, Weights, installed
from seesay.errors import SeesayError
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


def family_of(weights: Weights) -> "type[Matcher]":
    """The class of trained weights.

    Raises:
        SeesayError: They are an ensemble, which has none, or of a family that is not installed.
    """
    if weights.about["family"] == ENSEMBLE:
        raise SeesayError(
            f"{weights.name} is an ensemble, which can match and nothing else",
            allowed=[other.name for other in installed()],
            hint=f"seesay match --ensemble {weights.name}",
        )
    try:
        return family_class(weights.about["family"])
    except SeesayError as error:
        raise SeesayError(
            f"{weights.folder / 'config.json'}: {error.what}",
            allowed=error.allowed,
            hint=error.hint,
        ) from error


def families() -> list[str]:
    """The names of all model families, those of other packages among them.

    Example:
        >>> families()[:3]
        ['clip', 'dvsa', 'dvsa-captions']
    """
    return _REGISTRY.names()


def imported() -> "list[type[Matcher]]":
    """The classes of the families that were imported so far."""
    return _REGISTRY.imported()


def search_role(weights: Weights) -> dict[str, Any] | None:
    """Which `stage` of search weights can be, and the `dim` of what they keep of an image; None for none.

    Example:
        >>> from seesay.catalogue.weights import find
        >>> search_role(find("mrnn"))
        {'stage': 'captions', 'dim': 512}
    """
    about = weights.about
    if "search" not in about:  # written by an older release: the class knows
        kind = family_of(weights)
        config = kind.config_type(**about["config"])
        return {"stage": kind.stage, "dim": kind.view_dim_for(config)} if kind.stage else None
    role: dict[str, Any] | None = about["search"]
    return role
