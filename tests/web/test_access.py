"""Who may ask the server."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from seesay.errors import SeesayError
from seesay.web.access import HEADERS, Access, Guard

TOKEN = "a-token-of-some-length"
OPEN = Access.for_host("0.0.0.0", token=TOKEN)


@pytest.mark.parametrize("host", ["127.0.0.1:8765", "localhost:8765", "LOCALHOST", "[::1]:8765", "localhost."])
def test_this_machine_is_called_by_its_names(browser: Any, host: str) -> None:
    assert browser.get("/api/status", host=host).status == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:8765", "127.0.0.1.evil.example", "192.168.0.7", "localhost:80@evil.example", "[::1",
     "localhost:port", "", "127.0.0.1, evil.example"],
)  # fmt: skip
def test_a_domain_that_is_made_to_point_here_is_refused(browser: Any, host: str) -> None:
    for target in ("/", "/static/main.js", "/api/status", "/api/photos/1/thumbnail"):
        assert browser.get(target, host=host).status == 421


def test_two_host_headers_are_refused() -> None:
    sent = _statuses(Guard(_never, Access.for_host("127.0.0.1")), [(b"host", b"localhost"), (b"Host", b"evil.example")])
    assert sent == [421]


def test_where_others_may_come_any_address_is_a_name_but_no_foreign_domain_is() -> None:
    access = Access.for_host("0.0.0.0", names=["Photos.Home"], token=TOKEN)
    assert access.knows_host("192.168.0.7:8765")
    assert access.knows_host("photos.home")
    assert not access.knows_host("evil.example")


def test_an_address_that_others_can_reach_gets_a_token_of_its_own() -> None:
    first, second = (Access.for_host("0.0.0.0").token for _ in range(2))
    assert first is not None
    assert first != second
    assert Access.for_host("127.0.0.1").token is None


@pytest.mark.parametrize("token", ["", "short", "sixteen letters\n", "ein-schlüssel-der-lang-genug-ist"])
def test_a_token_that_can_be_guessed_or_not_be_typed_is_refused(token: str) -> None:
    with pytest.raises(SeesayError, match="token"):
        Access.for_host("127.0.0.1", token=token)


def test_without_the_token_nothing_is_to_be_seen(start: Callable[..., Any]) -> None:
    with start(OPEN) as browser:
        for target in ("/", "/static/main.js", "/api/status", "/api/openapi.json", "/api/photos/1/thumbnail", "/nope"):
            assert browser.get(target).status == 401
            assert browser.get(target, authorization="Bearer wrong").status == 401
            assert browser.get(target, cookie="seesay-0=wrong").status == 401
            assert browser.get(f"{target}?token=wrong").status == 401
        assert browser.post("/api/index").status == 401


def test_the_token_is_in_the_address_once_and_then_in_a_cookie(start: Callable[..., Any]) -> None:
    with start(OPEN) as browser:
        answer = browser.get(f"/?q=a+dog&token={TOKEN}")
        assert (answer.status, answer.headers["location"]) == (303, "/?q=a+dog")
        cookie = answer.headers["set-cookie"]
        assert TOKEN not in cookie
        assert {"HttpOnly", "SameSite=Lax", "Path=/"} <= {part.strip() for part in cookie.split(";")}
        kept = cookie.partition(";")[0]
        assert browser.get("/", cookie=f"other=1; {kept}").status == 200
        assert browser.get("/api/status", cookie=kept).status == 200


def test_with_the_cookie_an_address_that_has_the_token_loses_it(start: Callable[..., Any]) -> None:
    with start(OPEN) as browser:
        cookie = f"seesay-0={OPEN.cookie}"
        answer = browser.get(f"/?token={TOKEN}", cookie=cookie)
        assert (answer.status, answer.headers["location"]) == (303, "/")


def test_the_way_back_from_the_token_leads_nowhere_else(start: Callable[..., Any]) -> None:
    with start(OPEN) as browser:
        for path in ("//evil.example", "/%2F/evil.example", "/\\evil.example"):
            location = browser.get(f"{path}?token={TOKEN}").headers["location"]
            assert location.startswith("/")
            assert location[1:2] not in ("/", "\\")


def test_a_program_sends_the_token_as_a_bearer(start: Callable[..., Any]) -> None:
    with start(OPEN) as browser:
        assert browser.get("/api/status", authorization=f"Bearer {TOKEN}").status == 200


def test_a_cookie_of_another_token_is_worth_nothing(start: Callable[..., Any]) -> None:
    other = Access.for_host("0.0.0.0", token="another-token-as-long")
    with start(OPEN) as browser:
        assert browser.get("/api/status", cookie=f"seesay-0={other.cookie}").status == 401


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_what_a_page_of_another_site_asks_for_is_refused(browser: Any, site: str) -> None:
    for target in ("/api/photos/1/thumbnail", "/api/search?q=red", "/static/main.js"):
        assert browser.get(target, sec_fetch_site=site, sec_fetch_mode="no-cors").status == 403
    assert browser.post("/api/index", sec_fetch_site=site).status == 403


def test_a_link_on_another_site_may_lead_to_the_page_itself(browser: Any) -> None:
    assert browser.get("/", sec_fetch_site="cross-site", sec_fetch_mode="navigate").status == 200
    assert browser.get("/api/status", sec_fetch_site="cross-site", sec_fetch_mode="navigate").status == 403


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:9999", "https://localhost:8765"])
def test_a_form_of_another_origin_changes_nothing(browser: Any, origin: str) -> None:
    assert browser.post("/api/index", origin=origin).status == 403
    assert browser.post("/api/index", origin="http://127.0.0.1:8765").status == 202


def test_every_answer_forbids_what_the_page_does_not_need(browser: Any) -> None:
    answers = [
        browser.get("/"), browser.get("/static/style.css"), browser.get("/api/search?q=red"), browser.get("/nope"),
        browser.get("/", host="evil.example"), browser.get("/api/photos/1/thumbnail"), browser.get("/api/search?top=x"),
    ]  # fmt: skip
    for answer in answers:
        assert HEADERS.items() <= answer.headers.items()
        assert "server" not in answer.headers
    policy = HEADERS["content-security-policy"]
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    assert "http" not in policy


def test_answers_about_photos_are_kept_in_no_cache(browser: Any) -> None:
    assert browser.get("/api/search?q=red").headers["cache-control"] == "no-store"
    assert browser.get("/api/photos/1/thumbnail").headers["cache-control"].startswith("private")


def test_sockets_are_closed_before_anybody_hears_of_them() -> None:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(Guard(_never, Access())({"type": "websocket", "headers": []}, _nothing, send))
    assert [message["type"] for message in sent] == ["websocket.close"]


def test_who_is_waiting_when_the_server_ends_is_told_so() -> None:
    """And no error is raised, which the server would print as one of its own."""
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def waits(*_: Any) -> None:
        await asyncio.Event().wait()

    async def end_early() -> None:
        scope = {
            "type": "http",
            "method": "GET",
            "path": "/",
            "query_string": b"",
            "headers": [(b"host", b"localhost")],
        }
        task = asyncio.ensure_future(Guard(waits, Access.for_host("127.0.0.1"))(scope, _nothing, send))
        await asyncio.sleep(0)
        task.cancel()
        await task

    asyncio.run(end_early())
    assert sent[0]["status"] == 503
    assert b"the server is stopping" in sent[1]["body"]


async def _never(*_: Any) -> None:
    raise AssertionError("the guard let it through")


async def _nothing() -> Any:
    return {}


def _statuses(app: Guard, headers: list[tuple[bytes, bytes]]) -> list[int]:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": "/", "query_string": b"", "headers": headers}
    asyncio.run(app(scope, _nothing, send))
    return [message["status"] for message in sent if "status" in message]
