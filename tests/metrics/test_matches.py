import numpy as np
import pytest

from seesay.metrics import matches as matches_module
from seesay.metrics.matches import count_bits, match
from seesay.metrics.sentences import References


def masks_of(hypothesis: str, reference: str, n: int = 1) -> list[int]:
    references = References([[reference]])
    (found,) = match(references.pack([hypothesis]), references.sentences, np.array([0]), np.array([0]))
    return [int(mask) for mask in list(found.ngrams(n))[n - 1]]


def test_a_mask_has_a_bit_at_every_position_of_the_word_in_the_hypothesis() -> None:
    assert masks_of("a dog and a cat", "a cat sat") == [0b01001, 0b10000, 0, 0]


def test_an_ngram_begins_where_all_of_its_words_follow() -> None:
    assert masks_of("a cat and a cat", "see a cat", n=2) == [0, 0b01001, 0, 0]
    assert masks_of("b a b", "a b a", n=3) == [0, 0, 0, 0]
    assert masks_of("x a b c", "a b c", n=3) == [0b0010, 0, 0, 0]


def test_ngrams_do_not_reach_into_the_next_sentence() -> None:
    references = References([["a", "b"]])
    (found,) = match(references.pack(["a b"]), references.sentences, np.array([0, 0]), np.array([0, 1]))
    assert [masks.tolist() for masks in found.ngrams(2)] == [[1, 0, 2, 0], [0, 0, 0, 0]]


@pytest.mark.parametrize("n_words", [63, 64, 65, 130])
def test_hypotheses_of_any_length_have_masks(n_words: int) -> None:
    words = [f"w{i}" for i in range(n_words)]
    hypothesis = " ".join(words)
    assert masks_of(hypothesis, f"{words[-1]} {words[0]}") == [1 << (n_words - 1), 1, 0]
    assert masks_of(hypothesis, " ".join(words[-4:]), n=4)[0] == 1 << (n_words - 4)


@pytest.mark.parametrize(("table_size", "words_at_once"), [(1, 1), (40, 1 << 18), (1 << 21, 30)])
def test_portions_of_any_size_give_the_same_masks(
    monkeypatch: pytest.MonkeyPatch, table_size: int, words_at_once: int
) -> None:
    rng = np.random.default_rng(5)
    sentences = [" ".join(rng.choice(list("abcde"), rng.integers(0, 8))) for _ in range(40)]
    references = References([sentences])
    hypotheses = references.pack([*sentences[::-1], " ".join("ab" * 50)])
    first, second = rng.integers(0, 41, 200), rng.integers(0, 40, 200)

    def masks_by_pair() -> dict[int, list[int]]:
        found = {}
        for some in match(hypotheses, references.sentences, first, second):
            for pair, masks in zip(some.pairs, np.split(some.masks, some.starts[1:]), strict=True):
                found[int(pair)] = [int(mask) for mask in masks]
        return found

    whole = masks_by_pair()
    monkeypatch.setattr(matches_module, "_TABLE_SIZE", table_size)
    monkeypatch.setattr(matches_module, "_WORDS_AT_ONCE", words_at_once)
    assert sorted(whole) == list(range(200))
    assert masks_by_pair() == whole


def test_bits_are_counted_without_numpy_2_too(monkeypatch: pytest.MonkeyPatch) -> None:
    masks = np.random.default_rng(0).integers(0, 2**64, (50, 4), dtype=np.uint64)
    expected = [[int(mask).bit_count() for mask in row] for row in masks]
    assert count_bits(masks).tolist() == expected
    monkeypatch.delattr(np, "bitwise_count", raising=False)
    assert count_bits(masks).tolist() == expected
