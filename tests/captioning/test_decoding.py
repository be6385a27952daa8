"""Greedy and sampled sentences, by models whose probabilities are known."""

import numpy as np
import pytest
import torch

from seesay.captioning.beam import beam
from seesay.captioning.decoding import greedy, sample
from seesay.captioning.random import block_seeds, uniform
from seesay.captioning.steps import largest
from seesay.errors import SeesayError
from seesay.text.vocabulary import END, UNKNOWN
from tests.captioning.toys import NOTHING, Listed, Toy, beginnings, one


def test_greedy_takes_the_likeliest_word_again_and_again() -> None:
    model = Listed({(): {4: 0.6, 5: 0.4}, (4,): {6: 0.5, END: 0.3, 7: 0.2}, (4, 6): {END: 0.8, 4: 0.2}})
    (found,) = greedy(model, (NOTHING,))
    assert (found.words, found.finished) == ((4, 6), True)
    assert found.log_prob == pytest.approx(np.log(0.6 * 0.5 * 0.8))


def test_drawn_words_have_the_model_s_frequencies() -> None:
    model = Listed({(): {4: 0.5, 5: 0.3, 6: 0.2, UNKNOWN: 0.9}})
    drawn = [h.words[0] for h in sample(model, (NOTHING,), n=2000, seed=1)[0]]
    assert [drawn.count(word) / 2000 for word in (4, 5, 6)] == pytest.approx([0.5, 0.3, 0.2], abs=0.03)
    cold = [h.words[0] for h in sample(model, (NOTHING,), n=2000, temperature=0.5)[0]]
    total = 0.5**2 + 0.3**2 + 0.2**2
    assert cold.count(4) / 2000 == pytest.approx(0.25 / total, abs=0.03)
    among_two = [h.words[0] for h in sample(model, (NOTHING,), n=2000, top_k=2)[0]]
    assert set(among_two) == {4, 5}
    assert among_two.count(4) / 2000 == pytest.approx(5 / 8, abs=0.03)


def test_the_end_is_drawn_by_its_probability_too() -> None:
    model = Listed({(): {4: 1.0}, (4,): {END: 0.25, 5: 0.75}})
    drawn = [h.words for h in sample(model, (NOTHING,), n=2000)[0]]
    assert drawn.count((4,)) / 2000 == pytest.approx(0.25, abs=0.03)


def test_drawing_among_one_word_is_greedy() -> None:
    expected = greedy(Toy(8, 6), beginnings(4))
    assert [row[0] for row in sample(Toy(8, 6), beginnings(4), top_k=1)] == expected
    assert [row[0] for row in sample(Toy(8, 6), beginnings(4), temperature=1e-4)] == expected


def test_the_same_seed_draws_the_same_and_another_seed_does_not() -> None:
    drawn = [sample(Toy(9, 6), beginnings(3), n=5, seed=seed) for seed in (4, 4, 5)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert len({h.words for h in drawn[0][0]}) > 1
    assert [len(row) for row in drawn[0]] == [5, 5, 5]


def test_what_is_drawn_for_a_picture_does_not_depend_on_the_others() -> None:
    alone = sample(Toy(9, 6), one(0), n=3)
    assert sample(Toy(9, 6), beginnings(4), n=3)[0] == alone[0]


def test_no_pictures_have_no_sentences() -> None:
    nobody = (np.zeros(0, np.int64),)
    assert greedy(Toy(0), nobody) == sample(Toy(0), nobody) == beam(Toy(0), nobody) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_length": 0}, "max_length is 0"),
        ({"min_length": 0}, "min_length is 0"),
        ({"no_repeat": -1}, "no_repeat is -1\n  allowed: 1 or more words, or 0 for no such rule"),
        ({"min_length": 7, "max_length": 6}, "min_length is 7\n  allowed: 1 to max_length, which is 6"),
        ({"prefix": [4] * 30}, "there are 30 first words\n  allowed: fewer than max_length, which is 30"),
        ({"prefix": [4, UNKNOWN]}, "a word that the model does not know"),
        ({"prefix": [[4], [5], [4]]}, "first words for 3 rows, and 2 rows"),
        ({"prefix": [[4], 5]}, "first words for"),
    ],
)
def test_impossible_sentences_are_refused(options: dict[str, object], message: str) -> None:
    for decode in (greedy, sample, beam):
        with pytest.raises(SeesayError, match=message.replace("\n", "\\n")):
            decode(Toy(0), beginnings(2), **options)


@pytest.mark.parametrize(
    ("decode", "options", "message"),
    [
        (sample, {"temperature": 0.0}, "the temperature is 0.0"),
        (sample, {"top_k": -1}, "top_k is -1"),
        (sample, {"n": 0}, "n is 0"),
        (beam, {"width": 0}, "the width of the beam is 0"),
        (beam, {"width": 3, "n_best": 4}, "n_best is 4\n  allowed: 1 to the width of the beam, which is 3"),
        (beam, {"length_power": -0.5}, "length_power is -0.5"),
    ],
)
def test_impossible_searches_are_refused(decode: object, options: dict[str, object], message: str) -> None:
    with pytest.raises(SeesayError, match=message.replace("\n", "\\n")):
        decode(Toy(0), beginnings(1), **options)  # type: ignore[operator]


@pytest.mark.parametrize("seed", [0, 1, 2**31, 2**61 + 7])
def test_a_seed_draws_the_numbers_that_torch_draws(seed: int) -> None:
    numbers = torch.rand(50, generator=torch.Generator().manual_seed(seed)).double().tolist()
    assert uniform(seed, 50).tolist() == numbers
    seeds = torch.randint(2**62, (5,), generator=torch.Generator().manual_seed(seed)).tolist()
    assert block_seeds(seed, 5) == seeds


@pytest.mark.parametrize("n_values", [5, 700, 5000])
@pytest.mark.parametrize("k", [1, 3, 5])
def test_the_largest_are_found_in_their_order_and_of_equal_ones_the_first(n_values: int, k: int) -> None:
    noise = np.random.default_rng(n_values)
    for values in (noise.normal(size=(4, n_values)), noise.integers(0, 4, (4, n_values)), np.zeros((4, n_values))):
        wanted = np.argsort(-values, 1, kind="stable")[:, :k]
        assert np.array_equal(largest(values.astype(np.float32), k), wanted)
    assert largest(np.zeros((0, n_values)), k).shape == (0, k)
