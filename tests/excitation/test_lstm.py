"""Excitation backprop through time: equal to one unit at a time, nothing lost, and each input gets its due."""

import pytest
import torch
from torch import Tensor

from seesay.errors import SeesayError
from seesay.excitation.lstm import propagate_lstm
from seesay.layers.relu_lstm import ReLULSTM, Trace


def make(n_inputs: int = 3, hidden: int = 5, *, excited: bool = False) -> ReLULSTM:
    torch.manual_seed(2)
    lstm = ReLULSTM(n_inputs, hidden)
    for weight in lstm.parameters():
        weight.data.normal_(0, 0.7)
        if excited:
            weight.data.abs_()
    return lstm.requires_grad_(False)


def one_unit_at_a_time(lstm: ReLULSTM, trace: Trace, length: int, prior: Tensor, row: int) -> Tensor:
    """The module's three equations in loops over units and steps, from the last step to the first."""
    hidden = lstm.hidden
    W, U = lstm.inputs.weight[3 * hidden :], lstm.recurrent.weight[3 * hidden :]
    found = torch.zeros_like(trace.x[row])
    held = prior.clone()
    for t in range(length - 1, -1, -1):
        below = torch.zeros(hidden)
        for unit in range(hidden):
            kept = float(trace.f[row, t, unit] * trace.c[row, t, unit])
            added = float(trace.i[row, t, unit] * trace.g[row, t, unit])
            if kept + added <= 0:
                continue
            below[unit] += held[unit] * kept / (kept + added)
            probability = held[unit] * added / (kept + added)
            from_input, from_output = W[unit].relu() * trace.x[row, t], U[unit].relu() * trace.h[row, t]
            total = from_input.sum() + from_output.sum()
            if total > 0:
                found[t] += probability * from_input / total
                below += probability * from_output / total
        held = below
    return found


def test_it_equals_one_unit_at_a_time_for_rows_of_unlike_length() -> None:
    lstm = make()
    trace = lstm.trace(torch.rand(3, 6, 3))
    lengths = torch.tensor([6, 1, 4])
    prior = torch.rand(3, 5)
    found = propagate_lstm(lstm, trace, lengths, prior)
    for row, length in enumerate(lengths.tolist()):
        wanted = one_unit_at_a_time(lstm, trace, length, prior[row], row)
        torch.testing.assert_close(found[row], wanted, rtol=1e-4, atol=1e-6)


def test_nothing_is_made_or_lost_where_all_weights_excite() -> None:
    lstm = make(excited=True)
    trace = lstm.trace(torch.rand(2, 4, 3))
    prior = torch.rand(2, 5)
    found = propagate_lstm(lstm, trace, torch.tensor([4, 3]), prior)
    torch.testing.assert_close(found.sum((1, 2)), prior.sum(1))


def test_what_is_behind_the_end_gets_nothing() -> None:
    lstm = make()
    found = propagate_lstm(lstm, lstm.trace(torch.rand(1, 5, 3)), torch.tensor([2]), torch.ones(1, 5))
    assert found[0, :2].sum() > 0
    assert not found[0, 2:].any()


def test_an_input_that_the_forget_gate_drops_gets_nothing() -> None:
    lstm = make(excited=True)
    trace = lstm.trace(torch.rand(1, 3, 3))
    trace.f[:, 2] = 0
    lstm.recurrent.weight.data.zero_()  # so that the cell is the only way back in time
    trace.c[:, 3] = trace.i[:, 2] * trace.g[:, 2]
    found = propagate_lstm(lstm, trace, torch.tensor([3]), torch.ones(1, 5))
    assert not found[0, :2].any()
    torch.testing.assert_close(found[0, 2].sum(), torch.tensor(5.0))


def test_negative_inputs_are_refused() -> None:
    lstm = make()
    with pytest.raises(SeesayError, match="the LSTM is excited by negative numbers"):
        propagate_lstm(lstm, lstm.trace(-torch.ones(1, 2, 3)), torch.tensor([2]), torch.ones(1, 5))
