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


def read_walks() -> list[set[tuple[str, str]]]:
    """The calls of each walk in docs/architecture.md: an indented line is called by the last file above it."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    walks = []
    for walk in re.findall(r"```\n(.*?)```", page.partition("## Walks")[2], re.DOTALL):
        calls: set[tuple[str, str]] = set()
        last: dict[int, str] = {}
        for line in walk.splitlines():
            depth = (len(line) - len(line.lstrip())) // 4
            caller = last.get(depth - 1)
            for step in line.split("→"):
                named = re.findall(r"\b[a-z_]+(?:/[a-z_]+)+|\bscoring\b", step.split("   ")[0])
                calls |= {(caller, name) for name in named if caller}
                caller = named[-1] if named else caller
            last[depth] = str(caller)
        walks.append(calls)
    return walks


def test_the_walks_lead_through_files_that_are_there() -> None:
    walks = read_walks()
    named = {name for calls in walks for call in calls for name in call}
    assert len(walks) == 5
    assert len(named) > 40
    assert {name for name in named if not ((SOURCE / name).is_dir() or (SOURCE / f"{name}.py").is_file())} == set()


def test_no_walk_returns_to_where_it_came_from(architecture: ModuleType) -> None:
    assert [architecture.cycles(calls) for calls in read_walks()] == [[]] * 5


def test_the_picture_of_the_imports_is_up_to_date(architecture: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["architecture.py", "--check"])
    architecture.main()
