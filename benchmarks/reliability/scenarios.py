"""Things that may be interrupted: how each is begun, run again until it is finished, and compared."""

import hashlib
import json
import sqlite3
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

TABLES = {
    "photos": "SELECT p.path, p.size, p.date, c.digest FROM photos p JOIN contents c ON c.id = p.content ORDER BY 1",
    "contents": "SELECT digest, width, height, taken, camera FROM contents ORDER BY 1",
    "vectors": "SELECT c.digest, v.vector FROM vectors v JOIN contents c ON c.id = v.content ORDER BY 1",
    "views": "SELECT c.digest, v.stage, v.vector FROM views v JOIN contents c ON c.id = v.content ORDER BY 1, 2",
    "thumbnails": "SELECT c.digest, t.jpeg FROM thumbnails t JOIN contents c ON c.id = t.content ORDER BY 1",
    "tags": "SELECT c.digest, t.class, t.probability FROM tags t JOIN contents c ON c.id = t.content ORDER BY 1, 2",
    "failures": "SELECT path, reason FROM failures ORDER BY 1",
    "whole": "PRAGMA integrity_check",
}
Digests = dict[str, str]


def make_photos(folder: Path, n: int, seed: int = 0) -> None:
    """Photos of noise, all different, one of them broken."""
    folder.mkdir(parents=True)
    noise = np.random.default_rng(seed)
    for number in range(n):
        pixels = noise.integers(0, 256, (60, 80, 3), dtype=np.uint8)
        Image.fromarray(pixels).resize((320, 240)).save(folder / f"{number:04}.jpg", quality=80)
    (folder / "broken.jpg").write_bytes(b"\xff\xd8\xff" + bytes(99))


def library_digests(library: Path) -> Digests:
    """What a library holds, table by table, whatever the order in which it came in."""
    connection = sqlite3.connect(library / "library.db")
    try:
        rows = {name: connection.execute(sql).fetchall() for name, sql in TABLES.items()}
    finally:
        connection.close()
    return {name: _digest(repr(found).encode()) for name, found in rows.items()}


def folder_digests(folder: Path) -> Digests:
    """The files of a folder of weights, without the dates in them."""
    found = {}
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        content = path.read_bytes()
        if path.suffix == ".json":
            content = json.dumps(_undated(json.loads(content)), sort_keys=True).encode()
        elif path.suffix == ".md":
            continue  # the card, which is made of config.json and has its dates
        found[str(path.relative_to(folder))] = _digest(content)
    return found


def _undated(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _undated(inner) for key, inner in value.items() if key not in ("date", "seconds")}
    return [_undated(inner) for inner in value] if isinstance(value, list) else value


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


@dataclass(frozen=True)
class Scenario:
    """A command that may end at any moment.

    Attributes:
        line: Of a place, the arguments of `python` that do the work there, and that finish it when it was interrupted.
        digests: Of a place, what lies there.
        prepare: Makes a place ready; by default nothing is there.
        begin: Of a place, the arguments that are interrupted, where they are not those of `line`.
        bother: Told the address of a server that is to be interrupted; runs until the server is gone.
    """

    line: Callable[[Path], list[str]]
    digests: Callable[[Path], Digests]
    prepare: Callable[[Path], None] = lambda place: None
    begin: Callable[[Path], list[str]] | None = None
    bother: Callable[[str], None] | None = None

    def start(self, place: Path) -> "subprocess.Popen[str]":
        """Begin what will be interrupted."""
        line = (self.begin or self.line)(place)
        started = subprocess.Popen(
            [sys.executable, *line], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace"
        )
        if self.bother is not None:
            assert started.stdout is not None
            address = started.stdout.readline().strip()
            threading.Thread(target=self.bother, args=(address,), daemon=True).start()
        return started

    def run_for(self, place: Path, seconds: float) -> tuple[int, str]:
        """What will be interrupted, until its end; a server, which has none, is asked to end after some seconds."""
        if self.bother is None:
            return self.finish(place)
        started = self.start(place)
        try:
            told = started.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            started.terminate()
            told = started.communicate()
        return started.returncode, "".join(told)

    def finish(self, place: Path) -> tuple[int, str]:
        ended = subprocess.run(
            [sys.executable, *self.line(place)], capture_output=True, text=True, errors="replace", check=False
        )
        return ended.returncode, ended.stdout + ended.stderr


def _seesay(*arguments: object) -> list[str]:
    return ["-m", "seesay", *map(str, arguments)]


def _upload_for_ever(address: str) -> None:
    file = Path(__file__).parents[2] / "src/seesay/samples"
    photo = next(file.glob("*.jpg")).read_bytes()
    with suppress(Exception):  # the server is gone
        while True:
            request = urllib.request.Request(address.rstrip("/") + "/api/search", data=photo)
            urllib.request.urlopen(request, timeout=60).read()


def make_collection(root: Path) -> None:
    """Photos of one colour with sentences that name it, which are learned in seconds."""
    noise, rows = np.random.default_rng(0), ["image,sentence,split"]
    (root / "images").mkdir(parents=True)
    for name, colour in {"red": (230, 20, 20), "green": (20, 200, 30), "blue": (20, 30, 220)}.items():
        for number, split in enumerate(("train", "train", "train", "train", "dev", "test")):
            pixels = np.array(colour) + noise.normal(0, 12, (48, 40, 3))
            Image.fromarray(pixels.clip(0, 255).astype(np.uint8)).save(root / "images" / f"{name}_{number}.png")
            rows.append(f"{name}_{number}.png,a {name} picture,{split}")
    (root / "captions.csv").write_text("\n".join(rows) + "\n")


def _old_library(place: Path) -> None:
    """A library of the second format, large enough that its way to the present takes a moment."""
    from seesay.library.stores.migrations import APPLICATION_ID, MIGRATIONS

    place.mkdir(parents=True)
    connection = sqlite3.connect(place / "library.db", isolation_level=None)
    for step in MIGRATIONS[:2]:
        connection.executescript(step)
    connection.execute("PRAGMA user_version = 2")
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute("BEGIN")
    for number in range(1, 5001):
        connection.execute("INSERT INTO contents VALUES (?, ?, 4, 3, NULL, NULL)", (number, f"{number:032x}"))
        connection.execute("INSERT INTO regions VALUES (?, ?)", (number, number.to_bytes(4, "big") * 5000))
    connection.execute("COMMIT")
    connection.close()


_CLOCK = """
import random, sys, time
dice, real = random.Random(int(sys.argv.pop(1))), time.time
def jump(): return real() + dice.choice((-1e9, -86400.0, 0.0, 3600.0, 4e8))
time.time, time.time_ns = jump, lambda: int(1e9 * jump())
from seesay.cli.main import run
run(sys.argv[1:])
"""


def make_scenarios(root: Path, n_photos: int) -> dict[str, Scenario]:
    """All of them; what they read is made in a folder."""
    photos, recipe = root / "photos", root / "recipe.toml"
    make_photos(photos, n_photos)
    make_collection(root / "colours")
    recipe.write_text(
        f'name = "colours"\nmodel = "vse"\n[config]\ndim = 16\nword_dim = 8\n[features]\n'
        f'backbone = "efficientnet-lite0"\nsize = 64\n[data]\nmin_count = 1\ntrain = [{{source = "{root}/colours"}}]\n'
        f'dev = {{source = "{root}/colours"}}\n[optimiser]\nrate = 0.02\n[batches]\nsize = 8\n[stop]\nepochs = 20\n'
    )
    trained = root / "trained"

    def train(place: Path) -> list[str]:
        return _seesay("train", recipe, "-o", place)

    def copy_weights(place: Path) -> None:
        if not trained.exists():
            subprocess.run([sys.executable, *train(trained)], check=True, capture_output=True)
        import shutil

        shutil.copytree(trained / "weights", place)

    def index(place: Path) -> list[str]:
        return _seesay("index", photos, "--library", place, "--workers", 1)

    return {
        "index": Scenario(index, library_digests),
        "serve": Scenario(
            index, library_digests, bother=_upload_for_ever,
            begin=lambda place: _seesay("serve", photos, "--library", place, "--port", 0),
        ),
        "clock": Scenario(
            index, library_digests, begin=lambda place: ["-c", _CLOCK, str(len(place.name)), *index(place)[2:]]
        ),
        "migration": Scenario(
            lambda place: _seesay("library", "failures", "--library", place), library_digests, _old_library
        ),
        "train": Scenario(train, lambda place: folder_digests(place / "weights")),
        "tune": Scenario(
            lambda place: _seesay("tune", place, "--only", "hubness", "--data", root / "colours", "--centres", 4),
            folder_digests, copy_weights,
        ),
        "export": Scenario(
            lambda place: _seesay("export", trained / "weights", "-o", place, "--precision", "fp32"),
            folder_digests, lambda place: copy_weights(place.with_name(f"{place.name}-source")),
        ),
    }  # fmt: skip
