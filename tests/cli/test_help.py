"""docs/reference/cli.md says what the commands say."""

from pathlib import Path

import pytest
import typer.main

from seesay.catalogue.weights import STEPS
from seesay.cli.commands import app
from seesay.cli.help_page import RENEW, help_page
from seesay.evaluation.tasks import TASKS

PAGE = Path(__file__).parents[2] / "docs/reference/cli.md"


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == help_page(), f"docs/reference/cli.md is stale; renew it: {RENEW}"


@pytest.mark.parametrize("command", ["match", "models", "evaluate", "train", "features", "data check"])
def test_every_command_has_a_section(command: str) -> None:
    assert f"\n## seesay {command}\n" in help_page()


def test_what_can_be_tuned_and_measured_is_listed_whole() -> None:
    _, tune = help_page().split("\n## seesay tune\n")
    tune = tune.partition("\n## ")[0]
    assert [step for step in STEPS if f"\n{step} " not in tune] == []
    (tasks,) = (line for line in help_page().splitlines() if line.startswith("| `--task TASK`"))
    assert [task for task in TASKS if task not in tasks] == []


def test_the_page_does_not_depend_on_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    before = help_page()
    for columns, term in (("40", "xterm-256color"), ("300", "dumb")):
        monkeypatch.setenv("COLUMNS", columns)
        monkeypatch.setenv("TERM", term)
        monkeypatch.setenv("FORCE_COLOR", "1")
        assert help_page() == before
    assert "\033" not in before


def test_options_show_their_values_and_defaults() -> None:
    page = help_page()
    assert "| `--model, -m WEIGHTS` | Weights by name or folder (seesay models). | `mrnn` |" in page
    assert "| `--size PIXELS` | Side of the network's input; 0 takes the network's own. | `0` |" in page
    assert "| `PHOTO… SENTENCE…` |" in page
    assert "seesay match [OPTIONS] PHOTO… SENTENCE…" in page


def test_every_option_is_explained_in_words_that_the_terminal_shows_whole() -> None:
    """In square brackets they would be taken for a style and vanish from `--help`."""
    commands = [typer.main.get_command(app)]
    n_parameters = 0
    while commands:
        command = commands.pop()
        commands += getattr(command, "commands", {}).values()
        assert command.help
        assert "[" not in command.help
        for parameter in command.params:
            assert parameter.help, f"{command.name} {parameter.name}"
            assert "[" not in parameter.help, f"{command.name} {parameter.name}"
            n_parameters += 1
    assert n_parameters > 20
