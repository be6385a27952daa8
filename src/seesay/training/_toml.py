"""Writing TOML, which the standard library can only read."""

import json
import math
import re
from collections.abc import Mapping
from typing import Any

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def write_toml(table: Mapping[str, Any]) -> str:
    """The text of a TOML file that reads back as `table`.

    Tables and lists of tables come after the plain values of their parent, under their own headers.

    Raises:
        TypeError: A value is something that TOML has no form for, such as None.

    Example:
        >>> print(write_toml({"rate": 1e-3, "stop": {"epochs": 3}, "train": [{"source": "a"}, {"source": "b"}]}))
        rate = 0.001
        <BLANKLINE>
        [stop]
        epochs = 3
        <BLANKLINE>
        [[train]]
        source = "a"
        <BLANKLINE>
        [[train]]
        source = "b"
        <BLANKLINE>
    """
    return "\n".join(_lines(table, ())).strip("\n") + "\n"


def _lines(table: Mapping[str, Any], path: tuple[str, ...]) -> list[str]:
    lines = [f"{_name(key)} = {_value(value)}" for key, value in table.items() if not _has_header(value)]
    for key, value in table.items():
        if _has_header(value):
            inner = (*path, key)
            header = ".".join(map(_name, inner))
            if isinstance(value, Mapping):
                lines += ["", f"[{header}]", *_lines(value, inner)]
            else:
                for item in value:
                    lines += ["", f"[[{header}]]", *_lines(item, inner)]
    return lines


def _has_header(value: Any) -> bool:
    is_list_of_tables = isinstance(value, list | tuple) and value and all(isinstance(item, Mapping) for item in value)
    return isinstance(value, Mapping) or bool(is_list_of_tables)


def _name(key: str) -> str:
    return key if _BARE_KEY.fullmatch(key) else _text(key)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else str(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_name(key)} = {_value(item)}" for key, item in value.items()) + "}"
    raise TypeError(f"TOML has no form for {value!r}")


def _text(text: str) -> str:
    # JSON's escapes are TOML's, but TOML also wants DEL escaped and has no surrogate pairs.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
