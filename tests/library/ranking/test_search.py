"""Queries of several parts, scores that mean something, copies that are shown once."""

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from seesay.errors import SeesayError
from seesay.library.library import Library
from seesay.library.ranking.calibration import Calibration
from seesay.library.ranking.query import Query, Sentence
from seesay.library.ranking.search import Result, find_photos
from seesay.library.stores.store import Store
from seesay.library.types import Filter

Put = Callable[..., None]
CALIBRATION = Calibration(slope=10.0, slope_per_word=0.0, offset=-5.0, offset_per_word=0.0)
STORED = {"/x.jpg": [1.0, 0, 0], "/y.jpg": [0, 1.0, 0], "/xy.jpg": [0.6, 0.8, 0]}


def axis(*numbers: float, n_words: int = 1) -> Sentence:
    return Sentence(np.array(numbers, np.float32), n_words)


def names(results: list[Result]) -> list[str]:
    return [result.path.name for result in results]


def test_one_sentence_ranks_by_cosine_and_scores_by_probability(store: Store, put: Put) -> None:
    put(STORED)
    results = find_photos(store, Query(fits=(axis(1, 0, 0),)), CALIBRATION, Filter())
    assert names(results) == ["x.jpg", "xy.jpg", "y.jpg"]
    expected = [1 / (1 + math.exp(-(10 * cosine - 5))) for cosine in (1.0, 0.6, 0.0)]
    np.testing.assert_allclose([result.score for result in results], expected, atol=1e-3)
    assert [result.word for result in results] == ["likely", "likely", "unlikely"]


def test_nothing_is_likely_exactly_where_no_photo_is_called_so(store: Store, put: Put) -> None:
    put(STORED)
    wanted = Query(fits=(axis(0, 0, 1),))
    found = [find_photos(store, Query(fits=(axis(*where),)), CALIBRATION, Filter()) for where in ((1, 0, 0), (0, 0, 1))]
    assert [each.nothing_likely for each in found] == [False, True]
    assert not find_photos(store, wanted, None, Filter()).nothing_likely  # a similarity says neither
    assert not find_photos(
        store, wanted, CALIBRATION, Filter(), min_score=0.5
    ).nothing_likely  # nothing is there at all


def test_the_same_score_says_less_of_what_is_rare(store: Store, put: Put) -> None:
    put(STORED)
    curve = Calibration(slope=10.0, slope_per_word=0.0, offset=-8.0, offset_per_word=0.0, per_frequency=1.0)
    for rarest, expected in ((0, 10 - 8), (999, 10 - 8 + 3)):
        sentence = Sentence(np.array([1, 0, 0], np.float32), 1, rarest=rarest)
        best = find_photos(store, Query(fits=(sentence,)), curve, Filter())[0]
        assert best.score == pytest.approx(1 / (1 + math.exp(-expected)), abs=1e-3)


def test_without_calibration_the_score_is_the_cosine(store: Store, put: Put) -> None:
    put(STORED)
    results = find_photos(store, Query(fits=(axis(1, 0, 0),)), None, Filter())
    np.testing.assert_allclose([result.score for result in results], [1.0, 0.6, 0.0], atol=1e-3)
    assert [result.word for result in results] == [None] * 3


def test_all_wanted_sentences_have_to_fit(store: Store, put: Put) -> None:
    put(STORED)
    parts = Query(fits=(axis(1, 0, 0), axis(0, 1, 0)))
    results = find_photos(store, parts, CALIBRATION, Filter())
    assert names(results)[0] == "xy.jpg"
    p = CALIBRATION.probability([0.6, 0.8], 1)
    assert results[0].score == pytest.approx(p[0] * p[1], abs=2e-3)


def test_what_fits_an_unwanted_sentence_sinks(store: Store, put: Put) -> None:
    put(STORED)
    parts = Query(fits=(axis(0, 1, 0),), unlike=(axis(1, 0, 0),))
    for calibration in (CALIBRATION, None):
        assert names(find_photos(store, parts, calibration, Filter())) == ["y.jpg", "xy.jpg", "x.jpg"]
    results = find_photos(store, Query(fits=(axis(0.6, 0.8, 0),), unlike=(axis(0, 1, 0),)), CALIBRATION, Filter())
    assert names(results)[0] == "x.jpg"


def test_with_a_photo_in_the_query_the_score_is_no_probability(store: Store, put: Put) -> None:
    put(STORED)
    like = np.array([0, 1, 0], np.float32)
    results = find_photos(store, Query(like=(like,)), CALIBRATION, Filter())
    assert names(results) == ["y.jpg", "xy.jpg", "x.jpg"]
    assert results[0].score == pytest.approx(1, abs=1e-3)
    assert results[0].word is None
    both = find_photos(store, Query(fits=(axis(1, 0, 0),), like=(like,)), CALIBRATION, Filter())
    assert names(both)[0] == "xy.jpg"


def test_copies_are_folded_into_the_best_of_them(store: Store, put: Put) -> None:
    put(STORED)
    put({"/same bytes.jpg": [1.0, 0, 0]}, digest="digest of /x.jpg")
    put({"/resized.jpg": [0.999, 0.0447, 0]})
    results = find_photos(store, Query(fits=(axis(1, 0, 0),)), None, Filter())
    assert names(results) == ["x.jpg", "xy.jpg", "y.jpg"]
    assert [photo.path.name for photo in results[0].copies] == ["same bytes.jpg", "resized.jpg"]


def test_copies_do_not_use_up_the_places(store: Store, put: Put) -> None:
    put({f"/{number:03}.jpg": [1.0, 0, 0] for number in range(150)})
    put({"/y.jpg": [0, 1.0, 0], "/z.jpg": [0, 0, 1.0]})
    results = find_photos(store, Query(fits=(axis(1, 0, 0),)), None, Filter(), top=3)
    assert names(results) == ["000.jpg", "y.jpg", "z.jpg"]
    assert len(results[0].copies) == 149


def test_top_and_the_least_score(store: Store, put: Put) -> None:
    put(STORED)
    parts = Query(fits=(axis(1, 0, 0),))
    assert names(find_photos(store, parts, CALIBRATION, Filter(), top=1)) == ["x.jpg"]
    assert names(find_photos(store, parts, CALIBRATION, Filter(), min_score=0.5)) == ["x.jpg", "xy.jpg"]
    assert find_photos(store, parts, CALIBRATION, Filter(), min_score=1.0) == []


def test_sorting_by_date_reorders_the_best(store: Store, put: Put) -> None:
    for year, (path, vector) in zip((2001, 2003, 2002), STORED.items(), strict=True):
        put({path: vector}, taken=f"{year}-01-01T00:00:00")
    parts = Query(fits=(axis(1, 0, 0),))
    assert names(find_photos(store, parts, None, Filter(), sort="date")) == ["y.jpg", "xy.jpg", "x.jpg"]
    assert names(find_photos(store, parts, None, Filter(), sort="date", top=2)) == ["xy.jpg", "x.jpg"]


@pytest.mark.parametrize(
    ("options", "message"),
    [({"sort": "size"}, "cannot sort by 'size'\n  allowed: score, date"), ({"top": 0}, "top is 0")],
)
def test_impossible_wishes_are_refused(store: Store, options: dict[str, object], message: str) -> None:
    with pytest.raises(SeesayError, match=message):
        find_photos(store, Query(fits=(axis(1, 0, 0),)), None, Filter(), **options)  # type: ignore[arg-type]


def test_a_library_finds_by_sentence_photo_and_both(library: Library, photos: Path, tmp_path: Path) -> None:
    assert names(library.search("red", top=1)) == ["red.png"]
    Image.open(photos / "green.png").save(tmp_path / "example.bmp")
    assert names(library.search(like=[tmp_path / "example.bmp"], top=1)) == ["green.png"]
    Image.new("RGB", (30, 30), (0, 0, 250)).save(tmp_path / "elsewhere.png")
    assert names(library.search(like=[tmp_path / "elsewhere.png"], top=1)) == ["blue.jpg"]
    assert names(library.search("red", plus=["green", "blue"], top=1)) == ["white.png"]
    assert names(library.search("white", minus=["green", "blue"], top=1)) == ["red.png"]


def test_a_folder_restricts_the_search(library: Library, photos: Path) -> None:
    assert set(names(library.search("red", folders=[photos / "2019"]))) == {"blue.jpg", "white.png"}
    assert names(library.search("red", folders=[photos / "2019"], where=Filter(before="1990"))) == []


@pytest.mark.parametrize("query", ["", " ", "\n"])
def test_a_query_of_nothing_is_refused(library: Library, query: str) -> None:
    with pytest.raises(SeesayError, match="the query is empty"):
        library.search(query)


def test_a_picture_that_cannot_be_opened_is_refused_by_name(library: Library, tmp_path: Path) -> None:
    with pytest.raises(SeesayError, match=r"absent\.jpg: no such file"):
        library.search(like=[tmp_path / "absent.jpg"])


def test_every_photo_is_found_once_whatever_is_asked(store: Store, put: Put) -> None:
    rng = np.random.default_rng(0)

    def draw() -> list[float]:
        row = rng.normal(size=3)
        return [float(number) for number in row / np.linalg.norm(row)]

    put({f"/{number}": draw() for number in range(30)})
    for _ in range(20):
        fits = tuple(axis(*draw()) for _ in range(rng.integers(1, 4)))
        unlike = tuple(axis(*draw()) for _ in range(rng.integers(0, 3)))
        results = find_photos(store, Query(fits, unlike), CALIBRATION, Filter(), top=50)
        shown = [photo.path.name for result in results for photo in (result.photo, *result.copies)]
        assert sorted(shown, key=int) == [str(number) for number in range(30)]
        assert [result.score for result in results] == sorted((result.score for result in results), reverse=True)
