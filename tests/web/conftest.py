"""A server for the library of coloured photos, and a browser that sends exactly what a test says."""

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import unquote

import pytest
from PIL import Image

from seesay.library.library import Library
from seesay.library.ranking.cascade import Blend
from seesay.web.access import Access, App, Guard
from seesay.web.app import create_app

TOY = Path(__file__).parents[1] / "library" / "toy.py"


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Browser:
    """Speaks ASGI to an application: addresses reach it as they are written here, with dots, slashes and all."""

    app: App
    loop: asyncio.AbstractEventLoop
    headers: dict[str, str] = field(default_factory=lambda: {"host": "127.0.0.1:8765"})

    def get(self, target: str, **headers: str) -> Answer:
        return self.send("GET", target, **headers)

    def post(self, target: str, body: bytes = b"", **headers: str) -> Answer:
        return self.send("POST", target, body, **headers)

    def send(self, method: str, target: str, body: bytes = b"", **headers: str) -> Answer:
        """Header names are written with underscores; an empty value leaves a header out."""
        return asyncio.run_coroutine_threadsafe(self._send(method, target, body, headers), self.loop).result(60)

    async def _send(self, method: str, target: str, body: bytes, headers: dict[str, str]) -> Answer:
        path, _, query = target.partition("?")
        sent = self.headers | {name.replace("_", "-"): value for name, value in headers.items()}
        scope = {
            "type": "http", "method": method, "path": unquote(path), "raw_path": path.encode(), "root_path": "",
            "query_string": query.encode(), "scheme": "http", "http_version": "1.1", "asgi": {"version": "3.0"},
            "headers": [(name.encode(), value.encode("latin-1")) for name, value in sent.items() if value],
            "client": ("127.0.0.1", 50000), "server": ("127.0.0.1", 8765), "state": {},
        }  # fmt: skip
        received: list[Any] = []
        waiting = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive() -> Any:
            return waiting.pop(0) if waiting else {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            received.append(message)

        await self.app(scope, receive, send)
        start = received[0]
        named = {name.decode(): value.decode("latin-1") for name, value in start["headers"]}
        return Answer(start["status"], named, b"".join(message.get("body", b"") for message in received[1:]))


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    """An event loop that runs beside the test, as a server's does."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    yield loop
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


@contextmanager
def running(app: Guard, loop: asyncio.AbstractEventLoop) -> Iterator[Browser]:
    """An application between its start and its end."""
    ending, ended = asyncio.Event(), threading.Event()
    started = threading.Event()
    told: list[str] = []

    async def live() -> None:
        async def receive() -> Any:
            if not started.is_set():
                return {"type": "lifespan.startup"}
            await ending.wait()
            return {"type": "lifespan.shutdown"}

        async def send(message: Any) -> None:
            told.append(message["type"])
            (started if "startup" in message["type"] else ended).set()

        await app({"type": "lifespan", "asgi": {"version": "3.0"}, "state": {}}, receive, send)

    alive = asyncio.run_coroutine_threadsafe(live(), loop)
    assert started.wait(60)
    assert told == ["lifespan.startup.complete"]
    try:
        assert app.app.state.service.indexer.wait(1, 60)  # type: ignore[attr-defined]
        yield Browser(app, loop)
    finally:
        loop.call_soon_threadsafe(ending.set)
        alive.result(60)
        assert ended.is_set()


@pytest.fixture(scope="session")
def toy(program: Callable[[Path], ModuleType]) -> ModuleType:
    """The model that knows colours, from the tests of the library."""
    return program(TOY)


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """A folder with one photo of each colour, two of them one level deeper, and a file that is none."""
    folder = tmp_path / "photos"
    (folder / "2019").mkdir(parents=True)
    for colour, place in (
        ("#ff0000", "red.png"), ("#00ff00", "green.png"), ("#0000ff", "2019/blue.jpg"), ("#ffffff", "2019/white.png"),
    ):  # fmt: skip
        Image.new("RGB", (48, 36), colour).save(folder / place)
    (folder / "broken.jpg").write_bytes(b"not a picture")
    return folder


@pytest.fixture
def library(tmp_path: Path, toy: ModuleType, photos: Path) -> Iterator[Library]:
    """That folder, indexed by that model."""
    second = toy.Corners(Blend(("colours",), k=10, weight=0.0, slope=1.0, offset=0.0))  # which changes no score
    with Library(tmp_path / "library", encoder=toy.ColourEncoder(), stages=[second]) as library:
        library.index(photos, workers=1)
        yield library


@pytest.fixture
def start(library: Library, loop: asyncio.AbstractEventLoop) -> Callable[..., Any]:
    """Start a server for the library, as its options say."""

    def start(access: Access | None = None, **options: Any) -> Any:
        return running(create_app(library, access, **{"prepare": False, "workers": 1, **options}), loop)

    return start


@pytest.fixture
def browser(start: Callable[..., Any]) -> Iterator[Browser]:
    """A browser on this machine, with the server at work."""
    with start() as browser:
        yield browser


@pytest.fixture
def ids(library: Library) -> dict[str, int]:
    """The ids of the photos by name."""
    return {photo.path.stem: photo.id for photo in library.latest(100)}
