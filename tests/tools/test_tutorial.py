"""The tutorial shows what its commands print."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def tutorial(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(ROOT / "tools/docs")
    return import_module("tutorial")


def test_outputs_are_those_of_the_commands() -> None:
    command = [sys.executable, ROOT / "tools/docs/tutorial.py", "--check"]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


def test_an_output_is_written_below_its_command(tutorial: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tutorial, "output_of", lambda arguments: f"{arguments}\n")
    page = "Text\n\n```console\n$ seesay search 'a dog'\nold\n```\n\n```bash\nseesay serve\n```\n"
    assert tutorial.render(page) == page.replace("old", "['search', 'a dog']")


def test_a_command_that_fails_ends_the_run(tutorial: ModuleType) -> None:
    with pytest.raises(SystemExit, match="seesay data check /missing ended with 2"):
        tutorial.output_of(["data", "check", "/missing"])


@pytest.mark.parametrize(
    ("written", "printed", "expected"),
    [
        ("68 % likely  ▇▇▇", "67 % likely  ▇▇", True),
        ("0.448  -0.035", "0.450  -0.031", True),
        ("0.448", "0.468", False),
        ("68 % likely", "65 % likely", False),
        ("a cat\n", "a dog\n", False),
        ("1 2", "1", False),
    ],
)
def test_only_last_digits_may_differ(tutorial: ModuleType, written: str, printed: str, expected: bool) -> None:
    assert tutorial.agree(written, printed) is expected
