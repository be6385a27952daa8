"""Tables on the terminal: what a person wrote is printed as it is, and whole."""

import pytest

from seesay.cli.tables import print_table


def test_numbers_stand_on_the_right_and_heads_above_them(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("phrase", "score"), [("a red bus", "0.5"), (("snow", "bold"), "10.25")], right=("score",))
    assert capsys.readouterr().out.splitlines() == ["phrase     score", "a red bus    0.5", "snow       10.25"]


def test_brackets_are_no_markup(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("photo",), [("[bold]cat[/bold].jpg",)])
    assert capsys.readouterr().out.splitlines()[1] == "[bold]cat[/bold].jpg"


def test_what_is_too_long_is_folded_and_not_cut(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "10")
    print_table(("photo",), [("a" * 25,)])
    assert "".join(capsys.readouterr().out.split()[1:]) == "a" * 25
