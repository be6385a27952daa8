"""A digest is kept while its file is the same, and never longer."""

import hashlib
import json
import os
from pathlib import Path

import pytest

from seesay.catalogue import digests
from seesay.catalogue.digests import FILE, digest_of


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SEESAY_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / FILE


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "model.safetensors"
    path.write_bytes(b"weights")
    return path


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def test_it_is_read_once(cache: Path, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert digest_of(file, file.stat()) == sha(b"weights")
    monkeypatch.setattr(digests, "digest_file", None)
    assert digest_of(file, file.stat()) == sha(b"weights")


def test_another_file_of_the_same_size_and_time_is_read_again(cache: Path, file: Path) -> None:
    before = file.stat()
    digest_of(file, before)
    file.write_bytes(b"another")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert digest_of(file, file.stat()) == sha(b"another")


@pytest.mark.parametrize("content", ["", "[", "[1]", '{"x": 1}', "[" * 100_000])
def test_a_cache_that_is_damaged_is_no_harm(cache: Path, file: Path, content: str) -> None:
    cache.parent.mkdir()
    cache.write_text(content)
    assert digest_of(file, file.stat()) == sha(b"weights")
    assert str(file) in json.loads(cache.read_text())


def test_a_cache_that_cannot_be_written_is_no_harm(tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "in the way").write_text("")
    monkeypatch.setenv("SEESAY_CACHE", str(tmp_path / "in the way"))
    assert digest_of(file, file.stat()) == sha(b"weights")


def test_it_does_not_grow_without_end(cache: Path, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(digests, "_MOST", 3)
    for number in range(6):
        other = file.with_name(str(number))
        other.write_bytes(b"weights")
        digest_of(other, other.stat())
    assert [Path(name).name for name in json.loads(cache.read_text())] == ["3", "4", "5"]
