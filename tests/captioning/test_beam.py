"""Beam search against models so small that every sentence they can say is enumerated."""

from itertools import pairwise

import numpy as np
import pytest

from seesay.captioning.beam import Way, beam, beams
from seesay.captioning.decoding import greedy, sample
from seesay.captioning.steps import Hypothesis
from seesay.text.vocabulary import END, PAD, START, UNKNOWN
from tests.captioning.toys import (
    LONGEST,
    N_WORDS,
    NOTHING,
    SEEDS,
    Listed,
    Toy,
    assert_same,
    beginnings,
    enumerate_best,
    one,
    score_again,
)


@pytest.mark.parametrize("seed", SEEDS)
def test_beam_one_equals_greedy(seed: int) -> None:
    for options in ({}, {"min_length": 3}, {"prefix": [5, 4]}, {"prefix": [[5], [], [4, 4]]}):
        wide = beam(Toy(seed, 6), beginnings(3), width=1, max_length=8, **options)
        assert [row[0] for row in wide] == greedy(Toy(seed, 6), beginnings(3), max_length=8, **options)
        assert [len(row) for row in wide] == [1, 1, 1]


def test_beam_one_equals_greedy_where_all_words_are_as_likely() -> None:
    model = Toy(0)
    model.table[:] = -2.0
    assert [beam(model, beginnings(2), width=1)[row][0] for row in range(2)] == greedy(model, beginnings(2))


@pytest.mark.parametrize("length_power", [0.0, 0.7, 1.0])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_beam_as_wide_as_the_model_finds_the_best_of_all_sentences(seed: int, length_power: float) -> None:
    width = N_WORDS ** (LONGEST - 1) * (N_WORDS + 1)  # every continuation of every beginning, ends among them
    found = beam(Toy(seed), beginnings(2), width=width, n_best=60, max_length=LONGEST, length_power=length_power)
    for image in range(2):
        assert_same(found[image], enumerate_best(Toy(seed), image, 60, length_power))


@pytest.mark.parametrize("length_power", [0.0, 0.7])
# Models on which the plain choice of the best `width` among all continuations does worse with some wider beam.
@pytest.mark.parametrize("seed", [6, 9, 13, 20, 22, 23])
def test_a_wider_beam_never_finds_a_worse_best_sentence(seed: int, length_power: float) -> None:
    def quality(found: Hypothesis) -> tuple[bool, float]:
        return found.finished, found.log_prob / len(found.words) ** length_power

    best: list[list[tuple[bool, float]]] = [[] for _ in range(6)]
    for width in range(1, 12):
        for image, row in enumerate(
            beam(Toy(seed, 5), beginnings(6), width=width, max_length=6, length_power=length_power)
        ):
            best[image].append(quality(row[0]))
    for course in best:
        assert all(wider >= narrower for narrower, wider in pairwise(course))


@pytest.mark.parametrize("no_repeat", [0, 2])
@pytest.mark.parametrize("seed", SEEDS)
def test_one_search_gives_what_each_of_several_ways_finds_alone(seed: int, no_repeat: int) -> None:
    shapes = [(width, n_best) for width in (1, 2, 5, 9) for n_best in (1, 4) if n_best <= width]
    ways = [
        Way(width, n_best, min_length, power)
        for width, n_best in shapes
        for min_length in (1, 4)
        for power in (0.0, 0.5, 1.0)
    ]
    limits = {"prefix": [[4], [], [5, 6], []], "max_length": 8, "no_repeat": no_repeat}
    found = beams(Toy(seed, 6), beginnings(4), ways, **limits)
    alone = [
        beam(
            Toy(seed, 6), beginnings(4), width=way.width, n_best=way.n_best, min_length=way.min_length,
            length_power=way.length_power, **limits,
        )
        for way in ways
    ]  # fmt: skip
    assert found == alone
    assert any(not sentence.finished for rows in found for row in rows for sentence in row), "some are cut"
    model = Toy(seed, 6)
    beams(model, beginnings(4), ways, **limits)
    assert len(model.n_rows) <= limits["max_length"]


@pytest.mark.parametrize("seed", SEEDS)
def test_every_rank_of_the_list_gains_from_a_wider_beam(seed: int) -> None:
    narrow, wide = (
        beam(Toy(seed, 5), one(0), width=width, n_best=4, max_length=6, length_power=0.5)[0] for width in (4, 9)
    )
    for before, after in zip(narrow, wide, strict=True):
        assert (after.finished, after.log_prob / len(after.words) ** 0.5) >= (
            before.finished, before.log_prob / len(before.words) ** 0.5,
        )  # fmt: skip


@pytest.mark.parametrize("seed", SEEDS)
def test_log_probabilities_equal_those_of_stepping_through(seed: int) -> None:
    model = Toy(seed, 6)
    rows = [
        *([h] for h in greedy(model, beginnings(3), max_length=7)),
        *sample(model, beginnings(3), n=4, temperature=1.7, top_k=4, max_length=7),
        *beam(model, beginnings(3), width=5, n_best=5, max_length=7, length_power=0.6),
        *beam(model, beginnings(3), width=5, n_best=5, max_length=7, prefix=[6, 5]),
    ]
    for place, row in enumerate(rows):
        for found in row:
            assert found.log_prob == pytest.approx(score_again(model, place % 3, found), abs=1e-5)


@pytest.mark.parametrize("seed", SEEDS)
def test_pictures_together_get_what_each_gets_alone(seed: int) -> None:
    together = beam(Toy(seed, 6), beginnings(5), width=4, n_best=3, max_length=9)
    assert together == [beam(Toy(seed, 6), one(image), width=4, n_best=3, max_length=9)[0] for image in range(5)]
    assert greedy(Toy(seed, 6), beginnings(5)) == [greedy(Toy(seed, 6), one(image))[0] for image in range(5)]


def test_hypotheses_of_one_list_differ_and_come_best_first() -> None:
    for row in beam(Toy(1, 6), beginnings(8), width=10, n_best=10, max_length=8):
        assert len({h.words for h in row}) == len(row) == 10
        assert all((a.finished, a.log_prob) >= (b.finished, b.log_prob) for a, b in pairwise(row))


def test_no_sentence_holds_unknown_start_or_padding_however_likely_they_are() -> None:
    model = Toy(3, 6)
    model.table[:, [PAD, START, UNKNOWN]] = -0.01
    before = model.table.copy()
    rows = [
        greedy(model, beginnings(4)),
        *sample(model, beginnings(4), n=20),
        *beam(model, beginnings(4), width=6, n_best=6),
    ]
    assert min(word for row in rows for h in row for word in h.words) > UNKNOWN
    assert np.array_equal(model.table, before)


def test_a_sentence_that_does_not_end_is_cut_and_says_so() -> None:
    model = Toy(4)
    model.table[:, END] = -1e4
    for found in (
        greedy(model, one(0), max_length=5)[0],
        sample(model, one(0), max_length=5)[0][0],
        beam(model, one(0), max_length=5, width=3)[0][0],
    ):
        assert (len(found.words), found.finished) == (5, False)
        assert found.log_prob == pytest.approx(score_again(model, 0, found), abs=1e-5)
        assert found.log_prob > -100  # no end is counted


def test_finished_sentences_come_before_cut_ones_that_are_likelier() -> None:
    model = Listed({(): {4: 0.6, 5: 0.4}, (4,): {4: 1.0}, (5,): {END: 0.9, 4: 0.1}})
    found = beam(model, (NOTHING,), width=2, n_best=2, max_length=2)[0]
    assert [(h.words, h.finished) for h in found] == [((5,), True), ((4, 4), False)]


def test_no_sentence_is_shorter_than_asked_for() -> None:
    model = Toy(5, 4)
    model.table[:, END] = 0.0
    for found in (
        greedy(model, one(0), min_length=4)[0],
        sample(model, one(0), min_length=4)[0][0],
        beam(model, one(0), min_length=4)[0][0],
    ):
        assert len(found.words) == 4
    assert len(greedy(model, one(0))[0].words) == 1  # an empty sentence says nothing


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("n", [1, 2, 3])
def test_no_run_of_words_is_said_twice_where_that_is_asked_for(seed: int, n: int) -> None:
    model = Toy(seed, 6)
    model.table[:, END] -= 3
    rows = [
        *([h] for h in greedy(model, beginnings(3), max_length=6, no_repeat=n)),
        *sample(model, beginnings(3), n=4, max_length=6, no_repeat=n),
        *beam(model, beginnings(3), width=5, n_best=5, max_length=6, no_repeat=n),
    ]
    for place, row in enumerate(rows):
        for found in row:
            runs = [found.words[start : start + n] for start in range(len(found.words) - n + 1)]
            assert len(set(runs)) == len(runs)
            assert found.log_prob == pytest.approx(score_again(model, place % 3, found), abs=1e-5)


def test_a_wide_beam_without_repeats_is_exhaustive_too() -> None:
    everything = [found for found in enumerate_best(Toy(2), 0, 10_000) if len(set(found.words)) == len(found.words)]
    found = beam(Toy(2), one(0), width=60, n_best=60, max_length=LONGEST, no_repeat=1)[0]
    assert_same(found, everything)


def test_given_words_may_repeat_themselves() -> None:
    found = greedy(Toy(1, 6), one(0), prefix=[4, 4, 4], no_repeat=1)[0]
    assert found.words[:3] == (4, 4, 4)
    assert found.log_prob == pytest.approx(score_again(Toy(1, 6), 0, found), abs=1e-5)
    assert 4 not in found.words[3:]


def test_the_length_power_favours_longer_sentences() -> None:
    model = Listed({(): {4: 1.0}, (4,): {END: 0.5, 5: 0.5}, (4, 5): {6: 0.9, END: 0.1}})
    words = {power: beam(model, (NOTHING,), width=3, length_power=power)[0][0].words for power in (0.0, 1.0)}
    assert words == {0.0: (4,), 1.0: (4, 5, 6)}


def test_the_search_goes_on_while_a_beginning_can_still_win_and_no_longer() -> None:
    # The first sentence ends at once with 0.3; the other beginning, 0.5, leads to 0.45 two words later.
    chances = {
        (): {4: 0.5, 5: 0.5},
        (4,): {END: 0.6, 6: 0.4},
        (5,): {6: 0.95, END: 0.05},
        (5, 6): {7: 0.95, END: 0.05},
        (5, 6, 7): {END: 1.0},
    }
    model = Listed(chances)
    (found,) = beam(model, (NOTHING,), width=2)[0]
    assert found.words == (5, 6, 7)
    assert model.n_steps == 4
    certain = Listed({(): {4: 0.6, 5: 0.4}, (4,): {END: 0.9, 6: 0.1}})
    assert beam(certain, (NOTHING,), width=2, max_length=20)[0][0].words == (4,)
    assert certain.n_steps == 2


def test_all_sentences_of_the_list_are_waited_for() -> None:
    model = Listed({(): {4: 0.6, 5: 0.4}, (4,): {END: 0.9, 6: 0.1}, (5,): {6: 1.0}, (5, 6): {END: 1.0}})
    assert [h.words for h in beam(model, (NOTHING,), width=2, n_best=2)[0]] == [(4,), (5, 6)]


def test_finished_pictures_leave_the_batch() -> None:
    for decode in (greedy, lambda *given: beam(*given, width=3), lambda *given: sample(*given, n=2)):
        model = Toy(6, 5)
        decode(model, beginnings(8))
        opened = model.n_rows[1:] if model.n_rows[0] == 8 else model.n_rows
        assert all(after <= before for before, after in pairwise(opened))
        assert opened[-1] < opened[0]


def test_a_beam_is_stepped_in_one_call_for_all_its_beginnings() -> None:
    model = Toy(7, 6)
    beam(model, beginnings(4), width=5, max_length=6, prefix=[4, 5])
    assert model.n_rows[:4] == [4, 4, 4, 20]  # one beginning each while the words are given, and for the first choice
    assert len(model.n_rows) <= 6


@pytest.mark.parametrize("seed", SEEDS)
def test_a_continued_sentence_is_the_best_of_those_that_begin_so(seed: int) -> None:
    prefixes = [[5], [], [4, 6]]
    found = beam(Toy(seed), beginnings(3), width=100, n_best=5, max_length=LONGEST, prefix=prefixes)
    for image, prefix in enumerate(prefixes):
        everything = enumerate_best(Toy(seed), image, 1000)
        wanted = [h for h in everything if list(h.words[: len(prefix)]) == prefix and len(h.words) >= len(prefix)]
        assert_same(found[image], wanted[:5])
    same = beam(Toy(seed), beginnings(3), width=4, prefix=[6, 4])
    assert same == beam(Toy(seed), beginnings(3), width=4, prefix=[[6, 4]] * 3)
    assert all(row[0].words[:2] == (6, 4) for row in same)


def test_given_words_alone_may_be_the_sentence() -> None:
    model = Listed({(4, 5): {END: 0.9, 6: 0.1}})
    assert greedy(model, (NOTHING,), prefix=[4, 5])[0].words == (4, 5)
    assert beam(model, (NOTHING,), prefix=[4, 5])[0][0].words == (4, 5)
    assert greedy(model, (NOTHING,), prefix=[4, 5], min_length=3)[0].words == (4, 5, 6)
