"""Hundreds of connections that say nothing, say half, send a byte now and then or do not listen; and one visitor.

The record has how long the page and a search take meanwhile, and how many of the others are still connected after
`--seconds`: each of them is to be cut off.
"""

import random
import selectors
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from argparse import ArgumentParser
from contextlib import ExitStack, suppress
from pathlib import Path
from urllib.parse import urlsplit

from benchmarks.recording import parse_arguments, record
from benchmarks.reliability.faults import finish
from benchmarks.reliability.scenarios import make_photos

HALF = "GET / HTTP/1.1\r\nHost: {host}\r\nX-Half: "
SLOW = "POST /api/search HTTP/1.1\r\nHost: {host}\r\nContent-Length: 1000000\r\n\r\n"
DEAF = "GET /static/main.js HTTP/1.1\r\nHost: {host}\r\n\r\n"


def main() -> None:
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--idle", type=int, default=300)
    parser.add_argument("--half", type=int, default=300)
    parser.add_argument("--slow", type=int, default=100, help="uploads that send a byte a second")
    parser.add_argument("--deaf", type=int, default=50, help="who ask and do not read the answers")
    parser.add_argument("--asked", type=int, default=40, help="times that the page is asked for")
    parser.add_argument("--seconds", type=float, default=60)
    arguments = parse_arguments(parser, "connections")
    with tempfile.TemporaryDirectory(prefix="seesay-connections-") as root, ExitStack() as stack:
        make_photos(Path(root, "photos"), 12)
        finish(Path(root, "photos"), Path(root, "library"))
        line = [sys.executable, "-m", "seesay", "serve", "--library", f"{root}/library", "--port", "0"]
        server = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        stack.callback(server.kill)
        assert server.stdout is not None
        address = server.stdout.readline().strip()
        host = urlsplit(address).netloc
        ask(address, "/api/search?q=dog")
        alone = [ask(address, "/") for _ in range(arguments.asked)]
        kinds = {"idle": ("", arguments.idle), "half-sent": (HALF, arguments.half), "slow": (SLOW, arguments.slow),
                 "deaf": (DEAF, arguments.deaf)}  # fmt: skip
        opened = {
            name: [stack.enter_context(_connect(host, text.format(host=host).encode())) for _ in range(n)]
            for name, (text, n) in kinds.items()
        }
        start = time.monotonic()
        page: list[float] = []
        search: list[float] = []
        dice = random.Random(0)
        while time.monotonic() < start + arguments.seconds:
            if len(page) < arguments.asked:
                page.append(ask(address, "/"))
                search.append(ask(address, "/api/search?q=dog"))
            for connection in dice.sample(opened["slow"], min(50, arguments.slow)):
                with suppress(OSError):
                    connection.send(b"x")
            for connection in opened["deaf"]:
                with suppress(OSError):
                    connection.send(20 * DEAF.format(host=host).encode())
            time.sleep(1)
        left = {name: sum(map(is_open, connections)) for name, connections in opened.items()}
        after = ask(address, "/")
        server.terminate()
        _, told = server.communicate()
    record(
        arguments, ("uvicorn", "h11"), **{name: n for name, (_, n) in kinds.items()}, seconds=arguments.seconds,
        n_asked=len(page), page_alone=summarise(alone), page=summarise(page), search=summarise(search),
        page_afterwards_ms=round(1000 * after, 1), still_connected=left, tracebacks=told.count("Traceback"),
    )  # fmt: skip


def ask(address: str, target: str) -> float:
    """The seconds that an answer takes; anything but an answer is an error."""
    start = time.perf_counter()
    with urllib.request.urlopen(address.rstrip("/") + target, timeout=60) as answer:
        answer.read()
    return time.perf_counter() - start


def summarise(seconds: list[float]) -> dict[str, float]:
    return {"median_ms": round(1000 * statistics.median(seconds), 1), "longest_ms": round(1000 * max(seconds), 1)}


def _connect(host: str, text: bytes) -> socket.socket:
    name, _, port = host.rpartition(":")
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)  # which is soon full where nobody reads
    connection.settimeout(60)
    connection.connect((name, int(port)))
    connection.sendall(text)
    connection.setblocking(False)
    return connection


def is_open(connection: socket.socket) -> bool:
    """Whether the other side has not closed a connection; what it has sent is passed over."""
    with selectors.DefaultSelector() as selector:
        selector.register(connection, selectors.EVENT_READ)
        while selector.select(0):
            try:
                if not connection.recv(1 << 20):
                    return False
            except OSError:
                return False
    return True


if __name__ == "__main__":
    main()
