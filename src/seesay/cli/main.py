"""The command line: `seesay COMMAND …`.

A command whose options are plainly typed is called at once: reading all commands, and letting typer check every option,
takes as long as a search. Everything else, help and mistakes among it, goes through typer (`seesay.cli.commands`).
"""

import errno
import gc
import io
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

from seesay.cli import light
from seesay.cli.messages import describe_error, warn
from seesay.cli.plain import read_plainly
from seesay.errors import SeesayError
from seesay.system import ranges
from seesay.system.extras import extra_of, missing_parts
from seesay.system.names import printable

PLAIN = ("caption", "describe", "explain", "index", "match", "search", "words")
"""Commands that may be called at once: `seesay.cli.use.NAME.NAME`."""
ONE_THREAD = (*PLAIN, "demo", "ground", "identify", "library", "neighbours", "regions", "serve")
"""Commands whose products are of a few hundred vectors, which take longer to share among threads than to compute.
Networks have threads of their own."""
_GARBAGE = 50_000
"""New objects after which Python looks for garbage. By default it would do so all through the imports."""
_PACKAGE = Path(__file__).parents[1]
_NO_NAMES = (errno.ENAMETOOLONG, errno.ELOOP)  # wherever a name is looked up that no file can have
_NOBODY_READS = (errno.EPIPE, errno.ENOSPC, errno.EDQUOT)  # what is printed goes to a closed pipe or a full disk
_STOPPED = "seesay: stopped; what was finished is kept, the same command goes on from there"


def start() -> NoReturn:
    """What `seesay` and `python -m seesay` do: run the command line, and end the process."""
    gc.set_threshold(_GARBAGE)
    try:
        run()
        code: object = 0
    except SystemExit as end:
        code = end.code
    if _is_over(sys.argv[1:]):
        sys.stderr.flush()
        os._exit(code if isinstance(code, int) else 1)
    sys.exit(code)  # type: ignore[arg-type]


def _is_over(given: list[str]) -> bool:
    """Whether nothing is left to do: taking the interpreter down in order takes a third of a query.

    All files are closed and all is printed by then. An indexer may have joined a cluster, which wants to be told.
    """
    return bool(given) and given[0] in PLAIN and given[0] != "index" and not {"ray", "torch"} & sys.modules.keys()


def run(arguments: list[str] | None = None) -> None:
    """Run the command line; a `SeesayError` is printed without a traceback and ends with exit code 2."""
    given = _as_spelt_here(sys.argv[1:] if arguments is None else arguments)
    if given and given[0] in ONE_THREAD:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    _prepare_output()
    with _ending(), _showing_warnings():
        _check_lengths(given)
        command = _plain_command(given)
        if command is not None:
            command()
            sys.exit(0)
        from seesay.cli.commands import app

        app(given, prog_name="seesay")


def _as_spelt_here(given: list[str]) -> list[str]:
    """Help and version as they are asked of other programs.

    Example:
        >>> _as_spelt_here(["help", "search"]), _as_spelt_here(["-V"])
        (['search', '--help'], ['--version'])
    """
    if given[:1] == ["help"]:
        return [*given[1:], "--help"]
    return ["--version"] if given == ["-V"] else given


def _plain_command(given: list[str]) -> Callable[[], None] | None:
    """The command with its options, where these are plainly typed."""
    if not given or given[0] not in PLAIN or "_SEESAY_COMPLETE" in os.environ:
        return None
    command: Callable[..., None] = getattr(import_module(f"seesay.cli.use.{given[0]}"), given[0])
    options = read_plainly(command, given[1:])
    return None if options is None else lambda: command(**options)


@contextmanager
def _ending() -> Iterator[None]:
    """Let whatever happens end as a person can use it."""
    try:
        try:
            yield
        except ModuleNotFoundError as error:
            extra = extra_of(error.name)
            if extra is None:
                raise
            raise missing_parts([extra], "this") from error
        except light.Exit as end:
            sys.exit(end.exit_code)
        except KeyboardInterrupt as stop:
            raise SystemExit(130) from stop
    except SeesayError as error:
        light.echo(f"seesay: {describe_error(error)}", err=True)
        from seesay.system.cluster import ClusterGoneError

        if isinstance(error, ClusterGoneError):  # Ray's threads, left behind by their cluster, crash an orderly end
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(2)
        sys.exit(2)
    except SystemExit as end:
        if _was_interrupted(end):  # typer has made an exit of it
            light.echo(_STOPPED, err=True)
        _end_output()
        raise
    except OSError as error:
        if error.errno in _NO_NAMES:
            _refuse_name(error.filename, (error.strerror or "no name of a file").lower())
        if error.errno not in _NOBODY_READS:
            raise
        _give_up_output()
        sys.exit(1)
    except (MemoryError, RuntimeError) as error:
        if str(error).startswith("Symlink loop from"):  # as pathlib says it
            _refuse_name(str(error).partition(" from ")[2].strip("'"), "too many levels of symbolic links")
        if not _lacks_memory(error):
            raise
        light.echo("seesay: there is not enough memory for that", err=True)
        sys.exit(1)


def _prepare_output() -> None:
    """See to it that there is something to print to, and that it takes every letter.

    Where a shell has closed a stream (`>&-`), the next file that is opened has its number, and whatever a library
    prints goes into that file.
    """
    while (number := os.open(os.devnull, os.O_RDWR)) < 3:
        pass
    os.close(number)
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: PTH123, SIM115 - as long as the process
    for side in ("COLUMNS", "LINES"):
        if len(os.environ.get(side, "")) > len("100000"):  # no side of a terminal, and rich counts with any number
            del os.environ[side]
    for stream in (sys.stdout, sys.stderr):  # a terminal of another alphabet
        if isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="backslashreplace")


@contextmanager
def _showing_warnings() -> Iterator[None]:
    """Print warnings of seesay's own as messages; those of other packages as Python does."""
    others = warnings.showwarning

    def show(message: Any, category: Any, filename: str, lineno: int, *rest: Any) -> None:
        if issubclass(category, UserWarning) and Path(filename).is_relative_to(_PACKAGE):
            warn([str(message)])
        else:
            others(message, category, filename, lineno, *rest)

    warnings.showwarning = show  # type: ignore[assignment]
    try:
        yield
    finally:
        warnings.showwarning = others


def _check_lengths(arguments: list[str]) -> None:
    """Refuse an argument that is longer than any name, sentence or list of them."""
    longest = max((len(argument) for argument in arguments), default=0)
    if longest > ranges.TEXT:
        raise SeesayError(f"an argument has {longest:,} characters", allowed=f"up to {ranges.TEXT:,}")


def _end_output() -> None:
    """Write out what was printed; where it cannot be, that is no success, and no reason for a traceback."""
    try:
        sys.stdout.flush()
    except OSError:
        _give_up_output()
        sys.exit(1)


def _give_up_output() -> None:
    """Let Python's own last flush meet something that takes everything."""
    with suppress(OSError, ValueError):  # of a test's stand-in for the terminal
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _refuse_name(name: object, why: str) -> NoReturn:
    light.echo(f"seesay: cannot look up {printable(os.fsdecode(str(name)))[:80]!r}: {why}", err=True)
    sys.exit(2)


def _lacks_memory(error: Exception) -> bool:
    """Whether there was too little memory, which PyTorch says in a sentence of its own."""
    return isinstance(error, MemoryError) or "allocate memory" in str(error) or "not enough memory" in str(error)


def _was_interrupted(error: BaseException | None) -> bool:
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None
