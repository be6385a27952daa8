"""The ReLU-LSTM: equal to its equations step by step, never negative, and calm before training."""

import pytest
import torch
from torch import Tensor

from seesay.layers.relu_lstm import FORGET, ReLULSTM


@pytest.fixture
def layer() -> ReLULSTM:
    torch.manual_seed(0)
    layer = ReLULSTM(3, 4)
    for weight in layer.parameters():
        weight.data.normal_(0, 0.6)
    return layer


def inputs(n: int = 2, n_steps: int = 5, dim: int = 3) -> Tensor:
    return torch.randn(n, n_steps, dim, generator=torch.Generator().manual_seed(1))


def step_by_step(layer: ReLULSTM, x: Tensor) -> tuple[Tensor, Tensor]:
    """The equations of the module's head, one sequence and one step at a time; h and c after each."""
    (W_i, W_f, W_o, W_g), (b_i, b_f, b_o, b_g) = layer.inputs.weight.chunk(4), layer.inputs.bias.chunk(4)
    U_i, U_f, U_o, U_g = layer.recurrent.weight.chunk(4)
    outputs, cells = [], []
    for row in x:
        h = c = torch.zeros(layer.hidden)
        for x_t in row:
            i, f, o = (
                torch.sigmoid(W @ x_t + U @ h + b) for W, U, b in ((W_i, U_i, b_i), (W_f, U_f, b_f), (W_o, U_o, b_o))
            )
            c = f * c + i * torch.relu(W_g @ x_t + U_g @ h + b_g)
            h = o * torch.relu(c)
            outputs.append(h)
            cells.append(c)
    shape = (*x.shape[:2], layer.hidden)
    return torch.stack(outputs).view(shape), torch.stack(cells).view(shape)


def test_it_equals_its_equations_step_by_step(layer: ReLULSTM) -> None:
    x = inputs()
    torch.testing.assert_close(layer(x), step_by_step(layer, x)[0])


def test_the_trace_holds_every_number_of_the_same_pass(layer: ReLULSTM) -> None:
    x = inputs()
    trace = layer.trace(x)
    outputs, cells = step_by_step(layer, x)
    torch.testing.assert_close(trace.h[:, 1:], outputs)
    torch.testing.assert_close(trace.c[:, 1:], cells)
    torch.testing.assert_close(trace.f * trace.c[:, :-1] + trace.i * trace.g, trace.c[:, 1:])
    torch.testing.assert_close(trace.o * trace.c[:, 1:], trace.h[:, 1:])
    assert not trace.c[:, 0].any()
    assert not trace.h[:, 0].any()


def test_what_it_keeps_is_never_negative(layer: ReLULSTM) -> None:
    trace = layer.trace(10 * inputs(8, 9))
    assert (trace.g >= 0).all()
    assert (trace.c >= 0).all()
    assert (trace.h >= 0).all()


def test_reading_in_two_parts_is_reading_at_once(layer: ReLULSTM) -> None:
    pushes = layer.inputs(inputs())
    first, memory = layer.read(pushes[:, :2], layer.start(2))
    second, _ = layer.read(pushes[:, 2:], memory)
    torch.testing.assert_close(torch.cat([first, second], 1), layer.read(pushes, layer.start(2))[0])


def test_what_stands_behind_a_step_does_not_change_it(layer: ReLULSTM) -> None:
    x = inputs()
    padded = x.clone()
    padded[:, 3:] = 99
    torch.testing.assert_close(layer(padded)[:, :3], layer(x)[:, :3])


def test_reading_nothing_leaves_the_memory_as_it_was(layer: ReLULSTM) -> None:
    memory = (torch.ones(2, 4), torch.full((2, 4), 2.0))
    outputs, after = layer.read(torch.zeros(2, 0, 16), memory)
    assert outputs.shape == (2, 0, 4)
    assert after == memory


def test_before_training_a_hundred_words_neither_explode_nor_vanish() -> None:
    torch.manual_seed(0)
    layer = ReLULSTM(64, 64)
    x = torch.randn(4, 100, 64).relu()
    size = layer(x).mean((0, 2)).detach()
    assert float(size[9]) > 0.05
    assert float(size[99]) < 20 * float(size[9])


def test_the_forget_gate_begins_open() -> None:
    bias = ReLULSTM(3, 4).inputs.bias.chunk(4)
    assert (bias[1] == FORGET).all()
    assert not torch.cat([bias[0], *bias[2:]]).any()
