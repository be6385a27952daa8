"""Changes of files that are right: of their bytes, and of the values in them.

Of a hundred changes of a byte in a JSON file ninety make it no JSON, which shows the first check of a reader and no
other. So half of the changes are made to values: the file stays JSON, JSON lines, TOML or safetensors, and one of its
values is another one, is gone, is there twice, or lies deeper.
"""

import copy
import json
import random
import tomllib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import tomli_w

from benchmarks.reliability.corpora import BETWEEN

SPICES = (
    b"\0", b"\xff\xfe", b"[" * 3000, b'{"a":' * 3000, b"9" * 5000, b"-1", b"1e999", b"NaN", b"null", b"true", b'""',
    b"\n\n", b"\r", "\u202e".encode(), b"\x1b[31m", b"../../", b"**/", b"*" * 200, b"\xff" * 8, b"\x7f\xff\xff\xff",
    b'"\\ud800"', b"&a;", b"<!DOCTYPE a [<!ENTITY b 'c'>]>", b"%00", b"Transfer-Encoding: chunked\r\n",
    b"9" * 400, b"0x" + b"f" * 5000, b"\xee\x80\x80" b"5" b"\xee\x80\x80", b"Infinity", b"[]", b"{}", b"1" + b"0" * 30,
    b"Content-Length: 99999999999\r\n", b"Expect: 100-continue\r\n", b"Upgrade: websocket\r\n", b"Host: evil\r\n",
)  # fmt: skip
"""Bytes that readers have stumbled over."""

VALUES: tuple[Any, ...] = (
    None, True, False, -1, 0, 1, 2, 1.5, 2**31, 2**63, 10**30, 1e308, float("nan"), float("inf"), "", "a", "0", "١",
    "x" * 300, "../../etc/passwd", "a\0b", "\ud800", "\u202e", "2019-02-30", [], {}, [[]], [0], ["a"], {"": ""},
    {"a": {}}, [None, 1], [0] * 50,
)  # fmt: skip
"""Values that a reader may not expect."""


def change(corpus: Sequence[bytes], dice: random.Random) -> bytes:
    """A file of a corpus, changed."""
    content = dice.choice(corpus)
    if dice.random() < 0.5 and (changed := change_values(content, dice)) is not None:
        return changed
    return change_bytes(content, corpus, dice)


def change_bytes(content: bytes, corpus: Sequence[bytes], dice: random.Random) -> bytes:
    """A file with up to six changes of its bytes."""
    changed = bytearray(content)
    for _ in range(dice.randint(0, 6)):
        at = dice.randrange(len(changed) + 1)
        kind = dice.randrange(7)
        if kind == 0 and changed:
            changed[min(at, len(changed) - 1)] = dice.randrange(256)
        elif kind == 1:
            del changed[at:]
        elif kind == 2:
            del changed[at : at + dice.randint(1, 20)]
        elif kind == 3:
            changed[at:at] = dice.choice(SPICES)
        elif kind == 4:
            changed[at:at] = dice.randbytes(dice.randint(1, 30))
        elif kind == 5:
            changed += dice.choice(corpus)
        else:
            changed[at:at] = changed[at : at + 50] * dice.randint(1, 40)
    return bytes(changed)


def change_values(content: bytes, dice: random.Random) -> bytes | None:
    """A file with up to three of its values changed; None where it is of no layout that is known here."""
    parts = content.split(BETWEEN)
    places = [place for place, part in enumerate(parts) if _layout(part) is not None]
    if not places:
        return None
    place = dice.choice(places)
    layout = _layout(parts[place])
    assert layout is not None
    document, write = layout
    for _ in range(dice.randint(1, 3)):
        document = _change_document(document, dice)
    try:
        parts[place] = write(document)
    except (TypeError, ValueError, AttributeError, RecursionError):  # TOML has no null, and begins with a table
        return None
    return BETWEEN.join(parts)


Write = Callable[[Any], bytes]


def _layout(part: bytes) -> tuple[Any, Write] | None:
    """What a file holds, and how it is written again."""
    for read in (_read_json, _read_safetensors, _read_lines, _read_toml):
        try:
            return read(part)
        except (ValueError, KeyError, RecursionError):
            continue
    return None


def _read_json(part: bytes) -> tuple[Any, Write]:
    return json.loads(part), _write_json


def _write_json(document: Any) -> bytes:
    return json.dumps(document).encode()


def _read_safetensors(part: bytes) -> tuple[Any, Write]:
    end = 8 + int.from_bytes(part[:8], "little")
    document, rest = json.loads(part[8:end]), part[end:]

    def write(changed: Any) -> bytes:
        header = _write_json(changed)
        return len(header).to_bytes(8, "little") + header + rest

    return document, write


def _read_lines(part: bytes) -> tuple[Any, Write]:
    """Of JSON, one a line: a list."""
    found = [json.loads(line) for line in part.splitlines()]
    if not found:
        raise ValueError("there are no lines")

    def write(changed: Any) -> bytes:
        return b"\n".join(map(_write_json, changed if isinstance(changed, list) else [changed]))

    return found, write


def _read_toml(part: bytes) -> tuple[Any, Write]:
    found = tomllib.loads(part.decode())
    if not found:
        raise ValueError("there are no keys")
    return found, lambda changed: tomli_w.dumps(changed).encode("utf-8", "surrogatepass")


def _change_document(document: Any, dice: random.Random) -> Any:
    """A document with one of its values changed."""
    changed = {"": copy.deepcopy(document)}  # which may itself be replaced
    places = list(_places(changed))
    holder, key = dice.choice(places)
    kind = dice.randrange(6)
    if kind == 0:
        holder[key] = _value(dice)
    elif kind == 1:  # what stands elsewhere
        other, there = dice.choice(places)
        holder[key] = copy.deepcopy(other[there])
    elif kind == 2:
        holder[key] = [holder[key]] if dice.random() < 0.5 else {"a": holder[key]}
    elif kind == 3 and isinstance(holder, list):
        holder.insert(dice.randint(0, len(holder)), copy.deepcopy(holder[key]))
    elif kind == 3:
        holder[dice.choice(("", "a", "name", "x" * 300, "../a", "\0"))] = copy.deepcopy(holder[key])
    elif kind == 4 and holder is not changed:
        del holder[key]
    elif isinstance(holder[key], str):
        at = dice.randint(0, len(holder[key]))
        holder[key] = holder[key][:at] + dice.choice(("", "\0", "/", "..", " ", "9", "\u202e", "é")) + holder[key][at:]
    elif isinstance(holder[key], int | float):
        holder[key] = dice.choice((-holder[key], holder[key] + 1, holder[key] * 10**9, str(holder[key])))
    else:
        holder[key] = _value(dice)
    return changed.get("")


def _value(dice: random.Random) -> Any:
    return copy.deepcopy(dice.choice(VALUES))


def _places(holder: Any) -> Iterator[tuple[Any, Any]]:
    """Every place of a value: what holds it, and its key there."""
    for key in list(holder) if isinstance(holder, dict) else range(len(holder)):
        yield holder, key
        if isinstance(holder[key], dict | list):
            yield from _places(holder[key])


def with_right_checksums(content: bytes) -> bytes:
    """A PNG whose chunks have the checksums that belong to them: a wrong one is as far as most changes lead."""
    import zlib

    if content[:8] != b"\x89PNG\r\n\x1a\n":
        return content
    made, at = bytearray(content), 8
    while at + 12 <= len(made):
        end = at + 8 + int.from_bytes(made[at : at + 4], "big")
        if end + 4 > len(made):
            break
        made[end : end + 4] = zlib.crc32(made[at + 4 : end]).to_bytes(4, "big")
        at = end + 4
    return bytes(made)
