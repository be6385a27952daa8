"""Anything may stand in a file that others have made: it is read, or refused in a sentence, and never ends the process.

A short search in the suite; `python -m benchmarks.reliability.fuzz --minutes 30` searches longer.
"""

import json
import random
import tomllib
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchmarks.reliability import corpora, fuzz, served
from benchmarks.reliability.changes import change, change_values, with_right_checksums
from benchmarks.reliability.targets import TARGETS
from seesay.errors import SeesayError


@pytest.mark.parametrize("target", TARGETS)
def test_what_is_read_is_understood_or_refused(target: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp(target)
    read, corpus = TARGETS[target].read, TARGETS[target].corpus

    @settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(st.data())
    def search(data: st.DataObject) -> None:
        content = change(corpus, random.Random(data.draw(st.integers(0, 2**32 - 1))))
        assert fuzz.attempt(read, content, folder) == ""

    search()


@pytest.mark.parametrize("target", TARGETS)
def test_searches_start_from_what_is_read_without_an_error(target: str, tmp_path: Path) -> None:
    """Else they would try nothing but the first check of a reader."""
    for content in TARGETS[target].corpus:
        TARGETS[target].read(content, tmp_path)


def test_changed_values_leave_a_file_of_its_layout() -> None:
    """Else nearly every case would end at the first check."""
    dice = random.Random(0)
    changed = [change_values(corpora.CONFIG, dice) or b"" for _ in range(50)]
    assert sum(json.loads(each) != json.loads(corpora.CONFIG) for each in changed) > 40
    recipes = [tomllib.loads(each.decode()) for _ in range(50) if (each := change_values(corpora.RECIPE, dice))]
    assert sum(recipe != tomllib.loads(corpora.RECIPE.decode()) for recipe in recipes) > 20
    weights = [change_values(corpora.WEIGHTS, dice) or b"" for _ in range(50)]
    assert all(isinstance(json.loads(each[8 : 8 + int.from_bytes(each[:8], "little")]), object) for each in weights)
    assert all(each.endswith(bytes(16)) for each in weights)
    assert change_values(b"\x00\x01", dice) is None


def test_checksums_of_a_picture_are_put_right() -> None:
    picture = corpora.pictures()[0]
    broken = picture[:20] + b"\x01" + picture[21:]
    right = with_right_checksums(broken)
    assert right[12:29] == broken[12:29]
    assert int.from_bytes(right[29:33], "big") == zlib.crc32(right[12:29])
    assert with_right_checksums(picture) == picture
    assert with_right_checksums(b"no picture") == b"no picture"


def test_a_case_that_raises_or_computes_for_long_is_a_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: bytes, __: Path) -> None:
        raise ValueError("a bug")

    def refuse(_: bytes, __: Path) -> None:
        raise SeesayError("no")

    assert fuzz.attempt(fail, b"", tmp_path) == "ValueError: a bug"
    assert fuzz.attempt(refuse, b"", tmp_path) == ""
    monkeypatch.setattr(fuzz, "SECONDS", -1.0)
    assert fuzz.attempt(refuse, b"", tmp_path) == "slow"


def test_the_record_tells_what_code_was_reached() -> None:
    told = "#2 INITED cov: 30 ft: 31 corp: 2/9b\n#9 NEW cov: 40 ft: 60 corp: 6/8b\n#99 NEW cov: 45 ft: 60 corp: 7/8b\n"
    assert fuzz.reach(told) == {"places": [30, 45], "kept": [2, 7]}
    assert fuzz.reach("nothing") == {}


FOUND = {
    "query": "\ue0005\ue000 -cat".encode(),
    "recipe": corpora.RECIPE.replace(b"seed = 1", b"seed = 0x" + b"f" * 5000),
    "config": corpora.CONFIG.replace(b"encode.onnx", b"x" * 5000),
    "config ": corpora.CONFIG.replace(b"encode.onnx", b"\\ud800"),
    "rows": bytes([20]) + b"odd",
    "ensemble": corpora.ENSEMBLE.replace(b'{"chosen_on": "dev"}', b"[]"),
    "features": corpora.features()[0].replace(b"}", b"(", 2).replace(b"(", b"}", 1),
    "matrix": corpora.matrices()[0].replace(b"(6,)", b"(6,("),
    "weights": (76).to_bytes(8, "little")
    + b'{"a": {"dtype": "F32", "shape": [[2], 2000000000], "data_offsets": [0, 16]}}'
    + bytes(16),
    "vectors": b"9" * 5000 + b" 5\ndog 1\n",
    "phrases": b'[[1e400, ["NP", "a"]]]',
    "tower": corpora.tower()[0].replace(b'"<|endoftext|>"', b'"\\ud800"', 1),
    "csv": b'image,sentence,split\n..\0%./a.jpg,"cat",test\n',
    "http": b"POST /api/search HTTP/1.1\r\nHost: HOST\r\nTransfer-Encoding: chunked\r\n\r\n8\re\r\n\r\n",
}


@pytest.mark.parametrize("target", FOUND)
def test_what_longer_searches_have_found_stays_mended(target: str, tmp_path: Path) -> None:
    assert fuzz.attempt(TARGETS[target.strip()].read, FOUND[target], tmp_path) == ""


@pytest.fixture(scope="module", autouse=True)
def end_server() -> Iterator[None]:
    yield
    served.close()
