"""Photos and questions are nobody else's business: no part of the program keeps or tells anything of its own accord."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import seesay

SAMPLES = Path(seesay.__file__).parent / "samples"


def test_commands_leave_files_in_the_folders_of_seesay_alone(tmp_path: Path) -> None:
    """Whatever reports what people do keeps it somewhere first; a package may do so without anything being called."""
    home, scratch = tmp_path / "home", tmp_path / "scratch"
    home.mkdir()
    scratch.mkdir()
    given = {name: value for name, value in os.environ.items() if not name.startswith(("SEESAY_", "XDG_", "ORT_"))}
    own = {**given, "HOME": str(home), "TMPDIR": str(scratch)}
    for words in (["index", str(SAMPLES)], ["search", "a cup of coffee"], ["caption", str(SAMPLES / "cat.jpg")]):
        line = [sys.executable, "-m", "seesay", *words]
        subprocess.run(line, env=own, check=True, capture_output=True, timeout=300)
    kept = {path.relative_to(home).parts[:3] for path in home.rglob("*") if path.is_file()}
    assert {parts[:2] for parts in kept} == {(".cache", "seesay"), (".local", "share")}
    assert {parts[2] for parts in kept if parts[0] == ".local"} == {"seesay"}
    assert not [*scratch.rglob("*")]


@pytest.mark.parametrize("first", ["seesay", "seesay.cli.main", "seesay.runtime.session"])
def test_reports_of_onnx_runtime_are_off_before_it_is_imported(first: str) -> None:
    program = f"import {first}, os, sys; print('onnxruntime' in sys.modules, os.environ['ORT_DISABLE_TELEMETRY'])"
    given = {name: value for name, value in os.environ.items() if name != "ORT_DISABLE_TELEMETRY"}
    ended = subprocess.run([sys.executable, "-c", program], env=given, capture_output=True, text=True, timeout=120)
    assert ended.stdout == "False 1\n", ended.stderr
