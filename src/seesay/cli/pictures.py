"""What the commands that draw have in common: checks of the file to draw into, drawing, and showing the result."""

import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from seesay.cli import light
from seesay.cli.messages import warn
from seesay.system.names import printable

if TYPE_CHECKING:
    from PIL.Image import Image


class Showable(Protocol):
    """What a verb found."""

    def to_dict(self) -> dict[str, Any]: ...


Found = TypeVar("Found", bound=Showable)


def require_drawable(output: Path, *inputs: Path | str | None, overwrite: bool = False) -> None:
    """Refuse a file that no picture can or should be drawn into, before anything is computed.

    Args:
        output: The file.
        inputs: What the command reads: photos, folders, collections by path or name.
        overwrite: Whether a file may be replaced that is no earlier result.
    """
    from seesay.drawing.sheets import FILE_TYPES
    from seesay.errors import SeesayError

    if output.name and output.suffix.lower() not in FILE_TYPES:
        raise SeesayError(f"cannot draw into {output}", allowed=FILE_TYPES, hint=f"-o {output.with_suffix('.png')}")
    require_free(output, *inputs, overwrite=overwrite)


def require_free(output: Path, *inputs: Path | str | None, overwrite: bool = False) -> None:
    """Refuse a file that a result must not take the place of; a photo of the library is none, whatever was said."""
    from seesay.errors import SeesayError
    from seesay.system.files import data_dir
    from seesay.system.results import check_result, is_result

    given = [each for each in inputs if each]
    if folder := data_dir():  # a collection may be given by its name there
        given += [folder / each for each in given if not os.path.exists(each)]  # noqa: PTH110 - takes any name
    check_result(output, inputs=given, overwrite=overwrite)
    if overwrite and output.exists() and not is_result(output):
        from seesay.library.indexing.places import is_library_photo

        if is_library_photo(output):
            raise SeesayError(f"{output} is a photo of the library", allowed="another name for the result")


def save_drawing(draw: Callable[[], "Image"], output: Path | None) -> dict[str, str]:
    """Draw a result into a file, where one is wanted.

    Returns:
        What `--json` says of it.
    """
    if output is None:
        return {}
    from seesay.drawing.sheets import save_picture

    save_picture(draw(), output)
    return {"picture": str(output)}


def tell_drawn(drawn: dict[str, str]) -> None:
    """Say on stderr where a result was drawn, if it was (`save_drawing`)."""
    for path in drawn.values():
        light.echo(f"drawn in {printable(path)}", err=True)


def show_result(
    found: Found,
    print_table: Callable[[Found], None],
    drawn: dict[str, str],
    *,
    as_json: bool,
    failures: Mapping[str, str] | None = None,
) -> None:
    """Print a result as JSON or as a table, and where it was drawn.

    Args:
        failures: Photos that could not be used, with the reasons; if there are any, the exit code is 1.
    """
    if as_json:
        light.echo(json.dumps(found.to_dict() | drawn, indent=2, ensure_ascii=False))
    else:
        print_table(found)
        warn(map(printable, (failures or {}).values()))
        tell_drawn(drawn)
    if failures:
        raise light.Exit(1)


def read_stdin(photo: Path) -> Path | bytes:
    """A photo that was named, or, where it is called `-`, the bytes of the one that comes from stdin."""
    return sys.stdin.buffer.read() if str(photo) == "-" else photo


def drawn_beside(photo: Path, what: str) -> Path:
    """Where a photo is drawn if nobody says where: in the current folder, under its own name."""
    return Path(f"{'stdin' if str(photo) == '-' else photo.stem}-{what}.png")
