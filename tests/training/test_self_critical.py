"""Self-critical training: samples, their rewards, and what the gradient does with them."""

from pathlib import Path

import numpy as np
import pytest
import torch

from seesay.data import Collection
from seesay.data.collection import Item
from seesay.data.examples import Examples
from seesay.images.features import FeatureSpec
from seesay.metrics.cider import cider_d
from seesay.models.mrnn import MRNN, MRNNConfig
from seesay.text.vocabulary import END, PAD, SPECIAL, START, UNKNOWN, Vocabulary
from seesay.training.self_critical import Rewards, advantages, caption_words, log_probabilities, sample_words

CAPTIONS = [["a dog runs", "the dog runs fast"], ["two cats sleep"], ["a man rides a horse", "a man on a horse"]]


@pytest.fixture
def model() -> MRNN:
    torch.manual_seed(0)
    words = Vocabulary.build([each for some in CAPTIONS for each in some], 1)
    made = MRNN(MRNNConfig(embedding=8, recurrent=8, multimodal=8, image_dim=4), words, FeatureSpec())
    made.initialise(0)
    return made.eval()


@pytest.fixture
def rewards() -> Rewards:
    items = [Item(f"{place}.jpg", Path(f"{place}.jpg"), tuple(some), "train") for place, some in enumerate(CAPTIONS)]
    return Rewards(Examples.of(Collection("toy", Path(), "toy", tuple(items)), None, 1.0))


def test_samples_are_the_same_for_the_same_seed_and_end_once(model: MRNN) -> None:
    images = torch.randn(50, 8)
    first, again = (sample_words(model, images, torch.Generator().manual_seed(3)) for _ in range(2))
    assert torch.equal(first, again)
    assert not torch.equal(first, sample_words(model, images, torch.Generator().manual_seed(4)))
    for row in first.tolist():
        said = [number for number in row if number != PAD]
        assert row[: len(said)] == said, "padding stands behind the sentence"
        assert END not in said[:-1]
        assert not {START, UNKNOWN} & set(said)


def test_words_are_drawn_as_often_as_they_are_likely(model: MRNN) -> None:
    images = torch.zeros(4000, 8)
    first = sample_words(model, images, torch.Generator().manual_seed(0), longest=1)[:, 0]
    log_probs, _ = model.step(model.start(images[:1]), torch.tensor([START]))
    allowed = log_probs[0].detach().exp().index_fill(0, torch.tensor([PAD, START, UNKNOWN]), 0)
    wanted = allowed / allowed.sum()
    found = torch.bincount(first, minlength=len(wanted)) / len(first)
    assert float((found - wanted).abs().max()) < 0.03


def test_log_probabilities_are_the_sum_over_the_steps(model: MRNN) -> None:
    images = torch.randn(6, 8)
    rows = sample_words(model, images, torch.Generator().manual_seed(1))
    wanted = []
    for place, row in enumerate(rows.tolist()):
        state, word, total = model.start(images[place : place + 1]), START, 0.0
        for number in row:
            if number == PAD:
                break
            log_probs, state = model.step(state, torch.tensor([word]))
            allowed = log_probs[0].index_fill(0, torch.tensor([PAD, START, UNKNOWN]), float("-inf"))
            total += float(allowed.log_softmax(0)[number])
            word = number
        wanted.append(total)
    torch.testing.assert_close(log_probabilities(model, images, rows), torch.tensor(wanted), atol=1e-4, rtol=1e-4)


def test_the_reward_is_cider_d_with_the_end_as_a_word(rewards: Rewards) -> None:
    ended = [[f"{each} {SPECIAL[END]}".split() for each in some] for some in CAPTIONS]
    hypotheses = [["a", "dog", "runs", SPECIAL[END]], ["a", "cat"], ["a", "man", "rides", SPECIAL[END]]]
    wanted = cider_d(hypotheses, ended).each
    np.testing.assert_allclose(rewards(hypotheses, [0, 1, 2]).numpy(), wanted, rtol=1e-5)
    whole, broken = rewards([["a", "dog", "runs", SPECIAL[END]], ["a", "dog", "runs"]], [0, 0])
    assert whole > broken


def test_better_samples_become_likelier(model: MRNN, rewards: Rewards) -> None:
    images = torch.randn(1, 8).repeat(8, 1)
    rows = sample_words(model, images, torch.Generator().manual_seed(5))
    found = rewards(caption_words(model, rows), [0] * 8)
    weights = advantages(found.reshape(1, 8)).flatten()
    assert float(weights.max()) > 0 > float(weights.min())
    optimiser = torch.optim.SGD(model.parameters(), lr=0.05)
    before = log_probabilities(model, images, rows)
    (-(weights * before).sum()).backward()
    optimiser.step()
    change = (log_probabilities(model, images, rows) - before).detach()
    assert float((change * weights).sum()) > 0
