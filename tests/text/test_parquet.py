"""The column of strings in a Parquet file, against files that pyarrow wrote."""

import base64
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seesay.text._parquet import read_strings, snappy_decompress

WORDS = ["the", "dog", "'s", "café", "the", "a" * 30]

# pyarrow.parquet.write_table(table, file, store_schema=False, write_statistics=False, ...)
SNAPPY_WITH_DICTIONARY = (
    "UEFSMRUEFX4VTEwVChUAEgAAPxgDAAAAdGhlAQdYZG9nAgAAACdzBQAAAGNhZsOpHgAAAGFyAQAVABUWFRosFQwVEBUGFQYcAAAACygCAAAADAED"
    "A4gGAhUEGSw1ABgGc2NoZW1hFQIAFQwlAhgBdyUATBwAAAAWDBkcGRwmABwVDBk1AAYQGRgBdxUCFgwW1gEWqAEmcCYIKSwVBBUAFQIAFQAVEBUC"
    "ADwWXBkGGSYADAAAABbWARYMJggWqAEAKCBwYXJxdWV0LWNwcC1hcnJvdyB2ZXJzaW9uIDI2LjAuMRkcHAAAAJAAAABQQVIx"
)
PLAIN_WITHOUT_DICTIONARY = (
    "UEFSMRUAFYwBFYwBLBUMFQAVBhUGHAAAAAMAAAB0aGUDAAAAZG9nAgAAACdzBQAAAGNhZsOpAwAAAHRoZR4AAABhYWFhYWFhYWFhYWFhYWFhYWFh"
    "YWFhYWFhYWFhYWEVBBksNQAYBnNjaGVtYRUCABUMJQAYAXclAEwcAAAAFgwZHBkcJgAcFQwZJQYAGRgBdxUAFgwWtgEWtgEmCEkcFQAVABUCADwW"
    "XBkGGQYAAAAWtgEWDCYIFrYBACggcGFycXVldC1jcHAtYXJyb3cgdmVyc2lvbiAyNi4wLjEZHBwAAACEAAAAUEFSMQ=="
)
TWO_ROW_GROUPS = (
    "UEFSMRUEFToVPEwVCBUAEgAAHRgDAAAAdGhlAQdEZG9nAgAAACdzBQAAAGNhZsOpFQAVFBUYLBUIFRAVBhUGHAAAAAokAgAAAAgBAgPkABUEFVIV"
    "IkwVBBUAEgAAKSwDAAAAdGhlHgAAAGFyAQAVABUSFRYsFQQVEBUGFQYcAAAACSACAAAABAEBAwIVBBksNQAYBnNjaGVtYRUCABUMJQIYAXclAEwc"
    "AAAAFgwZLBkcJgAcFQwZNQAGEBkYAXcVAhYIFpABFpYBJmAmCCksFQQVABUCABUAFRAVAgA8FhoZBhkmAAgAAAAWkAEWCCYIFpYBABkcJgAcFQwZ"
    "NQAGEBkYAXcVAhYEFqYBFnom3AEmngEpLBUEFQAVAgAVABUQFQIAPBZCGQYZJgAEAAAAFqYBFgQmngEWegAoIHBhcnF1ZXQtY3BwLWFycm93IHZl"
    "cnNpb24gMjYuMC4xGRwcAAAA1gAAAFBBUjE="
)
WITH_A_NULL = (
    "UEFSMRUEFQoVCkwVAhUAEgAAAQAAAGEVABUSFRIsFQQVEBUGFQYcAAAAAgAAAAMBAQIAFQQZLDUAGAZzY2hlbWEVAgAVDCUCGAF3JQBMHAAAABYE"
    "GRwZHCYAHBUMGTUABhAZGAF3FQAWBBZeFl4mLiYIKSwVBBUAFQIAFQAVEBUCADwWAhkGGSYCAgAAABZeFgQmCBZeACggcGFycXVldC1jcHAtYXJy"
    "b3cgdmVyc2lvbiAyNi4wLjEZHBwAAACMAAAAUEFSMQ=="
)
GZIP = (
    "UEFSMRUEFQoVMkwVAhUAEgAAH4sIAAAAAAACA2NkYGBIBABjj/fBBQAAABUAFRIVOiwVAhUQFQYVBhwAAAAfiwgAAAAAAAIDY2JgYGBiZGRiAACY"
    "AHc5CQAAABUEGSw1ABgGc2NoZW1hFQIAFQwlAhgBdyUATBwAAAAWAhkcGRwmABwVDBk1AAYQGRgBdxUEFgIWXhauASZWJggpLBUEFQAVAgAVABUQ"
    "FQIAPBYCGQYZJgACAAAAFl4WAiYIFq4BACggcGFycXVldC1jcHAtYXJyb3cgdmVyc2lvbiAyNi4wLjEZHBwAAACOAAAAUEFSMQ=="
)
NUMBERS = (
    "UEFSMRUEFSAVIEwVBBUAEgAAAQAAAAAAAAACAAAAAAAAABUAFRIVEiwVBBUQFQYVBhwAAAACAAAABAEBAwIVBBksNQAYBnNjaGVtYRUCABUEJQIY"
    "AXcAFgQZHBkcJgAcFQQZNQAGEBkYAXcVABYEFnQWdCZEJggpLBUEFQAVAgAVABUQFQIAPCkGGSYABAAAABZ0FgQmCBZ0ACggcGFycXVldC1jcHAt"
    "YXJyb3cgdmVyc2lvbiAyNi4wLjEZHBwAAACEAAAAUEFSMQ=="
)


@pytest.mark.parametrize("encoded", [SNAPPY_WITH_DICTIONARY, PLAIN_WITHOUT_DICTIONARY, TWO_ROW_GROUPS])
def test_strings_are_read_in_order(tmp_path: Path, encoded: str) -> None:
    path = tmp_path / "words.parquet"
    path.write_bytes(base64.b64decode(encoded))
    assert read_strings(path) == WORDS


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "not a Parquet file"),
        (b"PAR1" + bytes(20), "not a Parquet file"),
        (b"PAR1" + bytes(20) + b"PAR1", "damaged"),
        (base64.b64decode(WITH_A_NULL), "nulls"),
        (base64.b64decode(GZIP), "compression 2"),
        (base64.b64decode(NUMBERS), "does not hold strings"),
        (base64.b64decode(PLAIN_WITHOUT_DICTIONARY).replace(b"\x05\0\0\0caf", b"\xff\0\0\0caf"), "in the middle"),
    ],
)
def test_what_is_damaged_or_not_known_is_refused(tmp_path: Path, data: bytes, reason: str) -> None:
    path = tmp_path / "words.parquet"
    path.write_bytes(data)
    with pytest.raises(ValueError, match=reason):
        read_strings(path)


def test_any_flipped_byte_gives_an_error_or_strings_but_no_other_failure(tmp_path: Path) -> None:
    whole = base64.b64decode(SNAPPY_WITH_DICTIONARY)
    path = tmp_path / "words.parquet"
    generator = random.Random(0)
    refused = 0
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([generator.randrange(256)]) + whole[place + 1 :])
        try:
            assert all(isinstance(word, str) for word in read_strings(path))
        except ValueError:
            refused += 1
    assert refused > len(whole) // 4


@pytest.mark.parametrize(
    ("block", "text"),
    [
        (b"\x00", b""),
        (b"\x03\x08abc", b"abc"),
        (b"\x08\x00a\x0d\x01", b"aaaaaaaa"),  # a copy of seven bytes from one byte back
        (b"\x08\x0cabcd\x0e\x04\x00", b"abcdabcd"),  # two bytes of offset
        (b"\x08\x0cabcd\x0f\x04\x00\x00\x00", b"abcdabcd"),  # four bytes of offset
        (b"\x46\xf0\x45" + b"x" * 70, b"x" * 70),  # a literal with its length in a byte
    ],
)
def test_snappy_blocks_are_literals_and_copies(block: bytes, text: bytes) -> None:
    assert snappy_decompress(block) == text


@pytest.mark.parametrize("block", [b"\x05\x08abc", b"\x08\x00a\x0d\x02", b"\x08\x00a\x0d\x00"])
def test_a_snappy_block_that_lies_is_refused(block: bytes) -> None:
    with pytest.raises(ValueError, match=r"wrong length|before the beginning"):
        snappy_decompress(block)


@given(st.binary(max_size=59))
def test_a_short_snappy_literal_is_itself(text: bytes) -> None:
    block = bytes([len(text)]) + (bytes([(len(text) - 1) << 2]) + text if text else b"")
    assert snappy_decompress(block) == text
