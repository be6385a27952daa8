"""Checks of files to draw into, for all commands that draw."""

import os
import sys
from pathlib import Path


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


def read_stdin(photo: Path) -> Path | bytes:
    """A photo that was named, or, where it is called `-`, the bytes of the one that comes from stdin."""
    return sys.stdin.buffer.read() if str(photo) == "-" else photo


def drawn_beside(photo: Path, what: str) -> Path:
    """Where a photo is drawn if nobody says where: in the current folder, under its own name."""
    return Path(f"{'stdin' if str(photo) == '-' else photo.stem}-{what}.png")
