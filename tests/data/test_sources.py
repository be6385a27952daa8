from collections.abc import Callable
from pathlib import Path

import pytest

from seesay.data.sources import UnreadableError, read_json, read_lines, read_text
from seesay.errors import SeesayError


def test_a_byte_order_mark_is_not_part_of_the_text(tmp_path: Path, write: Callable[..., Path]) -> None:
    assert read_text(write(tmp_path / "a.txt", "\ufeffa dog")) == "a dog"


def test_the_line_that_is_not_utf8_is_named_with_a_way_out(tmp_path: Path, write: Callable[..., Path]) -> None:
    path = write(tmp_path / "a.csv", "image,sentence\na.jpg,a café\n", "latin-1")
    with pytest.raises(UnreadableError, match=r"a\.csv: line 2 is not UTF-8 \(byte 0xe9\)\n  try: iconv"):
        read_text(path)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(SeesayError, match=r"cannot read .*gone\.txt: no such file"):
        read_text(tmp_path / "gone.txt")


def test_separators_inside_a_sentence_do_not_end_its_line(tmp_path: Path, write: Callable[..., Path]) -> None:
    assert read_lines(write(tmp_path / "a.txt", "a\u2028dog\r\na\x0bcat")) == ["a\u2028dog", "a\x0bcat"]


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("", "not JSON: Expecting value: line 1 column 1"),
        ('{"images": [', "not JSON: Expecting value: line 1 column 13"),
        ("[" * 100_000, "not JSON: "),
        ("[]", "holds a JSON list"),
        ('{"pictures": []}', 'has no list "images"'),
        ('{"images": {}}', 'has no list "images"'),
    ],
)
def test_json_of_another_form_is_refused(
    tmp_path: Path, write: Callable[..., Path], content: str, complaint: str
) -> None:
    with pytest.raises(UnreadableError) as refusal:
        read_json(write(tmp_path / "a.json", content), ("images",))
    assert complaint in refusal.value.why
    assert refusal.value.detail.endswith('allowed: a JSON object with the lists "images"')
