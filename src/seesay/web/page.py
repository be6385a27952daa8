"""The page: a few files that are read once and then served from memory, so that no request ever names a path."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from fastapi import FastAPI, Request, Response
from starlette.exceptions import HTTPException

STATIC = Path(__file__).parent / "static"
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".webmanifest": "application/manifest+json",
}


@dataclass(frozen=True, slots=True)
class StaticFile:
    """A file of the page: its bytes, their type, and a tag that changes with them."""

    content: bytes
    kind: str
    tag: str


def read_files(folder: Path = STATIC) -> dict[str, StaticFile]:
    """The files of the page by name.

    Example:
        >>> sorted(read_files())[:2], read_files()["index.html"].kind
        (['api.js', 'dom.js'], 'text/html; charset=utf-8')
    """
    files = {}
    for path in sorted(folder.iterdir()):
        if path.suffix in _TYPES:
            content = path.read_bytes()
            files[path.name] = StaticFile(content, _TYPES[path.suffix], f'"{hashlib.sha256(content).hexdigest()[:20]}"')
    return files


def add_page(app: FastAPI) -> None:
    """Serve the page at the root, and what it consists of under `/static`."""
    files = read_files()

    def serve(name: str, request: Request) -> Response:
        if name not in files:
            raise HTTPException(404)
        file = files[name]
        headers = {"etag": file.tag, "cache-control": "no-cache"}
        if request.headers.get("if-none-match") == file.tag:
            return Response(status_code=304, headers=headers)
        return Response(file.content, media_type=file.kind, headers=headers)

    @app.get("/", include_in_schema=False)
    async def page(request: Request) -> Response:
        return serve("index.html", request)

    @app.get("/static/{name}", include_in_schema=False)
    async def static(name: str, request: Request) -> Response:
        return serve(name, request)
