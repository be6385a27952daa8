"""Work in threads, a few things at a time."""

import threading
from contextlib import closing

import pytest

from seesay.images.batches import BATCH, n_cores, work_in_batches


@pytest.mark.parametrize("n", [0, 1, BATCH, BATCH + 1, 10 * BATCH])
def test_everything_is_worked_on_once_in_batches(n: int) -> None:
    batches = list(work_in_batches(range(n), list, workers=3))
    assert sorted(thing for batch in batches for thing in batch) == list(range(n))
    assert all(len(batch) <= BATCH for batch in batches)
    assert len(batches) == -(-n // BATCH)


def test_every_thread_is_prepared_once_before_its_work() -> None:
    ready = threading.local()
    prepared: list[str] = []

    def prepare() -> None:
        ready.yes = True
        prepared.append(threading.current_thread().name)

    assert all(work_in_batches(range(40), lambda batch: ready.yes, workers=2, prepare_thread=prepare))
    assert len(prepared) == len(set(prepared)) <= 2


def test_little_is_done_ahead_and_nothing_after_it_is_closed() -> None:
    done: list[int] = []
    with closing(work_in_batches(range(100 * BATCH), lambda batch: done.append(batch[0]), workers=1)) as finished:
        next(finished)
    assert 1 <= len(done) <= 4  # of a hundred batches


def test_what_goes_wrong_in_a_thread_is_raised_to_the_caller() -> None:
    def fail(batch: list[int]) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        list(work_in_batches(range(9), fail, workers=2))


def test_there_is_a_core() -> None:
    assert n_cores() >= 1
