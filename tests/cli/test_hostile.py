"""Hostile values for every command: a few cases of each, generated from the command tree.

All of them: `python -m benchmarks.reliability.hostile --minutes 60`.
"""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
N_CASES = 48


def test_no_command_line_ends_in_a_traceback_a_hang_a_connection_or_a_changed_file(tmp_path: Path) -> None:
    report = tmp_path / "hostile.json"
    line = [
        sys.executable,
        "-m",
        "benchmarks.reliability.hostile",
        "--cases",
        str(N_CASES),
        "--seconds",
        "60",
        "--seed",
        "7",
        "-o",
        report,
    ]
    ended = subprocess.run(line, capture_output=True, text=True, timeout=600, check=False, cwd=ROOT)
    assert ended.returncode == 0, ended.stderr
    found = json.loads(report.read_text())
    assert found["failing"] == []
    assert found["n_run"] == N_CASES
    assert found["n_commands"] >= 20
    assert set(found["codes"]) <= {"0", "1", "2"}
