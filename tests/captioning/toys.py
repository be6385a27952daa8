"""Models so small that every sentence they can say is enumerated."""

from collections.abc import Iterator

import numpy as np
import pytest
import torch

from seesay.captioning.steps import Floats, Hypothesis, Ints, State
from seesay.text.vocabulary import END, START

SEEDS = range(6)
N_WORDS, LONGEST = 3, 4  # 3 + 9 + 27 sentences that end and 81 that are cut


class Toy:
    """Random probabilities of the next word after every history; the state is a digest of the history."""

    def __init__(self, seed: int, n_words: int = N_WORDS) -> None:
        noise = torch.Generator().manual_seed(seed)
        self.table = torch.randn(9973, 4 + n_words, generator=noise).mul(1.5).log_softmax(1).numpy()
        self.n_rows: list[int] = []

    def step(self, state: State, words: Ints) -> tuple[Floats, State]:
        self.n_rows.append(len(words))
        history = (state[0] * 31 + words * 7 + 1) % len(self.table)
        return self.table[history], (history,)


class Listed:
    """Probabilities after given histories; histories that are not listed end at once. One row for each sentence."""

    def __init__(self, chances: dict[tuple[int, ...], dict[int, float]], n_ids: int = 8) -> None:
        self.chances = chances
        self.n_ids = n_ids
        self.n_steps = 0

    def step(self, state: State, words: Ints) -> tuple[Floats, State]:
        self.n_steps += 1
        histories = np.concatenate([state[0], words[:, None]], 1)  # (n, T), START first
        rows = np.full((len(words), self.n_ids), 1e-30, np.float32)
        for row, history in zip(rows, histories.tolist(), strict=True):
            for word, chance in self.chances.get(tuple(history[1:]), {END: 1.0}).items():
                row[word] = chance
        return np.log(rows), (histories,)


NOTHING = np.zeros((1, 0), np.int64)


def beginnings(n: int) -> State:
    """The states of n pictures, all different."""
    return (np.arange(n) * 101,)


def one(image: int) -> State:
    return (np.array([image * 101]),)


def score_again(model: Toy, image: int, hypothesis: Hypothesis) -> float:
    """Its log-probability, by stepping through its words."""
    state, total = one(image), 0.0
    read = [START, *hypothesis.words]
    wanted = [*hypothesis.words, *([END] if hypothesis.finished else [])]
    for word, next_word in zip(read, wanted, strict=False):
        log_probs, state = model.step(state, np.array([word]))
        total += float(log_probs[0, next_word])
    return total


def all_sentences(n_words: int = N_WORDS, longest: int = LONGEST) -> Iterator[tuple[tuple[int, ...], bool]]:
    level: list[tuple[int, ...]] = [()]
    for length in range(1, longest + 1):
        level = [(*words, word) for words in level for word in range(4, 4 + n_words)]
        yield from ((words, length < longest) for words in level)


def enumerate_best(model: Toy, image: int, n: int, length_power: float = 0.0, **of: int) -> list[Hypothesis]:
    """The n best of everything the model can say: finished sentences first, then by score."""
    everything = [
        Hypothesis(words, score_again(model, image, Hypothesis(words, 0.0, finished)), finished)
        for words, finished in all_sentences(**of)
    ]
    everything.sort(key=lambda h: (h.finished, h.log_prob / len(h.words) ** length_power), reverse=True)
    return everything[:n]


def assert_same(found: list[Hypothesis], wanted: list[Hypothesis]) -> None:
    assert [(h.words, h.finished) for h in found] == [(h.words, h.finished) for h in wanted]
    assert [h.log_prob for h in found] == pytest.approx([h.log_prob for h in wanted], abs=1e-5)
