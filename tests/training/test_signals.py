import os
import signal
import threading

import pytest

from seesay.training.signals import stop_signals


@pytest.fixture
def usual_interrupt():
    """A job started in the background inherits an ignored SIGINT."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("usual_interrupt")
def test_the_first_signal_is_noted_and_the_second_has_its_usual_effect():
    with stop_signals() as received:
        os.kill(os.getpid(), signal.SIGINT)
        assert received == [signal.SIGINT]
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert received == [signal.SIGINT]


def test_the_handlers_from_before_come_back():
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    with stop_signals():
        assert signal.getsignal(signal.SIGTERM) != before[0]
    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == before


def test_a_thread_that_may_not_handle_signals_trains_without_them():
    found = []

    def run():
        with stop_signals() as received:
            found.append((received, signal.getsignal(signal.SIGINT)))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert found == [([], signal.getsignal(signal.SIGINT))]
