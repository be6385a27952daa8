"""Anything may stand in a file that others have made: it is read, or refused in a sentence, and never ends the process.

A short search in the suite; `python -m benchmarks.reliability.fuzz --minutes 30` searches longer.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchmarks.reliability import corpora, fuzz
from benchmarks.reliability.targets import TARGETS, close


@pytest.mark.parametrize("target", TARGETS)
def test_what_is_read_is_understood_or_refused(target: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp(target)
    read, corpus = TARGETS[target].read, TARGETS[target].corpus

    @settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(st.data())
    def search(data: st.DataObject) -> None:
        assert fuzz.attempt(read, fuzz.draw(data, corpus), folder) == ""

    search()


@pytest.mark.parametrize("target", TARGETS)
def test_searches_start_from_what_is_read_without_an_error(target: str, tmp_path: Path) -> None:
    """Else they would try nothing but the first check of a reader."""
    for content in TARGETS[target].corpus:
        TARGETS[target].read(content, tmp_path)


FOUND = {
    "query": "\ue0005\ue000 -cat".encode(),
    "recipe": corpora.RECIPE.replace(b"seed = 1", b"seed = 0x" + b"f" * 5000),
    "config": corpora.CONFIG.replace(b"encode.onnx", b"x" * 5000),
    "rows": bytes([20]) + b"odd",
    "csv": b'image,sentence,split\n..\0%./a.jpg,"cat",test\n',
    "http": b"POST /api/search HTTP/1.1\r\nHost: HOST\r\nTransfer-Encoding: chunked\r\n\r\n8\re\r\n\r\n",
}


@pytest.mark.parametrize("target", FOUND)
def test_what_longer_searches_have_found_stays_mended(target: str, tmp_path: Path) -> None:
    assert fuzz.attempt(TARGETS[target].read, FOUND[target], tmp_path) == ""


@pytest.fixture(scope="module", autouse=True)
def end_server() -> Iterator[None]:
    yield
    close()
