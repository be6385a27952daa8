"""Which files and folders are left out: patterns as in .gitignore, without the exceptions of exceptions.

    *.tif            every file or folder of such a name, at any depth
    thumbs/          every folder of this name
    /2019/raw        this one, from where the pattern stands
    drafts/**/*.png  `**` stands for any number of folders
    # a remark

`.seesayignore` holds one pattern a line and speaks of the folder that it lies in and all below it.
"""

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from seesay.errors import SeesayError

IGNORE_FILE = ".seesayignore"


@dataclass(frozen=True, slots=True)
class Pattern:
    """One pattern, ready to be matched against paths below `base`."""

    base: str
    expression: re.Pattern[str]
    folders_only: bool

    def matches(self, path: str, *, is_folder: bool) -> bool:
        """Whether it speaks of a path, which lies below its base."""
        if self.folders_only and not is_folder:
            return False
        return self.expression.fullmatch(path, len(self.base) + 1) is not None


def read_patterns(lines: Iterable[str], base: Path) -> tuple[Pattern, ...]:
    """Patterns of the lines of an ignore file, or of the command line.

    Args:
        base: The folder that they are relative to.

    Example:
        >>> photos = Path("/photos")
        >>> raw, drafts = read_patterns(["*.tif", "", "# remark", "/drafts/"], photos)
        >>> raw.matches("/photos/2019/a.tif", is_folder=False), drafts.matches("/photos/2019/drafts", is_folder=True)
        (True, False)
    """
    patterns = []
    for text in lines:
        if not text or text.startswith("#"):
            continue
        if text.startswith("!"):
            raise SeesayError(f"the pattern {text!r} wants to take back another one", allowed="patterns to leave out")
        folders_only = text.endswith("/")
        stem = text.rstrip("/")
        anchored = "/" in stem
        expression = ("" if anchored else "(?:.*/)?") + _translate(stem.lstrip("/"))
        try:
            compiled = re.compile(expression, re.DOTALL)
        except re.error as error:
            raise SeesayError(f"{text!r} is no pattern: {error}", allowed="names with *, ?, [a-z] or **") from error
        # The root folder "/" is a base without a slash of its own.
        patterns.append(Pattern(str(base).rstrip("/"), compiled, folders_only))
    return tuple(patterns)


def read_ignore_file(folder: str) -> tuple[Pattern, ...]:
    """The patterns of a folder's `.seesayignore`; one that cannot be read is an error, for ignoring it would show
    what somebody wanted to leave out."""
    path = Path(folder, IGNORE_FILE)
    try:
        text = path.read_bytes()
    except OSError as error:
        raise SeesayError(f"cannot read {path}: {error.strerror or error}") from error
    try:
        return read_patterns((line.strip() for line in os.fsdecode(text).splitlines()), Path(folder))
    except SeesayError as error:
        raise SeesayError(f"{path}: {error.what}", allowed=error.allowed) from error


def pattern_for(folder: Path, base: Path) -> str:
    """The pattern that leaves out one folder and nothing else.

    Example:
        >>> pattern_for(Path("/photos/100%_a[1]"), Path("/photos"))
        '/100%_a[[]1]/'
    """
    return "/" + re.sub(r"([*?[])", r"[\1]", str(folder.relative_to(base))) + "/"


def _translate(pattern: str) -> str:
    """A regular expression: `*` and `?` stay within one name, `**` does not."""
    parts = []
    place = 0
    while place < len(pattern):
        if pattern.startswith("**/", place):
            parts.append("(?:.*/)?")
            place += 3
        elif pattern.startswith("**", place):
            parts.append(".*")
            place += 2
        elif pattern[place] == "[" and (end := pattern.find("]", place + 2)) > 0:
            inside = pattern[place + 1 : end].replace("\\", "\\\\").replace("[", "\\[")
            parts.append("[" + ("^" + inside[1:] if inside[0] in "!^" else inside) + "]")
            place = end + 1
        else:
            parts.append({"*": "[^/]*", "?": "[^/]"}.get(pattern[place]) or re.escape(pattern[place]))
            place += 1
    return "".join(parts)
