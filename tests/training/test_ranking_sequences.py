"""Learning to rank with a vector for each word: sentences of unlike length meet across processes.

Run by torchrun this file writes the losses and gradients of two processes into the folder that it is given.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from seesay.data import Collection, Item
from seesay.images.features import Features, FeatureSpec
from seesay.models.dvsa import DVSA, DVSAConfig
from seesay.text.vocabulary import Vocabulary
from seesay.training.distributed import leave, process_group, sum_gradients
from seesay.training.ranking import RankingTask, score_all
from seesay.training.recipe import Recipe
from seesay.training.sources import Source

WORDS = ["a", "red", "green", "blue", "dog", "cat", "bus", "runs", "sleeps", "stands", "here", "there"]


class Table:
    """Features by picture without a store."""

    def __init__(self, n: int) -> None:
        self.maps = torch.rand(n, 3, 3, 6, generator=torch.Generator().manual_seed(0))
        self.keys = [f"key{number}" for number in range(n)]

    def __len__(self) -> int:
        return len(self.keys)

    def rows(self, indices: list[int]) -> Features:
        return Features(torch.zeros(len(list(indices)), 6), self.maps[list(indices)])


def source(n_images: int, *, sentences_only: bool = False) -> Source:
    """Pictures with two sentences of one to eight words."""
    generator = np.random.default_rng(n_images)
    items = []
    for number in range(n_images):
        sentences = [" ".join(generator.choice(WORDS, generator.integers(1, 9))) + f" {place}" for place in (0, 1)]
        items.append(Item(f"{number}.jpg", None, tuple(sentences), "train"))
    collection = Collection("made up", Path("nowhere"), "CSV or JSONL", tuple(items))
    table: Any = None if sentences_only else Table(n_images)
    return Source.of(collection, table)


def make_task() -> RankingTask:
    """Pictures, sentences alone, and a collection so small that a process's share of it is nothing."""
    recipe = Recipe.from_dict(
        {
            "name": "toy",
            "model": "dvsa",
            "data": {"train": [{"source": "made up"}], "dev": {"source": "made up"}},
            "batches": {"size": 7, "bucket_by_length": False},
            "stop": {"epochs": 1},
        }
    )
    sources = [source(9), source(8, sentences_only=True), source(1, sentences_only=True)]
    torch.manual_seed(0)
    vocabulary = Vocabulary.build((sentence for some in sources for sentence in some.sentences), min_count=1)
    config = DVSAConfig(dim=8, word_dim=6, map_dim=6, regions="grid-2x2", dropout=0.0, image_dropout=0.0, sentence=True)
    return RankingTask(DVSA(config, vocabulary, FeatureSpec()), sources, sources[0], recipe)


def measure_steps(task: RankingTask, rank: int, world: int) -> tuple[list[float], dict[str, torch.Tensor]]:
    """The loss of every batch of an epoch, and its gradients summed over the processes."""
    losses, gradients = [], {}
    for index in range(task.n_batches(0)):
        task.model.zero_grad()
        loss = task.loss(task.batch(0, index), rank, world)
        loss.total.backward()
        sum_gradients(list(task.model.parameters()), [], world)
        losses.append(loss.logs["loss"])
        for name, weight in task.model.named_parameters():
            if weight.grad is not None:
                gradients[f"{index}.{name}"] = weight.grad.clone()
    return losses, gradients


def main(folder: Path) -> None:
    with process_group() as (rank, world):
        losses, gradients = measure_steps(make_task(), rank, world)
        (folder / f"losses.{rank}.json").write_text(json.dumps(losses))
        save_file(gradients, folder / f"gradients.{rank}.safetensors")


def test_two_processes_have_the_losses_and_gradients_of_one(tmp_path: Path) -> None:
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    command = [*launcher, str(Path(__file__).resolve()), str(tmp_path)]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    finished = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=180)
    assert finished.returncode == 0, finished.stderr
    losses, gradients = measure_steps(make_task(), 0, 1)
    assert len(losses) >= 5
    for rank in (0, 1):
        assert json.loads((tmp_path / f"losses.{rank}.json").read_text()) == pytest.approx(losses, abs=1e-5)
        found = load_file(tmp_path / f"gradients.{rank}.safetensors")
        for name, gradient in gradients.items():
            torch.testing.assert_close(found[name], gradient, atol=1e-5, rtol=1e-4, msg=name)


def test_scores_stand_in_the_order_of_the_source_whatever_the_batches() -> None:
    task = make_task()
    task.model.eval()
    assert task.dev.table is not None
    images = task.model.encode_images(task.dev.table.rows(range(9)))
    expected = task.model.score(images, task.model.encode_texts(task.dev.sentences))
    for size in (2, 256):
        torch.testing.assert_close(score_all(task.model, task.dev, batch=size), expected.detach())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
    leave(0)
