"""Which photos count, as a person writes it."""

import pytest

from seesay.errors import SeesayError
from seesay.library.stores.filters import read_filter, why_none
from seesay.library.types import Filter


def test_a_date_is_a_time_and_anything_else_a_folder() -> None:
    assert read_filter(within="2019").during == "2019"
    assert read_filter(within="holidays/italy").within == "holidays/italy"
    assert read_filter(within="./2019").within == "2019"


@pytest.mark.parametrize("date", ["yesterday", "19", "2019-7", "2019-07-04 12:00", "٢٠١٩"])
def test_what_is_no_date_is_refused(date: str) -> None:
    for edge in ("after", "before"):
        with pytest.raises(SeesayError, match=edge):
            read_filter(**{edge: date})


def test_a_tag_is_a_class_of_the_network() -> None:
    assert len(read_filter(tag="espresso").classes) == 2
    assert read_filter(tag="  ").classes == ()
    with pytest.raises(SeesayError, match="no tag 'zorblax'"):
        read_filter(tag="zorblax")


def test_the_part_that_lets_no_photo_through_is_named() -> None:
    where = Filter(after="2019", before="2020", camera="canon", classes=(5,))
    assert why_none(where, lambda part: True) is None
    assert why_none(where, lambda part: not part.after) == "no photo is from 2019 or later and before 2020"
    assert why_none(where, lambda part: not part.classes) == "no photo has that tag"
    assert why_none(where, lambda part: part != where) == "no photo passes all of these filters together"
