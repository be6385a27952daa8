"""What a visitor asks for."""

from seesay.web.queries import LAST_OFFSET, Page, read_crop


def test_a_box_may_be_left_out() -> None:
    assert read_crop("") is None
    assert read_crop("0,0,1,0.5") == (0, 0, 1, 0.5)


def test_pages_follow_each_other_as_far_as_there_is_more() -> None:
    page = Page(offset=40, limit=20)
    assert page.end == 60
    assert page.next_after(61) == 60
    assert page.next_after(60) is None
    assert Page(LAST_OFFSET, 100).next_after(10**6) is None
