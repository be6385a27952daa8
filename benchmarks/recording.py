"""The one way a benchmark leaves its result behind: JSON with the date, the machine and the versions."""

import json
import os
import platform
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from seesay.system.files import replace_atomically


def parse_arguments(parser: ArgumentParser, name: str) -> Namespace:
    """Add `-o FILE`, by default benchmarks/results/NAME.json, and read the command line."""
    default = Path(__file__).parent / "results" / f"{name}.json"
    parser.add_argument("-o", "--output", type=Path, default=default)
    arguments = parser.parse_args()
    arguments.name = name
    return arguments


def record(arguments: Namespace, packages: tuple[str, ...], **result: Any) -> None:
    """Write what was measured, with everything that a reader needs to judge it."""
    report = {
        "benchmark": arguments.name,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "versions": {"python": platform.python_version(), **{package: version(package) for package in packages}},
        **result,
    }
    with replace_atomically(arguments.output) as temporary:
        temporary.write_text(json.dumps(report, indent=2) + "\n")
    print(f"written to {arguments.output}")


def seconds(act: Callable[[], object]) -> float:
    """How long something takes."""
    start = time.perf_counter()
    act()
    return time.perf_counter() - start
