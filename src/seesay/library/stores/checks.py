"""A checksum for all that is kept of a photo: a disk that changes a byte gives another vector, and no error."""

import json
import sqlite3
import struct
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any


def checksum(
    described: Sequence[Any],
    vector: bytes,
    thumbnail: bytes,
    views: Iterable[tuple[str, bytes]],
    tags: Iterable[tuple[int, float]],
) -> int:
    """Of what is kept of a content, whatever the order of its views and tags.

    Args:
        described: Digest, width, height, taken, camera.
    """
    found = zlib.crc32(json.dumps([*described]).encode())
    for part in (vector, thumbnail):
        found = zlib.crc32(part, found)
    for stage, view in sorted(views):
        found = zlib.crc32(view, zlib.crc32(stage.encode(), found))
    for number, probability in sorted(tags):
        found = zlib.crc32(struct.pack("<qd", number, probability), found)
    return found


def changed_contents(connection: sqlite3.Connection) -> Iterator[int]:
    """The contents that are not as they were written; those of older libraries have no checksum, and pass."""
    rows = connection.execute(
        "SELECT c.id, c.digest, c.width, c.height, c.taken, c.camera, v.vector, t.jpeg, k.crc FROM contents c "
        "JOIN checks k ON k.content = c.id LEFT JOIN vectors v ON v.content = c.id "
        "LEFT JOIN thumbnails t ON t.content = c.id"
    )
    for number, *described, vector, thumbnail, crc in rows:
        views = connection.execute("SELECT stage, vector FROM views WHERE content = ?", (number,)).fetchall()
        tags = connection.execute("SELECT class, probability FROM tags WHERE content = ?", (number,)).fetchall()
        try:
            is_whole = checksum(described, vector, thumbnail, views, tags) == crc
        except (TypeError, ValueError, AttributeError, struct.error):  # something of another type, or nothing
            is_whole = False
        if not is_whole:
            yield number
