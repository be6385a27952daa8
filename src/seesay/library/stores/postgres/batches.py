"""Batches as they are written to PostgreSQL: a few statements, however many photos."""

from typing import TYPE_CHECKING, Any

import numpy as np

from seesay.library.stores.postgres.server import query
from seesay.library.stores.sql import PUT_PHOTO, date_of, pack
from seesay.library.types import Batch, Content, File

if TYPE_CHECKING:
    import psycopg

_PUT_CONTENT = """
WITH added AS (
    INSERT INTO contents (digest, width, height, taken, camera)
    VALUES (%(digest)s, %(width)s, %(height)s, %(taken)s, %(camera)s) ON CONFLICT DO NOTHING RETURNING id
), a_vector AS (INSERT INTO vectors SELECT id, %(vector)s FROM added
), a_thumbnail AS (INSERT INTO thumbnails SELECT id, %(thumbnail)s FROM added
), some_views AS (
    INSERT INTO views SELECT id, stage, view
    FROM added, unnest(%(stages)s::text[], %(views)s::bytea[]) AS seen (stage, view)
) INSERT INTO tags SELECT class, id, probability
FROM added, unnest(%(classes)s::integer[], %(probabilities)s::double precision[]) AS given (class, probability)
"""


def write_batch(connection: "psycopg.Connection[Any]", batch: Batch) -> list[tuple[File, str]]:
    """Write a batch; in the order of digests and paths, so that no two writers wait for each other."""
    with connection.cursor() as cursor:
        contents = sorted(batch.contents, key=lambda content: content.digest)
        cursor.executemany(_PUT_CONTENT, [_row(content) for content in contents])
        # Locked, so that nobody drops one of them before its photo is there.
        cursor.execute(
            "SELECT digest, id, taken FROM contents WHERE digest = ANY (%s) ORDER BY digest FOR KEY SHARE",
            [[digest for _, digest in batch.photos]],
        )
        held = {digest: (content, taken) for digest, content, taken in cursor.fetchall()}
        photos = [
            (*file, date_of(file, held[digest][1]), held[digest][0]) for file, digest in batch.photos if digest in held
        ]
        cursor.executemany(query(PUT_PHOTO), sorted(photos))
        cursor.execute("DELETE FROM failures WHERE path = ANY (%s)", [[row[0] for row in photos]])
        failed = sorted((*failure.file, _plain(failure.reason), _plain(failure.hint)) for failure in batch.failures)
        cursor.execute("DELETE FROM photos WHERE path = ANY (%s)", [[row[0] for row in failed]])
        cursor.executemany(
            "INSERT INTO failures VALUES (%s, %s, %s, %s, %s) ON CONFLICT (path) DO UPDATE SET size = excluded.size, "
            "mtime_ns = excluded.mtime_ns, reason = excluded.reason, hint = excluded.hint",
            failed,
        )
    return [(file, digest) for file, digest in batch.photos if digest not in held]


def _row(content: Content) -> dict[str, Any]:
    return {
        "digest": content.digest,
        "width": content.width,
        "height": content.height,
        "taken": _plain(content.taken),
        "camera": _plain(content.camera),
        "vector": np.asarray(content.vector, np.float16).astype(np.float32),
        "thumbnail": content.thumbnail,
        "stages": list(content.views),
        "views": [pack(view) for view in content.views.values()],
        "classes": [number for number, _ in content.tags],
        "probabilities": [float(probability) for _, probability in content.tags],
    }


def _plain(text: str | None) -> str | None:
    """A text without what PostgreSQL cannot keep."""
    return None if text is None else text.replace("\0", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode()
