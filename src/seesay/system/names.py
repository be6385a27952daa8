"""Names and texts as people can read them: nothing of a file's name or content steers their terminal."""

from pathlib import Path

from seesay.system.remote import as_url


def printable(name: Path | str, *, keep: str = "") -> str:
    """A path, or a text, as it can be shown on a terminal: what is no text or would steer the terminal is written out.

    Args:
        name: What somebody else may have chosen.
        keep: Characters that stay, such as line breaks of a message of our own.

    Example:
        >>> printable(Path("/photos/new\\nline \\x1b[31m caf\\udce9 ü.jpg"))
        '/photos/new\\\\nline \\\\x1b[31m caf\\\\udce9 ü.jpg'
    """
    return "".join(
        char if char.isprintable() or char in keep else char.encode("unicode_escape").decode() for char in as_url(name)
    )
