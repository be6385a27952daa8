"""The server as it is fuzzed: bytes are sent to it, and what it has to say of its own errors is listened to."""

import json
import logging
import socket
import urllib.request
from contextlib import ExitStack, suppress
from functools import cache
from pathlib import Path

import h11

from benchmarks.reliability import corpora
from benchmarks.reliability.in_memory import in_memory
from seesay.errors import SeesayError

_ENDING = ExitStack()


@cache
def _served() -> tuple[int, bytes]:
    """The port of a server for a few photos, which runs as long as this process, and the version of its first one."""
    import tempfile

    from seesay.library.library import Library
    from seesay.web.access import Access
    from seesay.web.server import running

    root = Path(_ENDING.enter_context(tempfile.TemporaryDirectory(prefix="seesay-http-", dir=in_memory())))
    (root / "photos").mkdir()
    for number, content in enumerate(corpora.pictures()[:3]):
        (root / "photos" / f"{number}.png").write_bytes(content)
    library = _ENDING.enter_context(Library(root / "library"))
    library.index(root / "photos", workers=1)
    address = _ENDING.enter_context(running(library, Access.for_host("127.0.0.1"), prepare=False, workers=1))
    logging.getLogger("uvicorn.error").addHandler(_Loud())
    with urllib.request.urlopen(f"{address.rstrip('/')}/api/photos/1") as answer:
        version = json.load(answer)["thumbnail"].rpartition("=")[2]
    return int(address.rsplit(":", 1)[1].rstrip("/")), version.encode()


def close() -> None:
    """End the server, if one was started."""
    _ENDING.close()
    _served.cache_clear()


_TOLD: list[str] = []


class _Loud(logging.Handler):
    """Keeps what a server has to say of its own errors."""

    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno >= logging.ERROR:
            _TOLD.append(str(record.exc_info))


def request(content: bytes, _: Path) -> object:
    """Bytes sent to the server, which answers or closes; HOST in them is its address, VERSION that of its first photo.

    Raises:
        SeesayError: It answers with anything but what was asked for.
    """
    port, version = _served()
    sent = content.replace(b"HOST", f"127.0.0.1:{port}".encode()).replace(b"VERSION", version)
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        answer = b""
        with suppress(OSError):
            connection.sendall(sent)
            if not _is_answered_with_an_end(sent):  # else the server would go on waiting, as it should
                connection.shutdown(socket.SHUT_WR)
            while more := connection.recv(65536):
                answer += more
    if _TOLD:  # of this request, or of one before it that nobody waited for
        told = _TOLD[0]
        _TOLD.clear()
        raise RuntimeError(f"the server says {told}")
    if answer and (not answer.startswith(b"HTTP/1.1 ") or answer[9:12] == b"500"):
        raise RuntimeError(f"the answer is {answer[:200]!r}")
    if not answer.startswith(b"HTTP/1.1 2"):
        raise SeesayError(f"the answer is {answer[:12]!r}")
    return answer[:12]


def _is_answered_with_an_end(content: bytes) -> bool:
    """Whether bytes are a whole request after which the connection is closed, or no request at all.

    A client that is done with sending is taken for one that has left, and what it asked for is not answered: only
    who waits sees the answer.
    """
    reader = h11.Connection(h11.SERVER)
    try:
        reader.receive_data(content)
        while (event := reader.next_event()) is not h11.NEED_DATA:
            if isinstance(event, h11.EndOfMessage):
                return reader.their_state is h11.MUST_CLOSE
            if isinstance(event, h11.ConnectionClosed):
                return False
    except h11.RemoteProtocolError:
        return True
    return False
