"""What the configurations of all models have to keep to."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from typing import Any, TypeVar, cast

from seesay.errors import SeesayError

ConfigType = TypeVar("ConfigType")


def check_config(
    config: Any,
    *,
    one_of: Mapping[str, Sequence[str]] | None = None,
    counts: Sequence[str] = (),
    shares: Sequence[str] = (),
    amounts: Sequence[str] = (),
) -> None:
    """Refuse what no model can be made of.

    Args:
        config: With an attribute for each of the names.
        one_of: Names of choices, each with what can be chosen.
        counts: Names of what there has to be one of, at least.
        shares: Names of what lies from 0 up to and without 1, such as a dropout.
        amounts: Names of what must not be negative.

    Example:
        >>> from types import SimpleNamespace
        >>> check_config(SimpleNamespace(cell="lstm", dim=0), one_of={"cell": ("gru", "lstm")}, counts=("dim",))
        Traceback (most recent call last):
        seesay.errors.SeesayError: config.dim is 0
          allowed: 1 or more
    """
    for key, allowed in (one_of or {}).items():
        if getattr(config, key) not in allowed:
            raise SeesayError(f"config.{key} is {getattr(config, key)!r}", allowed=tuple(allowed))
    rules: list[tuple[Sequence[str], Callable[[float], bool], str]] = [
        (counts, lambda value: value >= 1, "1 or more"),
        (shares, lambda value: 0 <= value < 1, "0 or more, below 1"),
        (amounts, lambda value: value >= 0, "0 or more"),
    ]
    for keys, is_fine, told in rules:
        for key in keys:
            if not is_fine(getattr(config, key)):
                raise SeesayError(f"config.{key} is {getattr(config, key)}", allowed=told)


def check_directions(dim: int) -> None:
    """Refuse a width that the two directions of an encoder cannot share."""
    if dim % 2:
        raise SeesayError(f"config.dim is {dim}, odd, and the encoder has two directions", allowed="even")


def read_config(config_type: type[ConfigType], table: dict[str, Any], origin: str) -> ConfigType:
    """A model's frozen dataclass from a table; an unknown key is answered with the valid ones.

    Example:
        >>> from dataclasses import dataclass
        >>> @dataclass(frozen=True)
        ... class Config:
        ...     dim: int = 8
        >>> read_config(Config, {"dim": 4}, "config.json")
        Config(dim=4)
    """
    valid = {field.name: field for field in fields(config_type)}  # type: ignore[arg-type]
    for key, value in table.items():
        if key not in valid:
            raise SeesayError(f"{origin}: there is no key {key!r} for this model", allowed=valid)
        wanted = cast(type, valid[key].type)
        fits = isinstance(value, wanted) or (wanted is float and isinstance(value, int))
        if not fits or (isinstance(value, bool) and wanted is not bool):  # a bool is an int to Python
            raise SeesayError(f"{origin}: {key} is {value!r}", allowed=f"a value of type {wanted.__name__}")
    with named_in_errors(origin):
        return config_type(**table)


@contextmanager
def named_in_errors(origin: str) -> Iterator[None]:
    """Put the file or section at fault in front of what an error says."""
    try:
        yield
    except SeesayError as error:
        raise SeesayError(f"{origin}: {error.what}", allowed=error.allowed, hint=error.hint) from error
