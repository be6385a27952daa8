"""The library on a PostgreSQL server with pgvector."""

from seesay.library.stores.postgres.store import PostgresStore

__all__ = ["PostgresStore"]
