"""Two processes make the steps of one.

Run by torchrun this file trains each task in the folder that it is given; the test compares with a single process.
"""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

from seesay.errors import SeesayError
from seesay.layers.sequences import Sequences
from seesay.training.checkpoint import CHECKPOINT, read_tensors
from seesay.training.distributed import (
    gather_json,
    gather_with_own_gradient,
    leave,
    own_share,
    process_group,
    spread_over_processes,
    sum_gradients,
)
from seesay.training.loop import Loss, TrainingInterruptedError, train
from seesay.training.losses import batch_softmax
from seesay.training.recipe import Recipe

RECIPE = Recipe.from_dict(
    {
        "name": "toy",
        "model": "toy",
        "data": {"train": [{"source": "toy"}], "dev": {"source": "toy"}},
        "optimiser": {"name": "sgd", "rate": 0.3, "momentum": 0.5, "clip_norm": 1.0, "weight_decay": 0.01},
        "stop": {"epochs": 2},
    }
)


class Toy:
    evaluates_together = False

    def __init__(self, model):
        self.model = model
        self.losses = []

    def n_batches(self, epoch):
        return 4

    def batch(self, epoch, index):
        return torch.Generator().manual_seed(10 * epoch + index)

    def evaluate(self):
        return {"sum": 1.0}

    def record(self, loss):
        self.losses.append(loss.logs["loss"])
        return loss


class Ranking(Toy):
    """Images against words, with weights before the gathering (encoders) and after it (the temperature)."""

    def __init__(self):
        torch.manual_seed(0)
        model = nn.Module()
        model.images, model.words, model.unused = nn.Linear(6, 5), nn.Embedding(20, 5), nn.Linear(2, 2)
        model.temperature = nn.Parameter(torch.tensor(0.5))
        super().__init__(model)

    def loss(self, batch, rank, world):
        images, words = torch.randn(7, 6, generator=batch), torch.randint(0, 20, (7, 3), generator=batch)
        own = own_share(7, rank, world)
        images = gather_with_own_gradient(self.model.images(images[own]), rank, world)
        texts = gather_with_own_gradient(self.model.words(words[own]).mean(1), rank, world)
        positives = torch.eye(7, dtype=torch.bool)
        positives[0, 1] = True
        return self.record(
            Loss.of_whole_batch(batch_softmax(images @ texts.T, positives, self.model.temperature), world)
        )


class Mean(Toy):
    """A mean over examples of unlike length, as a captioner's loss over words is."""

    def __init__(self, dropout=0.0):
        torch.manual_seed(0)
        super().__init__(nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Dropout(dropout), nn.Linear(8, 1)))

    def loss(self, batch, rank, world):
        inputs, lengths = torch.randn(9, 6, generator=batch), torch.randint(1, 5, (9,), generator=batch)
        own = own_share(9, rank, world)
        costs = (self.model(inputs[own]).squeeze(1) - inputs[own].sum(1)).square() * lengths[own]
        return self.record(Loss.of_own_part(costs.sum() / lengths.sum(), world))


def main(folder):
    with process_group() as (rank, world):
        for name, task in (("ranking", Ranking()), ("mean", Mean())):
            train(task, RECIPE, folder / name)
            (folder / f"{name}.{rank}.json").write_text(json.dumps(task.losses))
        train(Mean(dropout=0.5), RECIPE, folder / "straight")

        def interrupt_first_process(event):  # the other one has to learn of it
            if event.kind == "step" and event.step == 3:
                os.kill(os.getpid(), signal.SIGINT)

        with pytest.raises(TrainingInterruptedError, match="after step 4 of 8"):
            train(Mean(dropout=0.5), RECIPE, folder / "resumed", on_event=interrupt_first_process)
        torch.manual_seed(rank)
        train(Mean(dropout=0.5), RECIPE, folder / "resumed")

        # Two processes begin what one finishes, in the test.
        with pytest.raises(TrainingInterruptedError):
            train(Mean(), RECIPE, folder / "fewer", on_event=interrupt_first_process)

        done = []

        def ready():
            def work(thing):
                done.append(thing)
                if thing == 2:
                    return Sequences(torch.full((1, 2, 3), 2.0), torch.tensor([[5, 6]]), torch.tensor([2]))
                return torch.full((thing,), float(thing))

            return work

        made = spread_over_processes(ready, [3, 1, 2, 0])
        assert done == [[3, 2], [1, 0]][rank]
        assert [made[0].tolist(), made[1].tolist(), made[3].tolist()] == [[3.0] * 3, [1.0], []]
        assert (made[2].states.shape, made[2].words.tolist(), made[2].lengths.tolist()) == ((1, 2, 3), [[5, 6]], [2])
        assert spread_over_processes(lambda: str, [1, 2, 3]) == ["1", "2", "3"]

        shard = gather_with_own_gradient(torch.full((rank * 2, 1), 7.0), rank, world)
        assert shard.tolist() == [[7.0], [7.0]]
        assert gather_json({"rank": rank}, world) == [{"rank": 0}, {"rank": 1}]
        used, unused = nn.Parameter(torch.zeros(2)), nn.Parameter(torch.zeros(2))
        used.grad = torch.ones(2) if rank == 0 else None
        assert sum_gradients([used, unused], [rank == 1, False], world) == [True, False]
        assert used.grad.tolist() == [1.0, 1.0]
        assert unused.grad is None


@pytest.fixture(scope="module")
def two_processes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("two")
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    command = [*launcher, str(Path(__file__).resolve()), str(folder)]
    finished = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
    assert finished.returncode == 0, finished.stderr
    return folder


def tensors_of(folder):
    return read_tensors(folder / "checkpoint.safetensors", CHECKPOINT)[0]


@pytest.mark.parametrize(("name", "task"), [("ranking", Ranking), ("mean", Mean)])
def test_two_processes_have_the_losses_and_weights_of_one(two_processes, tmp_path, name, task):
    single = task()
    train(single, RECIPE, tmp_path)
    assert len(set(single.losses)) == 8
    for rank in (0, 1):
        losses = json.loads((two_processes / f"{name}.{rank}.json").read_text())
        assert losses == pytest.approx(single.losses, abs=1e-6)
    expected, found = tensors_of(tmp_path), tensors_of(two_processes / name)
    assert expected.keys() == found.keys()
    for key, tensor in expected.items():
        torch.testing.assert_close(found[key], tensor, atol=1e-6, rtol=1e-5)


def test_a_run_of_two_processes_is_finished_by_one_with_the_same_weights(two_processes, tmp_path):
    straight = train(Mean(), RECIPE, tmp_path / "straight")
    resumed = train(Mean(), RECIPE, two_processes / "fewer")
    assert resumed.steps == straight.steps
    expected = tensors_of(tmp_path / "straight")
    for name, tensor in tensors_of(two_processes / "fewer").items():
        torch.testing.assert_close(tensor, expected[name], rtol=1e-4, atol=1e-5)


def test_one_log_is_written_by_two_processes(two_processes):
    lines = [json.loads(line) for line in (two_processes / "mean" / "log.jsonl").read_text().splitlines()]
    assert [(line["kind"], line["step"]) for line in lines] == [
        ("evaluation", 0), ("steps", 4), ("evaluation", 4), ("steps", 8), ("evaluation", 8),
    ]  # fmt: skip


def test_two_processes_stop_together_and_go_on_bit_for_bit_with_their_own_dropout(two_processes):
    straight, resumed = (tensors_of(two_processes / name) for name in ("straight", "resumed"))
    assert all(torch.equal(straight[key], resumed[key]) for key in straight)
    with_dropout, without = straight["model.0.weight"], tensors_of(two_processes / "mean")["model.0.weight"]
    assert not torch.equal(with_dropout, without)


@pytest.mark.parametrize(("n", "world"), [(10, 4), (1, 3), (0, 2), (7, 1)])
def test_shares_cover_everything_once_and_evenly(n, world):
    shares = [list(range(n))[own_share(n, rank, world)] for rank in range(world)]
    assert sum(shares, []) == list(range(n))  # noqa: RUF017
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


def test_one_process_needs_no_group(monkeypatch):
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    with process_group() as (rank, world):
        assert (rank, world) == (0, 1)


def test_a_half_set_environment_is_refused(monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.delenv("RANK", raising=False)
    with pytest.raises(SeesayError, match=r"RANK.* is not set\n  try: torchrun"), process_group():
        pass


if __name__ == "__main__":
    main(Path(sys.argv[1]))
    leave(0)
