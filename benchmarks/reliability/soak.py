"""An hour of the server: clients that search, look and upload while photos are indexed. Errors, memory, latencies.

The clients keep to a rate, so that the hour is one of use and not of load. The record has the errors, the latencies of
each kind of request, and the slope of the server's memory with its standard error, from the first third on. Memory at
rest is the least in each fifteenth of the time: what is left when a request or a photo has been answered for.
Where all of it is stopped for a while, to leave others the machine, that time does not count, nor do the requests that
were under way.

`--arrivals 0 -o soak_still.json`: requests alone. `--clients 0 -o soak_arrivals.json`: new photos alone.
"""

import atexit
import json
import os
import random
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from argparse import ArgumentParser
from collections import defaultdict
from pathlib import Path
from urllib.parse import urlsplit

from benchmarks.recording import parse_arguments, record
from benchmarks.reliability.faults import finish
from benchmarks.reliability.pauses import Pauses
from benchmarks.reliability.scenarios import make_photos

QUERIES = ("a dog in the snow", "red car", "people at a table", "noise", "a boat on a lake", "night")
KINDS = {"search": 8, "regions": 1, "thumbnail": 8, "picture": 2, "latest": 4, "status": 2, "upload": 1, "leave": 1}
"""How often each kind of request is made; `leave` goes away in the middle of an upload."""


class Clients:
    """Visitors who come at a rate, and what they have met."""

    def __init__(self, address: str, photo: bytes, n_photos: int, pause: float, pauses: Pauses) -> None:
        self.address, self.photo, self.n_photos, self.pause = address.rstrip("/"), photo, n_photos, pause
        self.pauses, self.n_paused, self.is_over = pauses, 0, threading.Event()
        self.took: dict[str, list[float]] = defaultdict(list)
        self.errors: list[str] = []

    def visit(self, seed: int) -> None:
        """One visitor, who goes on until the end."""
        dice = random.Random(seed)
        while not self.is_over.is_set():
            kind = dice.choices([*KINDS], [*KINDS.values()])[0]
            number, query = dice.randint(1, self.n_photos), dice.choice(QUERIES).replace(" ", "+")
            target = {
                "search": f"/api/search?q={query}", "regions": f"/api/regions?q={query}", "latest": "/api/photos",
                "thumbnail": f"/api/photos/{number}/thumbnail", "picture": f"/api/photos/{number}/picture?side=640",
                "status": "/api/status",
            }.get(kind, "/api/search")  # fmt: skip
            start, n_pauses = time.monotonic(), self.pauses.n
            error = ""
            try:
                if kind == "leave":
                    self._leave()
                else:
                    ask(self.address, target, self.photo if kind == "upload" else None)
            except Exception as met:
                error = f"{kind}: {type(met).__name__} {met}"[:120]
                time.sleep(1)  # until a pause, if that was it, is counted
            if self.pauses.n > n_pauses:  # the server and its clients stood still, and their clocks went on
                self.n_paused += 1
            elif error:
                self.errors.append(error)
            else:
                self.took[kind].append(time.monotonic() - start)
            time.sleep(dice.uniform(0, 2 * self.pause))

    def _leave(self) -> None:
        parts = urlsplit(self.address)
        with socket.create_connection((parts.hostname or "", parts.port or 80), timeout=60) as connection:
            head = f"POST /api/search HTTP/1.1\r\nHost: {parts.netloc}\r\nContent-Length: {len(self.photo)}\r\n\r\n"
            connection.sendall(head.encode() + self.photo[: len(self.photo) // 2])


def ask(address: str, target: str, body: bytes | None = None) -> bytes:
    with urllib.request.urlopen(urllib.request.Request(address.rstrip("/") + target, data=body), timeout=60) as answer:
        content: bytes = answer.read()
    return content


def memory(process: int) -> tuple[float, float]:
    """Megabytes that a process holds: in all, and without the files that it has mapped."""
    status = Path(f"/proc/{process}/status").read_text()
    whole, own = (re.search(rf"{name}:\s+(\d+)", status) for name in ("VmRSS", "RssAnon"))
    return int(whole[1]) / 1024 if whole else 0.0, int(own[1]) / 1024 if own else 0.0


def cpu_seconds(process: int) -> float:
    """Of a process, in all its threads."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def slope(points: list[tuple[float, float]]) -> tuple[float, float]:
    """Of a line through points, with its standard error."""
    if len(points) < 3:
        return 0.0, float("nan")
    x_mean, y_mean = (statistics.fmean(values) for values in zip(*points, strict=True))
    spread = sum((x - x_mean) ** 2 for x, _ in points)
    b = sum((x - x_mean) * (y - y_mean) for x, y in points) / spread
    rest = sum((y - y_mean - b * (x - x_mean)) ** 2 for x, y in points)
    return b, (rest / (len(points) - 2) / spread) ** 0.5


def describe(points: list[tuple[float, float]]) -> dict[str, float]:
    """Memory by minutes: its first and last value, and its slope from the first third on."""
    rise, doubt = slope(points[len(points) // 3 :])
    return {"first": round(points[0][1], 1), "last": round(points[-1][1], 1), "slope_per_minute": round(rise, 4),
            "standard_error": round(doubt, 4)}  # fmt: skip


def at_rest(points: list[tuple[float, float]], n: int = 15) -> list[tuple[float, float]]:
    """The least memory in each of `n` parts of the time."""
    size = max(1, len(points) // n)
    return [min(points[start : start + size], key=lambda point: point[1]) for start in range(0, len(points), size)]


def summarise(took: dict[str, list[float]]) -> dict[str, dict[str, float]]:
    """The latencies of each kind of request."""
    found = {}
    for kind, values in took.items():
        if not values:
            continue
        cuts = statistics.quantiles(values, n=100) if len(values) > 1 else values * 99
        found[kind] = {"n": len(values), **{f"p{p}_ms": round(1000 * cuts[p - 1], 1) for p in (50, 95, 99)}}
    return found


def main() -> None:
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--folder", type=Path, help="photos; by default as many as --photos are made of noise")
    parser.add_argument("--library", type=Path, help="where the library is kept, to use it again")
    parser.add_argument("--photos", type=int, default=10_000)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--rate", type=float, default=4.0, help="requests a second, of all clients together")
    parser.add_argument("--arrivals", type=float, default=6.0, help="photos a minute that come in to be indexed")
    arguments = parse_arguments(parser, "soak")
    points: list[tuple[float, float]] = []
    own: list[tuple[float, float]] = []
    loads = []
    with tempfile.TemporaryDirectory(prefix="seesay-soak-") as root:
        photos = arguments.folder or Path(root, "photos")
        library, arriving, more = arguments.library or Path(root, "library"), Path(root, "arriving"), Path(root, "more")
        if arguments.folder is None:
            make_photos(photos, arguments.photos)
        finish(photos, library, workers=0)
        make_photos(more, int(arguments.arrivals * arguments.minutes) + 1, seed=1)  # none is a copy of those
        arriving.mkdir()
        line = [sys.executable, "-m", "seesay", "serve", str(arriving), "--library", str(library), "--port", "0"]
        server = subprocess.Popen([*line, "--every", "30"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        atexit.register(server.kill)  # whatever happens here
        assert server.stdout is not None
        address = server.stdout.readline().strip()
        before = json.loads(ask(address, "/api/status"))
        ask(address, "/api/search?q=warm")
        start, busy = time.monotonic(), cpu_seconds(server.pid)
        pauses = Pauses()
        photo = next(path for path in sorted(photos.rglob("*.jpg")) if path.stat().st_size > 1000).read_bytes()
        clients = Clients(address, photo, before["photos"], arguments.clients / arguments.rate, pauses)
        visitors = [threading.Thread(target=clients.visit, args=(seed,)) for seed in range(arguments.clients)]
        for visitor in visitors:
            visitor.start()
        waiting = sorted(more.iterdir())
        passed = 0.0
        while passed < arguments.minutes:
            for _ in range(10):
                time.sleep(min(0.5, 60 * arguments.minutes / 200))
                pauses.tick()
            passed = (time.monotonic() - start - pauses.seconds) / 60
            while waiting and passed * arguments.arrivals > len(list(arriving.iterdir())):
                shutil.move(waiting.pop(0), arriving)
            held, without_files = memory(server.pid)
            points.append((passed, held))
            own.append((passed, without_files))
            loads.append(os.getloadavg()[0])
        clients.is_over.set()
        for visitor in visitors:
            visitor.join()
        after = json.loads(ask(address, "/api/status"))
        busy = cpu_seconds(server.pid) - busy
        server.terminate()
        _, told = server.communicate()
    took, errors = clients.took, clients.errors
    record(
        arguments, ("fastapi", "uvicorn", "onnxruntime"), minutes=arguments.minutes, n_photos=before["photos"],
        n_clients=arguments.clients, rate=arguments.rate, n_indexed_meanwhile=after["photos"] - before["photos"],
        n_requests=sum(map(len, took.values())) + len(errors), n_errors=len(errors), errors=errors[:20],
        n_pauses=pauses.n, minutes_paused=round(pauses.seconds / 60, 1), n_requests_over_a_pause=clients.n_paused,
        all_requests=summarise({"all": [second for values in took.values() for second in values]}).get("all"),
        latencies=summarise(took), tracebacks=told.count("Traceback"),
        server_cpu_share=round(busy / (60 * arguments.minutes), 3),
        mean_load_of_machine=round(statistics.fmean(loads), 2),
        memory_mb=describe(points), memory_without_files_mb=describe(own),
        at_rest_mb=describe(at_rest(points)), at_rest_without_files_mb=describe(at_rest(own)),
        memory_by_minute=[[round(minute, 1), round(held, 1)] for minute, held in points[:: max(1, len(points) // 60)]],
    )  # fmt: skip


if __name__ == "__main__":
    main()
