"""Words that no caption taught, found through the classes of an image classifier."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seesay.errors import SeesayError
from seesay.library.classes import CLASS_NAMES
from seesay.library.ranking.calibration import Calibration
from seesay.library.ranking.query import Query, Sentence
from seesay.library.ranking.search import Result, find_photos
from seesay.library.ranking.tags import Clue, classes_alike, find_clues, worth_by_content
from seesay.library.stores.store import Store
from seesay.library.tag_names import SHOWN, classes_named, find_classes, shown_names, singular
from seesay.library.types import Filter, Tagged
from seesay.settings.tags import TagSettings

Put = Callable[..., None]
CHURCH, GUITAR, ESPRESSO = (CLASS_NAMES.index(name) for name in ("church", "acoustic guitar", "espresso coffee"))

SETTINGS = TagSettings()


def names(results: list[Result]) -> list[str]:
    return [result.path.name for result in results]


def test_there_are_a_thousand_different_classes_in_the_order_of_imagenet() -> None:
    assert len(set(CLASS_NAMES)) == 1000
    known = {
        0: "tench", 172: "Whippet dog", 207: "Golden Retriever dog", 281: "tabby cat", 402: "acoustic guitar",
        497: "church", 537: "dog sled", 779: "school bus", 817: "sports car", 920: "traffic light", 954: "banana",
        963: "pizza", 967: "espresso coffee", 980: "volcano", 999: "toilet paper",
    }  # fmt: skip
    assert {number: CLASS_NAMES[number] for number in known} == known


def test_rare_words_give_clues_and_common_ones_do_not() -> None:
    clues = find_clues({"man": 20_000, "church": 0, "guitar": SETTINGS.well_known // 2, "playing": 50})
    assert [clue.weight for clue in clues] == [SETTINGS.weight, SETTINGS.weight / 2]
    assert CHURCH in clues[0].classes
    assert GUITAR in clues[1].classes
    assert find_clues({"church": SETTINGS.well_known}) == ()


def test_words_that_stand_alone_weigh_more() -> None:
    assert [clue.weight for clue in find_clues({"church": 0, "guitar": 0})] == [SETTINGS.weight_alone] * 2


def test_a_word_that_is_no_class_is_taken_for_those_that_are_used_like_it() -> None:
    (clue,) = find_clues({"cappuccino": 0, "cup": 900})
    assert clue.classes[ESPRESSO] == pytest.approx(0.92, abs=0.01)
    assert find_clues({"cappuccino": 3, "cup": 900}) == ()  # it was learned, however badly
    assert classes_alike("xyzzyx") == {}


def test_plural_and_singular_name_the_same_classes() -> None:
    assert classes_named("guitars") == classes_named("guitar")
    assert classes_named("churches") == classes_named("church") == {CHURCH: 1.0}
    assert len(classes_named("dogs")) > 110
    assert classes_named("xyzzyx") == {}
    assert [singular(word) for word in ("s", "as", "gas", "boxes", "", "dresses")] == [
        "s",
        "as",
        "gas",
        "box",
        "",
        "dress",
    ]


def test_worth_grows_with_the_probability_and_is_bounded() -> None:
    clue = Clue(0.5, {1: 1.0, 2: 1.0})
    assert clue.worth(()) == 0
    assert clue.worth(((1, 0.25),)) == pytest.approx(0.25)
    assert clue.worth(((1, 0.7), (2, 0.7))) == pytest.approx(0.5)


@given(
    st.dictionaries(st.integers(0, 6), st.dictionaries(st.integers(0, 4), st.floats(0, 1)), max_size=6),
    st.lists(st.dictionaries(st.integers(0, 4), st.floats(0, 1), min_size=1), max_size=3),
)
def test_many_contents_are_worth_what_each_is(
    tags: dict[int, dict[int, float]], classes: list[dict[int, float]]
) -> None:
    clues = [Clue(0.5, each) for each in classes]
    rows = [(content, number, p) for content, own in tags.items() for number, p in own.items()]
    columns = np.array(rows, np.float64).reshape(-1, 3).T
    found = worth_by_content(clues, Tagged(columns[0].astype(np.int64), columns[1].astype(np.int64), columns[2]))
    if not clues:
        assert found == {}
        return
    assert found == {
        content: pytest.approx(sum(clue.worth(tuple(own.items())) for clue in clues))
        for content, own in tags.items()
        if own
    }


def test_a_clue_finds_what_the_vector_does_not(store: Store, put: Put) -> None:
    put({"/x.jpg": [1.0, 0, 0]}, tags=((7, 0.9),))
    put({"/church.jpg": [0.8, 0.6, 0]}, tags=((CHURCH, 0.64),))
    plain, helped = (Sentence(np.array([1, 0, 0], np.float32), 1, clues) for clues in ((), (Clue(0.5, {CHURCH: 1.0}),)))
    assert names(find_photos(store, Query(fits=(plain,)), None, Filter())) == ["x.jpg", "church.jpg"]
    results = find_photos(store, Query(fits=(helped,)), None, Filter())
    assert names(results) == ["church.jpg", "x.jpg"]
    assert results[0].score == pytest.approx(0.8 + 0.5 * 0.8, abs=1e-3)
    curve = Calibration(10.0, 0.0, -5.0, 0.0)
    results = find_photos(store, Query(fits=(helped,)), curve, Filter())
    assert results[0].score == pytest.approx(float(curve.probability(1.2, 1)), abs=1e-3)


def test_an_unwanted_clue_lets_photos_sink(store: Store, put: Put) -> None:
    put({"/x.jpg": [0.8, 0.6, 0]}, tags=((7, 0.9),))
    put({"/church.jpg": [1.0, 0, 0]}, tags=((CHURCH, 1.0),))
    wanted = Sentence(np.array([1, 0, 0], np.float32), 1)
    unwanted = Sentence(np.zeros(3, np.float32), 1, (Clue(0.6, {CHURCH: 1.0}),))
    for curve in (None, Calibration(10.0, 0.0, -5.0, 0.0)):
        assert names(find_photos(store, Query((wanted,), (unwanted,)), curve, Filter())) == ["x.jpg", "church.jpg"]


def test_a_query_of_words_that_were_never_seen_is_answered_by_tags_alone(store: Store, put: Put) -> None:
    put({f"/{number}.jpg": [1.0, 0, 0] for number in range(3)})
    put({"/espresso.jpg": [0, 1.0, 0]}, tags=((ESPRESSO, 0.8),))
    nothing = Sentence(np.zeros(3, np.float32), 1, find_clues({"espresso": 0}))
    results = find_photos(store, Query(fits=(nothing,)), None, Filter())
    assert names(results)[0] == "espresso.jpg"
    assert results[0].tags == ("espresso coffee",)


def test_a_filter_by_tag(store: Store, put: Put) -> None:
    put({"/church.jpg": [1.0, 0, 0]}, tags=((CHURCH, 0.5), (GUITAR, SHOWN / 2)))
    put({"/guitar.jpg": [0, 1.0, 0]}, tags=((GUITAR, 0.3),))
    everything = Query(fits=(Sentence(np.array([1, 0, 0], np.float32), 1),))
    for tag, found in (("church", ["church.jpg"]), ("guitar", ["guitar.jpg"]), ("zebra", [])):
        assert names(find_photos(store, everything, None, Filter(classes=find_classes(tag)))) == found


def test_only_likely_tags_are_shown() -> None:
    assert shown_names(((CHURCH, 0.5), (GUITAR, SHOWN), (ESPRESSO, SHOWN - 0.01))) == ("church", "acoustic guitar")


def test_a_tag_that_does_not_exist_is_answered_with_similar_ones() -> None:
    with pytest.raises(SeesayError, match=r"there is no tag 'guitarr'\n  allowed: .*guitar"):
        find_classes("guitarr")
    for name in ("", "qqqqqq", "church guitar"):
        with pytest.raises(SeesayError, match="there is no tag"):
            find_classes(name)
