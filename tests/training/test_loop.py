"""The loop on a small regression with dropout, batch norm and a weight average: everything that has a state.

Run as a script this file trains that task in a fresh process: `python test_loop.py FOLDER [STEP_TO_BE_KILLED_AT]`.
"""

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import nn

from seesay.errors import SeesayError
from seesay.training.batching import batches
from seesay.training.checkpoint import CHECKPOINT, WEIGHTS, load_weights, read_tensors
from seesay.training.loop import Loss, TrainingInterruptedError, train
from seesay.training.recipe import Recipe

RECIPE = Recipe.from_dict(
    {
        "name": "toy",
        "model": "toy",
        "seed": 5,
        "data": {"train": [{"source": "toy"}], "dev": {"source": "toy"}},
        "optimiser": {"name": "adamw", "rate": 0.02, "schedule": "cosine", "warmup": 3, "clip_norm": 1.0, "ema": 0.9},
        "batches": {"size": 8},
        "stop": {"epochs": 3, "metric": "fit"},
    }
)
N_BATCHES = 8
SAVING = {"save_steps": 5, "log_steps": 3}


class Regression:
    """Learn y = Σ x from 60 examples; `broken_at` gives a nan at a step."""

    evaluates_together = False

    def __init__(self, recipe=RECIPE, broken_at=None):
        torch.manual_seed(1)
        self.recipe, self.broken_at, self.n_losses = recipe, broken_at, 0
        self.model = nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 1))
        self.inputs = torch.randn(60, 4, generator=torch.Generator().manual_seed(2))

    def _batches(self, epoch):
        lengths = [1] * len(self.inputs)
        return batches(lengths, self.recipe.batches.size, seed=self.recipe.seed, epoch=epoch)

    def n_batches(self, epoch):
        return len(self._batches(epoch))

    def batch(self, epoch, index):
        return self.inputs[self._batches(epoch)[index]]

    def loss(self, batch, rank, world):
        self.n_losses += 1
        value = (self.model(batch).squeeze(1) - batch.sum(1)).square().mean()
        if self.n_losses == self.broken_at:
            value = value * float("nan")
        return Loss.of_whole_batch(value, world)

    def evaluate(self):
        assert not self.model.training
        assert not torch.is_grad_enabled()
        error = (self.model(self.inputs).squeeze(1) - self.inputs.sum(1)).square().mean().item()
        return {"fit": -error, "noise": torch.rand(1).item()}  # an evaluation may draw random numbers too


class Figures(Regression):
    """A task whose dev figures are given in advance."""

    def __init__(self, figures):
        super().__init__()
        self.figures = iter(figures)

    def evaluate(self):
        return {"fit": next(self.figures)}


def log_of(folder):
    lines = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    return [{key: value for key, value in line.items() if key != "seconds"} for line in lines]


def states_of(folder):
    tensors, about = read_tensors(folder / "checkpoint.safetensors", CHECKPOINT)
    about["progress"]["seconds"] = about["progress"]["log_bytes"] = None  # the digits of the seconds differ in number
    best, best_about = read_tensors(folder / "best.safetensors", WEIGHTS)
    return tensors | {f"best.{name}": tensor for name, tensor in best.items()}, (about, best_about)


def assert_same_run(one, other):
    (tensors, about), (other_tensors, other_about) = states_of(one), states_of(other)
    assert tensors.keys() == other_tensors.keys()
    for name, tensor in tensors.items():
        assert torch.equal(tensor, other_tensors[name]), name
    assert about == other_about
    assert log_of(one) == log_of(other)


def interrupt_at(step, number=signal.SIGINT):
    def on_event(event):
        if event.kind == "step" and event.step == step:
            os.kill(os.getpid(), number)

    return on_event


def in_fresh_process(*arguments):
    command = [sys.executable, str(Path(__file__).resolve()), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


@pytest.fixture(scope="module")
def straight(tmp_path_factory):
    folder = tmp_path_factory.mktemp("straight")
    return folder, train(Regression(), RECIPE, folder, **SAVING)


def test_training_learns_and_keeps_the_best_weights(straight):
    folder, result = straight
    evaluations = [line for line in log_of(folder) if line["kind"] == "evaluation"]
    assert [line["epoch"] for line in evaluations] == [0, 1, 2, 3]
    assert evaluations[-1]["fit"] > evaluations[0]["fit"]
    best = max(evaluations, key=lambda line: line["fit"])
    assert result.best == {"fit": best["fit"], "noise": best["noise"]}
    assert (result.best_step, result.best_epoch) == (best["step"], best["epoch"])
    assert (result.steps, result.epochs, result.stopped_early) == (3 * N_BATCHES, 3, False)
    assert result.seconds > 0
    task = Regression()
    assert load_weights(result.weights, task.model)["figures"] == result.best
    with torch.no_grad():
        task.model.eval()
        assert task.evaluate()["fit"] == pytest.approx(best["fit"], abs=1e-7)


def test_the_log_has_a_line_for_every_few_steps(straight):
    steps = [line for line in log_of(straight[0]) if line["kind"] == "steps"]
    assert [line["step"] for line in steps] == [3, 6, 8, 9, 12, 15, 16, 18, 21, 24]
    assert [(line["epoch"], line["batch"]) for line in steps[:4]] == [(1, 3), (1, 6), (1, 8), (2, 1)]
    assert all({"loss", "gradient", "rate"} <= line.keys() for line in steps)


def test_the_folder_says_what_was_run(straight):
    folder, _ = straight
    names = {path.name for path in folder.iterdir()}
    assert names - {"run.lock", "run.pid"} == {"recipe.toml", "log.jsonl", "checkpoint.safetensors", "best.safetensors"}
    assert (folder / "recipe.toml").read_text() == RECIPE.to_toml()


@pytest.mark.parametrize("step", [1, 11, 16])
def test_a_run_stopped_by_a_signal_goes_on_bit_for_bit(straight, tmp_path, step):
    with pytest.raises(
        TrainingInterruptedError, match=rf"after step {step + 1} of 24; its state is saved in .*\n.*again"
    ):
        train(Regression(), RECIPE, tmp_path, on_event=interrupt_at(step), **SAVING)
    torch.manual_seed(12345)
    train(Regression(), RECIPE, tmp_path, **SAVING)
    assert_same_run(straight[0], tmp_path)


def test_a_run_stopped_in_the_middle_of_an_epoch_goes_on_bit_for_bit_in_a_fresh_process(straight, tmp_path):
    with pytest.raises(TrainingInterruptedError):
        train(Regression(), RECIPE, tmp_path, on_event=interrupt_at(11, signal.SIGTERM), **SAVING)
    finished = in_fresh_process(tmp_path)
    assert finished.returncode == 0, finished.stderr
    assert_same_run(straight[0], tmp_path)


def test_a_killed_run_goes_on_from_its_last_checkpoint_and_doubles_no_line(straight, tmp_path):
    killed = in_fresh_process(tmp_path, 14)
    assert killed.returncode == -signal.SIGKILL
    (tmp_path / ".checkpoint.safetensors.x.partial").write_text("what a kill during a save leaves behind")
    assert log_of(tmp_path)[-1]["step"] == 12  # the checkpoint is of step 10
    events = []
    train(Regression(), RECIPE, tmp_path, on_event=events.append, **SAVING)
    assert (events[0].kind, events[0].step) == ("resumed", 10)
    assert_same_run(straight[0], tmp_path)
    assert not list(tmp_path.glob("*.partial")) + list(tmp_path.glob(".*"))


def test_a_finished_run_is_not_run_again(straight):
    folder, result = straight
    before = (folder / "checkpoint.safetensors").read_bytes()
    task = Regression()
    assert train(task, RECIPE, folder).best == result.best
    assert task.n_losses == 0
    assert (folder / "checkpoint.safetensors").read_bytes() == before


def test_without_resuming_the_folder_starts_over(straight, tmp_path):
    train(Regression(), replace(RECIPE, seed=6), tmp_path, **SAVING)
    with pytest.raises(SeesayError, match="another recipe: seed is 5 here and 6 there"):
        train(Regression(), RECIPE, tmp_path, **SAVING)
    train(Regression(), RECIPE, tmp_path, resume=False, **SAVING)
    assert_same_run(straight[0], tmp_path)


def test_events_tell_each_step_evaluation_and_save(tmp_path):
    events = []
    train(Regression(), RECIPE, tmp_path, on_event=events.append, **SAVING)
    steps = [event for event in events if event.kind == "step"]
    assert [event.step for event in steps] == list(range(1, 25))
    assert [(event.epoch, event.batch) for event in steps[7:9]] == [(1, 8), (2, 1)]
    assert (steps[0].n_epochs, steps[0].n_batches, steps[0].n_steps) == (3, N_BATCHES, 24)
    assert steps[0].figures["rate"] == pytest.approx(0.02 / 3)
    lines = {line["step"]: line for line in log_of(tmp_path) if line["kind"] == "steps"}
    assert lines[6]["loss"] == pytest.approx(sum(event.figures["loss"] for event in steps[3:6]) / 3)
    assert lines[8]["loss"] == pytest.approx(sum(event.figures["loss"] for event in steps[6:8]) / 2)
    assert [event.step for event in events if event.kind == "saved"] == [0, 5, 8, 10, 15, 16, 20, 24]
    evaluations = [event for event in events if event.kind == "evaluation"]
    assert [event.step for event in evaluations] == [0, 8, 16, 24]
    assert evaluations[0].is_best
    assert events[-1].kind == "finished"


def test_time_makes_checkpoints_too(tmp_path):
    events = []
    train(Regression(), RECIPE, tmp_path, on_event=events.append, save_minutes=0.0)
    assert sum(event.kind == "saved" for event in events) >= 24


def test_a_nan_loss_ends_the_run_and_leaves_the_last_good_checkpoint(straight, tmp_path):
    with pytest.raises(SeesayError, match=r"the loss became nan in epoch 2, batch 4 \(step 12, rate .*last good state"):
        train(Regression(broken_at=12), RECIPE, tmp_path, **SAVING)
    assert states_of(tmp_path)[1][0]["progress"]["step"] == 10
    train(Regression(), RECIPE, tmp_path, **SAVING)
    assert_same_run(straight[0], tmp_path)


def test_a_gradient_that_is_not_finite_ends_the_run_before_it_reaches_the_weights(tmp_path):
    class Infinite(Regression):
        def loss(self, batch, rank, world):
            value = super().loss(batch, rank, world).total
            return Loss(value + torch.sqrt(0 * self.model[0].weight.sum()), {"loss": value.item()})

    task = Infinite()
    with pytest.raises(SeesayError, match=r"the gradient became (nan|inf) in epoch 1, batch 1"):
        train(task, RECIPE, tmp_path)
    assert all(torch.isfinite(weight).all() for weight in task.model.parameters())


def with_stop(**stop):
    return replace(RECIPE, stop=replace(RECIPE.stop, **stop))


def test_patience_ends_the_run_and_the_best_evaluation_wins(tmp_path):
    figures = [0.0, 5.0, 4.0, 3.0, 9.0]
    result = train(Figures(figures), with_stop(epochs=9, patience=2), tmp_path)
    assert (result.best, result.best_epoch, result.epochs, result.stopped_early) == ({"fit": 5.0}, 1, 3, True)


def test_patience_counts_on_after_an_interruption(tmp_path):
    recipe = with_stop(epochs=9, patience=2)
    with pytest.raises(TrainingInterruptedError):
        train(Figures([0.0, 5.0, 4.0]), recipe, tmp_path, on_event=interrupt_at(2 * N_BATCHES + 2))
    result = train(Figures([3.0]), recipe, tmp_path)
    assert (result.best, result.epochs, result.stopped_early) == ({"fit": 5.0}, 3, True)


def test_the_smallest_figure_wins_where_the_recipe_says_so(tmp_path):
    result = train(Figures([9.0, 5.0, 4.0, 6.0]), with_stop(mode="min"), tmp_path)
    assert (result.best, result.best_epoch) == ({"fit": 4.0}, 2)


def test_the_last_weights_are_kept_where_the_recipe_says_so(tmp_path):
    result = train(Figures([9.0, 5.0, 4.0, 3.0]), with_stop(keep="last"), tmp_path)
    assert (result.best, result.best_epoch) == ({"fit": 3.0}, 3)


def test_evaluations_come_every_few_epochs_and_at_the_end(tmp_path):
    train(Figures([0.0, 1.0, 2.0]), with_stop(epochs=3, evaluate_every=2), tmp_path)
    assert [line["epoch"] for line in log_of(tmp_path) if line["kind"] == "evaluation"] == [0, 2, 3]


def test_an_unknown_metric_is_refused_before_the_first_step(tmp_path):
    task = Regression()
    with pytest.raises(
        SeesayError, match=r"stop\.metric is 'sum', which evaluation does not give\n  allowed: fit, noise"
    ):
        train(task, with_stop(metric="sum"), tmp_path)
    assert task.n_losses == 0


def test_impossible_recipes_made_in_python_are_refused_before_the_first_step(tmp_path):
    with pytest.raises(SeesayError, match=r"optimiser\.rate cannot be -1\.0"):
        train(Regression(), replace(RECIPE, optimiser=replace(RECIPE.optimiser, rate=-1.0)), tmp_path)
    empty = Regression()
    empty.inputs = empty.inputs[:0]
    with pytest.raises(SeesayError, match="epoch 1 of the recipe 'toy' has no batches"):
        train(empty, RECIPE, tmp_path)


def test_evaluation_and_best_weights_use_the_average_and_training_goes_on_without_it(tmp_path):
    plain = replace(RECIPE, optimiser=replace(RECIPE.optimiser, ema=0.0))
    averaged, ordinary = Regression(), Regression()
    train(averaged, RECIPE, tmp_path / "averaged", **SAVING)
    train(ordinary, plain, tmp_path / "ordinary", **SAVING)
    # The average takes no part in learning: both learners end with the same weights ...
    for one, other in zip(averaged.model.parameters(), ordinary.model.parameters(), strict=True):
        assert torch.equal(one, other)
    # ... and differ in what is measured and kept.
    assert log_of(tmp_path / "averaged")[-1]["fit"] != log_of(tmp_path / "ordinary")[-1]["fit"]
    tensors, _ = states_of(tmp_path / "averaged")
    assert torch.equal(tensors["best.0.weight"], tensors["average.0.weight"])
    assert not torch.equal(tensors["best.0.weight"], tensors["model.0.weight"])


if __name__ == "__main__":
    step_to_be_killed_at = int(sys.argv[2]) if len(sys.argv) > 2 else -1
    train(
        Regression(), RECIPE, Path(sys.argv[1]), on_event=interrupt_at(step_to_be_killed_at, signal.SIGKILL), **SAVING
    )
