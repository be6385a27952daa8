"""Several models over the same photos: an index for each, beside the one that the library was made with.

LIBRARY/                 the index of the first model
LIBRARY/current.json     which index is in use, where it is not that one
LIBRARY/models/NAME/     the index of another model, a whole library of its own
"""

import json
import os
from pathlib import Path

from seesay.errors import SeesayError
from seesay.library.stores.database import FILE
from seesay.library.types import Fingerprint
from seesay.system.files import replace_atomically
from seesay.system.reading import parse_json, read_text

CURRENT, BESIDE = "current.json", "models"


def current_index(folder: Path) -> Path:
    """The folder of the index that is in use in a library's folder.

    Raises:
        SeesayError: The file that says so is damaged.
    """
    path = folder / CURRENT
    if not os.path.isfile(path):  # noqa: PTH113 - takes a name of any length
        return folder
    try:
        name = parse_json(read_text(path))["index"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SeesayError(f"{path} does not name an index", hint=f"remove {path}") from error
    if not isinstance(name, str) or Path(name).name != name or name in ("", ".", ".."):
        raise SeesayError(f"{path} names the index {str(name)[:80]!r}", allowed=f"a folder of {folder / BESIDE}")
    if not os.path.isfile(folder / BESIDE / name / FILE):  # noqa: PTH113 - an index that would be begun is not meant
        raise SeesayError(f"{path} names the index {name[:80]!r}, which is not there", hint=f"remove {path}")
    return folder / BESIDE / name


def index_name(fingerprint: Fingerprint) -> str:
    """The folder name of a model's index: its own, with its weights where they are known by a path."""
    model = Path(fingerprint.model)
    return model.name if model.name == fingerprint.model else f"{model.name}-{fingerprint.weights[:8]}"


def indexes(folder: Path) -> list[Path]:
    """The folders of all indexes of a library, that of its first model first."""
    return [folder, *sorted(path.parent for path in (folder / BESIDE).glob(f"*/{FILE}"))]


def index_place(folder: Path, name: str | None) -> Path:
    """Where an index lies; None for that of the first model."""
    return folder if name is None else folder / BESIDE / name


def use_index(folder: Path, name: str | None) -> None:
    """Let an index, which is there, be the one in use; None for that of the first model."""
    path = folder / CURRENT
    if name is None:
        path.unlink(missing_ok=True)
        return
    with replace_atomically(path) as temporary:
        temporary.write_text(json.dumps({"index": name}) + "\n", encoding="utf-8")
