"""Self-critical training: samples, their rewards, and what the gradient does with them."""

from pathlib import Path
from typing import Any

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
from seesay.training.self_critical import Rewards, advantages, caption_words, draw_captions

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


def draw(model: MRNN, images: torch.Tensor, seed: int, **how: Any) -> tuple[torch.Tensor, torch.Tensor]:
    return draw_captions(model, images, torch.Generator().manual_seed(seed), **how)


def test_captions_are_the_same_for_the_same_seed_and_end_once(model: MRNN) -> None:
    images = torch.randn(50, 8)
    first, again = (draw(model, images, 3)[0] for _ in range(2))
    assert torch.equal(first, again)
    assert not torch.equal(first, draw(model, images, 4)[0])
    for row in first.tolist():
        said = [number for number in row if number != PAD]
        assert row[: len(said)] == said, "padding stands behind the sentence"
        assert END not in said[:-1]
        assert not {START, UNKNOWN} & set(said)


def test_a_caption_does_not_end_before_the_shortest_and_is_cut_at_the_longest(model: MRNN) -> None:
    rows, _ = draw(model, torch.randn(200, 8), 0, shortest=3, longest=6)
    n_words = ((rows != PAD) & (rows != END)).sum(1)
    assert set(n_words.tolist()) == {3, 4, 5, 6}
    is_cut = (rows != END).all(1)
    assert bool(is_cut.any())
    assert set(n_words[is_cut].tolist()) == {6}


@pytest.mark.parametrize("temperature", [1.0, 0.5])
def test_words_are_drawn_as_often_as_the_temperature_makes_them_likely(model: MRNN, temperature: float) -> None:
    images = torch.zeros(4000, 8)
    first = draw(model, images, 0, longest=1, temperature=temperature)[0][:, 0]
    log_probs, _ = model.step(model.start(images[:1]), torch.tensor([START]))
    allowed = log_probs[0].detach().exp() ** (1 / temperature)
    wanted = allowed.index_fill(0, torch.tensor([PAD, START, UNKNOWN, END]), 0)  # one word has to be said
    found = torch.bincount(first, minlength=len(wanted)) / len(first)
    assert float((found - wanted / wanted.sum()).abs().max()) < 0.03


def test_log_probabilities_are_those_of_the_draws(model: MRNN) -> None:
    images = torch.randn(6, 8)
    rows, totals = draw(model, images, 1, temperature=0.5, shortest=2)
    wanted = []
    for place, row in enumerate(rows.tolist()):
        state, word, total = model.start(images[place : place + 1]), START, 0.0
        for t, number in enumerate(row):
            if number == PAD:
                break
            log_probs, state = model.step(state, torch.tensor([word]))
            never = [PAD, START, UNKNOWN, *([END] if t < 2 else [])]
            chances = (log_probs[0] / 0.5).index_fill(0, torch.tensor(never), float("-inf")).log_softmax(0)
            total += chances[number].item()
            word = number
        wanted.append(total)
    torch.testing.assert_close(totals.detach(), torch.tensor(wanted), atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("temperature", [1.0, 0.5])
def test_the_gradient_is_that_of_the_expected_reward(model: MRNN, rewards: Rewards, temperature: float) -> None:
    """Every caption of up to two words is enumerated, and its expected reward differentiated."""
    image = torch.randn(1, 8)

    def allowed(log_probs: torch.Tensor, never: list[int]) -> torch.Tensor:
        return (log_probs / temperature).index_fill(1, torch.tensor(never), float("-inf")).log_softmax(1)

    signs = [PAD, START, UNKNOWN]
    log_probs, state = model.step(model.start(image), torch.tensor([START]))
    first = allowed(log_probs, [*signs, END])[0]
    words = range(len(SPECIAL), len(first))
    second, _ = model.step(tuple(part.repeat(len(words), 1) for part in state), torch.tensor(words))
    both = (first[list(words)][:, None] + allowed(second, signs)).exp()  # (first word, second word or end)
    after = [END, *words]
    spelled = model.vocabulary.words
    captions = [[spelled[one], spelled[two]] for one in words for two in after]
    found = rewards(captions, [0] * len(captions)).reshape(len(words), len(after))
    parameters = [model.bias, model.V_r.weight]
    wanted = torch.autograd.grad((both[:, after] * found).sum(), parameters)

    rows, log_of_drawn = draw(model, image.repeat(40_000, 1), 0, temperature=temperature, longest=2)
    weights = advantages(rewards(caption_words(model, rows), [0] * len(rows)).reshape(-1, 5)).flatten()
    learned = torch.autograd.grad((weights * log_of_drawn).mean(), parameters)
    for exact, estimate in zip(wanted, learned, strict=True):
        assert float(torch.cosine_similarity(exact.flatten(), estimate.flatten(), 0)) > 0.97
        assert float(estimate.norm() / exact.norm()) == pytest.approx(1, abs=0.1)


def test_the_reward_is_cider_d_with_the_end_as_a_word(rewards: Rewards) -> None:
    ended = [[f"{each} {SPECIAL[END]}".split() for each in some] for some in CAPTIONS]
    hypotheses = [["a", "dog", "runs", SPECIAL[END]], ["a", "cat"], ["a", "man", "rides", SPECIAL[END]]]
    wanted = cider_d(hypotheses, ended).each
    np.testing.assert_allclose(rewards(hypotheses, [0, 1, 2]).numpy(), wanted, rtol=1e-5)
    whole, broken = rewards([["a", "dog", "runs", SPECIAL[END]], ["a", "dog", "runs"]], [0, 0])
    assert whole > broken


def test_learning_raises_the_reward_of_what_is_drawn(model: MRNN, rewards: Rewards) -> None:
    image, optimiser = torch.randn(1, 8), torch.optim.SGD(model.parameters(), lr=0.2)

    def draw_and_reward(n: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
        rows, log_probs = draw(model, image.repeat(n, 1), seed, temperature=0.7, longest=6)
        return rewards(caption_words(model, rows), [0] * n), log_probs

    before = float(draw_and_reward(500, 0)[0].mean())
    for step in range(40):
        found, log_probs = draw_and_reward(40, step + 1)
        optimiser.zero_grad()
        (-(advantages(found.reshape(-1, 5)).flatten() * log_probs).mean()).backward()
        optimiser.step()
    assert float(draw_and_reward(500, 0)[0].mean()) > 2 * before
