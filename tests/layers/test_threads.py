"""Blocks in threads: the order of the items, one thread each, and everything as it was afterwards."""

from collections.abc import Iterator

import pytest
import torch

from seesay.layers.threads import map_in_threads


@pytest.fixture
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("two_threads")
def test_outcomes_come_in_the_order_of_the_items_each_computed_by_one_thread() -> None:
    outcomes = list(map_in_threads(lambda n: (n, torch.get_num_threads()), list(range(20))))
    assert outcomes == [(n, 1) for n in range(20)]
    assert torch.get_num_threads() == 2


@pytest.mark.usefixtures("two_threads")
def test_an_error_reaches_the_caller_and_leaves_the_threads_as_they_were() -> None:
    with pytest.raises(ZeroDivisionError):
        list(map_in_threads(lambda n: 1 // n, [1, 0, 2]))
    assert torch.get_num_threads() == 2
