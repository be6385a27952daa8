"""Learning to rank with a vector for each word: sentences of unlike length meet across processes."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from seesay.data import Collection, Item
from seesay.data.examples import Examples
from seesay.images.features import Features, FeatureSpec
from seesay.models.dvsa import DVSA, DVSAConfig
from seesay.scoring import score_all
from seesay.text.vocabulary import Vocabulary
from seesay.training.ranking import RankingTask
from seesay.training.recipe import Recipe

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


def source(n_images: int, *, sentences_only: bool = False) -> Examples:
    """Pictures with two sentences of one to eight words."""
    generator = np.random.default_rng(n_images)
    items = []
    for number in range(n_images):
        sentences = [" ".join(generator.choice(WORDS, generator.integers(1, 9))) + f" {place}" for place in (0, 1)]
        items.append(Item(f"{number}.jpg", None, tuple(sentences), "train"))
    collection = Collection("made up", Path("nowhere"), "CSV or JSONL", tuple(items))
    table: Any = None if sentences_only else Table(n_images)
    return Examples.of(collection, table)


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


def test_two_processes_have_the_losses_and_gradients_of_one(
    require_the_steps_of_one: Callable[[Callable[[], RankingTask]], None],
) -> None:
    require_the_steps_of_one(make_task)


def test_scores_stand_in_the_order_of_the_source_whatever_the_batches() -> None:
    task = make_task()
    task.model.eval()
    assert task.dev.table is not None
    images = task.model.encode_images(task.dev.table.rows(range(9)))
    expected = task.model.score(images, task.model.encode_texts(task.dev.sentences))
    for size in (2, 256):
        torch.testing.assert_close(score_all(task.model, task.dev, batch=size), expected.detach())
