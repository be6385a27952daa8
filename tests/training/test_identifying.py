"""Learning to identify: which pairs are drawn, what they cost, that two processes make the steps of one, and dev."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from seesay.data import Collection, Item
from seesay.data.examples import Examples
from seesay.errors import SeesayError
from seesay.images.features import Features, FeatureSpec
from seesay.metrics.identification import draw_trials
from seesay.models.identifier import Identifier, IdentifierConfig
from seesay.scoring import score_trials, similar_images
from seesay.text.vocabulary import Vocabulary
from seesay.training.identifying import Batch, IdentifyingTask, cut_part, fit_temperatures, measure_identification
from seesay.training.recipe import Recipe

WORDS = ["a", "red", "green", "dog", "cat", "bus", "runs", "sleeps", "here"]


class Table:
    """Features by picture without a store."""

    def __init__(self, n: int) -> None:
        self.pooled = torch.rand(n, 6, generator=torch.Generator().manual_seed(0))

    def __len__(self) -> int:
        return len(self.pooled)

    def rows(self, indices: Sequence[int]) -> Features:
        return Features(self.pooled[list(indices)])


def source(n_images: int = 12) -> Examples:
    """Pictures with two sentences of up to seven words each."""
    rng = np.random.default_rng(0)
    items = []
    for number in range(n_images):
        sentences = tuple(" ".join(rng.choice(WORDS, length)) for length in rng.integers(1, 8, 2))
        items.append(Item(f"{number}.jpg", None, sentences, "train"))
    table: Any = Table(n_images)
    return Examples.of(Collection("made up", Path("nowhere"), "CSV or JSONL", tuple(items)), table)


def make_task(own: Examples | None = None, **config: Any) -> IdentifyingTask:
    own = own or source()
    recipe = Recipe.from_dict(
        {
            "name": "toy",
            "model": "identifier",
            "seed": 3,
            "data": {"train": [{"source": "made up"}], "dev": {"source": "made up"}},
            "batches": {"size": 4},
            "stop": {"epochs": 2, "metric": "of_2"},
        }
    )
    torch.manual_seed(0)
    small = {"dim": 5, "hidden": 4, "word_dim": 3, "image_dim": 6, "word_vectors": ""}
    model = Identifier(IdentifierConfig(**(small | config)), Vocabulary.build(WORDS, min_count=1), FeatureSpec())
    model.initialise(0)
    return IdentifyingTask(model, [own], own, recipe)


def test_a_batch_pairs_each_sentence_with_its_own_picture_and_with_others() -> None:
    task = make_task(mismatches=3)
    own = task.sources[0]
    for index in range(task.n_batches(0)):
        batch = task.batch(0, index)
        assert batch.images.shape == (len(batch.texts), 4)
        for text, right in zip(batch.texts, batch.images[:, 0], strict=True):
            assert text in own.collection.items[right].sentences
        assert (batch.images[:, 1:] != batch.images[:, :1]).all()


def test_a_batch_is_drawn_the_same_again_and_differently_in_the_next_epoch() -> None:
    task = make_task(mismatches=2)
    assert (task.batch(0, 1).images == task.batch(0, 1).images).all()
    assert any((task.batch(0, i).images != task.batch(1, i).images).any() for i in range(task.n_batches(0)))


def test_hard_mismatches_are_similar_pictures() -> None:
    task = make_task(mismatches=2, hard=1.0, n_similar=2)
    similar = similar_images(task.sources[0], 2)
    batch = task.batch(0, 0)
    for right, *wrong in batch.images.tolist():
        assert set(wrong) <= set(similar[right].tolist())


def test_similar_pictures_are_the_nearest_and_never_the_picture_itself() -> None:
    own = source(5)
    table: Any = Table(5)
    table.pooled = torch.tensor([[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 0.9], [1.0, 0.0]])  # 0 and 4 are the same
    similar = similar_images(replace(own, table=table), 2)
    assert similar.shape == (5, 2)
    assert all(row not in similar[row] for row in (1, 2, 3))
    assert similar[2].tolist()[0] == 3
    assert similar[1].tolist() == [0, 4]


def test_of_a_large_collection_a_part_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seesay.scoring.MOST_COMPARED", 5)
    similar = similar_images(source(), 3)
    assert similar.shape == (12, 3)
    assert len(np.unique(similar)) <= 5
    assert all(row not in similar[row] for row in range(12))


def judge_first_batch(**options: Any) -> tuple[float, torch.Tensor]:
    """The loss of a batch of four sentences with three mismatches each, and its logits: (4, 4), the match first."""
    task = make_task(mismatches=3, **options)
    task.model.eval()
    batch = task.batch(0, 0)
    table = task.sources[0].table
    assert table is not None
    images = task.model.encode_images(table.rows(batch.images.ravel().tolist())).view(4, 4, -1)
    return task.loss(batch, 0, 1).logs["loss"], task.model.choose(images, task.model.encode_texts(batch.texts))


def test_matches_and_mismatches_weigh_one_half_each() -> None:
    loss, logits = judge_first_batch()
    right = F.binary_cross_entropy_with_logits(logits[:, 0], torch.ones(4))
    wrong = F.binary_cross_entropy_with_logits(logits[:, 1:], torch.zeros(4, 3))
    assert loss == pytest.approx(float((right + wrong).detach() / 2))


def test_a_share_of_the_loss_asks_for_the_right_picture() -> None:
    def losses(choice: float) -> tuple[float, torch.Tensor]:
        loss, logits = judge_first_batch(choice=choice)
        return loss, F.cross_entropy(logits, torch.zeros(4, dtype=torch.long))

    pairs, asked = losses(0.0)
    assert losses(1.0)[0] == pytest.approx(float(asked.detach()))
    assert losses(0.25)[0] == pytest.approx(float(0.75 * pairs + 0.25 * asked.detach()))


def test_parts_of_sentences_are_words_that_follow_each_other() -> None:
    rng = np.random.default_rng(0)
    sentence = "two dogs run in the snow"
    parts = {cut_part(sentence, rng) for _ in range(500)}
    assert all(f" {part} " in f" {sentence} " for part in parts)
    assert {len(part.split()) for part in parts} == {2, 3, 4, 5, 6}
    assert cut_part("a dog", rng) == "a dog"
    whole, cut = make_task().batch(0, 0), make_task(parts=1.0).batch(0, 0)
    assert (cut.images == whole.images).all()
    assert all(part in text for part, text in zip(cut.texts, whole.texts, strict=True))
    assert cut.texts != whole.texts


def test_the_parts_of_several_processes_add_up_to_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    task = make_task(mismatches=2)
    task.model.eval()  # batch norm sees other batches in several processes, as it does everywhere
    batch = task.batch(0, 0)
    whole = task.loss(batch, 0, 1).total
    monkeypatch.setattr("seesay.training.task.distributed.all_reduce", lambda tensor: None)
    parts = [task.loss(batch, rank, 2).total for rank in range(2)]
    torch.testing.assert_close(sum(parts), whole)


def test_trials_are_scored_as_all_pairs_are() -> None:
    task = make_task()
    trials = draw_trials(task.dev.image_of, 30, 3)
    scores = score_trials(task.model, task.dev, trials, n_at_once=7)
    task.model.eval()
    table = task.dev.table
    assert table is not None
    images = task.model.encode_images(table.rows(range(12)))
    pairs = task.model.score(images, task.model.encode_texts(task.dev.sentences)).detach()
    wanted = pairs[torch.from_numpy(trials.images), torch.from_numpy(trials.texts)[:, None]]
    torch.testing.assert_close(scores, wanted, rtol=1e-4, atol=1e-5)


def test_finalizing_fits_the_probabilities_on_dev() -> None:
    task = make_task()
    task.model.output.weight.data *= 50  # far too sure of itself
    task.finalize()
    logits = score_trials(task.model, task.dev, draw_trials(task.dev.image_of, n_candidates=10, seed=1))
    assert task.model.calibration.tolist() == pytest.approx(fit_temperatures(logits))
    assert (task.model.calibration[[0, 2]] > 1).all()


def test_one_who_knows_identifies_everything_and_one_who_does_not_is_left_to_chance() -> None:
    task = make_task()

    class Knowing(Identifier):
        def choose(self, images: torch.Tensor, texts: Any) -> torch.Tensor:
            return torch.arange(images.shape[1]).mul(-9.0).expand(images.shape[:2])

    task.model.__class__ = Knowing
    figures = measure_identification(task.model, task.dev, n_trials=50)
    assert (figures["of_2"], figures["of_10"]) == (100, 100)
    assert figures["cross_entropy"] < 1e-3
    Knowing.choose = lambda self, images, texts: torch.zeros(images.shape[:2])  # type: ignore[method-assign]
    figures = measure_identification(task.model, task.dev, n_trials=50)
    assert figures["cross_entropy"] == pytest.approx(np.log(10))


def test_sentences_without_pictures_and_a_single_picture_are_refused() -> None:
    task = make_task()
    with pytest.raises(SeesayError, match=r"an identifier learns from images(.|\n)*sentences_only = false"):
        IdentifyingTask(task.model, [replace(task.dev, table=None)], task.dev, task.recipe)
    with pytest.raises(SeesayError, match="nothing to tell it from"):
        make_task(source(1))


def test_a_batch_is_described_by_plain_numbers_and_sentences() -> None:
    batch = make_task().batch(0, 0)
    assert isinstance(batch, Batch)
    assert batch.images.dtype == np.int64
