"""The weight of a matcher is the one whose choices agree best with what people said, over all collections."""

from pathlib import Path

import pytest

from seesay.captioning.sentences import Caption
from seesay.training.finishing import matching
from seesay.training.finishing.matching import choose_matching

TRUTH = {  # of other photos each time: words that every photo has count for nothing
    "left": ["a dog runs on the grass", "two cats sleep under a table", "snow lies over an old bridge"],
    "right": ["a man rides a red bike", "three boats sail into port", "children play football at school"],
}
WRONG = "a group of people in a room"


def written(right: str, cosine: float) -> list[Caption]:
    """The likelier caption is wrong; the cosine prefers the right one by so much."""
    return [
        Caption(WRONG, tuple(WRONG.split()), -10.0, True, match=0.0),
        Caption(right, tuple(right.split()), -13.0, True, match=cosine),
    ]


@pytest.fixture
def chosen(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> tuple:
    of_collection = {name: [written(right, request.param[name]) for right in own] for name, own in TRUTH.items()}
    monkeypatch.setattr(matching, "features_in", lambda dev: dev)
    monkeypatch.setattr(matching, "references_of", lambda dev: [[right.split()] for right in TRUTH[dev]])
    monkeypatch.setattr(matching, "caption_images", lambda model, name, **how: of_collection[name])
    monkeypatch.setattr(matching, "CaptionJudge", lambda *given: None)
    monkeypatch.setattr(matching.Settings, "of", lambda model: matching.Settings())
    return choose_matching(Path("captioner"), "eye", {name: name for name in TRUTH})  # type: ignore[arg-type]


@pytest.mark.parametrize("chosen", [{"left": 0.5, "right": 0.5}], indirect=True)
def test_the_least_weight_that_turns_all_of_them_is_taken(chosen: tuple) -> None:
    found, figures = chosen
    assert found.weight == 8.0  # -13 + 8 · 0.5 is the first above -10
    assert figures["10 candidates, weight 6"]["left"]["bleu4"] < figures["10 candidates, weight 8"]["left"]["bleu4"]


@pytest.mark.parametrize("chosen", [{"left": -0.5, "right": -0.5}], indirect=True)
def test_a_matcher_that_prefers_wrong_captions_gets_no_weight(chosen: tuple) -> None:
    assert chosen[0].weight == 0.0
