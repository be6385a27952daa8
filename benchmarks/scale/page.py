"""The web page over a large library, in a real browser, and its server under eight clients.

A `seesay serve` of its own answers. Chromium opens the page (first contentful paint, the first row of photos), asks
for a sentence, and scrolls through the results; thumbnails are counted before and after, since only those that come
into view are fetched. Then eight clients ask for sentences at once, over HTTP. Besides what they wait on a machine
that others use, the CPU time of the server a search is recorded.

    SEESAY_DATA=… python -m benchmarks.scale.page LIBRARY [--searches 200] [--picture FILE]
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.scale.sections import write_section
from seesay import data
from seesay.library.stores.sqlite import SqliteStore

CLIENTS = 8
PORT = 18765


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("library", type=Path)
    parser.add_argument("--searches", type=int, default=200)
    parser.add_argument("--picture", type=Path)
    arguments = parser.parse_args()
    test = data.load("flickr8k").split("test")
    texts = list(test.sentences)[:: max(1, len(test.sentences) // arguments.searches)][: arguments.searches]
    with serving(arguments.library) as (address, pid):
        status = ask(f"{address}/api/status")
        seen = look(address, texts[0], arguments.picture)
        asked = press(address, pid, texts)
    write_section("page", photos=status["photos"], browser=seen, clients=CLIENTS, searches=len(texts), **asked)


@contextmanager
def serving(library: Path) -> Iterator[tuple[str, int]]:
    program = [sys.executable, "-m", "seesay", "serve", "--library", str(library), "--port", str(PORT), "--every", "0"]
    store = SqliteStore(library)
    folders = store.folders()
    store.set_folders([])  # a server looks through them when it starts, and would index what is measured elsewhere
    server = subprocess.Popen(program, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{PORT}"
    try:
        for _ in range(600):
            try:
                ask(f"{address}/api/status")
                break
            except OSError:
                time.sleep(0.5)
        yield address, server.pid
    finally:
        server.terminate()
        server.wait()
        store.set_folders(folders)
        store.close()


def ask(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=120) as answer:
        return json.loads(answer.read())


def look(address: str, text: str, picture: Path | None) -> dict[str, Any]:
    """Open the page, search, scroll."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.set_default_timeout(120_000)
        thumbnails: list[str] = []
        page.on("request", lambda request: thumbnails.append(request.url) if "/thumbnail" in request.url else None)
        start = time.perf_counter()
        page.goto(address)
        page.locator("#grid a.tile").first.wait_for()
        first_row = time.perf_counter() - start
        paint = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
        start = time.perf_counter()
        page.goto(f"{address}/?{urllib.parse.urlencode({'q': text})}")
        page.locator("#grid a.tile").first.wait_for()
        searched = time.perf_counter() - start
        page.wait_for_load_state("networkidle")
        before, tiles = len(set(thumbnails)), page.locator("#grid a.tile").count()
        frames = page.evaluate(SCROLL)
        page.wait_for_load_state("networkidle")
        if picture is not None:
            page.evaluate("scrollTo(0, 0)")
            page.wait_for_timeout(1000)
            page.screenshot(path=str(picture))
        found = {
            "first_contentful_paint_milliseconds": round(paint),
            "first_photos_milliseconds": round(1000 * first_row),
            "search_to_photos_milliseconds": round(1000 * searched),
            "tiles_before_scrolling": tiles,
            "tiles_after_scrolling": page.locator("#grid a.tile").count(),
            "thumbnails_before_scrolling": before,
            "thumbnails_after_scrolling": len(set(thumbnails)),
            "frame_milliseconds": {name: round(float(np.quantile(frames, q)), 1) for name, q in QUANTILES.items()},
        }
        browser.close()
    print(found, flush=True)
    return found


QUANTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
SCROLL = """async () => {
  const frames = []; let last = performance.now();
  for (let step = 0; step < 120; step++) {
    scrollBy(0, 150);
    await new Promise(requestAnimationFrame);
    const now = performance.now(); frames.push(now - last); last = now;
  }
  return frames;
}"""


def press(address: str, pid: int, texts: list[str]) -> dict[str, Any]:
    """Eight clients at once; milliseconds of an answer, and of the server's CPU."""

    def search(text: str) -> float:
        start = time.perf_counter()
        ask(f"{address}/api/search?{urllib.parse.urlencode({'q': text})}")
        return 1000 * (time.perf_counter() - start)

    with ThreadPoolExecutor(CLIENTS) as clients:
        list(clients.map(search, texts[:CLIENTS]))
        before = cpu_seconds(pid)
        waited = list(clients.map(search, texts))
        spent = cpu_seconds(pid) - before
    return {
        "milliseconds": {name: round(float(np.quantile(waited, q)), 1) for name, q in QUANTILES.items()},
        "mean_milliseconds": round(statistics.mean(waited), 1),
        "server_cpu_milliseconds": round(1000 * spent / len(texts), 1),
    }


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
