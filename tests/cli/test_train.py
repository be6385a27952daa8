"""`seesay train`: a recipe in, a folder of weights out."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from seesay.training.ranking import RankingTask
from seesay.training.recipe import Recipe

Call = Callable[..., Any]
pytestmark = pytest.mark.usefixtures("in_colours_cache")


@pytest.fixture
def recipe(colours_recipe: dict[str, Any], tmp_path: Path) -> Path:
    path = tmp_path / "colours.toml"
    path.write_text(Recipe.from_dict(colours_recipe).to_toml())
    return path


def assert_same_weights(one: Path, other: Path, **tolerance: float) -> None:
    expected, found = (load_file(folder / "weights" / "model.safetensors") for folder in (one, other))
    assert expected.keys() == found.keys()
    for name, tensor in expected.items():
        torch.testing.assert_close(found[name], tensor, **(tolerance or {"atol": 0, "rtol": 0}))


def test_a_recipe_is_run(seesay: Call, recipe: Path, colours_run: Path, tmp_path: Path) -> None:
    code, out, err = seesay("train", recipe, "-o", tmp_path / "run")
    assert code == 0
    assert out.startswith("colours/dev: Sum ")
    assert out.endswith(f"the weights are in {tmp_path / 'run' / 'weights'}\n")
    *lines, last = err.splitlines()
    assert last == f"seesay: to search and caption with them: seesay export {tmp_path / 'run' / 'weights'}"
    assert [line.partition(":")[0] for line in lines] == [f"after epoch {n}/8" for n in range(9)]
    assert all(" sum " in line and "i2t_r1" in line for line in lines)
    assert lines[0].endswith("(best so far)")
    assert "\033" not in err
    assert_same_weights(tmp_path / "run", colours_run)


def test_json_gives_the_folder_and_the_figures_and_nothing_else(seesay: Call, recipe: Path, tmp_path: Path) -> None:
    code, out, err = seesay("train", recipe, "--set", "stop.epochs=1", "-o", tmp_path / "run", "--json")
    assert (code, err) == (0, "")
    report = json.loads(out)
    assert report["weights"] == str(tmp_path / "run" / "weights")
    assert report["figures"]["colours/dev"].keys() == {"i2t", "t2i", "sum", "date"}


def test_keys_can_be_changed_and_the_run_is_named_after_the_recipe(
    seesay: Call, recipe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, _, _ = seesay(
        "train", recipe, "--set", "stop.epochs=1", "--set", "name=renamed", "--set", "config.encoder=mean"
    )
    assert code == 0
    about = json.loads((tmp_path / "runs" / "renamed" / "weights" / "config.json").read_text())
    assert (about["name"], about["config"]["encoder"], about["recipe"]["stop"]["epochs"]) == ("renamed", "mean", 1)


def test_an_interrupted_run_says_so_and_goes_on_as_if_it_had_never_stopped(
    seesay: Call, recipe: Path, colours_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = RankingTask.batch

    def batch(task: Any, epoch: int, index: int) -> Any:
        if (epoch, index) == (2, 1):
            os.kill(os.getpid(), signal.SIGINT)
        return whole(task, epoch, index)

    monkeypatch.setattr(RankingTask, "batch", batch)
    code, out, err = seesay("train", recipe, "-o", tmp_path / "run")
    assert (code, out) == (130, "")
    assert "seesay: training stopped on request in epoch 3" in err
    assert "try: run the same command again" in err
    assert err.count("seesay:") == 1
    monkeypatch.setattr(RankingTask, "batch", whole)
    code, _, err = seesay("train", recipe, "-o", tmp_path / "run")
    assert code == 0
    assert err.startswith("going on from step ")
    assert_same_weights(tmp_path / "run", colours_run)


def test_another_recipe_does_not_go_on_in_the_same_folder_unless_it_begins_anew(
    seesay: Call, recipe: Path, tmp_path: Path
) -> None:
    short = ("train", recipe, "--set", "stop.epochs=1", "-o", tmp_path / "run")
    assert seesay(*short).code == 0
    code, _, err = seesay(*short, "--set", "seed=7")
    assert code == 2
    assert "belongs to another recipe: seed is 7 here and 0 there" in err
    assert seesay(*short, "--set", "seed=7", "--fresh").code == 0


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("sead=1", "there is no key 'sead'; did you mean 'seed'?"),
        ("optimiser.rate=-1", "optimiser.rate cannot be -1"),
        ("config.encoder=transformer", "config.encoder is 'transformer'\n  allowed: mean, gru, lstm"),
        ("model=blip", "there is no model family 'blip'"),
        ("stop.metric=accuracy", "stop.metric is 'accuracy', which evaluation does not give\n  allowed: sum, i2t_r1"),
        ("seed", "cannot read the override 'seed'"),
        ("data.dev.source=absent", "there is no"),
    ],
)
def test_bad_recipes_are_refused_without_a_step(
    seesay: Call, recipe: Path, tmp_path: Path, override: str, message: str
) -> None:
    code, out, err = seesay("train", recipe, "--set", override, "-o", tmp_path / "run")
    assert (code, out) == (2, "")
    assert message in err
    assert "epoch 1/" not in err
    assert not (tmp_path / "run" / "weights").exists()


def test_files_that_are_no_recipes_are_refused(seesay: Call, tmp_path: Path) -> None:
    code, _, err = seesay("train", tmp_path / "absent.toml")
    assert code == 2
    assert "cannot read the recipe" in err
    (tmp_path / "broken.toml").write_text("name = ")
    code, _, err = seesay("train", tmp_path / "broken.toml")
    assert code == 2
    assert "broken.toml is not TOML" in err


def test_two_processes_train_the_weights_of_one_and_speak_once(
    recipe: Path, colours_run: Path, tmp_path: Path, colours_cache: Path
) -> None:
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    # Dropout draws its masks per process, so the runs are compared without it.
    plain = ["--set", "config.dropout=0.0", "--set", "config.image_dropout=0.0", "--set", "stop.epochs=2"]
    folders = [tmp_path / "one", tmp_path / "two"]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    outputs = []
    for start, folder in zip(([sys.executable], launcher), folders, strict=True):
        command = [*start, "-m", "seesay", "train", str(recipe), *plain, "-o", str(folder)]
        finished = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=180)
        assert finished.returncode == 0, finished.stderr
        outputs.append(finished.stdout)
    assert [output.count("the weights are in") for output in outputs] == [1, 1]
    assert_same_weights(*folders, atol=2e-3, rtol=0)
