"""What the configurations of all models have to keep to."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from seesay.errors import SeesayError


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
