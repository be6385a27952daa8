"""An hour of the server: clients that search, look and upload while photos are indexed. Errors, memory, latencies.

The record has the share of errors, the latencies of each kind of request, and the slope of the server's memory with its
standard error, from the first third on.
"""

import json
import random
import re
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
from typing import Any

from benchmarks.recording import parse_arguments, record
from benchmarks.reliability.faults import finish, make_photos

QUERIES = ("a dog in the snow", "red car", "people at a table", "noise", "a boat on a lake", "night")


def ask(address: str, target: str, body: bytes | None = None) -> bytes:
    with urllib.request.urlopen(urllib.request.Request(address.rstrip("/") + target, data=body), timeout=60) as answer:
        content: bytes = answer.read()
    return content


def visit(address: str, photo: bytes, until: float, seed: int, took: dict[str, list[float]], errors: list[str]) -> None:
    """A client that goes on until the end."""
    dice = random.Random(seed)
    while time.monotonic() < until:
        kind = dice.choices(("search", "thumbnail", "picture", "latest", "status", "upload"), (8, 8, 2, 4, 2, 1))[0]
        number, query = dice.randint(1, 50), dice.choice(QUERIES).replace(" ", "+")
        target = {
            "search": f"/api/search?q={query}", "thumbnail": f"/api/photos/{number}/thumbnail",
            "picture": f"/api/photos/{number}/picture?side=640", "latest": "/api/photos", "status": "/api/status",
            "upload": "/api/search",
        }[kind]  # fmt: skip
        start = time.monotonic()
        try:
            ask(address, target, photo if kind == "upload" else None)
            took[kind].append(time.monotonic() - start)
        except Exception as error:
            errors.append(f"{kind}: {type(error).__name__} {error}"[:120])


def memory(process: int) -> float:
    """Megabytes that a process holds."""
    found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{process}/status").read_text())
    return int(found[1]) / 1024 if found else 0.0


def slope(points: list[tuple[float, float]]) -> tuple[float, float]:
    """Of a line through points, with its standard error."""
    if len(points) < 3:
        return 0.0, float("nan")
    x_mean, y_mean = (statistics.fmean(values) for values in zip(*points, strict=True))
    spread = sum((x - x_mean) ** 2 for x, _ in points)
    b = sum((x - x_mean) * (y - y_mean) for x, y in points) / spread
    rest = sum((y - y_mean - b * (x - x_mean)) ** 2 for x, y in points)
    return b, (rest / (len(points) - 2) / spread) ** 0.5


def main() -> None:
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--photos", type=int, default=10_000)
    parser.add_argument("--clients", type=int, default=8)
    arguments = parse_arguments(parser, "soak")
    took: dict[str, list[float]] = defaultdict(list)
    errors: list[str] = []
    with tempfile.TemporaryDirectory(prefix="seesay-soak-") as root:
        photos, more, library = Path(root, "photos"), Path(root, "more"), Path(root, "library")
        make_photos(photos, arguments.photos)
        finish(photos, library)
        make_photos(more, max(20, arguments.photos // 100))
        line = [sys.executable, "-m", "seesay", "serve", str(more), "--library", str(library), "--port", "0"]
        server = subprocess.Popen([*line, "--every", "30"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert server.stdout is not None
        address = server.stdout.readline().strip()
        ask(address, "/api/search?q=warm")
        start = time.monotonic()
        until = start + 60 * arguments.minutes
        photo = (photos / "0001.jpg").read_bytes()
        clients = [
            threading.Thread(target=visit, args=(address, photo, until, seed, took, errors))
            for seed in range(arguments.clients)
        ]
        for client in clients:
            client.start()
        points: list[tuple[float, float]] = []
        while time.monotonic() < until:
            time.sleep(min(5.0, 60 * arguments.minutes / 20))
            points.append(((time.monotonic() - start) / 60, memory(server.pid)))
        for client in clients:
            client.join()
        server.terminate()
        _, told = server.communicate()
    rise, doubt = slope(points[len(points) // 3 :])
    latencies: dict[str, Any] = {}
    for kind, values in took.items():
        cuts = statistics.quantiles(values, n=100) if len(values) > 1 else values * 99
        latencies[kind] = {"n": len(values), **{f"p{p}_ms": round(1000 * cuts[p - 1], 1) for p in (50, 95, 99)}}
    record(
        arguments, ("fastapi", "uvicorn"), minutes=arguments.minutes, n_photos=arguments.photos,
        n_clients=arguments.clients, n_requests=sum(map(len, took.values())) + len(errors), n_errors=len(errors),
        errors=errors[:20], latencies=latencies, tracebacks=told.count("Traceback"),
        memory_mb={"first": round(points[0][1], 1), "last": round(points[-1][1], 1),
                   "slope_per_minute": round(rise, 3), "standard_error": round(doubt, 3)},
    )  # fmt: skip
    print(json.dumps(latencies))


if __name__ == "__main__":
    main()
