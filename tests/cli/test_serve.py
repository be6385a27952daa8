"""`seesay serve` and `seesay demo`, up to where the server begins."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from seesay.cli.typed import as_typed
from seesay.cli.use import demo, serve
from seesay.errors import SeesayError
from seesay.web.access import Access

app = typer.Typer(pretty_exceptions_enable=False)
app.command()(as_typed(serve.serve))
app.command()(as_typed(demo.demo))


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """How the server was started, instead of a server."""
    calls: list[dict[str, Any]] = []

    def note(library: Any, access: Access, port: int, **options: Any) -> None:
        calls.append({"access": access, "port": port, **options, "library": library.store.name})
        options["on_ready"](f"http://{access.host}:{port}/" + (f"?token={access.token}" if access.token else ""))

    monkeypatch.setattr("seesay.web.server.serve", note)
    return calls


@pytest.fixture
def seesay(own_library: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    monkeypatch.delenv("SEESAY_TOKEN", raising=False)

    def call(*arguments: object) -> Any:
        return CliRunner().invoke(app, [str(argument) for argument in arguments])

    return call


def test_by_default_only_this_machine_sees_the_page(
    seesay: Any, served: list[dict[str, Any]], photo_folder: Path
) -> None:
    result = seesay("serve", photo_folder)
    assert (result.exit_code, result.stdout) == (0, "http://127.0.0.1:8765/\n")
    assert "not encrypted" not in result.stderr
    (call,) = served
    assert (call["access"].host, call["access"].token, call["port"]) == ("127.0.0.1", None, 8765)
    assert (call["folders"], call["every"]) == ([photo_folder.resolve()], 300)


def test_where_others_may_come_in_there_is_a_token_and_a_warning(seesay: Any, served: list[dict[str, Any]]) -> None:
    result = seesay("serve", "--host", "0.0.0.0", "--port", 9000, "--name", "photos.home")
    token = served[0]["access"].token
    assert len(token) == 32
    assert result.stdout == f"http://0.0.0.0:9000/?token={token}\n"
    assert "not encrypted" in result.stderr
    assert "photos.home" in served[0]["access"].names


def test_the_token_can_come_from_the_environment(
    seesay: Any, served: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEESAY_TOKEN", "a-token-of-some-length")
    seesay("serve")
    assert served[0]["access"].token == "a-token-of-some-length"


def test_the_token_can_come_from_a_file(seesay: Any, served: list[dict[str, Any]], tmp_path: Path) -> None:
    (tmp_path / "token").write_text("a-token-of-some-length\n")
    seesay("serve", "--token-file", tmp_path / "token")
    assert served[0]["access"].token == "a-token-of-some-length"
    result = seesay("serve", "--token-file", tmp_path / "none")
    assert "cannot read the token" in str(result.exception)


def test_a_folder_that_is_not_there_is_told_before_anything_starts(
    seesay: Any, served: list[dict[str, Any]], tmp_path: Path
) -> None:
    result = seesay("serve", tmp_path / "nowhere")
    assert isinstance(result.exception, SeesayError)
    assert "does not exist" in result.exception.what
    assert served == []


def test_the_page_is_opened_where_that_is_wanted(
    seesay: Any, served: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    seesay("serve", "--open")
    assert opened == ["http://127.0.0.1:8765/"]


def test_the_demo_finds_captions_and_explains_without_any_input(
    seesay: Any, served: list[dict[str, Any]], own_library: Path, tmp_path: Path
) -> None:
    result = seesay("demo", "--serve", "--port", 0, "-o", tmp_path / "seen.png")
    assert result.exit_code == 0, result.exception
    assert result.stdout.startswith("8 sample photos in ")
    searched = result.stdout.split("$ seesay search ")[1:]
    assert [part.splitlines()[1].split()[-1] for part in searched] == ["coffee.jpg", "cat.jpg", "coffee.jpg"]
    assert "\nphotographer.jpg: a man" in result.stdout
    assert "\ntripod " in result.stdout
    assert result.stdout.endswith("http://127.0.0.1:0/\n")
    assert (tmp_path / "seen.png").stat().st_size > 10_000
    assert not own_library.exists()  # a person's own library has nothing to do with it
    assert not Path(served[0]["library"]).exists()  # and nothing is kept


def test_sample_photos_are_few_small_and_licensed() -> None:
    import seesay

    samples = Path(seesay.__file__).parent / "samples"
    photos = sorted(samples.glob("*.jpg"))
    assert sum(photo.stat().st_size for photo in photos) < 600_000
    licences = (samples / "LICENCES.md").read_text(encoding="utf-8")
    assert [photo.name for photo in photos if f"`{photo.name}`" not in licences] == []
