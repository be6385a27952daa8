"""A bar on stderr for people, nothing for files and scripts."""

import io

import pytest

from seesay.cli.progress import progress_bar


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    shown = Terminal()
    monkeypatch.setattr("sys.stderr", shown)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("TERM", "xterm")
    return shown


def test_a_person_sees_what_is_done_the_rate_and_the_time_left(terminal: Terminal) -> None:
    with progress_bar("features of pets") as on_progress:
        on_progress(2, 5)
        for done in range(3, 6):
            on_progress(done, 5)
    shown = terminal.getvalue()
    assert "features of pets" in shown
    assert "5/5" in shown
    assert "photos/s" in shown


def test_where_nothing_is_left_to_do_there_is_no_bar(terminal: Terminal) -> None:
    with progress_bar("features of pets") as on_progress:
        on_progress(5, 5)
    assert "features of pets" not in terminal.getvalue()


def test_quiet_is_silent(terminal: Terminal) -> None:
    with progress_bar("features of pets", quiet=True) as on_progress:
        on_progress(0, 5)
        on_progress(5, 5)
    assert terminal.getvalue() == ""


def test_files_get_no_bar(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar("features of pets") as on_progress:
        on_progress(0, 5)
        on_progress(5, 5)
    assert capsys.readouterr() == ("", "")
