"""The library's tables in PostgreSQL, as numbered steps from nothing to the present.

The same discipline as in `migrations.py`: a step that has been released is never changed, the table `about` counts the
steps that a library has had, and all that are missing are taken in one transaction. Everything lies in a
schema of its own, so that the database may hold other things, and other libraries, too.
"""

from typing import TYPE_CHECKING, Any

from seesay.errors import SeesayError

if TYPE_CHECKING:
    import psycopg

EXTENSION = "vector"
_OLDEST_EXTENSION = (0, 5)  # the first with HNSW
_LOCK = 0x53454553  # "SEES"

MIGRATIONS = (
    """
    CREATE TABLE about (key TEXT PRIMARY KEY, value TEXT NOT NULL);
    CREATE TABLE folders (path BYTEA PRIMARY KEY, exclude TEXT NOT NULL);

    -- Texts compare as bytes, whatever the language of the server.
    CREATE TABLE contents (
        id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        digest TEXT COLLATE "C" NOT NULL UNIQUE,
        width INTEGER NOT NULL,
        height INTEGER NOT NULL,
        taken TEXT COLLATE "C",
        camera TEXT
    );
    -- How many numbers a vector has, and its index, are settled when the first photo is (PostgresStore.start).
    CREATE TABLE vectors (
        content BIGINT PRIMARY KEY REFERENCES contents (id) ON DELETE CASCADE,
        vector VECTOR NOT NULL
    );
    CREATE TABLE thumbnails (
        content BIGINT PRIMARY KEY REFERENCES contents (id) ON DELETE CASCADE,
        jpeg BYTEA NOT NULL
    );
    CREATE TABLE views (
        content BIGINT NOT NULL REFERENCES contents (id) ON DELETE CASCADE,
        stage TEXT NOT NULL,
        vector BYTEA NOT NULL,
        PRIMARY KEY (content, stage)
    );
    CREATE TABLE tags (
        class INTEGER NOT NULL,
        content BIGINT NOT NULL REFERENCES contents (id) ON DELETE CASCADE,
        probability DOUBLE PRECISION NOT NULL,
        PRIMARY KEY (class, content)
    );
    CREATE INDEX tags_by_content ON tags (content);

    CREATE TABLE photos (
        id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        path BYTEA NOT NULL UNIQUE,
        size BIGINT NOT NULL,
        mtime_ns BIGINT NOT NULL,
        date TEXT COLLATE "C" NOT NULL,
        content BIGINT NOT NULL REFERENCES contents (id)
    );
    CREATE INDEX photos_by_content ON photos (content);
    CREATE INDEX photos_by_date ON photos (date);
    CREATE TABLE failures (
        path BYTEA PRIMARY KEY,
        size BIGINT NOT NULL,
        mtime_ns BIGINT NOT NULL,
        reason TEXT NOT NULL,
        hint TEXT
    );

    -- Files that wait for an indexer: whoever works on some holds their rows locked (seesay.library.stores.store).
    CREATE TABLE queue (
        path BYTEA PRIMARY KEY,
        size BIGINT NOT NULL,
        mtime_ns BIGINT NOT NULL,
        place BIGINT GENERATED ALWAYS AS IDENTITY
    );
    CREATE INDEX queue_by_place ON queue (place);
    """,
)


def migrate(connection: "psycopg.Connection[Any]", schema: str, name: str) -> None:
    """Bring a library's tables to the present; one that is there already is not touched.

    Args:
        connection: In autocommit mode.
        schema: What holds the tables; it is made where it is not there.
        name: What error messages call the library.

    Raises:
        SeesayError: The schema belongs to another program or to a later seesay, or the server has no pgvector.
    """
    if _version(connection, schema, name) == len(MIGRATIONS):
        return
    with connection.transaction():
        # One at a time. Read again then: another process may have done the work while this one waited for its turn.
        connection.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
        version = _version(connection, schema, name)
        _ensure_extension(connection, name)
        if version == 0:
            connection.execute(f'CREATE SCHEMA IF NOT EXISTS "{schema}"'.encode())
        connection.execute(
            "SELECT set_config('search_path', %s || ', ' || current_setting('search_path'), true)", [f'"{schema}"']
        )
        for step in MIGRATIONS[version:]:
            connection.execute(step.encode())
        connection.execute(
            "INSERT INTO about VALUES ('format', %s) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
            [str(len(MIGRATIONS))],
        )


def _version(connection: "psycopg.Connection[Any]", schema: str, name: str) -> int:
    """How many steps a library has had."""
    tables = {
        table for (table,) in connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = %s", [schema])
    }
    if not tables:
        return 0
    found = None
    if {"about", "contents", "photos"} <= tables:
        found = connection.execute(f"SELECT value FROM \"{schema}\".about WHERE key = 'format'".encode()).fetchone()
    if found is None or not str(found[0]).isdigit():
        raise SeesayError(
            f"the schema {schema} of {name} holds tables of another program",
            hint=f"an address with ?schema=my_{schema}",
        )
    version = int(found[0])
    if version > len(MIGRATIONS):
        raise SeesayError(
            f"{name} has format {version}, this seesay knows formats up to {len(MIGRATIONS)}",
            hint="pip install -U seesay",
        )
    return version


def _ensure_extension(connection: "psycopg.Connection[Any]", name: str) -> None:
    import psycopg

    create = f"CREATE EXTENSION {EXTENSION}"
    asked = connection.execute("SELECT extversion FROM pg_extension WHERE extname = %s", [EXTENSION])
    found = asked.fetchone()
    if found is None:
        try:
            connection.execute(create.encode())
        except psycopg.errors.InsufficientPrivilege:
            raise SeesayError(
                f"the database of {name} has no pgvector, and this user may not add it",
                hint=f"as an administrator of the database: {create}",
            ) from None
        except (psycopg.errors.UndefinedFile, psycopg.errors.FeatureNotSupported):
            raise SeesayError(
                f"the server of {name} has no pgvector",
                hint="install pgvector on the server (its package is named like postgresql-16-pgvector)",
            ) from None
    elif tuple(int(part) for part in str(found[0]).split(".")[:2]) < _OLDEST_EXTENSION:
        raise SeesayError(
            f"the database of {name} has pgvector {found[0]}",
            allowed=f"{'.'.join(map(str, _OLDEST_EXTENSION))} or later",
            hint=f"ALTER EXTENSION {EXTENSION} UPDATE",
        )
