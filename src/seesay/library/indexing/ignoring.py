"""Which files and folders are left out: patterns as in .gitignore, matched by `pathspec`.

    *.tif            every file or folder of such a name, at any depth
    !cover.tif       but not this one; of several patterns that match, the last one decides
    thumbs/          every folder of this name
    /2019/raw        this one, relative to the folder of the pattern
    drafts/**/*.png  `**` stands for any number of folders
    # a remark

`.seesayignore` holds one pattern a line for its own folder and everything below it. A deeper file overrules those above
it. As in Git, a file whose folder is left out cannot be brought back.
"""

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from seesay.errors import SeesayError
from seesay.system.reading import read_regular

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

IGNORE_FILE = ".seesayignore"
_LARGEST = 1_000_000  # bytes of an ignore file
_LINE_BREAK = "\ufdd0"  # stands for \n, which a name may hold and `.` of a regular expression does not match


@dataclass(frozen=True, slots=True)
class Patterns:
    """The patterns of one ignore file, or of the command line, for paths below `base`."""

    base: str
    spec: "GitIgnoreSpec"

    def verdict(self, path: str, *, is_folder: bool) -> bool | None:
        """Whether a path below the base is left out; None where no pattern matches it."""
        inner = path[len(self.base) + 1 :].replace("\n", _LINE_BREAK)
        return self.spec.check_file(f"{inner}/" if is_folder else inner).include


def is_left_out(path: str, patterns: Sequence[Patterns], *, is_folder: bool) -> bool:
    """Whether patterns leave a path out: those of the deepest folder first, until one matches.

    Example:
        >>> scans = read_patterns(["*.tif", "!cover.tif", "", "# remark", "/drafts/"], Path("/photos"))
        >>> [is_left_out(f"/photos/{name}", [scans], is_folder=False) for name in ("2019/a.tif", "cover.tif", "drafts")]
        [True, False, False]
    """
    verdicts = (each.verdict(path, is_folder=is_folder) for each in reversed(patterns))
    return next((verdict for verdict in verdicts if verdict is not None), False)


def read_patterns(lines: Iterable[str], base: Path) -> Patterns:
    """Patterns of the lines of an ignore file, or of the command line.

    Args:
        base: The folder that they are relative to.

    Raises:
        SeesayError: A line is no pattern. Git overlooks such lines; here that would show what was to be left out.
    """
    from seesay.library.indexing.gitignore import compile_patterns  # most folders have no patterns

    given = [text.replace("\n", _LINE_BREAK) for text in lines if text.strip() and not text.startswith("#")]
    # The root folder "/" is a base without a slash of its own.
    return Patterns(str(base).rstrip("/"), compile_patterns(given))


def read_ignore_file(folder: str) -> Patterns:
    """The patterns of a folder's `.seesayignore`; one that cannot be read is an error, for ignoring it would show
    what somebody wanted to leave out."""
    path = Path(folder, IGNORE_FILE)
    try:
        text = read_regular(path, _LARGEST)
    except OSError as error:
        raise SeesayError(f"cannot read {path}: {error.strerror or error}") from error
    try:
        return read_patterns((line.strip("\r").lstrip() for line in os.fsdecode(text).split("\n")), Path(folder))
    except SeesayError as error:
        raise SeesayError(f"{path}: {error.what}", allowed=error.allowed) from error


def pattern_for(folder: Path, base: Path) -> str:
    r"""The pattern that leaves out one folder and nothing else.

    Example:
        >>> print(pattern_for(Path("/photos/100%_a[1]"), Path("/photos")))
        /100%_a\[1]/
    """
    return "/" + re.sub(r"([*?[\\])", r"\\\1", str(folder.relative_to(base))) + "/"


def rebase_pattern(pattern: str, folder: Path, outer: Path) -> str:
    r"""A pattern of a folder as it is written in a folder above it.

    Example:
        >>> [rebase_pattern(text, Path("/photos/2019"), Path("/photos")) for text in ("*.tif", "!/drafts/")]
        ['/2019/**/*.tif', '!/2019/drafts/']
    """
    negated, body = ("!", pattern[1:]) if pattern.startswith("!") else ("", pattern)
    start = pattern_for(folder, outer)
    return f"{negated}{start}{body.lstrip('/')}" if "/" in body.rstrip("/") else f"{negated}{start}**/{body}"
