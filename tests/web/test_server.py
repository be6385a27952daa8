"""The server's address, and its end."""

import socket
from contextlib import ExitStack, suppress
from http.client import HTTPConnection
from typing import Any

import pytest

from seesay.errors import SeesayError
from seesay.library.library import Library
from seesay.web.access import Access
from seesay.web.lanes import Amount, BusyError
from seesay.web.server import address_of, open_socket, running, serve


def test_a_port_that_is_taken_is_told_with_what_to_type() -> None:
    with open_socket("127.0.0.1", 0) as taken, pytest.raises(SeesayError, match="is taken") as error:
        open_socket("127.0.0.1", taken.getsockname()[1])
    assert error.value.hint == "--port 0 takes one that is free"


def test_an_address_of_another_machine_is_refused() -> None:
    with pytest.raises(SeesayError, match=r"cannot listen at 192\.0\.2\.1"):
        open_socket("192.0.2.1", 0)


def test_an_address_for_everybody_is_told_by_the_name_of_the_machine() -> None:
    access = Access.for_host("0.0.0.0", token="0123456789abcdef")
    assert address_of(access, 8765) == f"http://{socket.gethostname()}:8765/?token=0123456789abcdef"
    assert access.knows_host(f"{socket.gethostname()}:8765")


def test_it_answers_while_the_block_runs_and_not_after_it(library: Library) -> None:
    with running(library, Access.for_host("127.0.0.1"), prepare=False, workers=1) as address:
        port = int(address.rsplit(":", 1)[1].rstrip("/"))
        targets = ("/", "/api/search?q=red", "/static/../../app.py", "/%2e%2e/%2e%2e/etc/passwd")
        answers = [_ask(port, target) for target in targets]
    assert [status for status, _, _ in answers] == [200, 200, 404, 404]
    assert "server" not in answers[0][1]
    assert "default-src 'none'" in answers[0][1]["content-security-policy"]
    with pytest.raises(ConnectionError):
        _ask(port, "/")


def test_it_says_its_address_and_ends_with_ctrl_c(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    import uvicorn

    def press_ctrl_c(self: Any, sockets: list[socket.socket]) -> None:
        assert told == [f"http://127.0.0.1:{sockets[0].getsockname()[1]}/"]
        raise KeyboardInterrupt

    monkeypatch.setattr(uvicorn.Server, "run", press_ctrl_c)
    told: list[str] = []
    serve(library, Access.for_host("127.0.0.1"), 0, on_ready=told.append)
    assert told


def test_a_head_without_end_is_cut_off(library: Library) -> None:
    with running(library, Access.for_host("127.0.0.1"), prepare=False, workers=1) as address:
        port = int(address.rsplit(":", 1)[1].rstrip("/"))
        with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
            connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Long: " + b"a" * 70_000)
            assert b" 400 " in connection.recv(1000)


def test_a_request_with_two_ends_is_refused_and_what_follows_is_not_read(library: Library) -> None:
    """A server in front that reads the other end would take what follows for the next visitor's request."""
    with running(library, Access(), prepare=False) as address:
        port = _port(address)
        with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
            head = f"POST /api/search HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
            ends = "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
            connection.sendall(f"{head}{ends}GET /api/status HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
            answer = b"".join(iter(lambda: connection.recv(65536), b""))
    assert answer.startswith(b"HTTP/1.1 400")
    assert b"says in two ways where it ends" in answer
    assert answer.count(b"HTTP/1.1 ") == 1


def test_what_visitors_send_is_not_told_on_the_terminal(library: Library, capfd: pytest.CaptureFixture[str]) -> None:
    """A line for each request that is none would fill the disk that it is written to."""
    with (
        running(library, Access(), prepare=False) as address,
        socket.create_connection(("127.0.0.1", _port(address)), timeout=30) as connection,
    ):
        connection.sendall(b"nonsense\r\n\r\n")
        assert connection.recv(1000).startswith(b"HTTP/1.1 400")
    assert capfd.readouterr().err == ""


def _ask(port: int, target: str) -> tuple[int, dict[str, str], bytes]:
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", target)
    answer = connection.getresponse()
    found = answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
    connection.close()
    return found


def _port(address: str) -> int:
    return int(address.rsplit(":", 1)[1].rstrip("/"))


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Half: "])
def test_hundreds_that_say_nothing_keep_nobody_out(
    library: Library, monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    monkeypatch.setattr("seesay.web.connections.HEADER_SECONDS", 600.0)
    monkeypatch.setattr("seesay.web.connections.MOST", 200)
    with running(library, Access.for_host("127.0.0.1"), prepare=False, workers=1) as address, ExitStack() as stack:
        for _ in range(300):
            idle = stack.enter_context(socket.create_connection(("127.0.0.1", _port(address)), timeout=60))
            idle.sendall(sent)
        assert _ask(_port(address), "/api/search?q=red")[0] == 200


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Half: "])
def test_a_header_that_does_not_come_ends_the_connection(
    library: Library, monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    monkeypatch.setattr("seesay.web.connections.HEADER_SECONDS", 0.2)
    with running(library, Access.for_host("127.0.0.1"), prepare=False, workers=1) as address:
        with socket.create_connection(("127.0.0.1", _port(address)), timeout=60) as connection:
            connection.sendall(sent)
            with suppress(ConnectionResetError):
                assert connection.recv(1) == b""
        assert _ask(_port(address), "/")[0] == 200


def test_a_visitor_who_leaves_during_an_upload_is_no_error(
    library: Library, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    with running(library, Access.for_host("127.0.0.1"), prepare=False, workers=1) as address:
        for _ in range(5):
            with socket.create_connection(("127.0.0.1", _port(address)), timeout=60) as connection:
                head = (
                    f"POST /api/search HTTP/1.1\r\nHost: 127.0.0.1:{_port(address)}\r\nContent-Length: 1000000\r\n\r\n"
                )
                connection.sendall(head.encode() + bytes(1000))
        assert _ask(_port(address), "/")[0] == 200
    assert "Traceback" not in caplog.text + capfd.readouterr().err


HEAD = "POST /api/search HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n"
BAD_ENDS = {
    "a length that is none": "Content-Length: x\r\n\r\n",
    "a chunk that is none": "Transfer-Encoding: chunked\r\n\r\n5\r\nhelloXX\r\n0\r\n\r\n",
    "a chunk cut by a line": "Transfer-Encoding: chunked\r\n\r\n8\re\r\n\r\n",
    "two lengths": "Content-Length: 1\r\nContent-Length: 2\r\n\r\nab",
    "a request behind it that is none": "Content-Length: 2\r\n\r\nab\x00\x01 nonsense\r\n\r\n",
}


@pytest.mark.parametrize("rest", BAD_ENDS.values(), ids=BAD_ENDS)
def test_a_request_that_goes_wrong_in_the_middle_leaves_no_traceback(
    library: Library, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str], rest: str
) -> None:
    with running(library, Access.for_host("127.0.0.1"), prepare=False, workers=1) as address:
        port = _port(address)
        for begun in (False, True):  # whether somebody has begun to answer the request
            with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
                head, _, body = (HEAD.format(port) + rest).partition("\r\n\r\n")
                connection.sendall(f"{head}\r\n\r\n".encode())
                assert not begun or _ask(port, "/")[0] == 200
                with suppress(OSError):  # it may have been closed already
                    connection.sendall(body.encode())
                    connection.shutdown(socket.SHUT_WR)
                    assert connection.recv(12) in (b"", b"HTTP/1.1 400")
        assert _ask(port, "/")[0] == 200
    assert "Traceback" not in caplog.text + capfd.readouterr().err
    assert not any(record.exc_info for record in caplog.records)


def test_a_photo_that_comes_too_slowly_is_refused(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seesay.web.routes.FIRST_SECONDS", 0.2)
    with running(library, Access.for_host("127.0.0.1"), prepare=False, workers=1) as address, ExitStack() as stack:
        connection = stack.enter_context(socket.create_connection(("127.0.0.1", _port(address)), timeout=60))
        connection.sendall(f"{HEAD.format(_port(address))}Content-Length: 1000000\r\n\r\n".encode() + bytes(100))
        assert connection.recv(12) == b"HTTP/1.1 400"


def test_photos_that_are_sent_at_once_take_no_more_room_than_there_is(library: Library) -> None:
    with running(library, Access.for_host("127.0.0.1"), prepare=False, workers=1) as address, ExitStack() as stack:
        stack.enter_context(pytest.MonkeyPatch.context()).setattr("seesay.web.lanes.Amount.add", _no_room)
        connection = HTTPConnection("127.0.0.1", _port(address), timeout=60)
        connection.request("POST", "/api/search", body=bytes(1000))
        answer = connection.getresponse()
        assert (answer.status, answer.getheader("retry-after")) == (503, "1")
        connection.close()


def _no_room(self: Amount, amount: int) -> None:
    raise BusyError("too many photos at once")


def test_who_does_not_read_the_answer_is_cut_off(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seesay.web.connections.WRITE_SECONDS", 0.3)
    with running(library, Access.for_host("127.0.0.1"), prepare=False, workers=1) as address:
        with socket.socket() as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            connection.settimeout(60)
            connection.connect(("127.0.0.1", _port(address)))
            asked = f"GET /static/main.js HTTP/1.1\r\nHost: 127.0.0.1:{_port(address)}\r\n\r\n".encode()
            n_asked = 0
            with suppress(ConnectionError):
                while n_asked < 5000:  # until what the system holds for either side is full
                    connection.sendall(asked)
                    n_asked += 1
                    assert _ask(_port(address), "/")[0] == 200
            assert n_asked < 5000
        assert _ask(_port(address), "/")[0] == 200
