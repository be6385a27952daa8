"""Reading a table, as it comes from TOML or JSON, into a dataclass whose fields say what is allowed."""

import difflib
import math
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, Field, field, fields, is_dataclass
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from seesay.errors import SeesayError
from seesay.system import ranges

Table = TypeVar("Table")
_PLAIN: Field[Any] = field()  # of an entry of a list, which has no limits of its own


def key(default: Any, **limits: Any) -> Any:
    """A field with a default and limits; a required key is written `field(metadata={...})`, which mypy understands.

    The limits are `one_of` (names), `above`, `at_least`, `at_most`, `below`, and `filled` (neither empty nor blank).
    """
    return field(default=default, metadata=limits)


def read_table(cls: type[Table], table: Any, origin: str, prefix: str = "", *, remarks: bool = False) -> Table:
    """Build the dataclass `cls` from a table, with its tables inside.

    Args:
        origin: Where the table comes from, named in errors.
        prefix: The path of this table inside the whole, with its dot.
        remarks: Ignore keys that are no fields, as of a table that also says where it comes from.

    Raises:
        SeesayError: A key is unknown or missing, a type is wrong or a value outside its limits.

    Example:
        >>> from dataclasses import dataclass
        >>> @dataclass(frozen=True)
        ... class Config:
        ...     dim: int = 8
        >>> read_table(Config, {"dim": 4}, "config.json")
        Config(dim=4)
        >>> read_table(Config, {"dims": 4}, "config.json")
        Traceback (most recent call last):
        seesay.errors.SeesayError: config.json: there is no key 'dims'; did you mean 'dim'?
          allowed: dim
    """
    known = {spec.name: spec for spec in fields(cls)}  # type: ignore[arg-type]
    if not isinstance(table, Mapping):
        raise SeesayError(f"{origin}: {prefix.rstrip('.')} is a table of keys, not {table!r}", allowed=known)
    hints = get_type_hints(cls)
    for name in table:
        if name not in known and not remarks:
            near = difflib.get_close_matches(name[:100], known, n=1)
            meant = f"; did you mean '{prefix}{near[0]}'?" if near else ""
            raise SeesayError(f"{origin}: there is no key '{prefix}{name}'{meant}", allowed=known)
    values = {}
    for name, spec in known.items():
        if name in table:
            values[name] = _read_value(hints[name], spec, table[name], origin, f"{prefix}{name}", remarks)
        elif spec.default is MISSING and spec.default_factory is MISSING:
            raise SeesayError(f"{origin}: the key '{prefix}{name}' is missing", allowed=_describe(hints[name], spec))
    with named_in_errors(origin):  # a dataclass may check what keys are together
        return cls(**values)


@contextmanager
def named_in_errors(origin: str) -> Iterator[None]:
    """Put the file or section at fault in front of what an error says."""
    try:
        yield
    except SeesayError as error:
        if error.what.startswith(f"{origin}: "):
            raise
        raise SeesayError(f"{origin}: {error.what}", allowed=error.allowed, hint=error.hint) from error


def _read_value(kind: Any, spec: Field[Any], value: Any, origin: str, path: str, remarks: bool) -> Any:
    if get_origin(kind) is types.UnionType:  # of something and None
        if value is None:
            return None
        kind = next(part for part in get_args(kind) if part is not type(None))
    if is_dataclass(kind) and isinstance(kind, type):
        return read_table(kind, value, origin, f"{path}.", remarks=remarks)
    if get_origin(kind) is tuple and isinstance(value, list | tuple):
        entry = get_args(kind)[0]
        value = tuple(
            _read_value(entry, _PLAIN, item, origin, f"{path}.{place}", remarks) for place, item in enumerate(value)
        )
    elif kind is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    plain = get_origin(kind) or kind
    # A bool is an int to Python, but `epochs = true` is a mistake.
    right_type = isinstance(value, plain) and (plain is bool or not isinstance(value, bool))
    if not right_type or not _within(spec.metadata, value):
        raise SeesayError(f"{origin}: {path} cannot be {value!r}", allowed=_describe(kind, spec))
    if plain is dict:
        _check_plain(value, origin, path)
        return copy_table(value)
    return value


def _check_plain(value: Any, origin: str, path: str) -> None:
    """Dates are TOML but not JSON, and no key of a model is a date."""
    if isinstance(value, Mapping | list):
        for name, item in value.items() if isinstance(value, Mapping) else enumerate(value):
            _check_plain(item, origin, f"{path}.{name}")
    elif not isinstance(value, str | int | float):
        raise SeesayError(f"{origin}: {path} cannot be {value!r}", allowed="text, numbers, true, false, lists, tables")


def _within(limits: Mapping[str, Any], value: Any) -> bool:
    """Infinity, nan and what no tensor holds lie within no limits."""
    if isinstance(value, float) and not math.isfinite(value):
        return False
    if isinstance(value, int) and abs(value) > ranges.INTEGER:
        return False
    return (
        ("one_of" not in limits or value in limits["one_of"])
        and ("above" not in limits or value > limits["above"])
        and ("at_least" not in limits or value >= limits["at_least"])
        and ("at_most" not in limits or value <= limits["at_most"])
        and ("below" not in limits or value < limits["below"])
        and (not limits.get("filled") or bool(value.strip() if isinstance(value, str) else value))
    )


def _describe(kind: Any, spec: Field[Any]) -> str:
    limits = spec.metadata
    if "one_of" in limits:
        return ", ".join(limits["one_of"])
    plain = get_origin(kind) or kind
    words = {str: "text", int: "a whole number", float: "a number", bool: "true or false", tuple: "a list"}
    parts = [words.get(plain, "a table of keys")]
    if plain is tuple and is_dataclass(get_args(kind)[0]):
        parts = ["a list of tables"]
    parts += [
        f"{name.replace('_', ' ')} {limits[name]}"
        for name in ("above", "at_least", "at_most", "below")
        if name in limits
    ]
    if limits.get("filled"):
        parts.append("that is not empty")
    return " ".join(parts)


def copy_table(value: Any) -> Any:
    """A deep copy of tables and lists."""
    if isinstance(value, Mapping):
        return {key: copy_table(item) for key, item in value.items()}
    return [copy_table(item) for item in value] if isinstance(value, list) else value


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
        (counts, lambda value: value <= ranges.WIDTH, f"up to {ranges.WIDTH:,}"),
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
