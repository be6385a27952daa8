"""Whatever is shared, blocked or done in threads, the likelihoods are those of one pair after the other."""

import math
from collections.abc import Callable, Iterator

import pytest
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from seesay.layers.likelihood import MEMORY, log_likelihoods
from seesay.layers.sequences import Sequences

WIDTH, N_WORDS = 8, 11
SENTENCES = {
    "begin alike": [[4, 5, 6, 2], [4, 5, 7, 2], [4, 5, 2], [4, 8, 5, 6, 2], [9, 2]],
    "are identical": [[4, 5, 2], [4, 5, 2], [4, 5, 2]],
    "have one word": [[2], [5], [2]],
    "include an empty one": [[4, 2], [], [4, 4, 4, 4, 4, 2]],
    "have nothing in common": [[4, 4, 2], [5, 4, 2], [6, 4, 2]],
}


def read(sentences: list[list[int]]) -> Sequences:
    """States as a recurrent network gives them: of the words before each position alone, large where there is none."""
    draw = torch.Generator().manual_seed(1)
    embedding, recurrence = torch.randn(N_WORDS, WIDTH, generator=draw), torch.randn(WIDTH, WIDTH, generator=draw)
    words = pad_sequence([torch.tensor(sentence, dtype=torch.long) for sentence in sentences], batch_first=True)
    lengths = torch.tensor([len(sentence) for sentence in sentences])
    states = torch.full((*words.shape, WIDTH), 1e6)
    for row, sentence in enumerate(sentences):
        state = torch.zeros(WIDTH)
        for t, word in enumerate(sentence):
            states[row, t] = state
            state = torch.tanh(state @ recurrence / 3 + embedding[word])
    return Sequences(states, words, lengths)


def score_each_pair(
    images: Tensor,
    texts: Sequences,
    activation: Callable[[Tensor], Tensor],
    weight: Tensor,
    bias: Tensor,
    project: Tensor | None = None,
    normalised: bool = True,
) -> Tensor:
    scores = torch.zeros(len(images), len(texts), dtype=torch.float64)
    for i, image in enumerate(images):
        for j, length in enumerate(texts.lengths.tolist()):
            for state, word in zip(texts.states[j, :length], texts.words[j, :length].tolist(), strict=True):
                hidden = activation((state + image).double())
                hidden = hidden if project is None else project.double() @ hidden
                logits = weight.double() @ hidden + bias.double()
                scores[i, j] += logits.log_softmax(0)[word] if normalised else logits[word]
    return scores.float()


def weights(projected: bool = False) -> tuple[Tensor, Tensor, Tensor | None]:
    draw = torch.Generator().manual_seed(2)
    d = 5 if projected else WIDTH
    project = torch.randn(d, WIDTH, generator=draw) if projected else None
    return torch.randn(N_WORDS, d, generator=draw), torch.randn(N_WORDS, generator=draw), project


def pictures(n: int) -> Tensor:
    return torch.randn(n, WIDTH, generator=torch.Generator().manual_seed(3))


def overwriting_tanh(x: Tensor) -> Tensor:
    return x.tanh_()


@pytest.fixture(params=[1, 2], ids=["one thread", "two threads"])
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


@pytest.mark.parametrize("normalised", [True, False], ids=["exact", "logits"])
@pytest.mark.parametrize("projected", [False, True], ids=["direct", "projected"])
@pytest.mark.parametrize("kind", SENTENCES)
def test_scores_equal_a_loop_over_pairs_where_sentences(kind: str, projected: bool, normalised: bool) -> None:
    weight, bias, project = weights(projected)
    texts, images = read(SENTENCES[kind]), pictures(5)
    scores = log_likelihoods(images, texts, torch.tanh, weight, bias, project=project, normalised=normalised)
    expected = score_each_pair(images, texts, torch.tanh, weight, bias, project, normalised)
    torch.testing.assert_close(scores, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("memory", [1, 100, 300, 1000, 5000, MEMORY])
@pytest.mark.parametrize("projected", [False, True], ids=["direct", "projected"])
@pytest.mark.parametrize("n_images", [1, 7])
def test_the_size_of_blocks_and_the_number_of_threads_change_nothing(
    n_images: int, projected: bool, memory: int
) -> None:
    weight, bias, project = weights(projected)
    texts, images = read(SENTENCES["begin alike"]), pictures(n_images)
    scores = log_likelihoods(images, texts, torch.tanh, weight, bias, project=project, memory=memory)
    expected = score_each_pair(images, texts, torch.tanh, weight, bias, project)
    torch.testing.assert_close(scores, expected, rtol=1e-4, atol=1e-5)


def test_an_activation_may_overwrite_what_it_is_given() -> None:
    weight, bias, _ = weights()
    texts, images = read(SENTENCES["begin alike"]), pictures(3)
    kept = images.clone(), texts.states.clone()
    scores = log_likelihoods(images, texts, overwriting_tanh, weight, bias)
    assert torch.equal(scores, log_likelihoods(images, texts, torch.tanh, weight, bias))
    assert torch.equal(images, kept[0])
    assert torch.equal(texts.states, kept[1])


@pytest.mark.parametrize("shift", [-300.0, 300.0], ids=["very low", "very high"])
def test_logits_beyond_the_range_of_exponentials_are_summed_all_the_same(shift: float) -> None:
    weight, bias, _ = weights()
    texts, images = read(SENTENCES["begin alike"]), pictures(3)
    scores = log_likelihoods(images, texts, torch.tanh, weight, bias + shift)
    expected = score_each_pair(images, texts, torch.tanh, weight, bias)
    torch.testing.assert_close(scores, expected, rtol=1e-3, atol=1e-3)  # 300 leaves single precision 5 digits less


def test_the_probabilities_of_all_sentences_of_one_word_add_up_to_one() -> None:
    weight, bias, _ = weights()
    scores = log_likelihoods(pictures(2), read([[word] for word in range(N_WORDS)]), torch.tanh, weight, bias)
    torch.testing.assert_close(scores.logsumexp(1), torch.zeros(2), rtol=0, atol=1e-5)


def test_states_of_equal_beginnings_are_read_once() -> None:
    seen = []

    def watch(x: Tensor) -> Tensor:
        seen.append(x.numel() // WIDTH)
        return x

    weight, bias, _ = weights()
    log_likelihoods(pictures(1), read(SENTENCES["begin alike"]), watch, weight, bias)
    assert sum(seen) == 9  # of 18: nothing, 4, 9, 4 5, 4 8, 4 5 6, 4 5 7, 4 8 5, 4 8 5 6


@pytest.mark.parametrize(("n_images", "n_texts"), [(0, 2), (3, 0), (0, 0)])
def test_nothing_to_score_gives_an_empty_table(n_images: int, n_texts: int) -> None:
    weight, bias, _ = weights()
    texts = read(SENTENCES["begin alike"])[:n_texts]
    scores = log_likelihoods(pictures(n_images), texts, torch.tanh, weight, bias)
    assert scores.shape == (n_images, n_texts)


def test_a_sentence_that_predicts_nothing_is_certain() -> None:
    weight, bias, _ = weights()
    texts = Sequences(torch.zeros(2, 0, WIDTH), torch.zeros(2, 0, dtype=torch.long), torch.tensor([0, 0]))
    assert log_likelihoods(pictures(1), texts, torch.tanh, weight, bias).tolist() == [[0, 0]]


@pytest.mark.usefixtures("threads")
def test_progress_rises_to_the_number_of_distinct_positions_and_pictures() -> None:
    weight, bias, _ = weights()
    calls: list[tuple[int, int]] = []
    log_likelihoods(
        pictures(7), read(SENTENCES["begin alike"]), torch.tanh, weight, bias, memory=300,
        on_progress=lambda done, total: calls.append((done, total)),
    )  # fmt: skip
    assert calls == sorted(calls)
    assert {total for _, total in calls} == {63}
    assert calls[-1] == (63, 63)


@pytest.mark.usefixtures("threads")
def test_an_error_in_the_activation_is_passed_on_and_the_threads_are_given_back() -> None:
    def fail(x: Tensor) -> Tensor:
        raise ValueError(f"{x.shape[-1]} numbers")

    weight, bias, _ = weights()
    before = torch.get_num_threads()
    with pytest.raises(ValueError, match="8 numbers"):
        log_likelihoods(pictures(7), read(SENTENCES["begin alike"]), fail, weight, bias, memory=300)
    assert torch.get_num_threads() == before


def test_weights_in_training_are_read_without_a_gradient() -> None:
    weight, bias, _ = weights()
    scores = log_likelihoods(
        pictures(2), read(SENTENCES["begin alike"]), torch.tanh, weight.requires_grad_(), bias.requires_grad_()
    )
    assert not scores.requires_grad
    assert math.isfinite(float(scores.sum()))
