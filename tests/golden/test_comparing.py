"""How golden files are compared: words exactly, numbers within a tolerance."""

from collections.abc import Callable
from pathlib import Path

import pytest

EXPECTED = Path(__file__).parent / "expected"


def change(text: str, old: str, new: str) -> str:
    assert old in text
    return text.replace(old, new, 1)


@pytest.mark.parametrize(
    ("old", "new"),
    [("0.500", "0.520"), ("a dog", "a cat"), ("12 photos", "13 photos"), ("7.25", "7"), ("end\n", "end\nmore\n")],
)
def test_what_has_changed_is_found(
    golden: Callable[[str, str], None], monkeypatch: pytest.MonkeyPatch, old: str, new: str
) -> None:
    monkeypatch.delenv("SEESAY_RENEW_GOLDEN", raising=False)
    text = (EXPECTED / "example.txt").read_text()
    golden("example", text)
    with pytest.raises(AssertionError, match=r"example\.txt differs"):
        golden("example", change(text, old, new))


@pytest.mark.parametrize(("old", "new"), [("0.500", "0.501"), ("41 %", "42 %"), ("<now>", "2026-01-02 03:04:05+00:00")])
def test_what_another_machine_computes_is_the_same(
    golden: Callable[[str, str], None], monkeypatch: pytest.MonkeyPatch, old: str, new: str
) -> None:
    monkeypatch.delenv("SEESAY_RENEW_GOLDEN", raising=False)
    golden("example", change((EXPECTED / "example.txt").read_text(), old, new))
