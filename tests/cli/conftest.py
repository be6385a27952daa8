"""Running the command line inside a test."""

from collections.abc import Callable
from typing import NamedTuple

import pytest

from seesay.cli.main import run


class Finished(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str


@pytest.fixture
def seesay(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Finished]:
    """Call the command line as a person would, but for the terminal, which is plain and 100 columns wide."""
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("TERM", "dumb")

    def call(*arguments: object) -> Finished:
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            run([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return Finished(int(end.value.code or 0), out, err)

    return call
