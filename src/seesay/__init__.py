"""See an image, say what is in it; say something, see it.

Example:
    >>> import seesay
    >>> model = seesay.load("vse")
    >>> scores = model.match("photo.jpg", ["a dog runs", "a red bus"])  # doctest: +SKIP

What is heavy is imported when it is first asked for: `import seesay` itself takes no time.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from seesay.errors import SeesayError

if TYPE_CHECKING:
    from seesay.data import load as load_data
    from seesay.images.io import open_image
    from seesay.models.base import Matcher
    from seesay.models.pretrained import installed, load

__version__ = "0.1.0"
__all__ = ["Matcher", "SeesayError", "__version__", "installed", "load", "load_data", "open_image"]

_LAZY = {
    "Matcher": ("seesay.models.base", "Matcher"),
    "installed": ("seesay.models.pretrained", "installed"),
    "load": ("seesay.models.pretrained", "load"),
    "load_data": ("seesay.data", "load"),
    "open_image": ("seesay.images.io", "open_image"),
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'seesay' has no attribute {name!r}")
    module, attribute = _LAZY[name]
    return getattr(import_module(module), attribute)


def __dir__() -> list[str]:
    return __all__
