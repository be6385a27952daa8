"""A library of photos that answers sentences: what is in it, how it is kept up to date, and how it is searched.

Example:
    >>> from seesay.library import Library
    >>> with Library() as library:  # doctest: +SKIP
    ...     library.index("~/Pictures")
    ...     results = library.search("two dogs play in the snow")
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from seesay.library.library import Library
    from seesay.library.ranking.likeness import Crop
    from seesay.library.ranking.search import Result, Results
    from seesay.library.types import Filter, Photo

__all__ = ["Crop", "Filter", "Library", "Photo", "Result", "Results"]

_HOMES = {
    "Library": "library",
    "Result": "ranking.search",
    "Results": "ranking.search",
    "Filter": "types",
    "Photo": "types",
    "Crop": "ranking.likeness",
}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in _HOMES:
        raise AttributeError(f"module 'seesay.library' has no attribute {name!r}")
    return getattr(import_module(f"seesay.library.{_HOMES[name]}"), name)
