"""Names of files as people can read them."""

from pathlib import Path

from seesay.system.remote import as_url


def printable(path: Path) -> str:
    """A path as it can be shown on a terminal: what is no text or would steer the terminal is written out.

    Example:
        >>> printable(Path("/photos/new\\nline \\x1b[31m caf\\udce9 ü.jpg"))
        '/photos/new\\\\nline \\\\x1b[31m caf\\\\udce9 ü.jpg'
    """
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in as_url(path))
