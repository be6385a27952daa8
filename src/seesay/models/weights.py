"""Which trained weights there are and what their config.json says; for that nobody has to wait for torch."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seesay.errors import SeesayError

FORMAT = 1
PACKAGED = Path(__file__).parents[1] / "weights"

_RENAMED = {"borrowed": "source_weights"}
"""Keys of config.json in folders that older releases wrote → their names."""
_NEEDED = {"format": int, "name": str, "family": str, "config": dict, "features": dict}


@dataclass(frozen=True)
class Weights:
    """A folder of trained weights and what its config.json says."""

    folder: Path
    about: dict[str, Any]

    @property
    def name(self) -> str:
        return str(self.about["name"])

    @property
    def figures(self) -> dict[str, Any]:
        """Measured reports by `data/split`."""
        figures: dict[str, Any] = self.about.get("figures", {})
        return figures

    @property
    def size(self) -> int:
        """Bytes of the weights file."""
        path = self.folder / "model.safetensors"
        try:
            return path.stat().st_size
        except OSError as error:
            raise SeesayError(f"cannot read the weights {path}: {error.strerror or error}") from error


def installed() -> list[Weights]:
    """The weights that came with the package, by name."""
    folders = sorted(path.parent for path in PACKAGED.glob("*/config.json"))
    return [read_about(folder) for folder in folders]


def find(name: str | Path) -> Weights:
    """The weights of a name that came with the package, or in a folder; nothing heavy is read."""
    folder = PACKAGED / name if (PACKAGED / name / "config.json").is_file() else Path(name)
    if not (folder / "config.json").is_file():
        known = [weights.name for weights in installed()]
        raise SeesayError(
            f"there are no weights {str(name)!r}",
            allowed=f"{', '.join(known) or 'nothing is installed'}, or a folder that holds a config.json",
            hint="seesay models",
        )
    return read_about(folder)


def read_about(folder: Path) -> Weights:
    """Read and check the config.json of a weights folder."""
    path = folder / "config.json"
    try:
        about = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SeesayError(f"cannot read {path}: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise SeesayError(f"{path} is not JSON: {error}") from error
    if not isinstance(about, dict) or not all(isinstance(about.get(key), kind) for key, kind in _NEEDED.items()):
        raise SeesayError(f"{path} does not describe weights of seesay", allowed=f"an object with {', '.join(_NEEDED)}")
    if about["format"] != FORMAT:
        raise SeesayError(
            f"{path} has format {about['format']}, this seesay reads format {FORMAT}", hint="pip install -U seesay"
        )
    return Weights(folder, {_RENAMED.get(str(key), str(key)): value for key, value in about.items()})
