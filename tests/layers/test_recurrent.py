"""Specification of the recurrent encoders."""

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from seesay.layers.recurrent import Recurrent


@pytest.mark.parametrize("cell", ["rnn", "gru", "lstm"])
def test_equals_torchs_packed_layer_in_both_directions(cell: str) -> None:
    torch.manual_seed(0)
    own = Recurrent(cell, 3, 4, bidirectional=True)
    packed = {"rnn": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}[cell](3, 4, batch_first=True, bidirectional=True)
    for name, suffix in (("rightward", ""), ("leftward", "_reverse")):
        for key, value in own.directions[name].state_dict().items():
            getattr(packed, key + suffix).data.copy_(value)
    x, lengths = torch.randn(5, 6, 3), torch.tensor([6, 1, 3, 2, 5])
    expected, last = packed(pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False))
    expected = pad_packed_sequence(expected, batch_first=True)[0]
    states = own(x, lengths)
    for row, length in enumerate(lengths):
        torch.testing.assert_close(states[row, :length], expected[row, :length])
    last = last[0] if isinstance(last, tuple) else last
    torch.testing.assert_close(own.final(states, lengths), torch.cat([last[0], last[1]], -1))


def test_one_direction_ends_at_the_last_real_step() -> None:
    torch.manual_seed(0)
    layer = Recurrent("gru", 2, 3, bidirectional=False)
    x, lengths = torch.randn(2, 4, 2), torch.tensor([4, 2])
    states = layer(x, lengths)
    torch.testing.assert_close(layer.final(states, lengths), torch.stack([states[0, 3], states[1, 1]]))


def test_what_stands_in_the_padding_changes_nothing() -> None:
    torch.manual_seed(0)
    layer = Recurrent("gru", 2, 3, bidirectional=True)
    x, lengths = torch.randn(1, 5, 2), torch.tensor([3])
    other = x.clone()
    other[:, 3:] = 100
    torch.testing.assert_close(layer(x, lengths)[:, :3], layer(other, lengths)[:, :3])
