"""Times in a query as people write them: "from 2019", "last summer", "in december"."""

import re
from calendar import monthrange
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache

MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
_SHORT = {name[:3]: number for number, name in enumerate(MONTHS, 1)} | {"sept": 9}
_SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
"""Their first months, as they are counted north of the equator."""
_NUMBERS = {
    "a": 1, "one": 1, "two": 2, "couple of": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8,
    "nine": 9, "ten": 10,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Dates:
    """When the photos are from.

    Attributes:
        said: The time in words that cannot be mistaken.
        after: From this day on, ISO 8601; empty for any.
        before: Before this day; empty for any.
        months: Only in these months of any year; empty for any.
    """

    said: str
    after: str = ""
    before: str = ""
    months: tuple[int, ...] = ()


_YEAR = r"(?P<year>(?:19|20)\d\d)"
_MONTH = rf"(?P<month>{'|'.join([*MONTHS, *_SHORT])})\.?"
_SEASON = rf"(?P<season>{'|'.join(_SEASONS)})"
_DAY = r"(?P<day>[0-3]?\d)(?:st|nd|rd|th)?"
_FROM = r"(?:(?:(?:taken|made|shot)\s+)?(?:from|in|of|during|on)\s+(?:the\s+(?:year\s+)?)?)"
_UNIT = r"(?P<unit>day|week|month|year)"
_COUNT = rf"(?P<count>\d{{1,3}}|{'|'.join(_NUMBERS)})"


def find_dates(text: str, today: date) -> tuple[str, Dates] | None:
    """The first time that a query names, and the query without it; None where it names none.

    Args:
        text: In lower case.
        today: What "last summer" is counted from.

    Example:
        >>> find_dates("dogs from 2019", date(2026, 11, 18))
        ('dogs', Dates(said='2019', after='2019-01-01', before='2020-01-01', months=()))
        >>> find_dates("beach last summer", date(2026, 11, 18))[1].said
        'June 2026 to August 2026'
        >>> find_dates("snow in december", date(2026, 11, 18))[1].months
        (12,)
    """
    if not any(sign in text for sign in _SIGNS):
        return None
    for pattern, read in _readers():
        found = pattern.search(text)
        dates = read(found.groupdict(), today) if found else None
        if found and dates is not None:
            return " ".join((text[: found.start()] + " " + text[found.end() :]).split()), dates
    return None


def _between(first: date, last: date, said: str = "") -> Dates | None:
    """From one day to another, both among them."""
    if first > last:
        return None
    return Dates(said or _say(first, last), first.isoformat(), (last + timedelta(1)).isoformat())


def _say(first: date, last: date) -> str:
    if first == last:
        return f"{first.day} {MONTHS[first.month - 1].title()} {first.year}"
    if (first.month, first.day, last.month, last.day) == (1, 1, 12, 31):
        return str(first.year) if first.year == last.year else f"{first.year} to {last.year}"
    if first.day == 1 and last == _last_of(last.year, last.month):
        own, other = (f"{MONTHS[day.month - 1].title()} {day.year}" for day in (first, last))
        return own if own == other else f"{own} to {other}"
    return f"{_say(first, first)} to {_say(last, last)}"


def _last_of(year: int, month: int) -> date:
    return date(year, month, monthrange(year, month)[1])


def _month(given: dict[str, str]) -> int:
    month = given["month"]
    return int(month) if month.isdigit() else _SHORT[month[:3]]


def _day(given: dict[str, str], today: date) -> Dates | None:
    try:
        day = date(int(given["year"]), _month(given), int(given["day"]))
    except ValueError:
        return None
    return _between(day, day)


def _month_of_year(given: dict[str, str], today: date) -> Dates | None:
    year, month = int(given["year"]), _month(given)
    return _between(date(year, month, 1), _last_of(year, month)) if 1 <= month <= 12 else None


def _season_of(year: int, season: str) -> Dates | None:
    """A season that begins in a year: winter goes on into the next one."""
    first = _SEASONS[season]
    last_year, last = (year + 1, first - 10) if first > 10 else (year, first + 2)
    return _between(date(year, first, 1), _last_of(last_year, last))


def _last_season(given: dict[str, str], today: date) -> Dates | None:
    found = [_season_of(year, given["season"]) for year in (today.year, today.year - 1, today.year - 2)]
    return next(dates for dates in found if dates and dates.before <= today.isoformat())


def _this_season(given: dict[str, str], today: date) -> Dates | None:
    found = [_season_of(year, given["season"]) for year in (today.year, today.year - 1)]
    return next((dates for dates in found if dates and dates.after <= today.isoformat()), None)


def _last_month_named(given: dict[str, str], today: date) -> Dates | None:
    month = _month(given)
    year = today.year if month < today.month else today.year - 1
    return _between(date(year, month, 1), _last_of(year, month))


def _years(given: dict[str, str], today: date) -> Dates | None:
    return _between(date(int(given["year"]), 1, 1), date(int(given["last"]), 12, 31))


def _year(given: dict[str, str], today: date) -> Dates | None:
    return _years({**given, "last": given["year"]}, today)


def _since(given: dict[str, str], today: date) -> Dates:
    return Dates(f"since {given['year']}", after=f"{given['year']}-01-01")


def _after(given: dict[str, str], today: date) -> Dates:
    return Dates(f"after {given['year']}", after=f"{int(given['year']) + 1}-01-01")


def _before(given: dict[str, str], today: date) -> Dates:
    return Dates(f"before {given['year']}", before=f"{given['year']}-01-01")


def _until(given: dict[str, str], today: date) -> Dates:
    return Dates(f"until {given['year']}", before=f"{int(given['year']) + 1}-01-01")


def _any_year(given: dict[str, str], today: date) -> Dates:
    return Dates(f"{MONTHS[_month(given) - 1].title()} of any year", months=(_month(given),))


def _this(given: dict[str, str], today: date) -> Dates | None:
    return _unit_around(today, given["unit"])


def _last(given: dict[str, str], today: date) -> Dates | None:
    start = _unit_start(today, given["unit"])
    return _unit_around(start - timedelta(1), given["unit"])


def _ago(given: dict[str, str], today: date) -> Dates | None:
    return _unit_around(_back(today, _count(given), given["unit"]), given["unit"])


def _last_few(given: dict[str, str], today: date) -> Dates | None:
    return _between(_back(today, _count(given), given["unit"]), today)


def _count(given: dict[str, str]) -> int:
    return int(given["count"]) if given["count"].isdigit() else _NUMBERS[given["count"]]


def _back(day: date, count: int, unit: str) -> date:
    if unit in ("day", "week"):
        return day - timedelta(count * (7 if unit == "week" else 1))
    months = max(12, day.year * 12 + day.month - 1 - count * (12 if unit == "year" else 1))
    year, month = divmod(months, 12)
    return date(year, month + 1, min(day.day, monthrange(year, month + 1)[1]))


def _unit_start(day: date, unit: str) -> date:
    """The first day of the week, month or year that a day lies in; weeks begin on Monday."""
    starts = {"day": day, "week": day - timedelta(day.weekday()), "month": day.replace(day=1)}
    return starts.get(unit, day.replace(month=1, day=1))


def _unit_around(day: date, unit: str) -> Dates | None:
    first = _unit_start(day, unit)
    last = {"day": first, "week": first + timedelta(6), "month": _last_of(first.year, first.month)}
    return _between(first, last.get(unit, date(first.year, 12, 31)))


def _yesterday(given: dict[str, str], today: date) -> Dates | None:
    return _unit_around(today - timedelta(1), "day")


def _today(given: dict[str, str], today: date) -> Dates | None:
    return _unit_around(today, "day")


_Reader = Callable[[dict[str, str], date], Dates | None]
_PATTERNS: tuple[tuple[str, _Reader], ...] = (
    # The longer come first: "july 2019" is not read as the year alone.
    (rf"{_FROM}?{_YEAR}-(?P<month>[01]\d)-(?P<day>[0-3]\d)", _day),
    (rf"{_FROM}?{_DAY}\s+(?:of\s+)?{_MONTH},?\s+{_YEAR}", _day),
    (rf"{_FROM}?{_MONTH}\s+{_DAY},?\s+{_YEAR}", _day),
    (rf"{_FROM}?{_YEAR}-(?P<month>[01]\d)", _month_of_year),
    (rf"{_FROM}?{_MONTH}(?:\s+of)?,?\s+{_YEAR}", _month_of_year),
    (rf"{_FROM}?{_SEASON}(?:\s+of)?\s+{_YEAR}", lambda given, today: _season_of(int(given["year"]), given["season"])),
    (rf"(?:from\s+|between\s+)?{_YEAR}\s*(?:to|and|until|till|-|–)\s*(?P<last>(?:19|20)\d\d)", _years),
    (rf"since\s+{_YEAR}", _since),
    (rf"after\s+{_YEAR}", _after),
    (rf"before\s+{_YEAR}", _before),
    (rf"(?:until|till)\s+{_YEAR}", _until),
    (rf"{_FROM}{_YEAR}", _year),
    (rf"(?:{_FROM})?last\s+{_SEASON}", _last_season),
    (rf"(?:{_FROM})?this\s+{_SEASON}", _this_season),
    (rf"(?:{_FROM})?last\s+{_MONTH}", _last_month_named),
    (rf"(?:{_FROM})?(?:the\s+)?(?:last|past)\s+{_COUNT}\s+{_UNIT}s?", _last_few),
    (rf"(?:{_FROM})?{_COUNT}\s+{_UNIT}s?\s+ago", _ago),
    (rf"(?:{_FROM})?last\s+{_UNIT}", _last),
    (rf"(?:{_FROM})?this\s+{_UNIT}", _this),
    (rf"{_FROM}{_MONTH}", _any_year),
    (r"(?:from\s+)?yesterday", _yesterday),
    (r"(?:from\s+)?today", _today),
    (rf"(?<!number )(?<!route )(?<!bus )(?<!no )(?<!no\. ){_YEAR}\s*$", _year),
)
_SIGNS = (*"0123456789", *_SHORT, "last", "past", "this", "ago", "day")
"""Of which each pattern needs one."""


@lru_cache(maxsize=1)
def _readers() -> tuple[tuple[re.Pattern[str], _Reader], ...]:
    """The patterns compiled, which takes longer than all else that is done with a query that names no time."""
    return tuple((re.compile(rf"(?<![\w-]){pattern}(?![\w-])"), read) for pattern, read in _PATTERNS)
