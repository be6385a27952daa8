"""Learning to rank: what a batch holds, what counts against what, and that two processes make the steps of one."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from seesay.data import Collection, Item
from seesay.data.examples import Examples
from seesay.images.features import Features, FeatureSpec
from seesay.metrics.retrieval import retrieval_report
from seesay.models.vse import VSE, VSEConfig
from seesay.scoring import score_all
from seesay.text.vocabulary import Vocabulary
from seesay.training.losses import batch_softmax
from seesay.training.ranking import Batch, RankingTask
from seesay.training.recipe import Recipe

WORDS = ["a", "red", "green", "blue", "dog", "cat", "bus", "runs", "sleeps", "stands", "here", "there"]


class Table:
    """Features by picture without a store."""

    def __init__(self, n: int, seed: int = 0) -> None:
        self.pooled = torch.rand(n, 6, generator=torch.Generator().manual_seed(seed))
        self.keys = [f"key{number}" for number in range(n)]

    def __len__(self) -> int:
        return len(self.pooled)

    def rows(self, indices: Sequence[int]) -> Features:
        return Features(self.pooled[list(indices)])


def source(n_images: int, *, sentences_only: bool = False, weight: float = 1.0, seed: int = 0) -> Examples:
    """Pictures with one to four sentences each, in twos to fours where they are to find each other."""
    generator = np.random.default_rng(seed)
    items = []
    for number in range(n_images):
        n = int(generator.integers(2 if sentences_only else 1, 5))
        sentences = [" ".join(generator.choice(WORDS, generator.integers(1, 8))) + f" {number}" for _ in range(n)]
        items.append(Item(f"{number}.jpg", None, tuple(sentences), "train"))
    collection = Collection("made up", Path("nowhere"), "CSV or JSONL", tuple(items))
    image_of = np.repeat(np.arange(n_images), [len(item.sentences) for item in items])
    table: Any = None if sentences_only else Table(n_images, seed)
    return Examples(collection, collection.sentences, image_of, table, weight)


def make_task(sources: list[Examples], **changes: Any) -> RankingTask:
    recipe = Recipe.from_dict(
        {
            "name": "toy",
            "model": "vse",
            "seed": 3,
            "data": {"train": [{"source": "made up"}], "dev": {"source": "made up"}},
            "batches": {"size": 7},
            "stop": {"epochs": 2},
            **changes,
        }
    )
    torch.manual_seed(0)
    vocabulary = Vocabulary.build((sentence for source in sources for sentence in source.sentences), min_count=1)
    config = VSEConfig(dim=8, word_dim=6, image_dim=6, dropout=0.0, image_dropout=0.0)
    return RankingTask(VSE(config, vocabulary, FeatureSpec()), sources, sources[0], recipe)


def mixed_task() -> RankingTask:
    """Pictures, sentences alone, and a collection so small that a process's share of it is nothing."""
    return make_task([source(9), source(8, sentences_only=True, seed=1), source(1, sentences_only=True, seed=2)])


def all_batches(task: RankingTask, epoch: int = 0) -> list[Batch]:
    return [task.batch(epoch, index) for index in range(task.n_batches(epoch))]


def described(batches: list[Batch]) -> list[tuple[Any, ...]]:
    return [(batch.source, batch.images.tolist(), batch.texts, batch.partners) for batch in batches]


class TestBatches:
    def test_they_are_a_function_of_the_seed_the_epoch_and_the_index(self) -> None:
        task = mixed_task()
        assert described(all_batches(task)) == described(all_batches(mixed_task()))
        assert described([task.batch(1, 2)]) == described([mixed_task().batch(1, 2)])
        assert described(all_batches(task, 1)) != described(all_batches(task, 0))

    def test_an_epoch_shows_every_sentence_once_with_its_own_picture(self) -> None:
        pictures = source(9)
        task = make_task([pictures])
        shown = [pair for batch in all_batches(task) for pair in zip(batch.texts, batch.images.tolist(), strict=True)]
        assert sorted(shown) == sorted(zip(pictures.sentences, pictures.image_of.tolist(), strict=True))
        assert {batch.partners is None for batch in all_batches(task)} == {True}

    def test_a_batch_comes_from_one_source(self) -> None:
        for batch in all_batches(mixed_task()):
            assert (batch.partners is None) == (batch.source == 0)
            assert len(batch.texts) == len(batch.images) <= 7

    def test_sentences_alone_are_drawn_as_two_different_ones_of_the_same_picture(self) -> None:
        alone = source(8, sentences_only=True)
        task = make_task([source(3), alone])
        for epoch in (0, 1):
            batches = [batch for batch in all_batches(task, epoch) if batch.source == 1]
            assert sorted(int(image) for batch in batches for image in batch.images) == list(range(8))
            for batch in batches:
                assert batch.partners is not None
                for image, text, partner in zip(batch.images, batch.texts, batch.partners, strict=True):
                    own = alone.collection.items[image].sentences
                    assert text in own
                    assert partner in own
                    assert text is not partner
                    assert own.index(text) != own.index(partner)
        drawn = [described([batch for batch in all_batches(task, epoch) if batch.source == 1]) for epoch in (0, 1)]
        assert drawn[0] != drawn[1]

    def test_a_weight_says_how_often_an_epoch_goes_through_a_source(self) -> None:
        task = make_task([source(8), source(8, sentences_only=True, weight=2.0)])
        alone = [batch for batch in all_batches(task) if batch.source == 1]
        assert sorted(int(image) for batch in alone for image in batch.images) == sorted([*range(8), *range(8)])


class TestLoss:
    def test_other_sentences_of_a_picture_are_no_negatives(self) -> None:
        task = make_task([source(4)])
        one_picture = Batch(0, np.array([2, 2, 2]), ["a red dog", "a bus", "cat"])
        assert task.loss(one_picture, 0, 1).logs["loss"] == pytest.approx(0.0, abs=1e-6)
        two_pictures = replace(one_picture, images=np.array([2, 2, 1]))
        assert task.loss(two_pictures, 0, 1).logs["loss"] > 0.1

    def test_it_is_the_recipes_loss_of_the_scores_of_the_batch(self) -> None:
        task = make_task([source(4)], loss={"name": "softmax", "temperature": 0.3})
        batch = Batch(0, np.array([2, 0, 2]), ["a red dog", "a bus", "cat"])
        images = task.model.encode_images(task.sources[0].table.rows([2, 0, 2]))
        scores = images @ task.model.encode_texts(batch.texts).T
        positives = torch.tensor([[True, False, True], [False, True, False], [True, False, True]])
        expected = batch_softmax(scores, positives, 0.3)
        found = task.loss(batch, 0, 1)
        torch.testing.assert_close(found.total, expected)
        assert found.logs["loss"] == pytest.approx(expected.item())

    def test_what_a_model_adds_is_added_and_the_ranking_is_logged_apart(self, monkeypatch: pytest.MonkeyPatch) -> None:
        task = make_task([source(4)])
        batch = Batch(0, np.array([2, 0]), ["a red dog", "a bus"])
        plain = task.loss(batch, 0, 1)
        own = torch.tensor(0.75)
        told: list[torch.Tensor] = []

        def judge(self: VSE, images: torch.Tensor, texts: torch.Tensor, positives: torch.Tensor) -> tuple:
            told.append(positives)
            return self.score(images, texts), own

        monkeypatch.setattr(VSE, "judge", judge)
        found = task.loss(batch, 0, 1)
        torch.testing.assert_close(found.total, plain.total + 0.75)
        assert found.logs == pytest.approx({"loss": plain.logs["loss"] + 0.75, "ranking": plain.logs["loss"]})
        assert [positives.tolist() for positives in told] == [[[True, False], [False, True]]]

    def test_sentences_alone_have_to_find_each_other(self) -> None:
        task = mixed_task()
        batch = Batch(1, np.array([0, 1]), ["a red dog", "a bus"], ["a red dog", "a bus"])
        swapped = replace(batch, partners=["a bus", "a red dog"])
        assert task.loss(batch, 0, 1).logs["loss"] < task.loss(swapped, 0, 1).logs["loss"]


class TestEvaluation:
    def test_scores_stand_in_the_order_of_the_source_whatever_the_batches(self) -> None:
        task = make_task([source(9)])
        images = task.model.encode_images(task.dev.table.rows(range(9)))
        expected = images @ task.model.encode_texts(task.dev.sentences).T
        for size in (2, 256):
            torch.testing.assert_close(score_all(task.model, task.dev, batch=size), expected.detach())

    def test_the_model_is_measured_without_dropout_and_left_as_it_was(self) -> None:
        task = make_task([source(9)])
        for is_training in (True, False):
            task.model.train(is_training)
            score_all(task.model, task.dev)
            assert task.model.training is is_training

    def test_the_figures_are_those_of_the_papers(self) -> None:
        task = make_task([source(9)])
        figures = task.evaluate()
        report = retrieval_report(score_all(task.model, task.dev), task.dev.image_of)
        assert figures["sum"] == report["sum"]
        assert figures["i2t_r5"] == report["i2t"]["r5"]
        assert figures["t2i_median"] == report["t2i"]["median"]
        assert len(figures) == 9

    def test_a_slow_model_is_glanced_at_while_it_learns_and_measured_on_all(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        task = make_task([source(9)])
        everything = task.evaluate()
        monkeypatch.setattr(VSE, "n_dev_images", 4)
        monkeypatch.setattr(Examples, "first", lambda self, n: source(n))
        few = source(4)
        assert task.evaluate()["sum"] == retrieval_report(score_all(task.model, few), few.image_of)["sum"]
        assert task.measure(task.model)["sum"] == everything["sum"]

    def test_sentences_alone_cannot_be_measured_on(self) -> None:
        task = mixed_task()
        with pytest.raises(ValueError, match="without images"):
            score_all(task.model, task.sources[1])


def test_two_processes_have_the_losses_and_gradients_of_one(
    require_the_steps_of_one: Callable[[Callable[[], RankingTask]], None],
) -> None:
    require_the_steps_of_one(mixed_task)
