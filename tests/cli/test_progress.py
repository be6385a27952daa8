"""A bar on stderr for people, nothing for files and scripts."""

import io
from collections.abc import Callable

import pytest

from seesay.cli.progress import progress_bar


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Callable[[], Terminal]:
    """Put a terminal in the place of stderr; called by the test, because pytest has its own before that."""

    def open_terminal() -> Terminal:
        shown = Terminal()
        monkeypatch.setattr("sys.stderr", shown)
        monkeypatch.setenv("COLUMNS", "120")
        monkeypatch.setenv("TERM", "xterm")
        return shown

    return open_terminal


def test_a_person_sees_what_is_done_the_rate_and_the_time_left(terminal: Callable[[], Terminal]) -> None:
    shown = terminal()
    with progress_bar("features of pets") as on_progress:
        on_progress(2, 5)
        for done in range(3, 6):
            on_progress(done, 5)
    assert "features of pets" in shown.getvalue()
    assert "2/5" in shown.getvalue()
    assert "5/5" in shown.getvalue()
    assert "photos/s" in shown.getvalue()


def test_where_nothing_is_left_to_do_there_is_no_bar(terminal: Callable[[], Terminal]) -> None:
    shown = terminal()
    with progress_bar("features of pets") as on_progress:
        on_progress(5, 5)
    assert "features of pets" not in shown.getvalue()


def test_quiet_is_silent(terminal: Callable[[], Terminal]) -> None:
    shown = terminal()
    with progress_bar("features of pets", quiet=True) as on_progress:
        on_progress(0, 5)
        on_progress(5, 5)
    assert shown.getvalue() == ""


def test_files_get_no_bar(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar("features of pets") as on_progress:
        on_progress(0, 5)
        on_progress(5, 5)
    assert capsys.readouterr() == ("", "")


def test_a_second_thing_to_count_begins_at_its_own_start(terminal: Callable[[], Terminal]) -> None:
    shown = terminal()
    with progress_bar("features") as on_progress:
        for done in range(4):
            on_progress(done, 3)
        on_progress(8, 9)
        on_progress(9, 9)
    assert "9/9" in shown.getvalue()
