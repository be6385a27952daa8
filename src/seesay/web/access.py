"""Who may ask the server, checked before anything else looks at a request.

A page of another site can make a browser send requests to a server on the same machine. Three checks keep it out:
- the Host header has to be a name of this server, so that a domain that is made to point here (DNS rebinding) is
  refused;
- what the browser says of where a request comes from (Sec-Fetch-Site, Origin) has to be this server itself;
- where others can reach the server, a token is needed: once in the address, from then on in a cookie.
"""

import asyncio
import hashlib
import hmac
import ipaddress
import json
import secrets
import socket
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

from seesay.errors import SeesayError
from seesay.system.reading import read_regular

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; "
        "manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
        "require-trusted-types-for 'script'; trusted-types 'none'"
    ),
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), interest-cohort=()",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
"""What every answer tells the browser: nothing from elsewhere, nothing inline, in nobody's frame."""

_A_YEAR = 365 * 24 * 3600
_CHANGING = ("POST", "PUT", "PATCH", "DELETE")
_NO_TOKEN = b"""<!doctype html><html lang="en"><meta charset="utf-8"><title>seesay</title>
<h1>This library needs its token</h1>
<p>Open the whole address that <code>seesay serve</code> has printed, with what follows <code>?token=</code>.</p>"""


@dataclass(frozen=True, slots=True)
class Access:
    """Where the server listens and who may ask it.

    Attributes:
        host: The address it is bound to.
        names: Names beside IP addresses by which it may be called.
        token: What has to be known; None where only this machine can ask.
    """

    host: str = "127.0.0.1"
    names: tuple[str, ...] = ()
    token: str | None = None

    @classmethod
    def for_host(cls, host: str, *, names: Iterable[str] = (), token: str | None = None) -> "Access":
        """The access that fits an address: one that others can reach gets a token.

        Raises:
            SeesayError: The token that was chosen is too short to be safe.

        Example:
            >>> Access.for_host("127.0.0.1").token is None, len(Access.for_host("0.0.0.0").token)
            (True, 32)
        """
        if token is not None and (len(token) < 16 or not token.isascii() or not token.isprintable()):
            raise SeesayError("the token is too short or has odd characters", allowed="16 or more plain characters")
        if token is None and not is_loopback(host):
            token = secrets.token_urlsafe(24)
        own = socket.gethostname().lower()
        local = () if is_loopback(host) else (own, f"{own}.local")
        return cls(host, tuple(dict.fromkeys(name.lower() for name in (*names, "localhost", *local))), token)

    def knows_host(self, header: str) -> bool:
        """Whether a Host header names this server.

        An IP address cannot be rebound, so any is fine where others may ask; on this machine only its own are.

        Example:
            >>> access = Access.for_host("127.0.0.1")
            >>> [access.knows_host(host) for host in ("127.0.0.1:8765", "[::1]", "evil.example", "192.168.0.7")]
            [True, True, False, False]
        """
        name = _host_name(header)
        if name is None:
            return False
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            return name in self.names
        return address.is_loopback or not is_loopback(self.host)

    def knows_token(self, offered: str) -> bool:
        return self.token is None or hmac.compare_digest(_digest(offered), _digest(self.token))

    @property
    def cookie(self) -> str:
        """What the browser keeps: not the token itself, which opens other browsers too."""
        return hmac.new((self.token or "").encode(), b"seesay cookie", hashlib.sha256).hexdigest()

    def knows_cookie(self, offered: str) -> bool:
        return hmac.compare_digest(offered.encode(), self.cookie.encode())


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address.

    Example:
        >>> [is_loopback(host) for host in ("127.0.0.1", "::1", "localhost", "0.0.0.0", "192.168.0.7")]
        [True, True, True, False, False]
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def read_token(path: Path) -> str:
    """The token that stands in the first line of a file.

    Raises:
        SeesayError: It cannot be read.
    """
    try:
        return read_regular(path, 4096).decode("utf-8", "replace").partition("\n")[0].strip()
    except OSError as error:
        raise SeesayError(f"cannot read the token from {path}: {error.strerror or error}") from error


class Guard:
    """An ASGI application that lets through to another one what may pass, and puts `HEADERS` on every answer."""

    def __init__(self, app: App, access: Access, port: int = 0) -> None:
        self.app = app
        self.access = access
        self.cookie_name = f"seesay-{port}"  # cookies do not know ports: two servers must not overwrite each other's

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return

        has_begun = False

        async def send_guarded(message: Message) -> None:
            nonlocal has_begun
            if message["type"] == "http.response.start":
                has_begun = True
                given = list(message.get("headers", ()))
                if not any(name.lower() == b"cache-control" for name, _ in given):
                    given.append((b"cache-control", b"no-store"))
                message["headers"] = [*given, *((name.encode(), value.encode()) for name, value in HEADERS.items())]
            await send(message)

        refused = self._refusal(scope)
        if refused is None and self.access.token is not None:
            refused = self._without_token(scope)
        if refused is None:
            try:
                await self.app(scope, receive, send_guarded)
                return
            except asyncio.CancelledError:  # the server ends and has waited long enough; no error of its own
                if has_begun:
                    return
                refused = _say(503, "the server is stopping")
        status, body, headers = refused
        await send_guarded({"type": "http.response.start", "status": status, "headers": headers})
        await send_guarded({"type": "http.response.body", "body": body})

    def _refusal(self, scope: Scope) -> "_Answer | None":
        """The answer to a request that has two ends, or does not come from this server's own page; else None."""
        if _header(scope, b"transfer-encoding") and _header(scope, b"content-length"):
            # A server in front may read the one and this one the other: then what comes next is anybody's request.
            status, body, headers = _say(400, "the request says in two ways where it ends")
            return status, body, [*headers, (b"connection", b"close")]
        hosts = _header(scope, b"host")
        if len(hosts) != 1 or not self.access.knows_host(hosts[0]):
            return _say(421, "this server is not called by that name", "seesay serve --name NAME")
        site = _header(scope, b"sec-fetch-site")
        if any(value not in ("same-origin", "none") for value in site) and not _is_navigation(scope):
            return _say(403, "the request comes from another site")
        if scope["method"] in _CHANGING:
            origins = _header(scope, b"origin")
            if any(origin.partition("://")[2].lower() != hosts[0].strip().lower() for origin in origins):
                return _say(403, "the request comes from another site")
        return None

    def _without_token(self, scope: Scope) -> "_Answer | None":
        """The answer to a request that does not know the token, or that brings it in the address; else None."""
        for header in _header(scope, b"authorization"):
            kind, _, bearer = header.partition(" ")
            if kind.lower() == "bearer" and self.access.knows_token(bearer.strip()):
                return None
        for header in _header(scope, b"cookie"):
            for pair in header.split(";"):
                name, _, value = pair.strip().partition("=")
                if name == self.cookie_name and self.access.knows_cookie(value):
                    return self._into_cookie(scope, []) if b"token=" in scope["query_string"] else None
        offered = [value for key, value in _query(scope) if key == "token"]
        if scope["method"] == "GET" and any(map(self.access.knows_token, offered)):
            made = f"{self.cookie_name}={self.access.cookie}; Path=/; HttpOnly; SameSite=Lax; Max-Age={_A_YEAR}"
            return self._into_cookie(scope, [(b"set-cookie", made.encode())])
        if _is_navigation(scope):
            return 401, _NO_TOKEN, [(b"content-type", b"text/html; charset=utf-8")]
        return _say(401, "the token is missing or wrong", "open the whole address that seesay serve has printed")

    def _into_cookie(self, scope: Scope, headers: list[tuple[bytes, bytes]]) -> "_Answer":
        """Send the browser to the same address without the token, which then is in no history and no log."""
        rest = urlencode([(key, value) for key, value in _query(scope) if key != "token"])
        path = "/" + quote(scope["path"].lstrip("/"))  # one slash: two would name another server
        where = (path + (f"?{rest}" if rest else "")).encode("ascii")
        return 303, b"", [*headers, (b"location", where)]


_Answer = tuple[int, bytes, list[tuple[bytes, bytes]]]


def _say(status: int, what: str, hint: str | None = None) -> _Answer:
    body = json.dumps({"what": what, "allowed": None, "hint": hint}).encode()
    return status, body, [(b"content-type", b"application/json")]


def _header(scope: Scope, name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in scope["headers"] if key.lower() == name]


def _query(scope: Scope) -> list[tuple[str, str]]:
    try:
        return parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True, max_num_fields=100)
    except ValueError:  # more fields than any page sends
        return []


def _is_navigation(scope: Scope) -> bool:
    """Whether a person follows a link or types the address, as far as the browser says."""
    return scope["method"] == "GET" and _header(scope, b"sec-fetch-mode") == ["navigate"] and scope["path"] == "/"


def _host_name(header: str) -> str | None:
    """The name in a Host header, without port and brackets; None where it is malformed."""
    name, port = header.strip().lower(), ""
    if name.startswith("["):
        name, closed, port = name[1:].partition("]")
        if not closed or (port and not port.startswith(":")):
            return None
        port = port[1:]
    elif ":" in name:
        name, _, port = name.partition(":")
    if (port and not (port.isascii() and port.isdigit())) or not name:
        return None
    return name.rstrip(".")


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
