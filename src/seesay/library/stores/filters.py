"""Which photos count, as a person writes it: on the command line, in an address, in Python."""

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import PurePath

from seesay.errors import SeesayError
from seesay.library.types import Filter
from seesay.text.typed.dates import Dates

_DATE = re.compile(r"\d{4}(-\d\d(-\d\d(T\d\d(:\d\d(:\d\d)?)?)?)?)?", re.ASCII)


def read_filter(*, after: str = "", before: str = "", within: str = "", camera: str = "", tag: str = "") -> Filter:
    """A filter from texts; what is empty does not restrict.

    Args:
        after: From this date on: `2019`, `2019-07` or `2019-07-04`.
        before: Before this date begins.
        within: A date, or the name of a folder; a folder that is named like a year is written `./2019`.
        camera: Part of the camera's name.
        tag: A thing that the photo looks like (`seesay.library.ranking.tags`).

    Raises:
        SeesayError: A date is none, or there is no such tag.

    Example:
        >>> read_filter(within="2019-07", camera="nikon")
        Filter(folders=(), within='', during='2019-07', after='', before='', months=(), camera='nikon', classes=())
    """
    for name, date in (("after", after), ("before", before)):
        if date:
            _require_date(name, date)
    during = within if _DATE.fullmatch(within) else ""
    if during:
        _require_date("in", during)
    camera = camera.encode("utf-8", "replace").decode()  # what is no text is in no camera's name
    place = str(PurePath(within)) if within and not during else ""
    classes: tuple[int, ...] = ()
    if tag.strip():
        from seesay.library.tag_names import find_classes

        classes = find_classes(tag)
    return Filter(within=place, during=during, after=after, before=before, camera=camera, classes=classes)


def narrow(where: Filter, dates: Dates | None) -> Filter:
    """A filter that lets through only what is from a time, too.

    Example:
        >>> narrow(Filter(after="2018", before="2020"), Dates("2019", "2019-01-01", "2021-01-01"))
        Filter(folders=(), within='', during='', after='2019-01-01', before='2020', months=(), camera='', classes=())
    """
    if dates is None:
        return where
    before = min(filter(None, (where.before, dates.before)), default="")
    return replace(where, after=max(where.after, dates.after), before=before, months=dates.months or where.months)


def why_none(where: Filter, has_photos: Callable[[Filter], bool]) -> str | None:
    """Which part of a filter leaves out every photo, in a sentence; None where photos pass all of it.

    Args:
        where: The filter.
        has_photos: Whether any photo passes a filter.

    Example:
        >>> why_none(Filter(after="2019", camera="leika"), lambda where: not where.camera)
        "no photo is from a camera named 'leika'"
    """
    if has_photos(where):
        return None
    days = [f"from {where.after} or later"] * bool(where.after) + [f"before {where.before}"] * bool(where.before)
    parts = (
        (f"there are no photos in {', '.join(map(str, where.folders))}", Filter(folders=where.folders)),
        (f"no photo is in a folder named {where.within!r}", Filter(within=where.within)),
        (f"no photo is from {where.during}", Filter(during=where.during)),
        (f"no photo is {' and '.join(days)}", Filter(after=where.after, before=where.before)),
        ("no photo is from that month", Filter(months=where.months)),
        (f"no photo is from a camera named {where.camera!r}", Filter(camera=where.camera)),
        ("no photo has that tag", Filter(classes=where.classes)),
    )
    for sentence, part in parts:
        if part != Filter() and not has_photos(part):
            return sentence
    return "no photo passes all of these filters together"


def _require_date(name: str, text: str) -> None:
    """Refuse a date that no calendar has, such as the 30th of February."""
    try:
        if not _DATE.fullmatch(text):
            raise ValueError("not written as a date")
        datetime.fromisoformat(f"{text}-01-01"[:10] if len(text) <= 7 else text)
    except ValueError as error:
        raise SeesayError(f"{name} is {text[:100]!r}", allowed="a date such as 2019, 2019-07 or 2019-07-04") from error
