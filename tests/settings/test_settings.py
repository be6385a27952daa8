"""Tables of tags and of grounding: defaults, limits, and what is refused."""

import pytest

from seesay.errors import SeesayError
from seesay.settings.grounding import GroundingSettings
from seesay.settings.short_texts import ShortTexts
from seesay.settings.tags import TagSettings


def test_a_key_that_is_missing_has_its_default() -> None:
    assert TagSettings.from_table({"weight": 0.2}, "config.json") == TagSettings(weight=0.2)
    assert GroundingSettings.from_table({}, "config.json") == GroundingSettings()
    assert GroundingSettings().rule == {"floor": -0.25, "ramp": 1.0, "area_power": 0.6}


@pytest.mark.parametrize("table", [{"weight": -1}, {"well_known": 0}, {"alike": 2}, {"weights": 0.1}])
def test_impossible_tag_settings_are_refused_by_their_key(table: dict[str, float]) -> None:
    with pytest.raises(SeesayError, match=rf"config\.json: .*tags\.{next(iter(table))}"):
        TagSettings.from_table(table, "config.json")


@pytest.mark.parametrize("table", [{"ramp": 0}, {"blur": -0.5}, {"coupling": float("nan")}, {"blurr": 1}])
def test_impossible_grounding_settings_are_refused_by_their_key(table: dict[str, float]) -> None:
    with pytest.raises(SeesayError, match=rf"config\.json: .*grounding\.{next(iter(table))}"):
        GroundingSettings.from_table(table, "config.json")


def test_the_weight_of_a_word_falls_with_how_often_it_was_seen() -> None:
    settings = TagSettings(weight=0.4, well_known=100)
    assert [settings.weight_of(count) for count in (0, 25, 100, 5000)] == pytest.approx([0.4, 0.3, 0.0, 0.0])


@pytest.mark.parametrize("shares", [[-0.1], [0.5, 2], ["all"], 0.5, [float("nan")]])
def test_impossible_shares_of_hubness_are_refused_by_their_key(shares: object) -> None:
    with pytest.raises(SeesayError, match=r"config\.json: .*short\.shares"):
        ShortTexts.from_table({"shares": shares}, "config.json")


def test_shares_of_hubness_go_by_content_words_and_long_texts_have_it_whole() -> None:
    short = ShortTexts.from_table(ShortTexts((0.0, 0.25)).to_table(), "config.json")
    assert short.shares_of(["dog", "the", "a dog in the snow", "a dog runs in the snow"]).tolist() == [0, 0, 0.25, 1]
    assert ShortTexts().shares_of(["dog", ""]).tolist() == [1, 1]
