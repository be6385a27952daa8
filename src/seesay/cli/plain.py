"""Options that are plainly typed, read from the declarations that typer's are made of.

Plain is: `--name value`, `--name=value`, `-n value`, a flag, and arguments. Whatever is not, or not what was declared,
is left to typer, which then says what is wrong.
"""

import re
import types
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from inspect import Parameter, signature
from pathlib import Path
from typing import Annotated, Any, Union, get_args, get_origin

from seesay.cli.light import ArgumentOf, Declared, OptionOf

_NUMBERS = {int: re.compile(r"-?\d{1,18}"), float: re.compile(r"-?\d{1,18}(\.\d{1,18})?")}


_UNDERSTOOD = {"metavar", "help", "show_default", "min", "max", "parser", "callback"}


class _NotPlainError(Exception):
    """Typer has to read it."""


@dataclass(frozen=True)
class _Parameter:
    """A parameter of a command: what it is called, of what kind it is, and whether there may be several."""

    name: str
    info: Declared
    kind: Any
    several: bool
    default: Any

    @property
    def names(self) -> dict[str, Any]:
        """What is typed for it → the value that this stands for; None for the one that follows."""
        declared = self.info.names
        if self.kind is not bool:
            return dict.fromkeys(declared or [f"--{self.name.replace('_', '-')}"])
        if not declared:
            raise _NotPlainError
        found: dict[str, Any] = {}
        for name in declared:
            yes, _, no = name.partition("/")
            found |= {yes: True} | ({no: False} if no else {})
        return found

    def read(self, text: str) -> Any:
        """The value of what was typed."""
        if (parser := self.info.settings.get("parser")) is not None:
            return parser(text)
        if self.kind in _NUMBERS:
            if not _NUMBERS[self.kind].fullmatch(text):
                raise _NotPlainError
            value = self.kind(text)
            least, most = (self.info.settings.get(limit) for limit in ("min", "max"))
            if (least is not None and value < least) or (most is not None and value > most):
                raise _NotPlainError
            return value
        return Path(text) if self.kind is Path else text

    def checked(self, value: Any) -> Any:
        """The value as the parameter's own check gives it."""
        check = self.info.settings.get("callback")
        return value if check is None else check(value)


def read_plainly(command: Callable[..., Any], typed: Sequence[str]) -> dict[str, Any] | None:
    """What a command is to be called with; None where typer has to find that out.

    Example:
        >>> from seesay.cli.light import Argument, Option
        >>> def greet(names: Annotated[list[str], Argument()], n: Annotated[int, Option("-n")] = 1): ...
        >>> read_plainly(greet, ["Ada", "-n", "2", "Bob"])
        {'names': ['Ada', 'Bob'], 'n': 2}
        >>> read_plainly(greet, ["--help"]), read_plainly(greet, ["-n", "many"])
        (None, None)
    """
    try:
        declared = [_declared(parameter) for parameter in signature(command).parameters.values()]
        return _read(declared, typed)
    except _NotPlainError:
        return None


def _declared(parameter: Parameter) -> _Parameter:
    if get_origin(parameter.annotation) is not Annotated:
        raise _NotPlainError
    kind, info = get_args(parameter.annotation)[:2]
    if get_origin(kind) in (Union, types.UnionType):
        (kind,) = [each for each in get_args(kind) if each is not type(None)]
    several = get_origin(kind) is list
    kind = get_args(kind)[0] if several else kind
    if not isinstance(info, Declared) or info.settings.keys() - _UNDERSTOOD:
        raise _NotPlainError
    simple = kind in (str, int, float, bool, Path) or "parser" in info.settings
    takes_one = "callback" not in info.settings or len(signature(info.settings["callback"]).parameters) == 1
    if not (simple and takes_one):
        raise _NotPlainError
    return _Parameter(parameter.name, info, kind, several, parameter.default)


def _read(declared: Sequence[_Parameter], typed: Sequence[str]) -> dict[str, Any]:
    options = [each for each in declared if isinstance(each.info, OptionOf)]
    called = {name: (each, value) for each in options for name, value in each.names.items()}
    found: dict[str, Any] = {}
    loose: list[str] = []
    words = iter(typed)
    for word in words:
        if not word.startswith("-") or word == "-":
            loose.append(word)
            continue
        name, equals, value = word.partition("=") if word.startswith("--") else (word, "", "")
        option, stands_for = called.get(name, (None, None))
        if option is None or (equals and stands_for is not None):
            raise _NotPlainError
        given = stands_for if stands_for is not None else option.read(value if equals else _next(words))
        found[option.name] = [*found.get(option.name, []), given] if option.several else given
    found |= _arguments([each for each in declared if isinstance(each.info, ArgumentOf)], loose)
    for each in declared:
        if each.name not in found and each.default is Parameter.empty:
            raise _NotPlainError
    return {each.name: each.checked(found.get(each.name, each.default)) for each in declared}


def _next(words: Iterator[str]) -> str:
    word = next(words, None)
    if word is None or (word.startswith("-") and word != "-"):
        raise _NotPlainError
    return word


def _arguments(declared: Sequence[_Parameter], words: Sequence[str]) -> dict[str, Any]:
    """One argument for each, or all for the one that takes several."""
    if len(declared) == 1 and declared[0].several:
        return {declared[0].name: [declared[0].read(word) for word in words]} if words else {}
    if len(words) > len(declared) or any(each.several for each in declared):
        raise _NotPlainError
    return {each.name: each.read(word) for each, word in zip(declared, words, strict=False)}
