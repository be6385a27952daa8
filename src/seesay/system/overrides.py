"""Values of a table that a command line replaces: `--set key.path=value`."""

from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import Any

from seesay.errors import SeesayError
from seesay.system.reading import parse_toml

_DEEPEST = 10  # tables inside of each other


def apply_overrides(table: Mapping[str, Any], overrides: Iterable[str]) -> dict[str, Any]:
    """Give a copy of a table with values replaced, as `--set key.path=value` asks.

    A value is read as TOML; what is not TOML is a string, so that names need no quotes. A number in the path picks
    an entry of a list.

    Example:
        >>> table = {"optimiser": {"rate": 0.1}, "data": {"train": [{"source": "flickr8k"}]}}
        >>> apply_overrides(table, ["optimiser.rate=1e-3", "optimiser.name=sgd", "data.train.0.weight=0.5"])
        {'optimiser': {'rate': 0.001, 'name': 'sgd'}, 'data': {'train': [{'source': 'flickr8k', 'weight': 0.5}]}}
    """
    changed: dict[str, Any] = deepcopy(dict(table))
    for override in overrides:
        path, equals, text = override.partition("=")
        keys = [key.strip() for key in path.split(".")]
        if not equals or not all(keys) or len(keys) > _DEEPEST:
            raise SeesayError(f"cannot read the override '{override}'", allowed="key=value", hint="optimiser.rate=1e-3")
        place: Any = changed
        for depth, name in enumerate(keys):
            above = ".".join(keys[:depth])
            if isinstance(place, list):
                if not name.isdecimal() or int(name) >= len(place):
                    raise SeesayError(f"'{override}': {above} has {len(place)} entries", allowed="a number from 0")
                index: Any = int(name)
            elif isinstance(place, dict):
                index = name
            else:
                raise SeesayError(f"'{override}': {above} is a value and has no keys of its own")
            if depth == len(keys) - 1:
                place[index] = _parse_value(text.strip())
            else:
                place = place[index] if isinstance(place, list) else place.setdefault(index, {})
    return changed


def _parse_value(text: str) -> Any:
    try:
        table = parse_toml(f"value = {text}")
    except ValueError:
        return text
    return table["value"] if table.keys() == {"value"} else text
