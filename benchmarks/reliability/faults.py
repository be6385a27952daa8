"""Interrupt what seesay does at random moments, and compare what it finishes later with an undisturbed run.

kill     the process is killed up to three times, at any moment of its time (`benchmarks.reliability.scenarios`)
disk     the disk has little room, and gets more: `--disk DIR` names a small file system, such as one made by
         `mount -t tmpfs -o size=400m tmpfs DIR`
damage   the file of a finished library is cut, or bytes of it are changed; `seesay library repair` or `rebuild`
changes  photos are changed, added, renamed and removed while they are indexed

Records accumulate: `--rounds` more are run each time, with the seed that is next, until `--minutes` are over.
"""

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from argparse import ArgumentParser
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.recording import parse_arguments, record
from benchmarks.reliability.scenarios import (
    Digests,
    Scenario,
    library_digests,
    make_photos,
    make_scenarios,
)

KILLED = ("index", "serve", "clock", "migration", "train", "tune", "export")


def finish(photos: Path, library: Path, workers: int = 1) -> tuple[int, str]:
    """Index photos; gives the exit code and what was said."""
    return _seesay("index", photos, "--library", library, "--workers", workers)


def _seesay(*arguments: object) -> tuple[int, str]:
    line = [sys.executable, "-m", "seesay", *map(str, arguments)]
    ended = subprocess.run(line, capture_output=True, text=True, errors="replace", check=False)
    return ended.returncode, ended.stdout + ended.stderr


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


class Rounds:
    """Rounds of all kinds; what they are compared with is made when it is first needed."""

    def __init__(self, root: Path, n_photos: int, disk: Path | None) -> None:
        self.root, self.n_photos, self.disk = root, n_photos, disk
        self.scenarios = make_scenarios(root, n_photos)
        self.photos = root / "photos"
        self._known: dict[str, tuple[Digests, float]] = {}

    def undisturbed(self, name: str) -> tuple[Digests, float]:
        """What a scenario leaves where nothing disturbs it, and how many seconds that takes."""
        if name not in self._known:
            place = self.root / f"undisturbed-{name}"
            scenario = self.scenarios[name]
            scenario.prepare(place)
            start = time.monotonic()
            code, told = scenario.finish(place)
            seconds = time.monotonic() - start
            if "Traceback" in told or code not in (0, 1):  # 1: a photo is broken on purpose
                raise SystemExit(f"{name} ends with {code}: {told[-500:]}")
            self._known[name] = scenario.digests(place), seconds
        return self._known[name]

    def kill(self, name: str, dice: random.Random) -> dict[str, Any]:
        """Kill it up to three times, then let it finish."""
        expected, seconds = self.undisturbed(name)
        scenario, place = self.scenarios[name], self.root / f"place-{dice.randrange(10**9)}"
        moments: list[float] = []
        while not moments:  # it may have been faster than the one before
            shutil.rmtree(place, ignore_errors=True)
            scenario.prepare(place)
            for _ in range(dice.randint(1, 3)):
                running, moment = scenario.start(place), dice.uniform(0.05, 1.0) * seconds
                try:
                    running.wait(moment)
                except subprocess.TimeoutExpired:
                    running.send_signal(signal.SIGKILL)
                    moments.append(round(moment, 2))
                running.communicate()
        return {"kind": f"kill {name}", "moments": moments, **self._judge(scenario, place, expected, "")}

    def fill(self, name: str, dice: random.Random) -> dict[str, Any]:
        """Run it on a disk with little room, then make room and let it finish."""
        assert self.disk is not None
        expected, seconds = self.undisturbed(name)
        scenario, place = self.scenarios[name], self.disk / f"place-{dice.randrange(10**9)}"
        scenario.prepare(place)
        ballast = self.disk / "ballast"
        needed = max(4096, _size(self.root / f"undisturbed-{name}") - _size(place))
        free = os.statvfs(self.disk).f_bavail * os.statvfs(self.disk).f_frsize
        with ballast.open("wb") as file:
            file.write(bytes(max(0, free - dice.randrange(needed))))
        code, told = scenario.run_for(place, seconds)
        ballast.unlink()
        found = {"kind": f"full disk {name}", "code_when_full": code, "told": told.strip().splitlines()[-2:]}
        found |= self._judge(scenario, place, expected, told)
        for path in self.disk.glob(f"{place.name}*"):
            shutil.rmtree(path)
        return found

    def damage(self, dice: random.Random) -> dict[str, Any]:
        """Cut or change the file of a finished library, then do what it says until it is well."""
        expected, _ = self.undisturbed("index")
        place = shutil.copytree(self.root / "undisturbed-index", self.root / f"place-{dice.randrange(10**9)}")
        file = place / "library.db"
        content = bytearray(file.read_bytes())
        if cut := dice.random() < 0.4:
            del content[dice.randrange(len(content)) :]
        else:
            for _ in range(dice.choice((1, 5, 50))):
                content[dice.randrange(len(content))] ^= 1 << dice.randrange(8)
        file.write_bytes(content)
        told = ""
        for command in (
            ("search", "a dog", "--no-index", "--library", place),
            ("index", self.photos, "--library", place, "--workers", 1),
        ):  # which may or may not meet the damage
            told += _seesay(*command)[1]
        code, said = _seesay("library", "repair", "--library", place, "--workers", 1)
        told += said
        if not (repaired := code in (0, 1)):  # it has said what to do
            told += _seesay("library", "rebuild", self.photos, "--library", place, "--workers", 1)[1]
        found = {"kind": "damage", "cut": cut, "by": "repair" if repaired else "rebuild"}
        return found | self._judge(self.scenarios["index"], place, expected, told)

    def change(self, dice: random.Random) -> dict[str, Any]:
        """Change photos while they are indexed; the finished library equals one of what is there in the end."""
        photos, place = self.root / f"changing-{dice.randrange(10**9)}", self.root / f"place-{dice.randrange(10**9)}"
        make_photos(photos, self.n_photos, seed=dice.randrange(10**9))
        running = threading.Event()
        running.set()
        changer = threading.Thread(target=self._change_photos, args=(photos, dice, running))
        changer.start()
        _, told = finish(photos, place)
        running.clear()
        changer.join()
        scenario = Scenario(
            lambda place: ["-m", "seesay", "index", str(photos), "--library", str(place)], library_digests
        )
        fresh = self.root / f"fresh-{place.name}"
        scenario.finish(fresh)
        return {"kind": "changes", **self._judge(scenario, place, library_digests(fresh), told)}

    def _change_photos(self, photos: Path, dice: random.Random, running: threading.Event) -> None:
        spare = self.root / f"spare-{photos.name}"
        make_photos(spare, 10, seed=dice.randrange(10**9))
        while running.is_set():
            target, other = dice.choice(sorted(photos.glob("*.jpg"))), dice.choice(sorted(spare.glob("0*.jpg")))
            act = dice.randrange(5)
            if act == 0:
                target.write_bytes(other.read_bytes())
            elif act == 1:
                target.unlink()
            elif act == 2:
                target.rename(photos / f"renamed-{dice.randrange(10**6)}.jpg")
            elif act == 3:
                (photos / f"new-{dice.randrange(10**6)}.jpg").write_bytes(
                    other.read_bytes()[: dice.choice((900, 10**7))]
                )
            else:
                with target.open("ab") as file:
                    file.write(b"more")
            time.sleep(dice.uniform(0.0, 0.2))

    def _judge(self, scenario: Scenario, place: Path, expected: Digests, told: str) -> dict[str, Any]:
        """Let a scenario finish, and compare."""
        code, said = scenario.finish(place)
        found = scenario.digests(place)
        differs = [name for name in expected | found if expected.get(name) != found.get(name)]
        left = [
            path.name for path in place.rglob("*") if path.name.endswith(".partial") or path.name.startswith(".tmp")
        ]
        outcome = {"code": code, "equal": not differs, "differs": differs, "left_behind": left,
                   "traceback": "Traceback" in told + said}  # fmt: skip
        return outcome if not differs else {**outcome, "told": said.strip().splitlines()[-3:]}


def main() -> None:
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kind", choices=["kill", "disk", "damage", "changes"], default="kill")
    parser.add_argument("--of", action="append", choices=KILLED, help="what is killed, or runs on a full disk, in turn")
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--photos", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--disk", type=Path, help="a small file system to be filled")
    parser.add_argument(
        "--pause", type=float, default=0, help="seconds between two rounds, to leave others the machine"
    )
    parser.add_argument("--add", type=Path, help="a record of other rounds, to be added; run nothing")
    parser.add_argument("--again", action="store_true", help="run again the rounds of --kind that did not end well")
    arguments = parse_arguments(parser, "faults")
    known = json.loads(arguments.output.read_text()) if arguments.output.exists() else {}
    rounds, mended = known.get("rounds", []), known.get("mended", [])
    if arguments.add:
        _record(arguments, [*rounds, *json.loads(arguments.add.read_text())["rounds"]], mended)
        return
    until = time.monotonic() + 60 * arguments.minutes
    with tempfile.TemporaryDirectory(prefix="seesay-faults-") as root:
        made = Rounds(Path(root), arguments.photos, arguments.disk)
        if arguments.again:
            for place, each in enumerate(rounds):
                if each["kind"].startswith(arguments.kind) and (not each["equal"] or each["traceback"]):
                    mended.append(each)
                    rounds[place] = run_round(made, arguments.kind, each["kind"].partition(" ")[2], each["seed"])
                    _record(arguments, rounds, mended)
            return
        for number in range(arguments.rounds):
            if time.monotonic() > until:
                break
            name = (arguments.of or ["index"])[number % len(arguments.of or ["index"])]
            rounds.append(run_round(made, arguments.kind, name, arguments.seed + len(rounds)))
            _record(arguments, rounds, mended)
            time.sleep(arguments.pause)


def run_round(made: Rounds, kind: str, name: str, seed: int) -> dict[str, Any]:
    """One round, with its seed, its seconds and its date."""
    acts: dict[str, Callable[[str, random.Random], dict[str, Any]]] = {
        "kill": made.kill,
        "disk": made.fill,
        "damage": lambda _, dice: made.damage(dice),
        "changes": lambda _, dice: made.change(dice),
    }
    start = time.monotonic()
    found = acts[kind](name, random.Random(seed))
    seconds, date = round(time.monotonic() - start, 1), datetime.now(UTC).isoformat(timespec="seconds")
    for place in made.root.glob("*-*[0-9]"):
        shutil.rmtree(place, ignore_errors=True)
    found |= {"seed": seed, "seconds": seconds, "date": date}
    print(json.dumps(found), flush=True)
    return found


def _record(arguments: Any, rounds: list[dict[str, Any]], mended: list[dict[str, Any]]) -> None:
    by_kind: dict[str, dict[str, int]] = {}
    for each in rounds:
        each |= {"told": [re.sub(r"/\S+/", "…/", line) for line in each["told"]]} if "told" in each else {}
        known = by_kind.setdefault(
            each["kind"], {"rounds": 0, "kills": 0, "equal": 0, "tracebacks": 0, "left_behind": 0}
        )
        known["rounds"] += 1
        known["kills"] += len(each.get("moments", ()))
        known["equal"] += each["equal"]
        known["tracebacks"] += each["traceback"]
        known["left_behind"] += len(each["left_behind"])
    record(
        arguments, ("numpy", "onnxruntime"), n_photos=arguments.photos, n_rounds=len(rounds),
        n_kills=sum(known["kills"] for known in by_kind.values()), n_equal=sum(each["equal"] for each in rounds),
        n_tracebacks=sum(each["traceback"] for each in rounds), kinds=by_kind, mended=mended, rounds=rounds,
    )  # fmt: skip


if __name__ == "__main__":
    main()
