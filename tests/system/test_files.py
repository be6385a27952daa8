"""Where things are kept, and the one way they are written."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from seesay.errors import SeesayError
from seesay.system.files import cache_dir, expand_home, library_dir, prepare_folder, replace_atomically


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("SEESAY_CACHE", "XDG_CACHE_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def test_the_folders_of_a_system_are_used(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    monkeypatch.setattr("platformdirs.user_cache_path", lambda *_, **__: home / "Library" / "Caches" / "seesay")
    monkeypatch.setattr("platformdirs.user_data_path", lambda *_, **__: home / "Library" / "seesay")
    assert cache_dir() == home / "Library" / "Caches" / "seesay"
    assert library_dir() == home / "Library" / "seesay" / "library"


def test_linux_uses_those_of_the_standard(home: Path) -> None:
    assert cache_dir() == home / ".cache" / "seesay"
    assert library_dir() == home / ".local" / "share" / "seesay" / "library"


def test_folders_that_are_there_already_stay_in_use(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    monkeypatch.setattr("platformdirs.user_cache_path", lambda *_, **__: home / "Library" / "Caches" / "seesay")
    monkeypatch.setattr("platformdirs.user_data_path", lambda *_, **__: home / "Library" / "seesay")
    for place in (".cache/seesay", ".local/share/seesay"):
        (home / place).mkdir(parents=True)
    assert cache_dir() == home / ".cache" / "seesay"
    assert library_dir() == home / ".local" / "share" / "seesay" / "library"


def test_the_home_of_nobody_is_no_place(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder called `~nobody-here` would be made wherever the process happens to run."""
    monkeypatch.setenv("SEESAY_CACHE", "~nobody-here/cache")
    with pytest.raises(
        SeesayError, match="there is no home folder for '~nobody-here/cache'\n  allowed: an absolute path"
    ):
        cache_dir()
    monkeypatch.delenv("SEESAY_CACHE")
    monkeypatch.delenv("HOME")
    monkeypatch.setattr("pwd.getpwuid", {}.__getitem__)  # a user whom the system does not know
    with pytest.raises(SeesayError, match=r"there is no home folder for '~/\.cache'"):
        cache_dir()


def test_a_name_that_begins_as_that_of_a_user_is_a_name(home: Path) -> None:
    assert expand_home("~40 people") == Path("~40 people")
    assert expand_home("~/photos") == home / "photos"


def test_a_variable_goes_before_everything(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEESAY_CACHE", "~/mine")
    assert cache_dir() == home / "mine"
    monkeypatch.delenv("SEESAY_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / "caches"))
    assert cache_dir() == home / "caches" / "seesay"


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_a_file_has_the_rights_that_the_user_gives_files(tmp_path: Path, umask: int, mode: int) -> None:
    before = os.umask(umask)
    try:
        with replace_atomically(tmp_path / "file") as temporary:
            temporary.write_text("text")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == mode


def test_what_fails_in_the_middle_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old")

    def fail() -> None:
        with replace_atomically(tmp_path / "file") as temporary:
            temporary.write_text("half of the new")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("file", "old")]


def test_what_a_killed_writer_has_left_goes_with_the_next_start(tmp_path: Path) -> None:
    program = (
        "import os, signal, sys\nfrom pathlib import Path\nfrom seesay.system.files import replace_atomically\n"
        "with replace_atomically(Path(sys.argv[1])) as temporary:\n"
        "    temporary.write_text('half')\n    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    for name in ("file[1].json", "other.json"):
        assert subprocess.run([sys.executable, "-c", program, tmp_path / name], check=False).returncode == -9
    assert len(list(tmp_path.iterdir())) == 2
    with replace_atomically(tmp_path / "file[1].json") as temporary:
        assert not [path for path in tmp_path.glob(".file*") if path != temporary]
        with replace_atomically(tmp_path / "file[1].json") as another:  # two who write at once keep their own
            another.write_text("one")
        temporary.write_text("two")
    assert (tmp_path / "file[1].json").read_text() == "two"
    assert len(list(tmp_path.glob(".other*"))) == 1


def test_a_folder_that_a_killed_writer_was_filling_goes_with_the_next_start(tmp_path: Path) -> None:
    program = (
        "import os, signal, sys\nfrom pathlib import Path\nfrom seesay.system.files import prepare_folder\n"
        "with prepare_folder(Path(sys.argv[1])) as scratch:\n"
        "    (scratch / 'half').write_text('half')\n    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    for name in ("model", "other"):
        assert subprocess.run([sys.executable, "-c", program, tmp_path / name], check=False).returncode == -9
    with prepare_folder(tmp_path / "model") as scratch:
        assert [*tmp_path.glob(".model*")] == [scratch]
        assert not list(scratch.iterdir())
        with prepare_folder(tmp_path / "model") as another:  # two who write at once keep their own
            assert scratch.exists()
            assert another != scratch
        assert not another.exists()
    assert not list(tmp_path.glob(".model*"))
    assert len(list(tmp_path.glob(".other*"))) == 1


def test_a_folder_that_cannot_be_made_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SeesayError, match="cannot write"), prepare_folder(tmp_path / "file" / "model"):
        pass
