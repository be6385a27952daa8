"""How a server keeps vectors and looks them up, which depends on its pgvector.

Since 0.7 pgvector keeps numbers in half precision, as SQLite libraries do: vectors and their index take half the room.
Since 0.8 a scan of the index goes on until enough photos have passed a filter.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from seesay.library.stores.postgres.server import Server
from seesay.library.stores.postgres.server import query as as_query
from seesay.library.types import Vector

LONGEST = 16_000  # numbers of a vector that pgvector can keep
MOST_FOUND = 1000  # what pgvector's index gives at a time
_BREADTH = 200  # how many it looks at, at the least
SCANNED = 4000  # how many a scan with a filter looks at
_HALF, _SCANS_ON = (0, 7), (0, 8)  # the versions that brought half precision, and scans that go on


@dataclass(frozen=True, slots=True)
class Keeping:
    """What a library's vectors are on its server.

    Attributes:
        kind: pgvector's type of the column.
        scans_on: Whether a scan of the index goes on until enough photos have passed a filter.
    """

    kind: str
    scans_on: bool

    @property
    def widest(self) -> int:
        """Numbers of a vector that can be indexed, and that fit into a page of the table."""
        return 4000 if self.kind == "halfvec" else 2000


def best_keeping(server: Server) -> Keeping:
    """How the vectors of a new library are kept best."""
    version = _version(server)
    return Keeping("halfvec" if version >= _HALF else "vector", version >= _SCANS_ON)


class VectorIndex:
    """The HNSW index of a library's vectors."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._known: Keeping | None = None

    @property
    def keeping(self) -> Keeping:
        """How the vectors of this library are kept."""
        if self._known is None:
            ((kind,),) = self._server.rows(
                "SELECT typname FROM pg_type t JOIN pg_attribute a ON a.atttypid = t.oid "
                "WHERE attrelid = to_regclass('vectors') AND attname = 'vector'"
            )
            self._known = Keeping(kind, _version(self._server) >= _SCANS_ON)
        return self._known

    def forget(self) -> None:
        """The library begins anew; its vectors may be kept in another way from now on."""
        self._known = None

    @property
    def margin(self) -> int:
        """How many more than wanted have to be compared again, because a query is rounded as the vectors are."""
        return 32 if self.keeping.kind == "halfvec" else 0

    def fits(self, dim: int) -> bool:
        """Whether vectors of so many numbers can be indexed."""
        return dim <= self.keeping.widest

    def exists(self) -> bool:
        return bool(
            self._server.rows("SELECT 1 FROM pg_index WHERE indexrelid = to_regclass('vectors_nearest') AND indisvalid")
        )

    def build(self) -> None:
        """Make the index that large libraries are searched by; what is written later keeps it up to date.

        Building it at once takes a fraction of the time that vector after vector would. Nobody has to wait meanwhile.
        """
        kind = self.keeping.kind
        with self._server.connection() as connection, self._server.errors():
            lock = f"hashtextextended('seesay index {self._server.address.schema}', 0)"
            (alone,) = connection.execute(f"SELECT pg_try_advisory_lock({lock})".encode()).fetchone() or (False,)
            if not alone:
                return  # another indexer is at it
            try:
                connection.execute("DROP INDEX IF EXISTS vectors_nearest")  # half of one, where its builder was killed
                connection.execute(
                    f"CREATE INDEX CONCURRENTLY vectors_nearest ON vectors USING hnsw (vector {kind}_ip_ops)".encode()
                )
            finally:
                if not connection.closed:
                    connection.execute(f"SELECT pg_advisory_unlock({lock})".encode())

    def scan(self, query: Vector, limit: int, passes: tuple[str, list[Any]] | None = None) -> list[tuple[int, Vector]]:
        """The best by the index, almost in order, with their vectors.

        Args:
            query: What they are compared with.
            limit: How many to look for.
            passes: The condition, with its values, that a vector v has to meet, for a server whose scans go on.
        """
        breadth = MOST_FOUND if passes else max(limit, _BREADTH)
        settings = {"enable_seqscan": "off", "hnsw.ef_search": str(breadth)}
        condition, parameters = "", list[Any]()
        if passes is not None:
            condition, parameters = f"WHERE {passes[0]}", passes[1]
            # Photo after photo as the index gives them, each looked up: never all that pass, joined and sorted.
            settings |= dict.fromkeys(("enable_hashjoin", "enable_mergejoin", "enable_sort"), "off")
            # Almost in order is enough: what is found is compared again. Beyond the first `ef_search` it finds the best
            # less surely, so that number is as large as it can be.
            settings |= {"hnsw.iterative_scan": "relaxed_order", "hnsw.max_scan_tuples": str(SCANNED)}
        asked = as_query(f"SELECT content, vector FROM vectors v {condition} ORDER BY vector <#> ? LIMIT ?")
        with self._server.transaction() as connection, connection.pipeline():  # one exchange, not several
            for name, value in settings.items():
                connection.execute(f"SET LOCAL {name} = {value}".encode())
            rows = connection.execute(asked, [*parameters, query, limit], binary=True).fetchall()
        return [(content, as_numbers(vector)) for content, vector in rows]


def as_numbers(vector: Any) -> Vector:
    """A vector as pgvector gives it, in either precision."""
    return np.asarray(vector.to_numpy(), np.float32)


def _version(server: Server) -> tuple[int, ...]:
    ((version,),) = server.rows("SELECT extversion FROM pg_extension WHERE extname = 'vector'")
    return tuple(int(part) for part in str(version).split(".")[:2])
