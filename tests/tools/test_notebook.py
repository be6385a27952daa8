"""The notebook runs, and shows what its cells give."""

import json
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(ROOT / "tools/docs")
    return import_module("notebook")


def test_every_cell_runs_and_shows_what_is_written(
    notebook: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SEESAY_CACHE", str(tmp_path))
    for name in ("SEESAY_LIBRARY", "COLUMNS", "TERM", "TZ"):
        monkeypatch.setenv(name, "")  # the run sets them, and they come back afterwards
    monkeypatch.setattr(sys, "argv", ["notebook.py", "--check"])
    notebook.main()


def test_every_verb_is_shown() -> None:
    cells = json.loads((ROOT / "docs/tour.ipynb").read_text(encoding="utf-8"))["cells"]
    source = "".join(line for cell in cells if cell["cell_type"] == "code" for line in cell["source"])
    for verb in ("caption", "match", "identify", "ground", "describe", "explain", "search", "open_image", "load"):
        assert f"seesay.{verb}(" in source
    assert all(cell["outputs"] for cell in cells if cell["cell_type"] == "code")


def test_a_cell_gives_what_it_prints_and_its_last_value(notebook: ModuleType) -> None:
    names: dict[str, object] = {}
    first = notebook.run_cell("x = 2\nprint('two')\nx + 1", names, 1)
    assert notebook.text_of(first) == "two\n\n3"
    assert notebook.run_cell("x = 5", names, 2) == []
    assert notebook.text_of(notebook.run_cell("x", names, 3)) == "5"


def test_a_cell_that_fails_ends_the_run(notebook: ModuleType) -> None:
    with pytest.raises(ZeroDivisionError):
        list(notebook.run_cells({"cells": [{"cell_type": "code", "source": ["1 / 0"], "outputs": []}]}))
