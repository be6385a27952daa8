"""What all commands share: help, versions, errors, exit codes, and no time spent on what is not used."""

import json
import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import seesay as package
from seesay.catalogue import weights
from seesay.cli import commands, main
from seesay.errors import SeesayError
from seesay.system.cluster import ClusterGoneError

Call = Callable[..., Any]
COMMANDS = ("match", "models", "evaluate", "train", "features", "data")
HEAVY = ("torch", "numpy", "spacy", "PIL", "cv2", "matplotlib", "safetensors")


@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help_lists_the_commands(seesay: Call, option: str) -> None:
    code, out, err = seesay(option)
    assert (code, err) == (0, "")
    assert out.split().count("Usage:") == 1
    for command in COMMANDS:
        assert f" {command} " in out


def test_called_with_nothing_it_shows_the_help(seesay: Call) -> None:
    code, out, err = seesay()
    assert code == 2
    assert "Usage: seesay [OPTIONS] COMMAND" in out + err


def test_the_version_is_that_of_the_package(seesay: Call) -> None:
    assert seesay("--version") == (0, f"seesay {package.__version__}\n", "")


def test_help_and_version_import_nothing_heavy() -> None:
    calls = [["--help"], ["--version"], *([command, "--help"] for command in COMMANDS), ["data", "check", "--help"]]
    program = (
        "import json, sys\n"
        "from seesay.cli.main import run\n"
        f"for call in {calls}:\n"
        "    try: run(call)\n"
        "    except SystemExit as end: assert not end.code, call\n"
        f"    print(json.dumps([name for name in {HEAVY} if name in sys.modules]), file=sys.stderr)\n"
    )
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert finished.returncode == 0, finished.stderr
    assert [json.loads(line) for line in finished.stderr.splitlines()] == [[]] * len(calls)


def test_the_module_is_the_command_line() -> None:
    finished = subprocess.run(
        [sys.executable, "-m", "seesay", "models", "-h"], capture_output=True, text=True, timeout=120
    )
    assert finished.returncode == 0, finished.stderr
    assert "Usage: seesay models [OPTIONS]" in finished.stdout


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["serch"], "serch"),
        (["match"], "PHOTO"),
        (["models", "--jsn"], "--jsn"),
        (["features", "x", "--size", "-1"], "--size"),
    ],
)
def test_a_wrong_call_is_answered_on_stderr_with_code_2(seesay: Call, arguments: list[str], named: str) -> None:
    code, out, err = seesay(*arguments)
    assert (code, out) == (2, "")
    assert "Usage: seesay" in err
    assert named in err


def test_an_error_is_printed_as_it_is_without_a_traceback(seesay: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    error = SeesayError("the moon is [bold]missing[/bold]", allowed=["sun", "moon"], hint="seesay models")

    def fail() -> None:
        raise error

    monkeypatch.setattr(weights, "installed", fail)
    assert seesay("models") == (2, "", f"seesay: {error}\n")


def test_a_process_whose_cluster_has_gone_away_ends_at_once(seesay: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise ClusterGoneError("the cluster has gone away")

    def end(code: int) -> None:
        raise SystemExit(code + 40)

    monkeypatch.setattr(weights, "installed", fail)
    monkeypatch.setattr(os, "_exit", end)
    assert seesay("models") == (42, "", "seesay: the cluster has gone away\n")


def test_an_interruption_ends_with_130_and_says_what_is_kept(seesay: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(weights, "installed", interrupt)
    code, out, err = seesay("models")
    assert (code, out) == (130, "")
    assert err.strip() == "seesay: stopped; what was finished is kept, the same command goes on from there"


def test_a_defect_of_seesay_itself_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    from seesay.cli.main import run

    def fail() -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(weights, "installed", fail)
    with pytest.raises(ZeroDivisionError):
        run(["models"])


def test_a_reader_that_goes_away_is_no_error() -> None:
    read, write = os.pipe()
    os.close(read)
    try:
        command = [sys.executable, "-m", "seesay", "--help"]
        finished = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, text=True, timeout=120)
    finally:
        os.close(write)
    assert finished.stderr == ""


def test_a_terminal_of_any_size_shows_the_help(seesay: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "9" * 20)
    monkeypatch.setenv("LINES", "9" * 5000)
    assert "search" in seesay("--help").out


def test_a_warning_of_seesay_is_a_message_and_one_of_others_is_left_to_python(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def command(*_: object, **__: object) -> None:
        own = str(Path(main.__file__).parents[1] / "system" / "registry.py")
        warnings.warn_explicit("the explainer 'gaze' cannot be imported", UserWarning, own, 1)
        warnings.warn_explicit("of others", UserWarning, "elsewhere.py", 1)

    monkeypatch.setattr(commands, "app", command)
    before = warnings.showwarning
    with pytest.warns(UserWarning, match="of others"):
        main.run([])
    assert capsys.readouterr().err == "seesay: the explainer 'gaze' cannot be imported\n"
    assert warnings.showwarning is before


@pytest.mark.parametrize("place", ["loop", "a" * 5000])
def test_a_name_that_no_file_can_have_is_a_sentence(seesay: Call, tmp_path: Path, place: str) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "other")
    (tmp_path / "other").symlink_to(tmp_path / "loop")
    for command in (("models", "add"), ("features",)):
        finished = seesay(*command, tmp_path / place)
        assert finished.code == 2
        assert finished.err.count("\n") <= 3
        assert "seesay: " in finished.err


def test_a_command_without_typer_ends_as_one_with_it(tmp_path: Path) -> None:
    program = "import sys; sys.argv[0] = 'seesay'; from seesay.cli.main import start; start()"

    def ask(*words: str) -> "subprocess.CompletedProcess[str]":
        environment = {**os.environ, "SEESAY_LIBRARY": str(tmp_path / "library")}
        return subprocess.run([sys.executable, "-c", program, *words], capture_output=True, text=True, env=environment)

    refused = ask("search", "dogs", str(tmp_path / "nowhere"))
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "does not exist" in refused.stderr
    found = ask("words", "dog", "cat", "--json")
    assert found.returncode == 0
    json.loads(found.stdout)
    assert ask("words").returncode == 2


def test_a_query_that_is_plainly_typed_imports_neither_typer_nor_rich(tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "from seesay.cli.main import run\n"
        "try:\n    run(['search', 'dogs', sys.argv[1]])\n"
        "finally:\n    print(sorted({'typer', 'rich', 'torch', 'PIL', 'tomllib', 'html'} & sys.modules.keys()))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "nowhere")], capture_output=True, text=True,
        env={**os.environ, "SEESAY_LIBRARY": str(tmp_path / "library")},
    )  # fmt: skip
    assert done.stdout.strip() == "[]", done.stderr
