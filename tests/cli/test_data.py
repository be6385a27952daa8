import json
from pathlib import Path

import pytest
from PIL import Image
from typer.testing import CliRunner, Result

from seesay.cli.research.data import app
from seesay.errors import SeesayError

SOUND = """\
pets: CSV or JSONL
┌──────────────────────────┬───┬──────────────────┐
│ images                   │ 2 │ 2 have sentences │
│ sentences                │ 3 │ 3 with an image  │
│ split train              │ 1 │ 2 sentences      │
│ split test               │ 1 │ 1 sentences      │
│ words                    │ 4 │ of train         │
│ words seen 5+ times      │ 0 │                  │
│ missing images           │ 0 │                  │
│ corrupt images           │ 0 │                  │
│ sentences without image  │ 0 │                  │
│ images without sentences │ 0 │                  │
│ empty sentences          │ 0 │                  │
│ duplicated ids           │ 0 │                  │
└──────────────────────────┴───┴──────────────────┘
nothing is missing or broken
"""


@pytest.fixture
def pets(tmp_path: Path) -> Path:
    root = tmp_path / "pets"
    root.mkdir()
    rows = ["image,sentence,split", "dog.jpg,A dog runs,train", "dog.jpg,A brown dog,train", "cat.jpg,A cat,test"]
    (root / "captions.csv").write_text("\n".join(rows) + "\n")
    for name in ("dog.jpg", "cat.jpg"):
        Image.new("RGB", (30, 20)).save(root / name)
    return root


def run(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words], env={"COLUMNS": "100"})


def without_trailing_blanks(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.splitlines()) + "\n"


def test_a_sound_collection_is_shown_as_a_table_and_exits_0(pets: Path) -> None:
    result = run("check", pets)
    assert result.exit_code == 0
    assert without_trailing_blanks(result.stdout) == SOUND


def test_what_is_missing_is_named_and_exits_1(pets: Path) -> None:
    (pets / "cat.jpg").unlink()
    result = run("check", pets)
    assert result.exit_code == 1
    assert result.stdout.endswith(
        "missing image: 1\n  cat.jpg: 1 sentence describes it\nsomething is missing or broken\n"
    )


def test_of_many_problems_the_first_are_shown_and_all_counted(pets: Path) -> None:
    with (pets / "captions.csv").open("a") as file:
        file.writelines(f"{number}.jpg,A cow,train\n" for number in range(12))
    lines = run("check", pets).stdout.splitlines()
    start = lines.index("missing image: 12")
    assert lines[start + 1] == "  0.jpg: 1 sentence describes it"
    assert lines[start + 6] == "  and 7 more; --json lists them all"


def test_json_goes_to_stdout_whole(pets: Path) -> None:
    (pets / "cat.jpg").unlink()
    result = run("check", pets, "--json")
    assert result.exit_code == 1
    content = json.loads(result.stdout)
    assert (content["ok"], content["images"], content["missing_images"]) == (False, 1, 1)
    assert content["problems"] == [
        {"kind": "missing image", "thing": "cat.jpg", "detail": "1 sentence describes it"},
    ]


def test_images_may_lie_elsewhere(pets: Path, tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    for name in ("dog.jpg", "cat.jpg"):
        (pets / name).rename(tmp_path / "photos" / name)
    assert run("check", pets).exit_code == 1
    assert run("check", pets, "--images", tmp_path / "photos").exit_code == 0


def test_a_file_broken_beyond_use_exits_1_without_a_table_of_zeros(pets: Path) -> None:
    (pets / "captions.csv").write_text("photo,words\n")
    result = run("check", pets)
    assert result.exit_code == 1
    assert "unreadable file: 1" in result.stdout
    assert "its header has no column for the image" in result.stdout
    assert "┌" not in result.stdout


def test_escape_sequences_in_file_names_do_not_reach_the_terminal(pets: Path) -> None:
    with (pets / "captions.csv").open("a") as file:
        file.write("\x1b[31mred.jpg,A cow,train\n")
    result = run("check", pets)
    assert "\x1b" not in result.stdout
    assert "\\x1b[31mred.jpg" in result.stdout


@pytest.mark.parametrize("words", [("check", "no-such-folder"), ("check", ".", "--images", "no-such-folder")])
def test_bad_usage_is_a_seesay_error_for_the_command_line_to_show(
    pets: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.chdir(pets)
    result = run(*words)
    assert isinstance(result.exception, SeesayError)
    assert "no-such-folder" in str(result.exception)


def test_help_says_what_the_exit_codes_mean() -> None:
    assert "Check captioned collections." in run("--help").stdout
    assert "The exit code is 1 if something is missing or damaged." in " ".join(run("check", "--help").stdout.split())
