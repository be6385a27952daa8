"""Reading the text and JSON files that collections are published in; what cannot be read is named."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from seesay.errors import SeesayError
from seesay.system.reading import COLLECTION, parse_json, read_regular


class UnreadableError(SeesayError):
    """A file of a collection that cannot be understood at all, so that nothing of it could be used."""

    def __init__(self, path: Path, why: str, *, allowed: str | None = None, hint: str | None = None) -> None:
        self.path = path
        self.why = why
        super().__init__(f"cannot read {path}: {why}", allowed=allowed, hint=hint)

    @property
    def detail(self) -> str:
        """All but the file's name, in one line."""
        parts = [self.why, self.allowed and f"allowed: {self.allowed}", self.hint and f"try: {self.hint}"]
        return "; ".join(part for part in parts if part)


def choose_file(path: Path, files: Sequence[Path], what: str) -> Path:
    """The one file of a folder that a collection is read from; of several none is guessed.

    Args:
        path: The folder.
        files: Those that it could be, one or more.
        what: What they are.
    """
    if len(files) > 1:
        raise SeesayError(
            f"{path} holds {len(files)} {what}", allowed=[file.name for file in files], hint=f"name one: {files[0]}"
        )
    return files[0]


def read_text(path: Path) -> str:
    """The text of a UTF-8 file, with or without a byte order mark.

    Raises:
        UnreadableError: The file is not there, may not be read, or is not UTF-8; the line is named.
    """
    try:
        data = read_regular(path, COLLECTION)
    except OSError as error:
        raise UnreadableError(path, (error.strerror or str(error)).lower()) from error
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UnreadableError(
            path,
            f"line {line} is not UTF-8 (byte 0x{data[error.start]:02x})",
            hint=f"iconv -f latin1 -t utf-8 {path.name} > utf8-{path.name}",
        ) from error


def read_lines(path: Path) -> list[str]:
    """The lines of a UTF-8 file; only a line feed ends a line, as sentences may hold exotic separators."""
    return [line.removesuffix("\r") for line in read_text(path).split("\n")]


def read_json(path: Path, keys: tuple[str, ...]) -> dict[str, Any]:
    """The object in a JSON file, which has to have all of `keys`, each holding a list.

    Raises:
        UnreadableError: The file is not JSON, or not of the expected form.
    """
    expected = "a JSON object with the lists " + " and ".join(f'"{key}"' for key in keys)
    try:
        content = parse_json(read_text(path))
    except (ValueError, RecursionError) as error:
        raise UnreadableError(path, f"not JSON: {error}", allowed=expected) from error
    if not isinstance(content, dict):
        raise UnreadableError(path, f"holds a JSON {type(content).__name__}", allowed=expected)
    if missing := [key for key in keys if not isinstance(content.get(key), list)]:
        raise UnreadableError(path, f'has no list "{missing[0]}"', allowed=expected)
    return content
