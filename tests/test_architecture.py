"""The shape of the source: rooms, their sizes, and who imports whom."""

import re
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "seesay"


@pytest.fixture(scope="module")
def architecture(program: Callable[[Path], ModuleType]) -> ModuleType:
    return program(ROOT / "tools" / "docs" / "architecture.py")


def test_every_module_has_a_room() -> None:
    assert {path.name for path in SOURCE.glob("*.py")} == {
        "__init__.py",
        "__main__.py",
        "errors.py",
        "scoring.py",
    }


def test_no_file_is_longer_than_300_lines() -> None:
    lines = {str(path.relative_to(SOURCE)): path.read_text().count("\n") for path in SOURCE.rglob("*.py")}
    assert {name: n for name, n in lines.items() if n > 300} == {}


def test_no_package_has_more_than_20_modules() -> None:
    counts = Counter(path.parent for path in SOURCE.rglob("*.py") if path.name != "__init__.py")
    assert {str(folder): n for folder, n in counts.items() if n > 20} == {}


def test_no_modules_import_each_other_in_a_circle(architecture: ModuleType) -> None:
    assert architecture.cycles(architecture.module_edges()) == []


def test_a_circle_is_found(architecture: ModuleType) -> None:
    assert architecture.cycles({("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")}) == [["a", "b", "c"]]


def test_rooms_import_only_from_below(architecture: ModuleType) -> None:
    assert architecture.upward(architecture.layers(), architecture.room_edges()) == []


def test_evaluation_does_not_import_training(architecture: ModuleType) -> None:
    edges = architecture.room_edges()
    assert ("evaluation", "training") not in edges
    assert ("training", "evaluation") not in edges


def test_the_walks_lead_through_files_that_are_there() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    walks = re.findall(r"```\n(.*?)```", page.partition("## Walks")[2], re.DOTALL)
    named = {name for walk in walks for name in re.findall(r"\b[a-z_]+(?:/[a-z_]+)+(?![a-z_/X…])", walk)}
    assert len(walks) == 5
    assert len(named) > 40
    rooms = (SOURCE, SOURCE / "library", SOURCE / "evaluation")
    found = {name for name in named for room in rooms if (room / name).is_dir() or (room / f"{name}.py").is_file()}
    assert named - found == set()


def test_the_picture_of_the_imports_is_up_to_date(architecture: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["architecture.py", "--check"])
    architecture.main()
