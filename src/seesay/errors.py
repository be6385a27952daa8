"""The one error a user of seesay meets."""

from collections.abc import Iterable


class SeesayError(Exception):
    """What happened, to which thing, what is allowed, and what to type next.

    The command line prints exactly this text and no traceback.

    Args:
        what: One clause that says what went wrong, naming the file, key or value.
        allowed: What would have been accepted: a sentence, or the list of valid names.
        hint: The command to type or the step to take next.

    Example:
        >>> print(SeesayError("there is no model 'vsee'", allowed=["vse", "mrnn"], hint="seesay models"))
        there is no model 'vsee'
          allowed: vse, mrnn
          try: seesay models
    """

    def __init__(self, what: str, *, allowed: str | Iterable[str] | None = None, hint: str | None = None) -> None:
        self.what = what
        self.allowed = allowed if allowed is None or isinstance(allowed, str) else ", ".join(allowed)
        self.hint = hint
        lines = [what]
        if self.allowed:
            lines.append(f"  allowed: {self.allowed}")
        if hint:
            lines.append(f"  try: {hint}")
        super().__init__("\n".join(lines))
