"""Every command on the sample photos, against what it printed and drew before."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest
import typer.main

from seesay.cli.commands import app

Check = Callable[..., None]
CAT, COFFEE, MAN, ROCKET = (f"sample/images/{name}.jpg" for name in ("cat", "coffee", "photographer", "rocket"))
MAN_SENTENCE = "a man with a camera on a tripod"
CAPTIONERS = ("mrnn", "mrnn-flickr8k", "mrnn-iapr", "dvsa-captions")
MATCHERS = ("vse", "dvsa", "hmlstm", "smlstm", "identifier")
SENTENCES = ("a close up of a cat", "a cup of coffee on a table", "two dogs run in the snow")

COMMANDS: dict[str, tuple[object, ...]] = {
    "tag": ("tag", "sample/images/cat.jpg", "sample/images/coffee.jpg", "--words", "cat, coffee, rocket"),
    "caption": ("caption", CAT, COFFEE),
    "caption-greedy": ("caption", "--beam", 1, "--no-rerank", CAT),
    "caption-sample": ("caption", "--sample", "--seed", 7, "--top-k", 20, "-n", 3, "--json", MAN),
    "caption-start": ("caption", "--start", "a small", "-n", 3, "--json", CAT),
    "caption-references": ("caption", "--references", "sample", "--json", CAT),
    **{f"caption-{name}": ("caption", "-m", name, "--no-rerank", "-n", 2, "--json", CAT, MAN) for name in CAPTIONERS},
    "describe": ("describe", MAN, "-n", 2, "-o", "out/describe.png"),
    "describe-box": ("describe", MAN, "--box", "10,10,200,200", "--json"),
    "ground": ("ground", MAN, "a man", "a camera", "-o", "out/ground.png"),
    "ground-heat": ("ground", MAN, "a camera", "--heat", "-o", "out/ground-heat.png", "--json"),
    "ground-sentence": ("ground", MAN, "-s", MAN_SENTENCE, "-n", 2, "--json"),
    "ground-hmlstm": ("ground", "-m", "hmlstm", MAN, "-s", MAN_SENTENCE, "--json"),
    "identify": ("identify", SENTENCES[1], CAT, COFFEE, MAN, ROCKET, "-o", "out/identify.png"),
    "identify-json": ("identify", "--json", SENTENCES[0], CAT, COFFEE, MAN, ROCKET),
    "explain": ("explain", MAN, MAN_SENTENCE, "-o", "out/explain.png"),
    "explain-beside": ("explain", "--method", "attention", "--beside", "smlstm", MAN, MAN_SENTENCE, "--json"),
    "explain-attention": ("explain", "--method", "attention", CAT, SENTENCES[0], "--json", "-o", "out/attention.png"),
    "match": ("match", CAT, COFFEE, *SENTENCES),
    "match-shipped": ("match", "--ensemble", "shipped", "--json", CAT, COFFEE, *SENTENCES),
    **{f"match-{name}": ("match", "-m", name, "--json", CAT, COFFEE, *SENTENCES) for name in MATCHERS},
    "regions": ("regions", "a cup", "a man", "--in", "sample", "-n", 2, "-o", "out/regions.png"),
    "regions-json": ("regions", "a cup", "--in", "sample", "--split", "test", "-n", 2, "--json"),
    "neighbours": ("neighbours", CAT, "--in", "sample", "-n", 2, "-o", "out/neighbours.png"),
    "neighbours-json": ("neighbours", CAT, ROCKET, "--in", "sample", "-n", 3, "--json"),
    "map": ("map", "sample", "--split", "all", "-o", "out/map.png"),
    "map-json": ("map", "sample", "--split", "all", "-n", 6, "--seed", 1, "--json"),
    "words": ("words", "dog", "camera", "-n", 4),
    "words-json": ("words", "dog", "-n", 4, "--json"),
    "plan": ("plan", "--photos", 50_000, "--cores", 2),
    "plan-machines": ("plan", "--photos", 10**8, "--machines", 100, "--cores", 16, "--json"),
    "plan-nothing": ("plan", "--photos", 0),
    "plan-too-many": ("plan", "--photos", 10**18),
    "models": ("models",),
    "models-json": ("models", "--json"),
    "magnitudes": ("magnitudes", "-d", "sample", "--split", "all", "--min-count", 1, "-n", 4, "-o", "out/lengths.png"),
    "magnitudes-json": ("magnitudes", "-d", "sample", "--split", "all", "--min-count", 1, "-n", 4, "--json"),
    "data-check": ("data", "check", "sample"),
    "data-check-damaged": ("data", "check", "damaged"),
    "data-check-json": ("data", "check", "damaged", "--json"),
    "evaluate": ("evaluate", "vse", "-d", "sample", "--split", "all", "-o", "out/report"),
    "evaluate-captions": ("evaluate", "mrnn", "-d", "sample", "--task", "captions", "-o", "out/captions", "--json"),
    "evaluate-reranking": (
        *("evaluate", "mrnn", "-d", "sample", "--task", "captions", "--references", "sample"),
        *("--k", 2, "--m", 2, "--json"),
    ),
    "evaluate-shipped": ("evaluate", "--ensemble", "shipped", "-d", "sample", "--json"),
    "evaluate-ensemble": ("evaluate", "--ensemble", "vse,dvsa", "-d", "sample", "--choose-on", "train"),
    "evaluate-page": ("evaluate", "dvsa", "-d", "sample", "--page", "out/page", "--json"),
    "tune": ("tune", "dvsa", "--only", "cascade", "--data", "sample", "--dry-run", "--json"),
    "demo": ("demo", "-o", "out/demo.png"),
    "no-such-weights": ("match", "-m", "vsee", CAT, SENTENCES[0]),
    "no-such-photo": ("caption", "nowhere.jpg"),
    "no-such-data": ("evaluate", "vse", "-d", "nowhere"),
    "no-such-split": ("features", "sample", "--split", "exam"),
    "no-captioner": ("caption", "-m", "vse", CAT),
}

FEATURES: dict[str, tuple[object, ...]] = {
    "features": ("features", "sample", "--backbone", "efficientnet-lite0", "--size", 96),
    "features-again": ("features", "sample", "--backbone", "efficientnet-lite0", "--size", 96, "--json"),
    "features-damaged": ("features", "damaged", "--backbone", "efficientnet-lite0", "--size", 96, "--json"),
}

LIBRARY: dict[str, tuple[object, ...]] = {
    "index": ("index", "sample/images"),
    "index-again": ("index", "--json"),
    "index-damaged": ("index", "damaged/images", "--exclude", "rocket*"),
    "library-status": ("library", "status"),
    "library-status-json": ("library", "status", "--json"),
    "library-failures": ("library", "failures"),
    "library-failures-json": ("library", "failures", "--json"),
    "search": ("search", "a cup of coffee on a table", "-n", 3, "-o", "out/search.png"),
    "search-json": ("search", "a close up of a cat", "-n", 3, "--json"),
    "search-folder": ("search", "a rocket", "sample/images", "-n", 2),
    "search-many": ("search", "-", "-n", 2),
    "search-no-folder": ("search", "a rocket", "espresso", "-n", 2),
    "search-like": ("search", "--like", CAT, "-n", 3, "--json"),
    "search-plus-minus": ("search", "--like", CAT, "--plus", "a red cup", "--minus", "a cat", "-n", 3, "--json"),
    "search-box": ("search", "--like", MAN, "--box", "0.2,0.2,0.8,0.9", "-n", 3, "--json"),
    "search-regions": ("search", "a camera", "--regions", "-n", 2, "-o", "out/search-regions.png"),
    "search-filters": (
        "search",
        "a cat",
        "--after",
        "2019",
        "--before",
        "2020",
        "--in",
        "sample/images",
        "--sort",
        "date",
    ),
    "search-paths": ("search", "a cat", "--paths0", "-n", 2),
    "library-repair": ("library", "repair"),
    "library-forget": ("library", "forget", "damaged/images"),
    "library-rebuild": ("library", "rebuild"),
    "library-status-after": ("library", "status"),
}


@pytest.fixture(autouse=True)
def without_collections(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the user has elsewhere does not count."""
    for name in ("SEESAY_DATA", "SEESAY_FEATURES", "SEESAY_TOKEN"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_command_does_what_it_did(name: str, check: Check) -> None:
    check(name, *COMMANDS[name])


def test_features_are_computed_once(check: Check, monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    monkeypatch.setenv("SEESAY_CACHE", str(home / "own-cache"))
    for name, arguments in FEATURES.items():
        check(name, *arguments)


def test_the_library_goes_through_its_life(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, arguments in LIBRARY.items():
        monkeypatch.setattr("sys.stdin", io.StringIO("a rocket\nespresso\n"))
        check(name, *arguments)


RECIPE = """
name = "colours"
model = "vse"

[config]
dim = 16
word_dim = 8
dropout = 0.1
image_dropout = 0.1

[features]
backbone = "efficientnet-lite0"
size = 64

[data]
min_count = 1
train = [{ source = "colours" }]
dev = { source = "colours" }

[optimiser]
rate = 0.02

[batches]
size = 16

[stop]
epochs = 4
"""


def test_training_reaches_what_it_reached(check: Check, colours: Path, home: Path) -> None:
    (home / "colours.toml").write_text(RECIPE)
    (home / "colours").symlink_to(colours)
    check("train", "train", "colours.toml", "-o", "run")
    check("train-again", "train", "colours.toml", "-o", "run", "--json")
    check("train-set", "train", "colours.toml", "--set", "stop.epochs=2", "--set", "seed=5", "-o", "run-2", "--json")
    check(
        "train-match",
        "match",
        "-m",
        "run/weights",
        "colours/images/red_5.png",
        "a red picture",
        "everything here is blue",
    )


def leaves(command: click.Command, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """The names of all commands below one."""
    below = getattr(command, "commands", None)
    return [leaf for name in below for leaf in leaves(below[name], (*path, name))] if below else [path]


LEAVES = leaves(typer.main.get_command(app))


@pytest.mark.parametrize("path", LEAVES, ids=" ".join)
def test_every_command_has_help_and_a_golden_file(path: tuple[str, ...], seesay: Callable[..., Any]) -> None:
    finished = seesay(*path, "--help")
    assert finished.code == 0
    assert path[-1] in finished.out
    called = [*COMMANDS.values(), *FEATURES.values(), *LIBRARY.values(), ("train",)]
    called += [("serve",), ("doctor",)]  # serving has no end, and the doctor speaks of this machine
    called += [("export",)]  # writes files and prints differences of 1e-7, which tests/export holds
    called += [("models", "add"), ("models", "remove"), ("library", "use")]  # tests/towers holds them
    assert any(arguments[: len(path)] == path for arguments in called)
