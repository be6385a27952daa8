from collections import Counter

import numpy as np

from seesay.text.tokens import tokenize
from seesay.training.eye.wrong import WrongSentences

SAID = ["Two dogs are running on the beach.", "A black dog!", "The sea"]
CAPTIONS = ["a blue car"] * 9 + ["a green car", "three cats", "a cat under a table", "a horse"]


def draw(n: int, chosen: list[int], seed: int = 0) -> list[str]:
    return WrongSentences(CAPTIONS).draw(SAID, chosen, n, np.random.default_rng(seed))


def test_each_chosen_sentence_has_one_word_replaced_that_nobody_said() -> None:
    said = {word for sentence in SAID for word in tokenize(sentence)}
    for seed in range(20):
        first, second = draw(1, [0, 1], seed)
        for wrong, right in ((first, SAID[0]), (second, SAID[1])):
            ((old, new),) = [pair for pair in zip(tokenize(wrong), tokenize(right), strict=True) if pair[0] != pair[1]]
            assert new in said
            assert old not in said


def test_several_of_one_sentence_differ_in_kind() -> None:
    wrong = draw(9, [0])
    assert len(wrong) == 4  # count, object, action, preposition
    assert len(set(wrong)) == 4


def test_what_has_no_word_to_replace_gives_none() -> None:
    assert draw(3, [2]) == []
    assert draw(0, [0, 1]) == []


def test_words_are_drawn_as_often_as_captions_have_them() -> None:
    wrong = WrongSentences(CAPTIONS)
    rng = np.random.default_rng(0)
    colours = Counter(wrong.draw(["a red hen"], [0], 1, rng)[0].split()[1] for _ in range(300))
    assert set(colours) == {"blue", "green"}
    assert 0.8 < colours["blue"] / 300 < 0.97


def test_without_counts_all_words_are_alike() -> None:
    wrong, rng = WrongSentences([]), np.random.default_rng(0)
    assert len({wrong.draw(["a red hen"], [0], 1, rng)[0] for _ in range(200)}) == 8  # without orange and yellow
