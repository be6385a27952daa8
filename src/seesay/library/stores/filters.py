"""Which photos count, as a person writes it: on the command line, in an address, in Python."""

import re
from pathlib import PurePath

from seesay.errors import SeesayError
from seesay.library.types import Filter

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
        Filter(folders=(), within='', during='2019-07', after='', before='', camera='nikon', classes=())
    """
    for name, date in (("after", after), ("before", before)):
        if date and not _DATE.fullmatch(date):
            raise SeesayError(f"{name} is {date!r}", allowed="a date such as 2019, 2019-07 or 2019-07-04")
    during = within if _DATE.fullmatch(within) else ""
    place = str(PurePath(within)) if within and not during else ""
    classes: tuple[int, ...] = ()
    if tag.strip():
        from seesay.library.tag_names import find_classes

        classes = find_classes(tag)
    return Filter(within=place, during=during, after=after, before=before, camera=camera, classes=classes)
