"""Sentences of unlike length stay themselves in a common table."""

import torch

from seesay.layers.sequences import Sequences, join_rows


def sequences(*lengths: int) -> Sequences:
    """Row i reads words 10i + 1, 10i + 2, …; each word's vector is its number, twice."""
    mask = torch.arange(max(lengths)) < torch.tensor(lengths).unsqueeze(1)
    words = (torch.arange(len(lengths)).unsqueeze(1) * 10 + torch.arange(max(lengths)) + 1) * mask
    return Sequences(words.unsqueeze(-1).expand(-1, -1, 2).float(), words, torch.tensor(lengths))


def test_the_mask_covers_the_words_of_each_row_and_nothing_else() -> None:
    assert sequences(2, 1, 3).mask.tolist() == [[True, True, False], [True, False, False], [True, True, True]]


def test_rows_come_in_the_order_asked_for_without_padding_that_none_needs() -> None:
    rows = sequences(2, 1, 4)[torch.tensor([1, 0])]
    assert rows.words.tolist() == [[11, 0], [1, 2]]
    assert rows.lengths.tolist() == [1, 2]
    assert rows.states[:, :, 0].tolist() == rows.words.tolist()


def test_a_slice_is_the_same_as_the_rows_in_it() -> None:
    everything = sequences(2, 1, 4)
    assert torch.equal(everything[1:].words, everything[torch.tensor([1, 2])].words)
    assert torch.equal(everything[1:].states, everything[torch.tensor([1, 2])].states)


def test_no_rows_have_no_words() -> None:
    nothing = sequences(2, 1)[:0]
    assert len(nothing) == 0
    assert nothing.words.shape == (0, 0)
    assert nothing.states.shape == (0, 0, 2)
    assert nothing.mask.shape == (0, 0)


def test_joined_rows_are_those_of_the_parts() -> None:
    joined = Sequences.join([sequences(2, 1), sequences(4)])
    assert joined.words.tolist() == [[1, 2, 0, 0], [11, 0, 0, 0], [1, 2, 3, 4]]
    assert joined.lengths.tolist() == [2, 1, 4]
    assert joined.states[:, :, 1].tolist() == joined.words.tolist()


def test_cutting_into_batches_and_joining_changes_nothing() -> None:
    everything = sequences(3, 1, 2, 5, 1)
    joined = join_rows([everything[start : start + 2] for start in range(0, 5, 2)])
    assert isinstance(joined, Sequences)
    assert torch.equal(joined.words, everything.words)
    assert torch.equal(joined.states, everything.states)
    assert torch.equal(joined.lengths, everything.lengths)


def test_plain_tensors_are_joined_row_by_row() -> None:
    joined = join_rows([torch.ones(2, 3), torch.zeros(1, 3)])
    assert isinstance(joined, torch.Tensor)
    assert joined.tolist() == [[1, 1, 1], [1, 1, 1], [0, 0, 0]]
