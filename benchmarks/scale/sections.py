"""benchmarks/results/scale.json: a section for each thing that was measured, with its date and its command."""

import json
import os
import platform
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from seesay.system.files import replace_atomically

RESULT = Path(__file__).parents[1] / "results" / "scale.json"


def write_section(name: str, **figures: Any) -> None:
    """Put a section into the file; the others stay as they are."""
    report = read_sections()
    report[name] = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": f"python -m benchmarks.scale.{Path(sys.argv[0]).stem}",
        "machine": f"{os.cpu_count()} cores of {platform.machine()}",
        **figures,
    }
    with replace_atomically(RESULT) as temporary:
        temporary.write_text(json.dumps(report, indent=1) + "\n")
    print(name, json.dumps(report[name]), flush=True)


def read_sections() -> dict[str, Any]:
    report: dict[str, Any] = json.loads(RESULT.read_text()) if RESULT.exists() else {}
    return report
