"""Kill an indexer at random moments, or fill its disk, and compare what it finishes later with an undisturbed library.

`--disk DIR` names a small file system that is filled while photos are indexed, such as one made by
`mount -t tmpfs -o size=3m tmpfs DIR`. Every round adds a line to the record: `--rounds` more are run each time.
"""

import hashlib
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from PIL import Image

from benchmarks.recording import parse_arguments, record

TABLES = {
    "photos": "SELECT p.path, p.size, c.digest FROM photos p JOIN contents c ON c.id = p.content ORDER BY 1",
    "vectors": "SELECT c.digest, v.vector FROM vectors v JOIN contents c ON c.id = v.content ORDER BY 1",
    "views": "SELECT c.digest, v.stage, v.vector FROM views v JOIN contents c ON c.id = v.content ORDER BY 1, 2",
    "thumbnails": "SELECT c.digest, t.jpeg FROM thumbnails t JOIN contents c ON c.id = t.content ORDER BY 1",
    "tags": "SELECT c.digest, t.class, t.probability FROM tags t JOIN contents c ON c.id = t.content ORDER BY 1, 2",
    "failures": "SELECT path, reason FROM failures ORDER BY 1",
}


def make_photos(folder: Path, n: int) -> None:
    """Photos of noise, all different, one of them broken."""
    folder.mkdir(parents=True)
    for number in range(n):
        noise = Image.effect_noise((320, 240), 30 + number % 60).convert("RGB")
        noise.save(folder / f"{number:04}.jpg", quality=80)
    (folder / "broken.jpg").write_bytes(b"\xff\xd8\xff" + bytes(99))


def digests(library: Path) -> dict[str, str]:
    """What a library holds, table by table, whatever the order in which it came in."""
    with sqlite3.connect(library / "library.db") as connection:
        rows = {name: connection.execute(sql).fetchall() for name, sql in TABLES.items()}
    connection.close()
    return {name: hashlib.sha256(repr(found).encode()).hexdigest()[:16] for name, found in rows.items()}


def index(photos: Path, library: Path, workers: int = 1) -> "subprocess.Popen[bytes]":
    line = [sys.executable, "-m", "seesay", "index", str(photos), "--library", str(library), "--workers", str(workers)]
    return subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def finish(photos: Path, library: Path, workers: int = 1) -> tuple[int, str]:
    ended = index(photos, library, workers)
    _, told = ended.communicate()
    return ended.returncode, told.decode(errors="replace")


def count_photos(library: Path) -> int:
    """How many photos a library holds that may not have come as far as its tables."""
    if not (library / "library.db").exists():
        return 0
    connection = sqlite3.connect(library / "library.db")
    try:
        return int(connection.execute("SELECT count(*) FROM photos").fetchone()[0])
    except sqlite3.OperationalError:
        return 0
    finally:
        connection.close()


def kill_round(
    photos: Path, library: Path, whole: dict[str, str], n_photos: int, dice: random.Random
) -> dict[str, Any]:
    """Kill the indexer up to three times, then let it finish."""
    n_written = []
    for _ in range(dice.randint(1, 3)):
        running, wanted = index(photos, library), dice.randrange(n_photos)
        # By what is written and not by the clock: a busy machine takes its time before the first photo.
        while running.poll() is None and count_photos(library) <= wanted:
            time.sleep(dice.uniform(0.0, 0.05))
        if running.poll() is None:
            running.send_signal(signal.SIGKILL)
            n_written.append(count_photos(library))
        running.communicate()
    code, told = finish(photos, library)
    found = digests(library)
    same = {name: found[name] == whole[name] for name in TABLES}
    left = [path.name for path in library.iterdir() if path.suffix == ".partial"]
    return {"kind": "kill", "photos_at_kill": n_written, "code": code, "equal": all(same.values()),
            "differs": [name for name, is_same in same.items() if not is_same], "left_behind": left,
            "traceback": "Traceback" in told}  # fmt: skip


def disk_round(photos: Path, disk: Path, whole: dict[str, str], dice: random.Random) -> dict[str, Any]:
    """Index on a disk with little room, then make room and let it finish."""
    library = disk / f"library-{dice.randrange(10**9)}"
    free = os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize
    ballast = disk / "ballast"
    ballast.write_bytes(bytes(max(0, free - dice.randrange(20_000, 600_000))))
    code_full, told_full = finish(photos, library)
    ballast.unlink()
    code, told = finish(photos, library)
    found = digests(library)
    for path in sorted(library.iterdir()):
        path.unlink()
    return {"kind": "full disk", "code_when_full": code_full, "code": code, "equal": found == whole,
            "traceback": "Traceback" in told + told_full}  # fmt: skip


def main() -> None:
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--photos", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--disk", type=Path, help="a small file system to be filled")
    arguments = parse_arguments(parser, "faults")
    earlier = json.loads(arguments.output.read_text())["rounds"] if arguments.output.exists() else []
    until = time.monotonic() + 60 * arguments.minutes
    dice = random.Random(arguments.seed + len(earlier))
    rounds = [*earlier]
    with tempfile.TemporaryDirectory(prefix="seesay-faults-") as root:
        photos, whole = Path(root, "photos"), Path(root, "whole")
        make_photos(photos, arguments.photos)
        start = time.monotonic()
        finish(photos, whole)
        longest = time.monotonic() - start
        expected = digests(whole)
        for number in range(arguments.rounds):
            if time.monotonic() > until:
                break
            if arguments.disk is not None:
                rounds.append(disk_round(photos, arguments.disk, expected, dice))
            else:
                rounds.append(kill_round(photos, Path(root, f"library-{number}"), expected, arguments.photos, dice))
            print(json.dumps(rounds[-1]))
    record(
        arguments, ("numpy",), n_photos=arguments.photos, seconds_uninterrupted=round(longest, 1),
        n_kills=sum(len(each.get("photos_at_kill", ())) for each in rounds), n_rounds=len(rounds),
        n_equal=sum(each["equal"] for each in rounds), n_tracebacks=sum(each["traceback"] for each in rounds),
        rounds=rounds,
    )  # fmt: skip


if __name__ == "__main__":
    main()
