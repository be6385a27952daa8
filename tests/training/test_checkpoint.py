import os
import random
import subprocess
import sys
from dataclasses import asdict

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from seesay.errors import SeesayError
from seesay.training.checkpoint import (
    CHECKPOINT,
    Progress,
    load_checkpoint,
    load_weights,
    random_state,
    read_tensors,
    restore_random_state,
    save_checkpoint,
    save_weights,
    seed_everything,
    write_tensors,
)
from seesay.training.optimisation import WeightAverage, build_optimiser
from seesay.training.recipe import Recipe


def recipe(**optimiser):
    return Recipe.from_dict(
        {
            "name": "toy",
            "model": "toy",
            "data": {"train": [{"source": "a"}], "dev": {"source": "a"}},
            "stop": {"epochs": 3},
            "optimiser": optimiser,
        }
    )


class Learner:
    """A model with its optimiser and average, as the loop holds them."""

    def __init__(self, seed=0, **optimiser):
        torch.manual_seed(seed)
        self.recipe = recipe(**optimiser)
        self.model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Dropout(0.5), nn.Linear(4, 1))
        self.optimiser = build_optimiser(self.model, self.recipe.optimiser)
        self.average = WeightAverage(self.model, 0.9)
        self.progress = Progress()

    def step(self):
        self.optimiser.zero_grad()
        (self.model(torch.randn(5, 3)) ** 2).mean().backward()
        self.optimiser.step()
        self.average.update(self.model, self.progress.step)
        self.progress.step += 1

    def save(self, path):
        save_checkpoint(path, self.recipe, self.progress, self.model, self.optimiser, self.average, [random_state()])

    def load(self, path, **processes):
        self.progress = load_checkpoint(path, self.recipe, self.model, self.optimiser, self.average, **processes)

    def tensors(self):
        return [*self.model.state_dict().values(), *self.average.weights.values()]


@pytest.fixture
def saved(tmp_path):
    learner = Learner()
    learner.step()
    path = tmp_path / "checkpoint.safetensors"
    learner.save(path)
    return path


@pytest.mark.parametrize(
    "optimiser",
    [
        {"name": "sgd"},
        {"name": "sgd", "momentum": 0.9},
        {"name": "rmsprop", "momentum": 0.9},
        {"name": "adam"},
        {"name": "adamw", "weight_decay": 0.1},
    ],
)
def test_a_restored_learner_goes_on_bit_for_bit(tmp_path, optimiser):
    path = tmp_path / "checkpoint.safetensors"
    learner = Learner(**optimiser)
    for _ in range(3):
        learner.step()
    learner.save(path)
    for _ in range(3):
        learner.step()
    random_numbers = random_state()
    restored = Learner(seed=99, **optimiser)
    restored.load(path)
    assert restored.progress.step == 3
    for _ in range(3):
        restored.step()
    for expected, found in zip(learner.tensors(), restored.tensors(), strict=True):
        assert torch.equal(expected, found)
    assert random_state() == random_numbers


def test_progress_comes_back_whole(tmp_path):
    learner = Learner()
    learner.progress = Progress(
        step=7, epoch=2, batch=3, is_measured=True, best={"sum": 0.1 + 0.2}, best_step=5, best_epoch=1, n_worse=1,
        sums={"loss": [1 / 3, 2.0]}, seconds=12.5, log_bytes=321, finished="patience",
    )  # fmt: skip
    expected = asdict(learner.progress)
    learner.save(tmp_path / "c.safetensors")
    learner.load(tmp_path / "c.safetensors")
    assert asdict(learner.progress) == expected


def test_all_three_generators_are_restored():
    def draw():
        return random.gauss(0, 1), np.random.standard_normal(3).tolist(), torch.randn(3).tolist()  # noqa: NPY002

    draw()  # leaves half of a pair of normal numbers behind in Python and NumPy
    state = random_state()
    first = draw()
    restore_random_state(state)
    assert draw() == first


def test_processes_have_random_streams_of_their_own_and_seeding_repeats_them():
    def draw(seed, rank):
        seed_everything(seed, rank)
        return random.random(), np.random.random(), torch.rand(1).item()  # noqa: NPY002

    assert draw(1, 0) == draw(1, 0)
    for other in (draw(1, 1), draw(2, 0)):
        assert all(a != b for a, b in zip(draw(1, 0), other, strict=True))


def test_tied_weights_and_transposed_views_are_saved(tmp_path):
    shared = torch.arange(6.0).reshape(2, 3)
    tensors = {"one": shared, "two": shared, "turned": shared.T, "empty": torch.zeros(0, 3), "whole": torch.tensor(3)}
    write_tensors(tmp_path / "t.safetensors", CHECKPOINT, tensors, {})
    found, _ = read_tensors(tmp_path / "t.safetensors", CHECKPOINT)
    assert found.keys() == tensors.keys()
    assert all(torch.equal(found[name], tensors[name]) for name in tensors)


def test_weights_alone_go_into_a_model_of_the_same_shape_only(tmp_path):
    path = tmp_path / "best.safetensors"
    save_weights(path, Learner(seed=1).model, {"figures": {"sum": 300.5}})
    other = Learner(seed=2)
    assert load_weights(path, other.model) == {"figures": {"sum": 300.5}}
    assert torch.equal(other.model[0].weight, Learner(seed=1).model[0].weight)
    with pytest.raises(SeesayError, match=r"does not fit the model: .*0\.weight is \(4, 3\) there and \(5, 3\) in"):
        load_weights(path, nn.Sequential(nn.Linear(3, 5)))


@pytest.mark.parametrize("n_bytes", [0, 4, 100, -1])
def test_a_truncated_file_is_refused(saved, n_bytes):
    content = saved.read_bytes()
    saved.write_bytes(content[:n_bytes])
    with pytest.raises(SeesayError, match="is damaged"):
        Learner().load(saved)


def test_a_single_flipped_bit_is_noticed_wherever_it_is(saved):
    content = saved.read_bytes()
    for place in range(0, len(content), 499):
        broken = bytearray(content)
        broken[place] ^= 1
        saved.write_bytes(broken)
        with pytest.raises(SeesayError, match=r"checkpoint\.safetensors"):
            read_tensors(saved, CHECKPOINT)


def test_foreign_files_are_refused_by_name(saved, tmp_path):
    foreign = tmp_path / "foreign.safetensors"
    save_file({"a": torch.zeros(2)}, foreign)
    with pytest.raises(SeesayError, match=r"foreign\.safetensors is not a checkpoint file .* it is not of seesay"):
        read_tensors(foreign, CHECKPOINT)
    foreign.write_text("hello")
    with pytest.raises(SeesayError, match=r"foreign\.safetensors is damaged or is not a safetensors file"):
        read_tensors(foreign, CHECKPOINT)
    with pytest.raises(SeesayError, match=r"there is no checkpoint file .*none"):
        read_tensors(tmp_path / "none", CHECKPOINT)
    with pytest.raises(SeesayError, match="is not a weights file of format 1: it is checkpoint 1"):
        load_weights(saved, Learner().model)


def test_another_recipe_is_refused_with_both_sides_named(saved):
    with pytest.raises(SeesayError, match=r"belongs to another recipe: optimiser\.rate is 0\.5 here and 0\.001 there"):
        Learner(rate=0.5).load(saved)


def test_another_number_of_processes_goes_on_with_the_same_weights_and_draws_of_its_own(saved):
    one, *two = (Learner() for _ in range(3))
    one.load(saved)
    draws = [torch.rand(3).tolist()]
    for rank, learner in enumerate(two):
        learner.load(saved, rank=rank, world=2)
        draws.append(torch.rand(3).tolist())
        for name, tensor in learner.model.state_dict().items():
            assert torch.equal(tensor, one.model.state_dict()[name])
    assert len({tuple(draw) for draw in draws}) == 3  # no two processes drop the same


def test_weights_that_are_not_finite_do_not_replace_a_good_checkpoint(saved):
    before = saved.read_bytes()
    learner = Learner()
    nn.init.constant_(learner.model[3].bias, float("nan"))
    with pytest.raises(SeesayError, match=r"model\.3\.bias is not finite"):
        learner.save(saved)
    assert saved.read_bytes() == before


# Forks a process for every way to die, so that torch is imported once.
KILLED = """
import os, random, signal, sys, time
from pathlib import Path
import torch
from seesay.training import checkpoint

path = Path(sys.argv[1])

def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

def save(number):
    tensors = {str(name): torch.full((20_000,), float(number)) for name in range(5)}
    checkpoint.write_tensors(path, checkpoint.CHECKPOINT, tensors, {"number": number})

def half_written(target, content):
    usual(target, content[: len(content) // 2])
    die()

def written_then_dead(*arguments):
    moved(*arguments)
    die()

def fork(action):
    child = os.fork()
    if child == 0:
        action()
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

def number_on_disk():
    tensors, about = checkpoint.read_tensors(path, checkpoint.CHECKPOINT)
    assert all(bool((tensor == about["number"]).all()) for tensor in tensors.values())
    return about["number"]

usual, moved = Path.write_bytes, os.replace
save(1)

def with_patch(owner, name, patch):
    def action():
        setattr(owner, name, patch)
        save(2)
    return action

for owner, name, patch in [(checkpoint, "to_bytes", die), (Path, "write_bytes", half_written),
                           (os, "fsync", die), (os, "replace", die)]:
    assert fork(with_patch(owner, name, patch)) == -signal.SIGKILL
    assert number_on_disk() == 1, (name, patch)
assert fork(with_patch(os, "replace", written_then_dead)) == -signal.SIGKILL
assert number_on_disk() == 2

def save_for_ever():
    started = time.monotonic()
    save(3)
    # The alarm's default action ends the process as abruptly as SIGKILL does, here somewhere in the next few saves.
    signal.setitimer(signal.ITIMER_REAL, random.uniform(0.1, 2.5) * (time.monotonic() - started))
    for number in range(4, 1_000_000):
        save(number)

for _ in range(12):
    assert fork(save_for_ever) == -signal.SIGALRM
    assert number_on_disk() >= 3
print("sound")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_process_killed_at_any_moment_leaves_the_old_checkpoint_or_the_whole_one_after_it(tmp_path):
    command = [sys.executable, "-c", KILLED, str(tmp_path / "checkpoint.safetensors")]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    finished = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
    assert finished.stdout == "sound\n", finished.stderr
