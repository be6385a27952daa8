"""The HTTP API answers what Python answers."""

import os
import threading
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from PIL import Image

from seesay.library.library import Library
from seesay.verbs.photos import WordEvidence
from seesay.web.lanes import Lane

Ids = dict[str, int]


def names(answer: Any) -> list[str]:
    assert answer.status == 200, answer.body
    return [result["photo"]["name"] for result in answer.json["results"]]


def png(colour: str) -> bytes:
    file = BytesIO()
    Image.new("RGB", (30, 30), colour).save(file, "PNG")
    return file.getvalue()


def test_a_sentence_finds_what_the_library_finds(browser: Any, library: Library) -> None:
    answer = browser.get("/api/search?q=a+red+photo")
    assert names(answer) == [result.path.name for result in library.search("a red photo")]
    first = answer.json["results"][0]
    assert first["score"] == pytest.approx(library.search("a red photo")[0].score, abs=1e-4)
    assert first["photo"]["path"] == str(library.search("a red photo")[0].path)


def test_regions_come_with_their_boxes(browser: Any, library: Library) -> None:
    answer = browser.get("/api/regions?q=red&limit=2")
    expected = library.search_regions("red", top=2)
    assert names(answer) == [result.path.name for result in expected]
    assert [tuple(result["box"]) for result in answer.json["results"]] == [result.box for result in expected]
    assert answer.json["next"] == 2
    assert browser.get("/api/search?q=red").json["results"][0]["box"] is None
    assert browser.get("/api/regions?q=+").status == 400


def test_results_come_in_pages_that_join_without_gap(browser: Any) -> None:
    whole = names(browser.get("/api/search?q=red"))
    answer = browser.get("/api/search?q=red&limit=3")
    assert names(answer) == whole[:3]
    rest = browser.get(f"/api/search?q=red&limit=3&offset={answer.json['next']}")
    assert names(rest) == whole[3:]
    assert rest.json["next"] is None


def test_filters_restrict_what_is_found_and_what_is_listed(browser: Any) -> None:
    assert sorted(names(browser.get("/api/search?q=red&in=2019%2F"))) == ["blue.jpg", "white.png"]
    listed = browser.get("/api/photos?in=.%2F2019").json["photos"]
    assert sorted(photo["name"] for photo in listed) == ["blue.jpg", "white.png"]
    assert names(browser.get("/api/search?q=red&before=2001")) == []


def test_further_sentences_pull_and_push(browser: Any) -> None:
    assert names(browser.get("/api/search?q=red"))[0] == "red.png"
    assert names(browser.get("/api/search?q=red&plus=blue"))[0] == "white.png"  # which has both
    assert names(browser.get("/api/search?q=red&plus=blue&minus=green"))[0] == "red.png"  # which has no green


def test_by_date_the_same_photos_come_latest_first(browser: Any, photos: Path) -> None:
    dates = [result["photo"]["date"] for result in browser.get("/api/search?q=red&sort=date").json["results"]]
    assert dates == sorted(dates, reverse=True)


def test_words_that_nothing_is_known_of_are_named(browser: Any) -> None:
    assert browser.get("/api/search?q=a+red+zorblax").json["unknown_words"] == ["zorblax"]


def test_more_like_a_photo_leaves_out_the_photo_itself(browser: Any, ids: Ids) -> None:
    found = names(browser.get(f"/api/search?like={ids['red']}"))
    assert found[0] == "white.png"  # the only other one that has red in it
    assert "red.png" not in found


def test_a_region_finds_what_looks_like_the_region(browser: Any, library: Library, photos: Path) -> None:
    pixels = np.zeros((40, 40, 3), np.uint8)
    pixels[:, :20], pixels[:, 20:] = (0, 0, 255), (0, 255, 0)
    Image.fromarray(pixels).save(photos / "both.png")
    library.index(photos, workers=1)
    both = next(photo.id for photo in library.latest(100) if photo.path.name == "both.png")
    assert names(browser.get(f"/api/search?like={both}&box=0,0,0.5,1"))[0] == "blue.jpg"
    assert names(browser.get(f"/api/search?like={both}&box=0.5,0,1,1"))[0] == "green.png"


def test_a_photo_that_is_sent_finds_its_likes_and_is_not_kept(browser: Any, library: Library, tmp_path: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.suffix != ".db-wal"}
    assert names(browser.post("/api/search?limit=1", png("#0000ff"))) == ["blue.jpg"]
    assert library.status().counts.photos == 4
    after = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.suffix != ".db-wal"}
    assert after.keys() - before.keys() <= {path for path in after if "matrix" in path.name}


def test_a_photo_that_is_sent_goes_through_the_one_door(browser: Any) -> None:
    for body, what in ((b"", "no photo"), (b"%PDF-1.7", "not an image"), (png("red")[:60], "cannot open")):
        answer = browser.post("/api/search", body)
        assert answer.status == 400
        assert what in answer.json["what"]


def test_a_photo_that_is_too_large_to_be_sent_is_refused(browser: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seesay.web.routes.LARGEST_UPLOAD", 1000)
    answer = browser.post("/api/search", b"x" * 1001)
    assert (answer.status, answer.json["what"]) == (400, "the photo is too large")


def test_a_picture_that_announces_too_many_pixels_is_refused(browser: Any) -> None:
    header = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + (30_000).to_bytes(4, "big") * 2 + b"\x08\x02\0\0\0" + b"\0" * 4
    answer = browser.post("/api/search", header)
    assert answer.status == 400
    assert "too large" in answer.json["what"] or "cannot open" in answer.json["what"]


def test_the_latest_photos_come_in_pages(browser: Any) -> None:
    first = browser.get("/api/photos?limit=3").json
    second = browser.get(f"/api/photos?limit=3&offset={first['next']}").json
    assert len({photo["id"] for photo in [*first["photos"], *second["photos"]]}) == 4
    assert second["next"] is None


def test_a_photo_has_its_facts_and_tags(browser: Any, ids: Ids, photos: Path) -> None:
    found = browser.get(f"/api/photos/{ids['blue']}").json
    assert (found["name"], found["width"], found["height"]) == ("blue.jpg", 48, 36)
    assert found["size"] == (photos / "2019/blue.jpg").stat().st_size
    assert isinstance(found["tags"], list)


def test_pictures_lie_where_the_photo_says(browser: Any, ids: Ids) -> None:
    found = browser.get(f"/api/photos/{ids['red']}").json
    for place in ("thumbnail", "picture"):
        answer = browser.get(found[place])
        assert answer.headers["content-type"] == "image/jpeg"
        assert Image.open(BytesIO(answer.body)).size == (48, 36)


def test_a_picture_is_kept_only_under_an_address_that_says_which_it_is(browser: Any, ids: Ids) -> None:
    found = browser.get(f"/api/photos/{ids['red']}").json
    for place in ("thumbnail", "picture"):
        kept = browser.get(found[place])
        assert kept.headers["cache-control"] == "private, max-age=31536000, immutable"
        asked = browser.get(f"/api/photos/{ids['red']}/{place}")
        assert asked.headers["cache-control"] == "private, no-cache"
        assert asked.headers["etag"] == kept.headers["etag"]
        again = browser.get(f"/api/photos/{ids['red']}/{place}", if_none_match=kept.headers["etag"])
        assert (again.status, again.body) == (304, b"")
        other = browser.get(f"/api/photos/{ids['blue']}/{place}", if_none_match=kept.headers["etag"])
        assert other.status == 200
        of_another = found[place].replace("?v=", "?v=0")
        assert browser.get(of_another).status == 409


def test_an_edited_photo_has_another_picture_at_another_address(
    browser: Any, library: Library, photos: Path, ids: Ids
) -> None:
    before = browser.get(f"/api/photos/{ids['red']}").json["thumbnail"]
    Image.new("RGB", (60, 36), "#ff8800").save(photos / "red.png")
    assert browser.get(f"/api/photos/{ids['red']}/picture").status == 409
    library.index(photos, workers=1)
    assert browser.get(f"/api/photos/{ids['red']}").json["thumbnail"] != before
    assert browser.get(f"/api/photos/{ids['red']}/picture").status == 200


@pytest.mark.parametrize("route", ["", "/thumbnail", "/picture", "/captions", "/explain?q=red"])
def test_a_photo_that_is_not_there_is_not_found(browser: Any, route: str) -> None:
    answer = browser.get(f"/api/photos/12345{route}")
    assert (answer.status, answer.json["what"]) == (404, "there is no photo 12345")


class FakeModels:
    """Says the same of every photo, when it is let."""

    go_on = threading.Event()

    def __init__(self, *_: Any) -> None:
        self.go_on.set()

    def prepare(self) -> None:
        pass

    def captions(self, photo: Any, n: int) -> Any:
        assert self.go_on.wait(60)
        return None, []

    def explain(self, photo: Any, sentence: str) -> list[WordEvidence]:
        assert self.go_on.wait(60)
        heat = np.array([[0.0, 0.504], [1.0, 0.25]])
        dog = WordEvidence("dog", True, True, 0.62, heat, (0.0, 0.5, 1.0, 1.0), "at the bottom")
        return [WordEvidence("a", False), dog, WordEvidence("zorblax", True, known=False)]


def test_an_explanation_has_every_word_with_what_it_speaks_of(
    start: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("seesay.web.app.PhotoModels", FakeModels)
    with start() as browser:
        words = browser.get("/api/photos/1/explain?q=a+dog+zorblax").json["words"]
    assert [word["text"] for word in words] == ["a", "dog", "zorblax"]
    assert words[1] == {
        "text": "dog", "content": True, "known": True, "probability": 0.62, "heat": [[0, 50], [100, 25]],
        "box": [0.0, 0.5, 1.0, 1.0], "place": "at the bottom", "said": "likely",
    }  # fmt: skip
    assert words[0]["heat"] == words[2]["heat"] == []
    assert not words[2]["known"]


def test_without_a_captioner_there_are_no_captions_and_no_error(
    start: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("seesay.web.app.PhotoModels", FakeModels)
    with start() as browser:
        assert browser.get("/api/photos/1/captions").json == {"model": None, "captions": []}


def test_a_slow_explanation_does_not_hold_up_a_search(
    start: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("seesay.web.app.PhotoModels", FakeModels)
    with start() as browser:
        FakeModels.go_on.clear()
        slow = [threading.Thread(target=browser.get, args=("/api/photos/1/explain?q=red",)) for _ in range(4)]
        for thread in slow:
            thread.start()
        assert names(browser.get("/api/search?q=red"))[0] == "red.png"
        assert browser.get("/api/photos/1/thumbnail").status == 200
        assert browser.get("/api/photos/1/picture").status == 200
        assert all(thread.is_alive() for thread in slow)
        FakeModels.go_on.set()
        for thread in slow:
            thread.join()


def test_more_than_can_wait_are_told_to_come_back(start: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seesay.web.app.PhotoModels", FakeModels)
    monkeypatch.setattr("seesay.web.service.Lane", lambda name, **_: Lane(name, workers=1, waiting=0))
    with start() as browser:
        FakeModels.go_on.clear()
        slow = threading.Thread(target=browser.get, args=("/api/photos/1/explain?q=red",))
        slow.start()
        answer = browser.get("/api/photos/1/captions")
        while answer.status == 200 or slow.is_alive() is False:  # the other one may not have come in yet
            answer = browser.get("/api/photos/1/captions")
        assert (answer.status, answer.headers["retry-after"]) == (503, "1")
        FakeModels.go_on.set()
        slow.join()


def test_the_status_says_what_the_library_holds(browser: Any, photos: Path, library: Library) -> None:
    status = browser.get("/api/status").json
    assert (status["photos"], status["failures"], status["model"], status["agrees"]) == (4, 1, "colours", True)
    assert status["folders"] == [{"path": str(photos), "photos": 4, "failures": 1, "exists": True}]


def test_files_that_cannot_be_used_are_listed_with_the_reason(browser: Any, photos: Path) -> None:
    (failure,) = browser.get("/api/failures").json
    assert failure["path"] == str(photos / "broken.jpg")
    assert "not an image" in failure["reason"]


def test_asked_to_index_it_finds_what_is_new(browser: Any, photos: Path) -> None:
    Image.new("RGB", (20, 20), "#ff00ff").save(photos / "magenta.png")
    assert browser.post("/api/index").status == 202
    assert browser.app.app.state.service.indexer.wait(2, 60)
    assert browser.get("/api/status").json["photos"] == 5
    assert "magenta.png" in names(browser.get("/api/search?q=red"))


def test_a_folder_given_at_the_start_is_indexed(start: Callable[..., Any], tmp_path: Path, toy: ModuleType) -> None:
    (tmp_path / "more").mkdir()
    toy.draw(tmp_path / "more" / "a.png", 3)
    with start(folders=[tmp_path / "more"]) as browser:
        assert browser.get("/api/status").json["photos"] == 5


@pytest.mark.skipif(os.name != "posix", reason="names are text on this system")
def test_names_that_are_no_text_come_through(browser: Any, library: Library, photos: Path) -> None:
    odd = os.fsdecode(os.fsencode(photos) + b"/caf\xe9\n100%_a.png")
    Image.new("RGB", (20, 20), "#ff00ff").save(odd)
    library.index(photos, workers=1)
    found = [photo for photo in browser.get("/api/photos").json["photos"] if "caf" in photo["name"]]
    assert found[0]["name"] == "caf\\xe9\n100%_a.png"
    assert browser.get(found[0]["picture"]).status == 200


def test_every_verb_is_described(browser: Any) -> None:
    described = browser.get("/api/openapi.json").json
    assert set(described["paths"]) == {
        "/api/search", "/api/regions", "/api/photos", "/api/photos/{photo_id}", "/api/photos/{photo_id}/thumbnail",
        "/api/photos/{photo_id}/picture", "/api/photos/{photo_id}/captions", "/api/photos/{photo_id}/explain",
        "/api/status", "/api/index", "/api/failures", "/api/examples",
    }  # fmt: skip
    for path in described["paths"].values():
        for verb in path.values():
            assert verb["description"]


@pytest.mark.parametrize("page", ["/docs", "/redoc", "/docs/oauth2-redirect"])
def test_no_page_loads_anything_from_elsewhere(browser: Any, page: str) -> None:
    assert browser.get(page).status == 404


def test_errors_say_what_is_allowed(browser: Any) -> None:
    answer = browser.get("/api/search?q=red&limit=1000")
    assert answer.status == 422
    assert answer.json["what"] == "the parameter 'limit' cannot be understood"
    assert "100" in answer.json["allowed"]
    assert browser.get("/api/search").json["what"] == "the query is empty"
    assert browser.get("/api/nothing").json["what"] == "there is nothing at this address"
    assert browser.send("DELETE", "/api/photos/1").status == 405


def test_a_fault_of_the_server_tells_nothing_of_its_inside(
    start: Callable[..., Any], library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(library, "failures", lambda: 1 / 0)
    with start() as browser, pytest.raises(ZeroDivisionError):  # for the terminal
        browser.get("/api/failures")


def test_what_is_asked_is_reported_to_nobody(start: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """FastAPI can tell every request to a collector, which other software or the environment may name."""
    trace = pytest.importorskip("opentelemetry.trace", reason="this FastAPI reports nothing to anybody")
    told: list[str] = []

    class Collector(trace.TracerProvider):  # type: ignore[misc, name-defined]
        def get_tracer(self, *given: Any, **options: Any) -> Any:
            told.append("a tracer was asked for")
            return trace.NoOpTracer()

    monkeypatch.setattr(trace, "_TRACER_PROVIDER", Collector())
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    with start() as browser:
        assert names(browser.get("/api/search?q=red"))
    assert told == []
