"""Running the server: its address, and its end."""

import errno
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from seesay.errors import SeesayError
from seesay.library.library import Library
from seesay.web.access import Access

if TYPE_CHECKING:
    from uvicorn import Server

PORT = 8765


def open_socket(host: str, port: int) -> socket.socket:
    """A socket that listens; port 0 takes one that is free.

    Raises:
        SeesayError: The port is taken, or the address is none of this machine.
    """
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        return socket.create_server((str(address[0]), int(address[1])), family=family, backlog=512)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise SeesayError(f"port {port} of {host} is taken", hint="--port 0 takes one that is free") from error
        if error.errno == errno.EACCES:
            raise SeesayError(f"port {port} may not be used", allowed="1024 to 65535") from error
        raise SeesayError(f"cannot listen at {host}: {error.strerror or error}", hint="--host 127.0.0.1") from error


def address_of(access: Access, port: int) -> str:
    """What to type into a browser; where a token is needed, it is part of it.

    Example:
        >>> address_of(Access("::1"), 8765), address_of(Access(token="0123456789abcdef"), 80)
        ('http://[::1]:8765/', 'http://127.0.0.1:80/?token=0123456789abcdef')
    """
    host = socket.gethostname() if access.host in ("0.0.0.0", "::") else access.host
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{port}/" + (f"?token={access.token}" if access.token else "")


def serve(
    library: Library, access: Access, port: int = PORT, *, on_ready: Callable[[str], None] | None = None, **options: Any
) -> None:
    """Serve the page until Ctrl-C.

    Args:
        library: What is searched.
        access: Who may ask, and where the server listens.
        port: 0 takes one that is free.
        on_ready: Told the page's address as soon as it can be asked.
        options: Of `seesay.web.app.create_app`: folders, every, workers, captioner.

    Raises:
        SeesayError: It cannot listen there.
    """
    with open_socket(access.host, port) as listening:
        server = _server(library, access, listening, options)
        if on_ready:
            on_ready(address_of(access, listening.getsockname()[1]))
        with suppress(KeyboardInterrupt):  # how a server ends
            server.run(sockets=[listening])


@contextmanager
def running(library: Library, access: Access, port: int = 0, **options: Any) -> Iterator[str]:
    """Serve the page in the background while the block runs, which is given its address."""
    with open_socket(access.host, port) as listening:
        server = _server(library, access, listening, options)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, name="seesay-server")
        thread.start()
        try:
            yield address_of(access, listening.getsockname()[1])
        finally:
            server.should_exit = True
            thread.join()


def _server(library: Library, access: Access, listening: socket.socket, options: dict[str, Any]) -> "Server":
    import uvicorn

    from seesay.web.app import create_app
    from seesay.web.connections import MOST, TimedConnection

    config = uvicorn.Config(
        create_app(library, access, port=listening.getsockname()[1], **options),
        log_level="error", access_log=False, server_header=False, proxy_headers=False, ws="none",
        http=TimedConnection, limit_concurrency=2 * MOST, timeout_keep_alive=5, timeout_graceful_shutdown=3,
        h11_max_incomplete_event_size=32 * 1024,
    )  # fmt: skip
    return uvicorn.Server(config)
