"""What people use runs where nothing of the optional parts can be imported."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import seesay
from seesay.system.extras import PARTS

SAMPLES = Path(seesay.__file__).parent / "samples"
PROGRAM = """
import contextlib, io, json, sys

absent = set(sys.argv[1].split(","))


class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in absent:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


sys.meta_path.insert(0, Absent())
from seesay.cli.main import run

for line in sys.stdin:
    out, err = io.StringIO(), io.StringIO()
    code = 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            run(json.loads(line))
        except SystemExit as end:
            code = end.code or 0
    print(json.dumps([code, out.getvalue(), err.getvalue()]), flush=True)
"""


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, str, str]]:
    """What commands print in a process that has the core alone, by command."""
    place = tmp_path_factory.mktemp("core")
    library, regions = (("--library", str(place / name)) for name in ("library", "regions"))
    cat = str(SAMPLES / "cat.jpg")
    commands = {
        "index": ["index", str(SAMPLES), *library, "--json"],
        "index with regions": ["index", str(SAMPLES), *regions, "--json"],
        "search": ["search", "a cup of coffee", "-n", "1", *library, "--json"],
        "search by an unknown word": ["search", "cappuccino", "-n", "1", *library, "--json"],
        "search by a photo": ["search", "--like", cat, "-n", "1", "--no-index", *library, "--json"],
        "search for regions": ["search", "red cup", "--regions", "-n", "1", *regions, "--json"],
        "match": ["match", cat, "a cat", "a red bus", "--json"],
        "caption": ["caption", cat, "--json"],
        "ground": ["ground", cat, "the cat", "--json"],
        "identify": ["identify", "a close up of a cat", cat, str(SAMPLES / "coffee.jpg"), "--json"],
        "explain": ["explain", cat, "a close up of a cat", "--json"],
        "words": ["words", "dog", "-n", "3", "--json"],
        "neighbours": ["neighbours", cat, "--in", str(SAMPLES), "-n", "2", "--json"],
        "models": ["models", "--json"],
        "library status": ["library", "status", *library, "--json"],
        "doctor": ["doctor", *library, "--json"],
        "train": ["train", "recipes/vse-flickr8k.toml"],
        "evaluate": ["evaluate", "vse", "--data", "flickr8k"],
        "export": ["export", "vse"],
        "map": ["map", "flickr8k"],
        "match with trees": ["match", cat, "a cat", "a red bus", "-m", "hmlstm"],
        "match with an ensemble": ["match", cat, "a cat", "a red bus", "--ensemble", "shipped"],
    }
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, ",".join(module for modules in PARTS.values() for module in modules)],
        input="\n".join(json.dumps(command) for command in commands.values()),
        capture_output=True, text=True, timeout=600, env={**os.environ, "SEESAY_CACHE": str(place / "cache")},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return dict(zip(commands, map(json.loads, done.stdout.splitlines()), strict=True))


@pytest.mark.parametrize(
    "command",
    [
        "index",
        "index with regions",
        "match",
        "words",
        "neighbours",
        "models",
        "library status",
        "caption",
        "ground",
        "identify",
        "explain",
    ],
)
def test_a_command_answers(answers: dict[str, tuple[int, str, str]], command: str) -> None:
    code, out, err = answers[command]
    assert code == 0, err
    assert json.loads(out)


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("search", "coffee.jpg"),
        ("search by an unknown word", "coffee.jpg"),
        ("search for regions", "coffee.jpg"),
    ],
)
def test_a_search_finds_the_photo(answers: dict[str, tuple[int, str, str]], command: str, found: str) -> None:
    code, out, err = answers[command]
    assert code == 0, err
    assert Path(json.loads(out)["results"][0]["path"]).name == found


def test_photos_like_one_are_others(answers: dict[str, tuple[int, str, str]]) -> None:
    code, out, err = answers["search by a photo"]
    assert code == 0, err
    assert [Path(found["path"]).name for found in json.loads(out)["results"]] != ["cat.jpg"]


def test_a_match_knows_a_cat_from_a_bus(answers: dict[str, tuple[int, str, str]]) -> None:
    cat, bus = json.loads(answers["match"][1])["matches"]
    assert cat["share"] > 0.9 > bus["share"]


@pytest.mark.parametrize("command", ["train", "evaluate", "export", "map"])
def test_a_command_whose_part_is_missing_says_what_to_type(
    answers: dict[str, tuple[int, str, str]], command: str
) -> None:
    assert answers[command] == [
        2,
        "",
        f"seesay: seesay {command} needs the optional part [train], not installed here\n"
        "  try: pip install 'seesay[train]'\n",
    ]


def test_a_model_that_reads_trees_needs_the_parser_alone(answers: dict[str, tuple[int, str, str]]) -> None:
    for command in ("match with trees", "match with an ensemble"):
        code, _, err = answers[command]
        assert code == 2
        assert err == (
            "seesay: hmlstm, which reads sentences as trees, needs the optional part [parse], not installed here\n"
            "  try: pip install 'seesay[parse]'\n"
        )
