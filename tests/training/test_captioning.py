"""Learning to write: what a word costs, that two processes make the steps of one, and what is measured on dev."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import distributed

from seesay.captioning.decoding import greedy
from seesay.data import Collection, Item
from seesay.data.examples import Examples
from seesay.engines import TorchModel
from seesay.errors import SeesayError
from seesay.images.features import Features, FeatureSpec
from seesay.metrics.captions import caption_report
from seesay.models.mrnn import MRNN, MRNNConfig
from seesay.scoring import measure_perplexity
from seesay.text.tokens import tokenize
from seesay.text.vocabulary import END, START, Vocabulary
from seesay.training.captioning import Batch, CaptioningTask, measure_captions
from seesay.training.recipe import Recipe

WORDS = ["a", "red", "green", "dog", "cat", "bus", "runs", "sleeps", "here"]
BATCH = Batch(0, np.array([2, 0, 2]), ["a red dog", "a bus", "cat"])


class Table:
    """Features by picture without a store."""

    def __init__(self, n: int, seed: int = 0) -> None:
        self.pooled = torch.rand(n, 6, generator=torch.Generator().manual_seed(seed))

    def __len__(self) -> int:
        return len(self.pooled)

    def rows(self, indices: Sequence[int]) -> Features:
        return Features(self.pooled[list(indices)])


def source(n_images: int, *, sentences_only: bool = False, seed: int = 0) -> Examples:
    """Pictures with two or three sentences of up to seven words each."""
    generator = np.random.default_rng(seed)
    items = []
    for number in range(n_images):
        lengths = generator.integers(1, 8, generator.integers(2, 4))
        sentences = tuple(" ".join(generator.choice(WORDS, length)).capitalize() + "." for length in lengths)
        items.append(Item(f"{number}.jpg", None, sentences, "train"))
    table: Any = None if sentences_only else Table(n_images, seed)
    return Examples.of(Collection("made up", Path("nowhere"), "CSV or JSONL", tuple(items)), table)


def make_task(sources: list[Examples] | None = None, *, seed: int = 3, **config: Any) -> CaptioningTask:
    sources = sources or [source(9)]
    recipe = Recipe.from_dict(
        {
            "name": "toy",
            "model": "mrnn",
            "seed": seed,
            "data": {"train": [{"source": "made up"}], "dev": {"source": "made up"}},
            "batches": {"size": 4},
            "stop": {"epochs": 2, "metric": "perplexity", "mode": "min"},
        }
    )
    torch.manual_seed(0)
    vocabulary = Vocabulary.build(WORDS, min_count=1)
    small = {"embedding": 4, "recurrent": 5, "multimodal": 6, "image_dim": 6, "n_marginal": 4}
    model = MRNN(MRNNConfig(**(small | config)), vocabulary, FeatureSpec())
    model.initialise(0)
    return CaptioningTask(model, sources, sources[0], recipe)


def images_of(task: CaptioningTask, rows: Sequence[int]) -> torch.Tensor:
    table = task.sources[0].table
    assert table is not None
    return task.model.encode_images(table.rows(rows))


class TestBatches:
    def test_an_epoch_shows_every_sentence_once_with_its_own_picture(self) -> None:
        task = make_task([source(9), source(4, seed=1)])
        batches = [task.batch(0, index) for index in range(task.n_batches(0))]
        for place, own in enumerate(task.sources):
            shown = [
                pair
                for batch in batches
                if batch.source == place
                for pair in zip(batch.texts, batch.images.tolist(), strict=True)
            ]
            assert sorted(shown) == sorted(zip(own.sentences, own.image_of.tolist(), strict=True))

    def test_sentences_without_pictures_are_refused(self) -> None:
        with pytest.raises(SeesayError, match=r"recipe toy: a captioner learns from images") as caught:
            make_task([source(9), source(3, sentences_only=True)])
        assert caught.value.allowed == "sentences_only = false"


class TestLoss:
    def test_it_is_the_mean_cost_of_the_words_and_ends_of_the_batch(self) -> None:
        task = make_task()
        found = task.loss(BATCH, 0, 1)
        total = 0.0
        for image, sentence in zip(BATCH.images, BATCH.texts, strict=True):
            state, read = task.model.start(images_of(task, [image])), START
            for word in [*task.model.vocabulary.encode(sentence), END]:
                log_probs, state = task.model.step(state, torch.tensor([read]))
                total, read = total - log_probs[0, word].item(), word
        assert found.total.item() == pytest.approx(total / (4 + 3 + 2), abs=1e-5)
        assert found.logs["loss"] == pytest.approx(found.total.item())

    def test_its_exponential_is_the_perplexity_of_the_batch(self) -> None:
        task = make_task()
        log_probs = task.model.log_prob(images_of(task, BATCH.images.tolist()), BATCH.texts)
        assert task.loss(BATCH, 0, 1).logs["loss"] == pytest.approx(-log_probs.sum().item() / 9, abs=1e-5)

    def test_a_self_normalised_model_also_pays_for_the_logarithm_of_its_sums(self) -> None:
        plain, paying = make_task(), make_task(self_normalise=0.5)
        images = images_of(plain, BATCH.images.tolist())
        logits, _, _ = plain.model.word_logits(images, BATCH.texts)
        assert len(logits) == 9
        expected = plain.loss(BATCH, 0, 1).total + 0.5 * logits.logsumexp(-1).square().mean()
        torch.testing.assert_close(paying.loss(BATCH, 0, 1).total, expected)

    @pytest.mark.parametrize("self_normalise", [0.0, 0.5])
    @pytest.mark.parametrize("n_sentences", [3, 1])  # of one sentence the second process has no share
    def test_the_parts_of_two_processes_sum_to_the_whole(
        self, monkeypatch: pytest.MonkeyPatch, self_normalise: float, n_sentences: int
    ) -> None:
        monkeypatch.setattr(distributed, "all_reduce", lambda tensor: None)  # the logged sum is another test's
        batch = Batch(0, BATCH.images[:n_sentences], BATCH.texts[:n_sentences])

        def measure(world: int) -> tuple[float, dict[str, torch.Tensor]]:
            task = make_task(self_normalise=self_normalise)
            parts = [task.loss(batch, rank, world).total for rank in range(world)]
            for part in parts:
                part.backward()
            return sum(part.item() for part in parts), {
                name: weight.grad for name, weight in task.model.named_parameters() if weight.grad is not None
            }

        (one, gradients), (two, summed) = measure(1), measure(2)
        assert one == pytest.approx(two, abs=1e-5)
        assert gradients.keys() == summed.keys() == dict(make_task().model.named_parameters()).keys()
        for name, gradient in gradients.items():
            torch.testing.assert_close(summed[name], gradient, atol=1e-5, rtol=1e-4, msg=name)

    def test_going_downhill_makes_the_sentences_likelier(self) -> None:
        task = make_task()
        optimiser = torch.optim.Adam(task.model.parameters(), 0.05)
        losses = []
        for _ in range(30):
            optimiser.zero_grad()
            loss = task.loss(BATCH, 0, 1)
            loss.total.backward()
            optimiser.step()
            losses.append(loss.logs["loss"])
        assert losses[-1] < 0.3 * losses[0]


class TestFinalizing:
    def test_the_same_seed_keeps_the_same_training_pictures(self) -> None:
        def kept(seed: int) -> torch.Tensor:
            task = make_task([source(9), source(5, seed=1)], seed=seed)
            torch.manual_seed(seed + 100)  # what else was drawn does not matter
            task.finalize()
            return task.model.marginal_images

        assert torch.equal(kept(3), kept(3))
        assert not torch.equal(kept(3), kept(4))

    def test_they_are_different_pictures_of_all_sources(self) -> None:
        task = make_task([source(9), source(5, seed=1)], n_marginal=14)
        task.finalize()
        everything = torch.cat([own.table.pooled for own in task.sources])  # type: ignore[union-attr]
        expected = task.model.encode_images(Features(everything))
        for picture in expected:
            assert (task.model.marginal_images - picture).abs().amax(1).min() < 1e-6
        torch.testing.assert_close(task.model.mean_image, expected.mean(0, keepdim=True), atol=1e-6, rtol=1e-5)

    def test_dropout_takes_no_part(self) -> None:
        task = make_task(image_dropout=0.5)
        task.model.train()
        task.finalize()
        pictures = task.model.eval().encode_images(Features(task.dev.table.pooled))  # type: ignore[union-attr]
        torch.testing.assert_close(task.model.mean_image, pictures.mean(0, keepdim=True), atol=1e-6, rtol=1e-5)


class TestMeasuring:
    def direct_perplexity(self, task: CaptioningTask) -> float:
        total, n_words = 0.0, 0
        for image, item in enumerate(task.dev.collection.items):
            for sentence in item.sentences:
                logits, wanted, _ = task.model.word_logits(images_of(task, [image]), [sentence])
                total += F.cross_entropy(logits, wanted, reduction="sum").item()
                n_words += len(tokenize(sentence)) + 1
        return math.exp(total / n_words)

    @pytest.mark.parametrize("batch", [1, 3, 128])
    def test_perplexity_is_that_of_all_sentences_one_by_one_whatever_the_batches(self, batch: int) -> None:
        task = make_task()
        assert measure_perplexity(task.model, task.dev, batch=batch) == pytest.approx(self.direct_perplexity(task))

    def test_captions_are_written_greedily_and_measured_against_all_sentences(self) -> None:
        task = make_task()
        images = images_of(task, range(9))
        answers = TorchModel(task.model)
        captions = [
            task.model.vocabulary.decode(found.words)
            for found in greedy(answers, answers.start(images.detach().numpy()))
        ]
        references = [[tokenize(sentence) for sentence in item.sentences] for item in task.dev.collection.items]
        expected = caption_report(captions, references, perplexity=self.direct_perplexity(task), meteor=False)
        found = measure_captions(task.model, task.dev)
        assert found == pytest.approx({name: value for name, value in expected.items() if value is not None})
        assert task.evaluate() == found
        assert task.measure(task.model) == {"captions": found}
        assert {"perplexity", "bleu1", "bleu4", "cider", "rouge_l"} <= found.keys()

    def test_the_mean_of_several_dev_sets_decides(self) -> None:
        task = make_task()
        other = source(7, seed=2)
        other = replace(other, collection=replace(other.collection, name="other"))
        first, second = (measure_captions(task.model, dev) for dev in (task.dev, other))
        task.more_dev = [other]
        found = task.evaluate()
        assert (found["cider_made up"], found["cider_other"]) == (first["cider"], second["cider"])
        for name, value in first.items():
            assert found[name] == pytest.approx((value + second[name]) / 2)
        assert task.measure_on(task.model, other) == {"captions": second}

    def test_captions_do_not_end_before_the_shortest(self) -> None:
        task = make_task()
        task.model.bias.data[END] = 9.0  # it says one word where it may
        answers = TorchModel(task.model)
        written = greedy(answers, answers.start(images_of(task, range(9)).detach().numpy()), min_length=3)
        captions = [task.model.vocabulary.decode(found.words) for found in written]
        assert {len(caption) for caption in captions} == {3}
        references = [[tokenize(sentence) for sentence in item.sentences] for item in task.dev.collection.items]
        found = measure_captions(task.model, task.dev, shortest=3)
        assert found["bleu1"] == caption_report(captions, references, meteor=False)["bleu1"]
        assert found["bleu1"] > measure_captions(task.model, task.dev)["bleu1"]

    @pytest.mark.parametrize("measure", [measure_captions, measure_perplexity])
    def test_the_model_is_measured_without_dropout_and_left_as_it_was(self, measure: Callable[..., Any]) -> None:
        task = make_task(dropout=0.5, image_dropout=0.5)
        found = []
        for is_training in (True, False):
            task.model.train(is_training)
            found.append(measure(task.model, task.dev))
            assert task.model.training is is_training
        assert found[0] == found[1]
