"""What a command takes as it is typed: time, processor time, memory. Imports nothing that would count as its memory."""

import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple


class Run(NamedTuple):
    """What a command took: seconds, seconds of all processors together, and the most memory in megabytes."""

    seconds: float
    cpu: float
    memory: int


def run(command: list[str], folder: Path, environment: dict[str, str]) -> Run:
    """What a command takes in a folder, where it is the only child of this process."""
    start = time.perf_counter()
    process = subprocess.Popen(
        command, cwd=folder, env={**os.environ, **environment}, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    told = b"".join(part for part in process.communicate() if part)
    taken = time.perf_counter() - start
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}: {told.decode(errors='replace')[-500:]}")
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Run(taken, used.ru_utime + used.ru_stime, used.ru_maxrss // 1024)


def measured(command: list[str], folder: Path, environment: dict[str, str]) -> Run:
    """The same in a process of its own: the system counts all children of one together, and begins with its memory."""
    asked = json.dumps([command, str(folder), environment])
    finished = subprocess.run(
        [sys.executable, "-m", "benchmarks.speed.commands", asked], check=True, capture_output=True, text=True
    )
    return Run(*json.loads(finished.stdout))


if __name__ == "__main__":
    typed, place, settings = json.loads(sys.argv[1])
    print(json.dumps(run(typed, Path(place), settings)))
