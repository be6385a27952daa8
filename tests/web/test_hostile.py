"""Nothing that is asked opens another file than a photo of the library, and nothing ends the server."""

import os
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from seesay import web
from seesay.library.library import Library
from seesay.web.lanes import Amount

SECRET = "the secret that lies beside the photos"
ROUTES = [
    "/{}", "/static/{}", "/api/{}", "/api/photos/{}", "/api/photos/{}/thumbnail", "/api/photos/{}/picture",
    "/api/photos/{}/captions", "/api/photos/{}/explain?q=red", "/api/search?q=red&in={}", "/api/search?like={}",
    "/api/search?q=red&camera={}", "/api/search?q=red&tag={}", "/api/photos?in={}", "/api/search?q={}",
    "/api/search?q=red&after={}", "/api/photos/1/explain?q={}", "/api/photos/1/picture?side={}",
    "/api/search?like=1&box={}", "/api/regions?q={}", "/api/regions?q=red&in={}",
    "/api/status?{}", "/api/failures?{}", "/api/openapi.json?{}",
]  # fmt: skip


def attempts(secret: Path) -> list[str]:
    plain = str(secret)
    up = "../" * 12 + plain.lstrip("/")
    twice = quote(quote(up, safe=""), safe="")
    return [
        plain, plain.lstrip("/"), up, quote(up, safe=""), twice, up.replace("../", "..\\"), up.replace("../", "....//"),
        up.replace("../", "%2e%2e/"), up.replace("../", "%2e%2e%2f"), up.replace("../", "%c0%ae%c0%ae/"),
        up.replace("../", "..;/"), f"file://{plain}", f"1/../../..{plain}", f"1%00{plain}", f"{plain}%00",
        "%00", "1%00",
        f"1%2f..%2f..{quote(plain, safe='')}", "..", "../app.py", "..%2fapp.py", "%2e%2e%2f__init__.py", ".", "",
        "1%0d%0aset-cookie:%20a=1", "%F0%9F%90%B6", "%ff%fe", "-1", "0", "1e3", "99999999999999999999", "0x1", "1.5",
        "١",
    ]  # fmt: skip


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    path = tmp_path / "secret.txt"
    path.write_text(SECRET)
    return path


@pytest.mark.parametrize("route", ROUTES)
def test_no_way_of_writing_a_path_leads_to_a_file(browser: Any, secret: Path, route: str) -> None:
    sources = [path.read_bytes()[:200] for path in Path(web.__file__).parent.glob("*.py")]
    for attempt in attempts(secret):
        answer = browser.get(route.replace("{}", attempt))
        assert answer.status in (200, 400, 404, 409, 422), (attempt, answer.status)
        assert SECRET.encode() not in answer.body
        assert not any(source in answer.body for source in sources)
        assert not any("\r" in value or "\n" in value for value in answer.headers.values())
        assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "HEAD", "PROPFIND", "x"])
def test_other_methods_do_nothing(browser: Any, method: str) -> None:
    for target in ("/api/photos/1", "/api/index", "/api/status", "/api/search?q=red"):
        assert browser.send(method, target).status == 405


def test_a_link_that_leads_out_of_the_photos_shows_no_more_than_a_picture(
    start: Callable[..., Any], library: Library, photos: Path, secret: Path
) -> None:
    (photos / "link.jpg").symlink_to(secret)
    library.index(photos, workers=1)
    with start() as browser:
        assert not any(photo["name"] == "link.jpg" for photo in browser.get("/api/photos").json["photos"])
        for photo_id in range(1, 12):
            for place in ("thumbnail", "picture"):
                assert SECRET.encode() not in browser.get(f"/api/photos/{photo_id}/{place}").body


def test_a_photo_that_becomes_a_link_to_a_secret_is_not_sent(
    browser: Any, photos: Path, secret: Path, ids: Any
) -> None:
    path = photos / "red.png"
    status = path.stat()
    secret.write_text(SECRET + " " * (status.st_size - len(SECRET)))
    os.utime(secret, ns=(status.st_mtime_ns, status.st_mtime_ns))
    path.unlink()
    path.symlink_to(secret)
    for place in ("picture", "captions", "explain?q=red"):
        answer = browser.get(f"/api/photos/{ids['red']}/{place}")
        assert answer.status in (400, 409)
        assert SECRET.encode() not in answer.body
    assert browser.get(f"/api/search?like={ids['red']}&box=0,0,1,0.5").status in (400, 409)


PARAMETERS = ("q", "plus", "minus", "like", "box", "after", "before", "in", "camera", "tag", "sort", "offset", "limit",
              "side", "n", "token", "v")  # fmt: skip
VALUES = st.one_of(
    st.text(max_size=60),
    st.sampled_from([
        "", "red", "0", "1", "-1", "nan", "inf", "1e999", "2019", "0,0,1,1", "' OR 1=1 --", "%", "\0", "a" * 501,
        "9" * 30, "../../etc/passwd", "<script>", "{}", "[]", "null", "true", "\ud7ff", "\u202e", "🐶",
    ]),
    st.integers().map(str),
)  # fmt: skip


@given(
    route=st.sampled_from(["/api/search", "/api/photos", "/api/photos/1", "/api/photos/1/picture", "/api/status", "/"]),
    parameters=st.lists(st.tuples(st.sampled_from(PARAMETERS), VALUES), max_size=5),
)
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_any_parameters_are_answered_or_refused_in_words(
    browser: Any, route: str, parameters: list[tuple[str, str]]
) -> None:
    query = "&".join(f"{name}={quote(value, safe='')}" for name, value in parameters)
    answer = browser.get(f"{route}?{query}")
    assert answer.status in (200, 400, 404, 409, 422), (query, answer.body)
    if answer.status >= 400:
        assert answer.json["what"]


@given(query=st.binary(max_size=80))
@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_a_query_string_of_any_bytes_is_answered_or_refused(browser: Any, query: bytes) -> None:
    written = "".join(chr(byte) if 32 < byte < 127 and byte != 35 else f"%{byte:02x}" for byte in query)
    assert browser.get(f"/api/search?{written}").status in (200, 400, 422)


@given(body=st.binary(max_size=200))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_a_body_of_any_bytes_is_refused_as_no_picture(browser: Any, body: bytes) -> None:
    for start in (b"", b"\xff\xd8\xff\xe0", b"\x89PNG\r\n\x1a\n", b"GIF89a", b"RIFF\0\0\0\0WEBP", b"II*\0"):
        assert browser.post("/api/search", start + body).status == 400


def test_an_upload_counts_until_it_has_been_looked_at(browser: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    counts: list[int] = []
    amounts: list[Amount] = []
    add = Amount.add
    monkeypatch.setattr(Amount, "add", lambda self, amount: (amounts.append(self), add(self, amount))[1])
    search = Library.search
    monkeypatch.setattr(
        Library, "search", lambda self, *given, **more: (counts.append(amounts[0].now), search(self, *given, **more))[1]
    )
    file = BytesIO()
    Image.new("RGB", (8, 8), "red").save(file, "PNG")
    assert browser.post("/api/search", file.getvalue()).status == 200
    assert browser.post("/api/search", b"no picture").status == 400
    assert counts == [len(file.getvalue()), len(b"no picture")]
    assert amounts[0].now == 0


def test_an_upload_whose_data_end_early_is_refused(browser: Any) -> None:
    file = BytesIO()
    Image.effect_noise((64, 48), 60).convert("RGB").save(file, "JPEG")
    whole = file.getvalue()
    assert browser.post("/api/search", whole).status == 200
    cut = browser.post("/api/search", whole[: len(whole) // 2] + b"\xff\xd9")
    assert (cut.status, cut.json["what"]) == (400, "the image is cut off: its data end early")
    assert browser.post("/api/search", whole[: len(whole) // 2]).status == 400
