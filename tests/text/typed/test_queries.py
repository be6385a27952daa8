from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seesay.text.typed.queries import TypedQuery, read_typed

TODAY = date(2026, 11, 18)  # a Wednesday


@pytest.mark.parametrize(
    ("typed", "text", "without"),
    [
        ("no people", "", ["people"]),
        ("not indoors", "", ["indoors"]),
        ("a dog without a ball", "a dog", ["a ball"]),
        ("beach with no people", "beach", ["people"]),
        ("dogs but not on grass", "dogs", ["on grass"]),
        ("a man who is not smiling", "a man", ["smiling"]),
        ("a woman isn't wearing a hat", "a woman", ["wearing a hat"]),
        ("a city street with nobody", "a city street", ["people"]),
        ("no-one on the beach", "on the beach", ["people"]),
        ("no people or cars", "", ["people", "cars"]),
        ("without people and cars", "", ["people", "cars"]),
        ("children without shoes, no dogs", "children", ["shoes", "dogs"]),
        ("a man without a shirt playing tennis", "a man playing tennis", ["a shirt"]),
        ("a man with no shirt is talking to her", "a man is talking to her", ["shirt"]),
        ("a pool without people swimming", "a pool", ["people swimming"]),
        ("a street without running water", "a street", ["running water"]),
        ("a dog not running", "a dog", ["running"]),
        ("a dog without a leash in the park", "a dog in the park", ["a leash"]),
        ("no dog in the snow", "in the snow", ["dog"]),
        ("not in the city", "", ["in the city"]),
        ("not a dog, but a cat", "a cat", ["a dog"]),
        ("a cat, not a dog", "a cat", ["a dog"]),
        ("dogs -cats", "dogs", ["cats"]),
        ("a photo without people", "", ["people"]),
        ('a sign "no dogs" without people', "a sign no dogs", ["people"]),
        ('boats without "two men"', "boats", ["two men"]),
    ],
)
def test_what_is_denied_is_taken_out_of_the_query(typed: str, text: str, without: list[str]) -> None:
    assert read_typed(typed, TODAY) == TypedQuery(text, tuple(without))


@pytest.mark.parametrize(
    "typed",
    ["no smoking sign", "a no parking sign", "not", "without", "no no no", "-", "- -", "a not-so-big dog", "a knot",
     "a snow-covered field", "nobel prize", "A Dog In The Snow", "", "pictures", "my photos",
     "people march in the street", "a girl holding a picture of a dog", "a bus with the number 2019", "a man in 2 hats",
     "someone may jump"],
)  # fmt: skip
def test_what_denies_and_dates_nothing_stays_as_it_is(typed: str) -> None:
    assert read_typed(typed, TODAY) == TypedQuery(typed)


@pytest.mark.parametrize("typed", ['"no people"', "“no people”", "„no people“", "«no people»"])
def test_quotation_marks_undo_what_would_be_understood(typed: str) -> None:
    assert read_typed(typed, TODAY) == TypedQuery("no people")
    assert read_typed('"Photos from 2019"', TODAY) == TypedQuery("Photos from 2019")


@pytest.mark.parametrize(
    ("typed", "text"),
    [
        ("show me pictures of kids at the playground", "kids at the playground"),
        ("photo of the eiffel tower", "the eiffel tower"),
        ("find all my photos with dogs", "dogs"),
        ("search for boats", "boats"),
        ("images where a man jumps", "a man jumps"),
    ],
)
def test_words_that_only_ask_are_left_out(typed: str, text: str) -> None:
    assert read_typed(typed, TODAY) == TypedQuery(text)


@pytest.mark.parametrize(
    ("typed", "text", "said", "after", "before"),
    [
        ("photos from 2019", "", "2019", "2019-01-01", "2020-01-01"),
        ("2019", "", "2019", "2019-01-01", "2020-01-01"),
        ("christmas 2018", "christmas", "2018", "2018-01-01", "2019-01-01"),
        ("photos of dogs from 2019", "dogs", "2019", "2019-01-01", "2020-01-01"),
        ("dogs in july 2019", "dogs", "July 2019", "2019-07-01", "2019-08-01"),
        ("2019-07 picnic", "picnic", "July 2019", "2019-07-01", "2019-08-01"),
        ("picnic 4 july 2019", "picnic", "4 July 2019", "2019-07-04", "2019-07-05"),
        ("picnic on July 4th, 2019", "picnic", "4 July 2019", "2019-07-04", "2019-07-05"),
        ("2019-07-04", "", "4 July 2019", "2019-07-04", "2019-07-05"),
        ("summer of 2019", "", "June 2019 to August 2019", "2019-06-01", "2019-09-01"),
        ("winter 2019", "", "December 2019 to February 2020", "2019-12-01", "2020-03-01"),
        ("dogs between 2015 and 2018", "dogs", "2015 to 2018", "2015-01-01", "2019-01-01"),
        ("since 2020", "", "since 2020", "2020-01-01", ""),
        ("after 2020", "", "after 2020", "2021-01-01", ""),
        ("boats before 2010", "boats", "before 2010", "", "2010-01-01"),
        ("boats until 2010", "boats", "until 2010", "", "2011-01-01"),
        ("beach last summer", "beach", "June 2026 to August 2026", "2026-06-01", "2026-09-01"),
        ("last winter", "", "December 2025 to February 2026", "2025-12-01", "2026-03-01"),
        ("this autumn", "", "September 2026 to November 2026", "2026-09-01", "2026-12-01"),
        ("last december", "", "December 2025", "2025-12-01", "2026-01-01"),
        ("pictures of last year", "", "2025", "2025-01-01", "2026-01-01"),
        ("this month", "", "November 2026", "2026-11-01", "2026-12-01"),
        ("last week", "", "9 November 2026 to 15 November 2026", "2026-11-09", "2026-11-16"),
        ("yesterday", "", "17 November 2026", "2026-11-17", "2026-11-18"),
        ("dogs today", "dogs", "18 November 2026", "2026-11-18", "2026-11-19"),
        ("two years ago", "", "2024", "2024-01-01", "2025-01-01"),
        ("the last 3 months", "", "18 August 2026 to 18 November 2026", "2026-08-18", "2026-11-19"),
    ],
)
def test_times_become_days(typed: str, text: str, said: str, after: str, before: str) -> None:
    found = read_typed(typed, TODAY)
    assert found.dates is not None
    assert (found.text, found.without) == (text, ())
    assert (found.dates.said, found.dates.after, found.dates.before, found.dates.months) == (said, after, before, ())


def test_a_month_without_a_year_is_that_of_any_year() -> None:
    found = read_typed("snow in december", TODAY)
    assert found.text == "snow"
    assert found.dates is not None
    assert (found.dates.months, found.dates.after, found.dates.before) == ((12,), "", "")
    assert found.notes() == ["from: December of any year"]


def test_a_day_that_no_calendar_has_is_read_as_its_month() -> None:
    found = read_typed("dogs 31 february 2019", TODAY)
    assert found.dates is not None
    assert found.dates.said == "February 2019"


def test_what_is_denied_and_when_are_understood_together() -> None:
    found = read_typed("a room with no windows from last year", TODAY)
    assert (found.text, found.notes()) == ("a room", ["without: windows", "from: 2025"])


@given(st.text(max_size=80), st.dates(min_value=date(1990, 1, 1), max_value=date(2100, 1, 1)))
def test_nothing_that_can_be_typed_is_too_much(text: str, today: date) -> None:
    found = read_typed(text, today)
    assert all(part.strip() for part in found.without)
    assert "\ue000" in text or "\ue000" not in found.text


def test_a_text_that_is_too_long_to_have_been_typed_stays_as_it_is() -> None:
    assert read_typed("no dog", TODAY).without == ("dog",)
    assert read_typed("no dog " * 15_000, TODAY) == TypedQuery("no dog " * 15_000)
