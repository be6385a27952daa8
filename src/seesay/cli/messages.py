"""Messages that several commands print."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from seesay.cli import light
from seesay.errors import SeesayError
from seesay.system.names import printable

if TYPE_CHECKING:
    from seesay.library.indexing.index import Indexed

_N_SHOWN = 5
_LONGEST = 1000  # characters of what happened
_LINE_BREAK = "\n"


def describe(done: "Indexed") -> str:
    """What was done, in half a sentence.

    Example:
        >>> from seesay.library.indexing.index import Indexed
        >>> describe(Indexed(n_found=1250, n_added=12, n_removed=1, n_encoded=11))
        '1,250 photos: 12 added, 1 removed'
        >>> describe(Indexed(n_found=1))
        '1 photo, nothing changed'
    """
    found = f"{done.n_found:,} photo{'' if done.n_found == 1 else 's'}"
    counts = (
        (done.n_added, "added"), (done.n_changed, "changed"), (done.n_removed, "removed"),
        (len(done.failures), "not usable"),
    )  # fmt: skip
    parts = [f"{count:,} {what}" for count, what in counts if count]
    return f"{found}: {', '.join(parts)}" if parts else f"{found}, nothing changed"


def complain(done: "Indexed") -> None:
    """Say on stderr what could not be used: a few in full, each hint once."""
    for failure in done.failures[:_N_SHOWN]:
        light.echo(f"  not usable: {printable(failure.path)}: {printable(failure.reason)}", err=True)
    if len(done.failures) > _N_SHOWN:
        light.echo(f"  and {len(done.failures) - _N_SHOWN:,} more: seesay library failures", err=True)
    for hint in dict.fromkeys(failure.hint for failure in done.failures if failure.hint):
        n_helped = sum(failure.hint == hint for failure in done.failures)
        light.echo(f"  try for {n_helped:,} of them: {hint}", err=True)
    for folder, why in done.unreadable.items():
        light.echo(f"  cannot look into {printable(folder)}: {why}", err=True)


def warn(warnings: Iterable[str]) -> None:
    """Say on stderr what one should know before relying on a result, or what could not be used."""
    for warning in warnings:
        light.echo(f"seesay: {printable(warning, keep=_LINE_BREAK)}", err=True)


def describe_error(error: SeesayError) -> str:
    """An error as it is printed: a name in it is one line, whatever it holds, and fits the screen."""
    what = printable(error.what)
    lines = [what if len(what) <= _LONGEST else f"{what[: _LONGEST - 200]} … {what[-100:]}"]
    lines += [f"  allowed: {printable(error.allowed, keep=_LINE_BREAK)}"] if error.allowed else []
    lines += [f"  try: {printable(error.hint, keep=_LINE_BREAK)}"] if error.hint else []
    return "\n".join(lines)
