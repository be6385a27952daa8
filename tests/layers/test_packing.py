"""Matrices as bytes on disk: how exact they are, and that packing twice changes nothing."""

import torch
from torch import nn

from seesay.images.state_dicts import unpack_rows
from seesay.layers.packing import pack_rows, pack_state


def test_a_packed_matrix_is_exact_to_half_a_step_of_each_row() -> None:
    matrix = torch.randn(20, 30, generator=torch.Generator().manual_seed(0)) * torch.logspace(-3, 1, 20).unsqueeze(1)
    rows, scale = pack_rows(matrix)
    assert rows.dtype == torch.int8
    # The scale in half precision may cut the largest number of a row by a thousandth of it.
    assert ((unpack_rows(rows, scale) - matrix).abs() <= 0.57 * scale.unsqueeze(1)).all()


def test_packing_again_gives_the_same_numbers() -> None:
    matrix = torch.randn(50, 8, generator=torch.Generator().manual_seed(1))
    once = unpack_rows(*pack_rows(matrix))
    again = unpack_rows(*pack_rows(once))
    torch.testing.assert_close(again, once, rtol=0, atol=0)


def test_a_row_of_zeros_stays_one() -> None:
    assert unpack_rows(*pack_rows(torch.zeros(2, 3))).tolist() == [[0.0] * 3] * 2


def test_a_module_is_filled_from_its_packed_state() -> None:
    def make() -> nn.Sequential:
        layers = nn.Sequential(nn.Linear(4, 3), nn.Linear(3, 2))
        pack_state(layers, ["0.weight"])
        return layers

    source, target = make(), make()
    state = source.state_dict()
    assert set(state) == {"0.weight.rows", "0.weight.scale", "0.bias", "1.weight", "1.bias"}
    target.load_state_dict({name: tensor.float() for name, tensor in state.items()})
    torch.testing.assert_close(target[0].weight, source[0].weight, rtol=0.01, atol=0.01)
    torch.testing.assert_close(target[1].weight, source[1].weight)


def test_a_plain_state_fills_a_module_that_packs() -> None:
    plain, packing = nn.Linear(4, 3), nn.Linear(4, 3)
    pack_state(packing, ["weight"])
    packing.load_state_dict(plain.state_dict())
    torch.testing.assert_close(packing.weight, plain.weight)
