"""Reading what others have made: regular files, so much of them and no more."""

import os
from pathlib import Path

import pytest

from seesay.catalogue.weights import find
from seesay.errors import SeesayError
from seesay.images.feature_store import content_key
from seesay.images.io import open_image
from seesay.system.reading import open_regular, parse_json, parse_toml, read_regular
from seesay.web.access import read_token


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    os.mkfifo(tmp_path / "pipe.jpg")
    return tmp_path / "pipe.jpg"


def test_pipes_and_devices_are_refused_at_once(pipe: Path) -> None:
    for path in (pipe, Path("/dev/zero"), Path("/dev/null")):
        with pytest.raises(OSError, match="not a regular file"):
            open_regular(path)
    with pytest.raises(IsADirectoryError):
        open_regular(pipe.parent)


def test_a_file_may_not_be_larger_than_its_kind(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(bytes(11))
    assert len(read_regular(tmp_path / "file", 11)) == 11
    with pytest.raises(OSError, match="larger than 10 bytes"):
        read_regular(tmp_path / "file", 10)


def test_a_file_of_the_system_without_a_size_is_read_up_to_the_limit() -> None:
    assert read_regular("/proc/self/status", 100_000).startswith(b"Name:")
    with pytest.raises(OSError, match="larger than 10 bytes"):
        read_regular("/proc/self/status", 10)


@pytest.mark.parametrize(("name", "why"), [("a\0b", "null"), ("x" * 300, "too long")])
def test_a_name_that_cannot_be_is_an_error_of_the_system(name: str, why: str) -> None:
    with pytest.raises(OSError, match=why):
        open_regular(name)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000])
def test_deep_json_is_no_json(text: str) -> None:
    with pytest.raises(ValueError, match="nested too deeply"):
        parse_json(text)


def test_deep_toml_is_no_toml() -> None:
    with pytest.raises(ValueError, match="nested too deeply"):
        parse_toml("a = " + "[" * 100_000)


@pytest.mark.parametrize("number", ["1" + "0" * 400, "-1" + "0" * 400, "9" * 5000])
def test_a_number_that_nothing_holds_is_no_json(number: str) -> None:
    with pytest.raises(ValueError, match="digits"):
        parse_json(f'{{"a": [{number}]}}')


@pytest.mark.parametrize("number", ["0x" + "f" * 5000, "1" + "0" * 400, "9223372036854775808"])
def test_a_number_that_nothing_holds_is_no_toml(number: str) -> None:
    with pytest.raises(ValueError, match="64 bits"):
        parse_toml(f"[[a]]\nb = [{number}]")


def test_the_largest_numbers_are_read() -> None:
    assert parse_json("[9223372036854775807, -9223372036854775807, 1e308]") == [2**63 - 1, 1 - 2**63, 1e308]
    assert parse_toml("a = 9223372036854775807") == {"a": 2**63 - 1}


def test_a_whole_number_of_more_than_64_bits_is_a_float() -> None:
    """As `transformers` writes `model_max_length`."""
    assert parse_json("[9223372036854775808, -9223372036854775809, 1000000000000000019884624838656]") == [
        float(2**63), -float(2**63), 1e30
    ]  # fmt: skip
    assert all(isinstance(number, float) for number in parse_json("[9223372036854775808, 100000000000000000000]"))


def test_photos_features_tokens_and_weights_are_read_so(pipe: Path, tmp_path: Path) -> None:
    (tmp_path / "weights").mkdir()
    os.mkfifo(tmp_path / "weights" / "config.json")
    for read in (open_image, content_key, read_token):
        with pytest.raises(SeesayError, match="not a regular file"):
            read(pipe)
    with pytest.raises(SeesayError, match="there are no weights"):
        find(tmp_path / "weights")
    with pytest.raises(SeesayError, match="there are no weights"):
        find("x" * 5000)
