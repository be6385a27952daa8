"""The library on a PostgreSQL server with pgvector: for collections and teams that one machine is too small for.

Photos and vectors lie in the same tables as in SQLite. Small collections are compared one by one; in larger ones an
HNSW index gives the candidates, which are then ranked by their exact cosines. Vectors are in half precision as SQLite
keeps them, where the server's pgvector knows it (`seesay.library.stores.postgres.vectors`).
"""

import json
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Literal

from seesay.errors import SeesayError
from seesay.library.stores.address import read_address
from seesay.library.stores.conditions import POSTGRES, below, conditions
from seesay.library.stores.postgres.batches import write_batch
from seesay.library.stores.postgres.lock import hold_advisory_lock
from seesay.library.stores.postgres.server import Server
from seesay.library.stores.postgres.server import query as as_query
from seesay.library.stores.postgres.vectors import LONGEST, MOST_FOUND, SCANNED, VectorIndex, as_numbers, best_keeping
from seesay.library.stores.sql import OF_STAGE, UNUSED, SqlStore, beginning
from seesay.library.stores.store import Claim, SharedStore
from seesay.library.types import Batch, File, Filter, Fingerprint, Folder, Hit, Vector

Search = Literal["auto", "exact"]

EXACT_UP_TO = 20_000
"""Contents that are compared one by one; for more of them an index is made."""
_AMPLE = 180  # photos more than needed that a scan with a filter has to find, to be sure of the best


class PostgresStore(SqlStore, SharedStore):
    """A library on a server. It may be used from several threads.

    Args:
        url: As libpq knows them, `postgresql://USER@HOST/DATABASE`; see `seesay.library.stores.address`.
        search: `exact` compares every vector, `auto` asks the index where there is one.
    """

    dialect = POSTGRES

    def __init__(self, url: str, *, search: Search = "auto") -> None:
        self.address = read_address(url)
        self._url = url
        self.search = search
        self._server = Server(self.address)
        self._transaction = self._server.transaction
        self.index = VectorIndex(self._server)
        self._rows("SELECT 1")

    @property
    def name(self) -> str:
        return self.address.name

    def close(self) -> None:
        self._server.close()

    def _rows(self, sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
        return self._server.rows(sql, *parameters)

    def writing(self, *, together: bool = False) -> AbstractContextManager[None]:
        return hold_advisory_lock(self._server, together=together)

    def start(
        self, fingerprint: Fingerprint, stages: Mapping[str, Fingerprint] = {}, *, only_if_empty: bool = False
    ) -> None:
        dim = int(fingerprint.dim)
        if dim > LONGEST:
            raise SeesayError(
                f"{fingerprint.model} makes vectors of {dim:,} numbers", allowed=f"up to {LONGEST:,} in pgvector"
            )
        keeping = best_keeping(self._server)
        with self._transaction() as connection:
            connection.execute("LOCK TABLE about IN SHARE ROW EXCLUSIVE MODE")  # one start after the other
            begun = connection.execute("SELECT 1 FROM about WHERE key = 'fingerprint'").fetchone()
            if only_if_empty and begun:
                return
            self.index.forget()
            connection.execute("TRUNCATE photos, failures, queue, contents CASCADE")
            connection.execute(f"DELETE FROM about WHERE {OF_STAGE}".encode())
            connection.execute("DROP INDEX IF EXISTS vectors_nearest")
            connection.execute(f"ALTER TABLE vectors ALTER COLUMN vector TYPE {keeping.kind}({dim})".encode())
            if dim <= keeping.widest:
                # In the page and not beside it, where PostgreSQL puts what is large: every comparison reads it.
                connection.execute("ALTER TABLE vectors ALTER COLUMN vector SET STORAGE PLAIN")
            with connection.cursor() as cursor:
                cursor.executemany(
                    "INSERT INTO about VALUES (%s, %s) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
                    beginning(fingerprint, stages).items(),
                )

    def set_folders(self, folders: Iterable[Folder], known: Sequence[Folder] | None = None) -> bool:
        rows = [(os.fsencode(folder.path), json.dumps(folder.exclude)) for folder in folders]
        with self._transaction() as connection, connection.cursor() as cursor:
            cursor.execute("LOCK TABLE folders IN SHARE ROW EXCLUSIVE MODE")
            if known is not None and self.folders() != list(known):
                return False
            cursor.execute("DELETE FROM folders")
            cursor.executemany("INSERT INTO folders VALUES (%s, %s)", rows)
        return True

    def opener(self) -> "Callable[[], PostgresStore]":
        return partial(PostgresStore, self._url, search=self.search)

    def digests(self) -> "_Digests":
        return _Digests(self._rows)

    def write(self, batch: Batch) -> list[tuple[File, str]]:
        with self._transaction() as connection:
            return write_batch(connection, batch)

    def forget(self, paths: Collection[bytes]) -> None:
        with self._transaction() as connection:
            for table in ("photos", "failures", "queue"):
                connection.execute(f"DELETE FROM {table} WHERE path = ANY (%s)".encode(), [list(paths)])

    def drop_unused(self) -> int:
        with self._transaction() as connection:
            # Locked first and judged again then: another indexer may be giving one of them a photo.
            found = connection.execute(f"SELECT id FROM contents WHERE {UNUSED} FOR UPDATE SKIP LOCKED".encode())
            unused = [content for (content,) in found]
            dropped = connection.execute(f"DELETE FROM contents WHERE id = ANY (%s) AND {UNUSED}".encode(), [unused])
            return int(dropped.rowcount)

    def enqueue(self, files: Iterable[File]) -> None:
        with self._transaction() as connection, connection.cursor() as cursor:
            cursor.execute("CREATE TEMPORARY TABLE found (LIKE queue) ON COMMIT DROP")
            cursor.execute("ALTER TABLE found ALTER COLUMN place DROP NOT NULL")
            with cursor.copy("COPY found (path, size, mtime_ns) FROM STDIN") as copy:
                for file in files:
                    copy.write_row(file)
            cursor.execute(
                "INSERT INTO queue (path, size, mtime_ns) SELECT path, size, mtime_ns FROM found ORDER BY path "
                "ON CONFLICT DO NOTHING"
            )

    @contextmanager
    def claim(self, n: int, folder: Path) -> Iterator[Claim]:
        passes, parameters = below([folder])
        with self._transaction() as connection:
            # An indexer that hangs, or whose machine went to sleep, does not keep its files for ever.
            connection.execute("SET LOCAL idle_in_transaction_session_timeout = '10min'")
            taken = connection.execute(
                as_query(
                    f"SELECT path, size, mtime_ns FROM queue WHERE {passes} ORDER BY place LIMIT ? "
                    "FOR UPDATE SKIP LOCKED"
                ),
                [*parameters, n],
            ).fetchall()
            files = [File(*row) for row in taken]

            def write(batch: Batch, later: Collection[File]) -> list[tuple[File, str]]:
                left = write_batch(connection, batch)
                waiting = {file.path for file in later} | {file.path for file, _ in left}
                done = [file.path for file in files if file.path not in waiting]
                connection.execute("DELETE FROM queue WHERE path = ANY (%s)", [done])
                connection.execute("UPDATE queue SET place = DEFAULT WHERE path = ANY (%s)", [sorted(waiting)])
                return left

            yield Claim(files, write)

    def waiting(self, folder: Path, at_most: int | None = None) -> list[bytes]:
        passes, parameters = below([folder])
        return [path for (path,) in self._rows(f"SELECT path FROM queue WHERE {passes} LIMIT ?", *parameters, at_most)]

    def finalize(self) -> None:
        ((n_vectors,),) = self._rows("SELECT count(*) FROM vectors")
        held = self.fingerprint()
        if n_vectors > EXACT_UP_TO and held is not None and self.index.fits(held.dim) and not self.index.exists():
            self.index.build()

    def nearest(self, query: Vector, n: int, where: Filter, bonus: Mapping[int, float] | None = None) -> list[Hit]:
        bonus = bonus or {}
        # A bonus below zero pushes out what would be among the best by its cosine.
        n_wanted = n + sum(worth < 0 for worth in bonus.values())
        found = self._indexed(query, n_wanted, where) if self._asks_index(n_wanted) else None
        if found is None:
            found = self._compared(query, n_wanted, where)
        if bonus:
            found |= self._worthy(query, n, where, bonus)
        scores = {content: float(vector @ query) for content, vector in found.items()}
        best = sorted(found, key=lambda content: (-scores[content] - bonus.get(content, 0.0), content))
        photos = self.photos_of(best, where)
        return [Hit(scores[content], found[content], tuple(photos[content])) for content in best if content in photos][
            :n
        ]

    def _asks_index(self, n: int) -> bool:
        return self.search != "exact" and n <= MOST_FOUND and self.index.exists()

    def _indexed(self, query: Vector, n: int, where: Filter) -> dict[int, Vector] | None:
        """The best by the index; None where too few of them pass the filter."""
        limit = min(2 * n + 32, MOST_FOUND)
        rows = self.index.scan(query, limit)
        passing = self.photos_of([content for content, _ in rows], where)
        if len(passing) >= min(n, 0.9 * limit):
            return {content: vector for content, vector in rows if content in passing}
        ample = min(2 * n + _AMPLE, MOST_FOUND)
        # Of a narrower filter a scan does not find enough; and where it finds too few, they may not be the best.
        if self.index.keeping.scans_on and len(passing) * SCANNED >= ample * len(rows):
            rows = self.index.scan(query, ample, _of_photo(where))
            if len(rows) == ample:
                return dict(rows)
        return None

    def _compared(self, query: Vector, n: int, where: Filter) -> dict[int, Vector]:
        """The best of all that pass the filter, each compared."""
        passes, parameters = _of_photo(where)
        # A distance that is computed with is none that the index could be asked for.
        return self._vectors(
            f"SELECT v.content, v.vector FROM vectors v WHERE {passes} "
            "ORDER BY (v.vector <#> ?) + 0, v.content LIMIT ?",
            *parameters, query, n + self.index.margin,
        )  # fmt: skip

    def _worthy(self, query: Vector, n: int, where: Filter, bonus: Mapping[int, float]) -> dict[int, Vector]:
        """The best of those that have a bonus, with it."""
        passes, parameters = _of_photo(where)
        return self._vectors(
            "SELECT v.content, v.vector FROM unnest(?::bigint[], ?::double precision[]) AS given (content, worth) "
            f"JOIN vectors v USING (content) WHERE {passes} ORDER BY (v.vector <#> ?) - worth, v.content LIMIT ?",
            list(bonus), [float(worth) for worth in bonus.values()], *parameters, query, n + self.index.margin,
        )  # fmt: skip

    def vectors(self, contents: Sequence[int]) -> dict[int, Vector]:
        return self._vectors("SELECT content, vector FROM vectors WHERE content = ANY (?)", list(contents))

    def _vectors(self, sql: str, *parameters: Any) -> dict[int, Vector]:
        return {content: as_numbers(vector) for content, vector in self._rows(sql, *parameters)}


class _Digests:
    """Of all contents, as others write them: asked for one by one."""

    def __init__(self, rows: Callable[..., list[tuple[Any, ...]]]) -> None:
        self._rows = rows

    def __contains__(self, digest: object) -> bool:
        return bool(self._rows("SELECT 1 FROM contents WHERE digest = ?", digest))

    def __iter__(self) -> Iterator[str]:
        return (digest for (digest,) in self._rows("SELECT digest FROM contents"))

    def __len__(self) -> int:
        return int(self._rows("SELECT count(*) FROM contents")[0][0])


def _of_photo(where: Filter) -> tuple[str, list[Any]]:
    """The condition that a vector v has a photo which passes a filter."""
    passes, parameters = conditions(where, POSTGRES)
    return (
        f"EXISTS (SELECT 1 FROM photos p JOIN contents c ON c.id = p.content WHERE p.content = v.content AND {passes})",
        parameters,
    )
