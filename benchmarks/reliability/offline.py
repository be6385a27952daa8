"""What commands ask of the network, and which files they leave, as the system itself sees it (`strace`).

Python's own hooks do not see what libraries in other languages do: ONNX Runtime asks for its makers' servers a few
seconds after it is imported, by threads of its own. So every command is followed with all its threads and children; the
server answers searches for a while, and a program that has loaded all models waits. A home folder of their own shows
what they leave behind. As a control, ONNX Runtime is imported once with its reports on.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import seesay
from benchmarks.recording import parse_arguments, record

SAMPLES = Path(seesay.__file__).parent / "samples"
CAT = str(SAMPLES / "cat.jpg")
COMMANDS = {
    "index": ["index", str(SAMPLES)], "search": ["search", "a cup of coffee"],
    "search --like": ["search", "--like", CAT], "search --regions": ["search", "--regions", "cup"],
    "caption": ["caption", CAT], "ground": ["ground", CAT, "the cat"], "describe": ["describe", CAT],
    "explain": ["explain", CAT, "a close up of a cat"], "identify": ["identify", "a cat", CAT, CAT],
    "match": ["match", CAT, "a cat", "a dog"], "words": ["words", "dog"], "models": ["models"], "doctor": ["doctor"],
}  # fmt: skip
WAITING = "import time, seesay; seesay.caption(r'{cat}'); seesay.match(r'{cat}', ['a cat']); time.sleep({seconds})"
CONTROL = "import time, onnxruntime; time.sleep({seconds})"
OWN = (".cache/seesay/", ".local/share/seesay/")
_PLACE = re.compile(r'inet_addr\("([^"]+)"\)|inet_pton\(AF_INET6, "([^"]+)"')
_CALL = re.compile(r"\b(connect|sendto|sendmsg|sendmmsg)\(")
_LOOKUP = re.compile(r"nscd/socket|htons\(53\)")


def asked_of(trace: str) -> dict[str, int]:
    """How often a trace sends something to another machine, and how often it looks up a name.

    Example:
        >>> asked_of('7 connect(3, {sa_family=AF_INET, sin_port=htons(80), sin_addr=inet_addr("127.0.0.1")}, 16) = 0')
        {'sent': 0, 'looked_up': 0}
        >>> asked_of('7 connect(3, {sa_family=AF_INET, sin_port=htons(53), sin_addr=inet_addr("9.9.9.9")}, 16) = 0')
        {'sent': 1, 'looked_up': 1}
    """
    calls = [line for line in trace.splitlines() if _CALL.search(line)]
    places = [v4 or v6 for line in calls for v4, v6 in _PLACE.findall(line)]
    sent = sum(not place.startswith("127.") and place not in ("::1", "::ffff:127.0.0.1") for place in places)
    return {"sent": sent, "looked_up": sum(bool(_LOOKUP.search(line)) for line in calls)}


class Watched:
    """Runs programs in a home folder of their own, followed by the system."""

    def __init__(self, root: Path) -> None:
        self.home, self.scratch, self.trace = root / "home", root / "scratch", root / "trace"
        self.home.mkdir()
        self.scratch.mkdir()
        known = {name: value for name, value in os.environ.items() if not name.startswith(("SEESAY_", "XDG_", "ORT_"))}
        self.environment = {**known, "HOME": str(self.home), "TMPDIR": str(self.scratch)}

    def line(self, *words: str) -> list[str]:
        return ["strace", "-f", "-qq", "-e", "trace=%network", "-o", str(self.trace), sys.executable, *words]

    def run(self, *words: str, **environment: str) -> dict[str, Any]:
        ended = subprocess.run(
            self.line(*words), env={**self.environment, **environment}, capture_output=True, check=False
        )
        return {**asked_of(self.trace.read_text(errors="replace")), "code": ended.returncode, "left": self.left()}

    def serve(self, seconds: float) -> dict[str, Any]:
        """The server, which is asked something now and then."""
        line = self.line("-m", "seesay", "serve", "--port", "0")
        server = subprocess.Popen(line, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert server.stdout is not None
        address, until, n_asked = server.stdout.readline().strip(), time.monotonic() + seconds, 0
        while time.monotonic() < until:
            query = urllib.parse.quote(f"a photo of {n_asked} cats")
            with urllib.request.urlopen(f"{address}api/search?q={query}", timeout=60) as answer:
                n_asked += answer.status == 200
            time.sleep(1)
        (child,) = map(int, Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split())
        os.kill(child, 2)
        server.wait(60)
        told = asked_of(self.trace.read_text(errors="replace"))
        return {**told, "code": server.returncode, "n_asked": n_asked, "left": self.left()}

    def left(self) -> list[str]:
        """Files outside of seesay's own folders; each is told once."""
        return sorted(self._left())

    def _left(self) -> Iterator[str]:
        for root in (self.home, self.scratch):
            for path in [*root.rglob("*")]:
                name = path.relative_to(root).as_posix()
                if path.is_file() and not (root == self.home and name.startswith(OWN)):
                    yield name
                    with suppress(FileNotFoundError):
                        path.unlink()


def main() -> None:
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=20, help="that the server and the waiting program run")
    arguments = parse_arguments(parser, "offline")
    if shutil.which("strace") is None:
        raise SystemExit("strace is not installed")
    with tempfile.TemporaryDirectory(prefix="seesay-offline-") as root:
        watched = Watched(Path(root))
        found = {name: watched.run("-m", "seesay", *words) for name, words in COMMANDS.items()}
        found["serve"] = watched.serve(arguments.seconds)
        found["a program that waits"] = watched.run("-c", WAITING.format(cat=CAT, seconds=arguments.seconds))
        control = watched.run(
            "-c", CONTROL.format(seconds=arguments.seconds), PYTHONPATH=os.environ.get("PYTHONPATH", "")
        )
    for name, each in {**found, "control": control}.items():
        print(name, each, flush=True)
    record(arguments, ("onnxruntime", "fastapi"), seconds=arguments.seconds, watched=found, control=control)


if __name__ == "__main__":
    main()
