"""See an image, say what is in it; say something, see it.

Example:
    >>> import seesay
    >>> seesay.caption("photo.jpg").text  # doctest: +SKIP
    'a dog runs through the grass'
    >>> seesay.search("two dogs in the snow", "~/Pictures").paths  # doctest: +SKIP

Heavy modules are imported when a name is first used: `import seesay` itself takes no time.
"""

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

from seesay.errors import SeesayError
from seesay.system.version import VERSION

if TYPE_CHECKING:
    from seesay.catalogue.weights import installed
    from seesay.data import load as load_data
    from seesay.images.io import open_image
    from seesay.library.library import Library
    from seesay.models.base import Matcher
    from seesay.models.pretrained import load
    from seesay.verbs.captions import caption
    from seesay.verbs.descriptions import describe
    from seesay.verbs.explanations import explain
    from seesay.verbs.grounding import ground
    from seesay.verbs.identification import identify
    from seesay.verbs.maps import map_collection
    from seesay.verbs.matching import match
    from seesay.verbs.neighbours import find_neighbours
    from seesay.verbs.regions import find_regions
    from seesay.verbs.searching import search
    from seesay.verbs.words import nearest_words

# ONNX Runtime reports machine and process to its makers, a few seconds after it is imported. It reads this when it is
# imported, wherever that is; a person who has set it otherwise has decided so.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

__version__ = VERSION
__all__ = [
    "Library",
    "Matcher",
    "SeesayError",
    "__version__",
    "caption",
    "describe",
    "explain",
    "find_neighbours",
    "find_regions",
    "ground",
    "identify",
    "installed",
    "load",
    "load_data",
    "map_collection",
    "match",
    "nearest_words",
    "open_image",
    "search",
]

_LAZY = {
    "Library": ("seesay.library.library", "Library"),
    "Matcher": ("seesay.models.base", "Matcher"),
    "caption": ("seesay.verbs.captions", "caption"),
    "describe": ("seesay.verbs.descriptions", "describe"),
    "explain": ("seesay.verbs.explanations", "explain"),
    "find_neighbours": ("seesay.verbs.neighbours", "find_neighbours"),
    "find_regions": ("seesay.verbs.regions", "find_regions"),
    "ground": ("seesay.verbs.grounding", "ground"),
    "identify": ("seesay.verbs.identification", "identify"),
    "installed": ("seesay.catalogue.weights", "installed"),
    "load": ("seesay.models.pretrained", "load"),
    "load_data": ("seesay.data", "load"),
    "map_collection": ("seesay.verbs.maps", "map_collection"),
    "match": ("seesay.verbs.matching", "match"),
    "nearest_words": ("seesay.verbs.words", "nearest_words"),
    "open_image": ("seesay.images.io", "open_image"),
    "search": ("seesay.verbs.searching", "search"),
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'seesay' has no attribute {name!r}")
    module, attribute = _LAZY[name]
    try:
        return getattr(import_module(module), attribute)
    except ModuleNotFoundError as error:
        from seesay.system.extras import extra_of, missing_parts

        extra = extra_of(error.name)
        if extra is None:
            raise
        raise missing_parts([extra], f"seesay.{name}") from error


def __dir__() -> list[str]:
    from seesay.system.extras import has

    # `help(seesay)` asks for every name: those that cannot be imported here would end it.
    return __all__ if has("train") else [name for name in __all__ if "seesay.models" not in _LAZY.get(name, ("",))[0]]
