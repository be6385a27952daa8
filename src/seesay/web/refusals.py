"""Errors as the HTTP API tells them: what happened, what is allowed, what to try, like everywhere in seesay."""

from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from seesay.errors import SeesayError
from seesay.library.ranking.likeness import ChangedError, NotFoundError
from seesay.web.lanes import BusyError

STATUSES: dict[type[SeesayError], int] = {NotFoundError: 404, ChangedError: 409, BusyError: 503}
"""Of errors that are no fault of the request; any other is 400."""


_NOT_HERE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Not found · seesay</title>
<link rel="icon" href="/static/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/static/style.css">
<main class="message">
  <h1>There is nothing at this address</h1>
  <p><a href="/">To the photos</a></p>
</main>
</html>
"""


def tell_errors(app: FastAPI) -> None:
    """Let an application answer every error with `seesay.web.answers.ErrorAnswer`."""
    app.add_exception_handler(SeesayError, _refuse)
    app.add_exception_handler(RequestValidationError, _explain_parameter)
    app.add_exception_handler(HTTPException, _no_route)
    app.add_exception_handler(ClientDisconnect, _nobody_there)
    app.add_exception_handler(Exception, _own_fault)


async def _refuse(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, SeesayError)
    status = STATUSES.get(type(error), 400)
    return _answer(status, error.what, error.allowed, error.hint, {"retry-after": "1"} if status == 503 else {})


async def _explain_parameter(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    name = str(first["loc"][-1]) if first["loc"] else "the request"
    if isinstance(first["loc"][-1], int):  # one of several values
        name = str(first["loc"][-2])
    return _answer(422, f"the parameter {name!r} cannot be understood", str(first["msg"]))


async def _no_route(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    what = "there is nothing at this address" if error.status_code == 404 else str(error.detail).lower()
    if error.status_code == 404 and "text/html" in request.headers.get("accept", ""):
        return HTMLResponse(_NOT_HERE, 404)  # somebody looks at it who has mistyped an address
    return _answer(error.status_code, what, headers=dict(error.headers or {}))


async def _nobody_there(_: Request, error: Exception) -> JSONResponse:
    """A visitor who leaves in the middle of an upload: nobody reads this, and it is no fault of the server."""
    return _answer(400, "the request was not sent to its end")


async def _own_fault(_: Request, error: Exception) -> JSONResponse:
    return _answer(500, "the server has failed; its terminal says how")


def _answer(
    status: int, what: str, allowed: str | None = None, hint: str | None = None, headers: dict[str, Any] | None = None
) -> JSONResponse:
    told = {"what": what, "allowed": allowed, "hint": hint}
    return JSONResponse({name: _plain(text) for name, text in told.items()}, status, headers)


def _plain(text: str | None) -> str | None:
    """Text without what JSON cannot carry: names of files need not be text."""
    return None if text is None else text.encode("utf-8", "backslashreplace").decode()
