"""Anything may stand in a file that others have made: it is read, or refused in a sentence, and never ends the process.

A short search in the suite; `python -m benchmarks.reliability.fuzz --minutes 30` searches longer.
"""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchmarks.reliability import fuzz

TARGETS = ("image", "patterns", "captions", "coco", "weights", "recipe", "config", "rows")


@pytest.mark.parametrize("target", TARGETS)
def test_what_is_read_is_understood_or_refused(target: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp(target)
    read, corpus = fuzz.TARGETS[target]

    @settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(st.data())
    def search(data: st.DataObject) -> None:
        assert fuzz.attempt(read, fuzz.draw(data, corpus), folder) == ""

    search()


def test_every_part_that_reads_is_searched() -> None:
    assert tuple(fuzz.TARGETS) == TARGETS
