"""Later stages rerank the best photos, and only where the library holds what they need."""

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from PIL import Image

from seesay.errors import SeesayError
from seesay.library.library import Library
from seesay.library.ranking.calibration import Calibration
from seesay.library.ranking.cascade import Blend
from seesay.library.ranking.query import Query, Sentence
from seesay.library.ranking.search import find_photos
from seesay.library.stages import Cascade, Regions, WeightsStage, open_stage
from seesay.library.stores.store import Store
from seesay.library.types import Filter
from seesay.settings.blend import Mix

ALL = Blend(("colours",), k=10, weight=1.0, slope=1.0, offset=0.0)


@pytest.fixture
def corners(toy: ModuleType) -> Callable[..., Any]:
    """The model of quarters, see tests/library/toy.py."""
    made: Callable[..., Any] = toy.Corners
    return made


@pytest.fixture
def open_cascade(place: Path | str, toy: ModuleType) -> Iterator[Callable[..., Library]]:
    opened: list[Library] = []

    def open_anew(*stages: Any) -> Library:
        opened.append(Library(place, encoder=toy.ColourEncoder(), stages=stages))
        return opened[-1]

    yield open_anew
    for library in opened:
        library.close()


def scores(library: Library, query: str) -> dict[str, float]:
    return {result.path.stem: result.score for result in library.search(query)}


def test_the_best_are_judged_by_their_regions(
    open_cascade: Callable[..., Library], photos: Path, corners: Callable[..., Any]
) -> None:
    image = Image.new("RGB", (48, 36), "black")
    image.paste("red", (0, 0, 24, 18))
    image.paste((0, 255, 0), (24, 18, 48, 36))
    image.save(photos / "corners.png")
    library = open_cascade(corners(ALL))
    library.index(photos, workers=1)
    found = scores(library, "red green")
    assert found["corners"] == pytest.approx(2.0, abs=0.02)  # red in one quarter, green in another
    assert found["red"] == pytest.approx(1.0, abs=0.02)


def test_the_second_model_counts_as_much_as_its_weight(
    open_cascade: Callable[..., Library], photos: Path, corners: Callable[..., Any]
) -> None:
    found = []
    for weight in (0.0, 0.5, 1.0):
        second = corners(Blend(("colours",), 10, weight, 0.25, 0.1))
        library = open_cascade(second)
        library.index(photos, workers=1)
        found.append(scores(library, "red")["red"])
    assert found[0] == pytest.approx(1.0, abs=1e-2)  # the cosine of stage one alone
    assert found[2] == pytest.approx(0.25 * 1.0 + 0.1, abs=1e-2)
    assert found[1] == pytest.approx((found[0] + found[2]) / 2, abs=1e-3)


def test_a_stage_that_does_not_count_is_not_asked(
    open_cascade: Callable[..., Library], photos: Path, corners: Callable[..., Any]
) -> None:
    second = corners(Blend(("colours",), 10, 0.0, 1.0, 0.0))
    library = open_cascade(second)
    library.index(photos, workers=1)
    assert scores(library, "red")
    assert second.asked == []


def test_no_more_than_k_are_looked_at_again(
    open_cascade: Callable[..., Library], photos: Path, corners: Callable[..., Any]
) -> None:
    second = corners(Blend(("colours",), 2, 1.0, 1.0, 0.0))
    library = open_cascade(second)
    library.index(photos, workers=1)
    assert len(library.search("red", minus=["blue"])) == 4
    assert second.asked == [(2, "red"), (2, "blue")]


def test_short_texts_have_a_weight_and_a_number_of_photos_of_their_own(
    open_cascade: Callable[..., Library], photos: Path, corners: Callable[..., Any]
) -> None:
    second = corners(replace(ALL, weight=0.0, short=(Mix(3, 0.5, 0.25, 0.1), Mix(2, 1.0, 0.25, 0.1))))
    library = open_cascade(second)
    library.index(photos, workers=1)
    assert scores(library, "red")["red"] == pytest.approx(0.5 + 0.5 * (0.25 + 0.1), abs=1e-2)
    assert second.asked == [(3, "red")]
    second.asked.clear()
    library.search("red green")
    library.search("red green blue")  # a whole sentence, for which the stage does not count
    assert second.asked == [(2, "red green")]


def test_what_a_photo_is_not_to_show_counts_as_whole_sentences_do(
    open_cascade: Callable[..., Library], photos: Path, corners: Callable[..., Any]
) -> None:
    second = corners(replace(ALL, k=2, short=(Mix(3, 0.5, 0.25, 0.1),)))
    library = open_cascade(second)
    library.index(photos, workers=1)
    library.search("red", minus=["blue"])
    assert second.asked == [(3, "red"), (2, "blue")]
    second.asked.clear()
    library.search("no blue")
    assert second.asked == [(2, "blue")]


def test_a_library_without_regions_is_searched_by_stage_one_alone(
    open_cascade: Callable[..., Library], photos: Path, corners: Callable[..., Any]
) -> None:
    with open_cascade() as library:
        library.index(photos, workers=1)
        alone = scores(library, "red")
    second = corners(ALL)
    with open_cascade(second) as library:
        Image.new("RGB", (48, 36), "black").save(photos / "later.png")
        library.index(photos, workers=1)
        assert {name: score for name, score in scores(library, "red").items() if name != "later"} == alone
        assert second.asked == []
        assert (library.status().stages, library.status().could_rerank) == ({}, True)
        library.rebuild(workers=1)
        assert (library.status().stages, library.status().could_rerank) == ({"regions": "corners"}, False)
        scores(library, "red")
        assert second.asked == [(5, "red")]


def test_regions_of_other_weights_are_not_used(
    open_cascade: Callable[..., Library], photos: Path, corners: Callable[..., Any]
) -> None:
    open_cascade(corners(ALL)).index(photos, workers=1)
    other = corners(ALL, variant="2")
    assert "red" in scores(open_cascade(other), "red")
    assert other.asked == []


def test_regions_go_with_their_photo(
    open_cascade: Callable[..., Library], photos: Path, corners: Callable[..., Any]
) -> None:
    library = open_cascade(corners(ALL))
    library.index(photos, workers=1)
    contents = [photo.content for photo in library.latest(9)]
    assert library.store.views("regions", contents)[contents[0]].shape == (4, 3)
    (photos / "red.png").unlink()
    library.index(photos, workers=1)
    assert len(library.store.views("regions", contents)) == 3


def test_a_phrase_finds_the_region_that_shows_it(
    open_cascade: Callable[..., Library], photos: Path, corners: Callable[..., Any]
) -> None:
    image = Image.new("RGB", (48, 36), "black")
    image.paste("red", (24, 0, 48, 18))
    image.save(photos / "corner.png")
    (photos / "red.png").unlink()
    library = open_cascade(corners(ALL))
    library.index(photos, workers=1)
    first, second, *_ = library.search_regions("red")
    assert first.path.name == "corner.png"
    assert (first.box, first.word) == ((0.5, 0.0, 1.0, 0.5), None)
    assert first.score > second.score or second.path.name == "white.png"  # white is red, too
    assert [hit.path.name for hit in library.search_regions("red", folders=[photos / "2019"])] == [
        "white.png",
        "blue.jpg",
    ]
    assert len(library.search_regions("red", top=1)) == 1


def test_regions_are_refused_where_none_are_kept(
    open_cascade: Callable[..., Library], photos: Path, corners: Callable[..., Any]
) -> None:
    with open_cascade() as library:
        library.index(photos, workers=1)
        with pytest.raises(SeesayError, match="keeps photos as a whole") as refused:
            library.search_regions("red")
        assert refused.value.hint == "seesay library use eye"
    with pytest.raises(SeesayError, match="keeps photos as a whole") as refused:
        open_cascade(corners(ALL)).search_regions("red")
    assert refused.value.hint == "seesay library rebuild"


def test_a_search_for_regions_of_nothing_is_refused(
    open_cascade: Callable[..., Library], photos: Path, corners: Callable[..., Any]
) -> None:
    library = open_cascade(corners(ALL))
    library.index(photos, workers=1)
    with pytest.raises(SeesayError, match="query is empty"):
        library.search_regions("  ")
    with pytest.raises(SeesayError, match="top is 0"):
        library.search_regions("red", top=0)


def test_a_sentence_without_a_known_word_stays_with_stage_one(
    store: Store, put: Callable[..., None], corners: Callable[..., Any]
) -> None:
    put({"/x.jpg": [1.0, 0, 0]})
    second = corners(ALL)
    nothing = Sentence(np.zeros(3, np.float32), 1, text="zorblax")
    assert find_photos(store, Query(fits=(nothing,)), None, Filter(), stages=[second])[0].score == 0
    assert second.asked == []


def test_the_third_stage_looks_at_the_best_of_the_second(
    open_cascade: Callable[..., Library], photos: Path, toy: ModuleType
) -> None:
    second = toy.Corners(Blend(("colours",), 10, 0.5, 1.0, 0.0))
    third = toy.Brightness(Blend(("colours", "corners"), 2, 0.5, 1.0, 0.0))
    library = open_cascade(second, third)
    library.index(photos, workers=1)
    by_two = {name: round(score, 3) for name, score in scores(open_cascade(second), "red").items()}
    found = {name: round(score, 3) for name, score in scores(library, "red").items()}
    best = sorted(by_two, key=lambda name: -by_two[name])[:2]
    assert third.asked == [(2, "red")]
    for name, score in found.items():
        judged = {"red": 1 / 3, "white": 1.0}.get(name, 0.0)  # how bright it is
        expected = (by_two[name] + judged) / 2 if name in best else by_two[name]
        assert score == pytest.approx(expected, abs=5e-3), name
    assert library.status().stages == {"regions": "corners", "captions": "brightness"}


def test_a_stage_whose_blend_was_chosen_after_others_is_not_used(
    open_cascade: Callable[..., Library], photos: Path, toy: ModuleType
) -> None:
    third = toy.Brightness(Blend(("colours", "corners"), 2, 0.5, 1.0, 0.0))
    library = open_cascade(third)
    library.index(photos, workers=1)
    scores(library, "red")
    assert third.asked == []


def test_stages_are_put_in_the_order_that_they_were_tuned_for(toy: ModuleType) -> None:
    second, third = toy.Corners(ALL), toy.Brightness(Blend(("colours", "corners"), 2, 0.5, 1.0, 0.0))
    cascade = Cascade("colours", [third, second])
    assert cascade.stages == (second, third)
    assert cascade.unused() == []


def test_of_two_ways_to_go_on_the_longer_is_taken_and_the_other_is_named(toy: ModuleType) -> None:
    second, third = toy.Corners(ALL), toy.Brightness(Blend(("colours", "corners"), 2, 0.5, 1.0, 0.0))
    added = toy.Brightness(Blend(("colours",), 5, 0.5, 1.0, 0.0))
    added.fingerprint = replace(added.fingerprint, model="added")
    cascade = Cascade("colours", [added, second, third])
    assert cascade.stages == (second, third)
    (problem,) = cascade.unused()
    assert problem.what == (
        "added is not used for search: it was tuned to come after colours, "
        "and the stages are colours, corners, brightness"
    )
    assert problem.hint == "seesay tune added --only cascade"


def test_a_stage_that_is_put_in_between_silences_no_later_one_without_a_word(toy: ModuleType) -> None:
    added = toy.Brightness(Blend(("colours",), 5, 0.5, 1.0, 0.0))
    added.fingerprint, added.stage = replace(added.fingerprint, model="added"), "added"
    second = toy.Corners(Blend(("colours", "added"), 10, 0.5, 1.0, 0.0))  # tuned again
    third = toy.Brightness(Blend(("colours", "corners"), 2, 0.5, 1.0, 0.0))  # forgotten
    cascade = Cascade("colours", [added, second, third])
    assert cascade.stages == (added, second)
    (problem,) = cascade.unused()
    assert "brightness is not used for search: it was tuned to come after colours, corners" in problem.what
    assert Cascade("other", [added, second, third]).unused() == []  # they are of another library


def test_a_kind_of_stage_that_nobody_knows_is_indexed_and_searched_with(
    open_cascade: Callable[..., Library], photos: Path, toy: ModuleType
) -> None:
    own = toy.Brightness(Blend(("colours",), 4, 0.5, 1.0, 0.0))
    own.stage = "brightness of somebody"
    library = open_cascade(own)
    library.index(photos, workers=1)
    assert library.status().stages == {"brightness of somebody": "brightness"}
    assert scores(library, "red")["white"] > scores(open_cascade(), "red")["white"]
    assert own.asked == [(4, "red")]


def test_a_library_of_two_stages_is_told_of_a_third(
    open_cascade: Callable[..., Library], photos: Path, toy: ModuleType
) -> None:
    second, third = toy.Corners(ALL), toy.Brightness(Blend(("colours", "corners"), 2, 0.5, 1.0, 0.0))
    with open_cascade(second) as library:
        library.index(photos, workers=1)
    with open_cascade(second, third) as library:
        assert scores(library, "red")
        assert (second.asked, third.asked) == ([(4, "red")], [])
        assert (library.status().stages, library.status().could_rerank) == ({"regions": "corners"}, True)
        library.rebuild(workers=1)
        assert not library.status().could_rerank


def test_the_stages_that_ship_are_found_and_look_without_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    (second,) = Cascade("eye").stages
    assert Cascade("vse").stages == ()  # the blends were chosen for another first stage
    monkeypatch.setitem(sys.modules, "torch", None)  # importing it would fail
    rng = np.random.default_rng(0)
    regions = rng.normal(0, 0.03, (3, 20, second.fingerprint.dim)).astype(np.float16)
    assert isinstance(second, Regions)
    assert second.score(regions, "two dogs play").shape == (3,)
    scores, boxes = second.point(regions, "a dog")
    assert (scores.shape, boxes.shape) == ((3,), (3, 4))
    third = open_stage("mrnn", Blend(("eye", "dvsa"), 50, 0.3, 0.02, 0.1))
    seen = rng.normal(0, 1, (3, 1, third.fingerprint.dim)).astype(np.float16)
    assert third.score(seen, "two dogs play").shape == (3,)


def test_a_stage_of_no_special_kind_is_scored_by_the_model_itself() -> None:
    special, plain = open_stage("dvsa"), WeightsStage("dvsa")
    views = np.random.default_rng(0).normal(0, 0.1, (3, 20, special.fingerprint.dim)).astype(np.float32)
    assert type(special) is not WeightsStage
    assert type(open_stage("mrnn", special.blend)) is WeightsStage
    np.testing.assert_allclose(plain.score(views, "two dogs"), special.score(views, "two dogs"), rtol=1e-3, atol=1e-4)


def test_without_their_weights_there_are_no_later_stages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seesay.catalogue.weights.PACKAGED", tmp_path)
    assert Cascade("vse").stages == ()


def test_a_blend_has_its_own_probabilities(
    open_cascade: Callable[..., Library], photos: Path, corners: Callable[..., Any]
) -> None:
    curve = Calibration(8.0, 2.0, -3.0, -1.0)
    library = open_cascade(corners(replace(ALL, calibration=curve)))
    library.index(photos, workers=1)
    (red, *_) = (result for result in library.search("red") if result.path.stem == "red")
    assert red.score == pytest.approx(float(curve.probability(1.0, 1)), abs=1e-2)
    assert red.word == "likely"
