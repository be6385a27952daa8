"""The server: the library as a page and an HTTP API, behind its guard."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import FastAPI

from seesay.library.library import Library
from seesay.system.version import VERSION
from seesay.verbs.photos import PhotoModels
from seesay.web.access import Access, Guard
from seesay.web.answers import ErrorAnswer
from seesay.web.indexing import Indexer
from seesay.web.page import add_page
from seesay.web.refusals import tell_errors
from seesay.web.routes import library_routes, photo_routes, search_routes
from seesay.web.service import Service


def create_app(
    library: Library,
    access: Access | None = None,
    *,
    folders: Sequence[Path] = (),
    every: float = 0,
    workers: int = 0,
    captioner: str | Path | None = None,
    port: int = 0,
    prepare: bool = True,
) -> Guard:
    """The server as an ASGI application; it indexes when it starts.

    Args:
        library: What is searched; it stays open, and is the caller's to close.
        access: Who may ask; by default this machine.
        folders: To be indexed beside those that the library knows.
        every: Seconds between two looks for new photos; 0 looks when it starts and when asked.
        workers: Threads of indexing; 0 takes one per core.
        captioner: Weights that write captions; by default what is installed.
        port: Where the server listens, for the name of its cookie.
        prepare: Load the models at once, and not with the first question.

    Example:
        >>> import uvicorn  # doctest: +SKIP
        >>> with Library() as library:  # doctest: +SKIP
        ...     uvicorn.run(create_app(library, folders=[Path("~/Pictures")]))
    """
    indexer = Indexer(library, folders, every=every, workers=workers)
    service = Service(library, PhotoModels(library, captioner), indexer)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        indexer.start()
        preparing = asyncio.create_task(service.prepare()) if prepare else None
        yield
        if preparing is not None:
            preparing.cancel()
        await asyncio.to_thread(service.close)

    app = FastAPI(
        title="seesay",
        summary="A library of photos that answers sentences.",
        version=VERSION,
        openapi_url="/api/openapi.json",
        # The pages that show it load their scripts from elsewhere, and nothing here speaks to the outside.
        docs_url=None,
        redoc_url=None,
        # FastAPI can send what is asked to wherever the environment says; photos and queries are private.
        telemetry={"auto_configure": False, "tracing": False, "metrics": False, "logs": False},
        lifespan=lifespan,
        redirect_slashes=False,
        responses={status: {"model": ErrorAnswer} for status in (400, 422, 503)},
    )
    app.state.service = service
    tell_errors(app)
    for routes in (search_routes(service), photo_routes(service), library_routes(service)):
        app.include_router(routes, prefix="/api")
    add_page(app)
    return Guard(app, access or Access.for_host("127.0.0.1"), port)
