"""What a result may take the place of, and what stays."""

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image

from seesay.drawing.sheets import save_picture
from seesay.errors import SeesayError
from seesay.system.files import replace_atomically
from seesay.system.results import check_result, check_result_folder, is_result


@pytest.fixture
def photo(tmp_path: Path) -> Path:
    path = tmp_path / "photo.png"
    Image.new("RGB", (4, 3), "red").save(path)
    return path


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("other_name", ["photo.png", "sub/../photo.png", "link.png", "hard.png"])
def test_an_input_stays_by_whatever_name(photo: Path, other_name: str, overwrite: bool) -> None:
    (photo.parent / "sub").mkdir()
    (photo.parent / "link.png").symlink_to(photo)
    (photo.parent / "hard.png").hardlink_to(photo)
    with pytest.raises(SeesayError, match="is what this command reads"):
        check_result(photo.parent / other_name, inputs=[photo], overwrite=overwrite)


def test_photos_of_a_folder_that_is_read_stay_and_other_names_there_are_free(photo: Path) -> None:
    with pytest.raises(SeesayError, match="is what this command reads"):
        check_result(photo, inputs=[photo.parent], overwrite=True)
    check_result(photo.parent / "result.png", inputs=[photo.parent])


def test_an_empty_file_is_a_file_of_the_users(tmp_path: Path) -> None:
    (tmp_path / "empty.png").touch()
    with pytest.raises(SeesayError, match="seesay has not made it"):
        check_result(tmp_path / "empty.png")
    check_result(tmp_path / "empty.png", overwrite=True)


@pytest.mark.skipif(not os.access("/proc/kmsg", os.R_OK), reason="there is no such file here")
def test_a_file_that_blocks_is_no_result() -> None:
    with pytest.raises(SeesayError, match="seesay has not made it"):
        check_result(Path("/proc/kmsg"))


def test_a_file_of_the_users_needs_to_be_given_up(photo: Path) -> None:
    with pytest.raises(SeesayError, match="seesay has not made it") as refused:
        check_result(photo)
    assert refused.value.hint == "another name, or --overwrite"
    check_result(photo, overwrite=True)


@pytest.mark.parametrize("suffix", [".png", ".jpg", ".webp"])
def test_an_earlier_result_gives_way(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"result{suffix}"
    save_picture(Image.effect_noise((900, 900), 80).convert("RGB"), path)
    assert is_result(path)
    check_result(path)


@pytest.mark.parametrize(
    ("text", "ours"),
    [('[{"image_id": 7, "caption": "a dog"}]\n', True), ('[{"id": 7, "caption": "a dog"}]', False), ("[]\n", True)],
)
def test_captions_of_coco_are_known_by_their_form(tmp_path: Path, text: str, ours: bool) -> None:
    (tmp_path / "captions.json").write_text(text)
    assert is_result(tmp_path / "captions.json") == ours


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _link(path: Path) -> None:
    path.symlink_to(path.parent / "elsewhere")


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))


@pytest.mark.parametrize(
    ("make", "kind"), [(_pipe, "a pipe"), (_link, "a link"), (_socket, "a socket"), (Path.mkdir, "a folder")]
)
def test_what_is_no_file_stays(tmp_path: Path, make: Callable[[Path], None], kind: str) -> None:
    path = tmp_path / "r.png"
    make(path)
    with pytest.raises(SeesayError, match=f"it is {kind}"):
        save_picture(Image.new("RGB", (4, 3)), path)
    assert not path.is_file()


def test_a_device_stays() -> None:
    with pytest.raises(SeesayError, match="it is a device"):
        check_result(Path("/dev/null"), overwrite=True)


def test_nothing_is_written_into_the_folder_of_a_library(tmp_path: Path) -> None:
    (tmp_path / "library.db").touch()
    for name in ("library.db", "writer.lock", "any.png"):
        with pytest.raises(SeesayError, match="is the folder of a library"):
            check_result(tmp_path / name, overwrite=True)


@pytest.mark.parametrize("name", ["", ".", "x" * 300 + ".png", "a\0b.png", "/dev/null/a.png"])
def test_a_name_that_cannot_be_is_one_sentence(name: str) -> None:
    with pytest.raises(SeesayError):
        check_result(Path(name))


def test_a_full_disk_is_one_sentence() -> None:
    def fill() -> None:
        with replace_atomically(Path("/dev/shm/seesay-result")), Path("/dev/full").open("w") as full:
            full.write("text")

    with pytest.raises(SeesayError, match="no space left on device") as refused:
        fill()
    assert refused.value.hint == "make room on the disk"
    assert not Path("/dev/shm/seesay-result").exists()


def test_a_folder_of_results_holds_nothing_else(tmp_path: Path) -> None:
    folder = tmp_path / "report"
    check_result_folder(folder, holds=["report.json"])
    folder.mkdir()
    (folder / ".x.partial").touch()  # of a writer that was killed
    check_result_folder(folder, holds=["report.json"])
    (folder / "thesis.txt").touch()
    with pytest.raises(SeesayError, match="holds other things"):
        check_result_folder(folder, holds=["report.json"])
    check_result_folder(folder, holds=["report.json"], overwrite=True)
    (folder / "report.json").touch()
    check_result_folder(folder, holds=["report.json"])
    with pytest.raises(SeesayError, match="is a file"):
        check_result_folder(folder / "thesis.txt", holds=["report.json"])


def test_a_result_that_was_killed_before_it_was_one_is_begun_again(tmp_path: Path) -> None:
    (tmp_path / "run.lock").touch()
    with pytest.raises(SeesayError, match="other things"):
        check_result_folder(tmp_path, holds=["recipe.toml"])
    check_result_folder(tmp_path, holds=["recipe.toml"], begins=["run.lock", "log.jsonl"])
    (tmp_path / "letter.txt").touch()
    with pytest.raises(SeesayError, match="other things"):
        check_result_folder(tmp_path, holds=["recipe.toml"], begins=["run.lock", "log.jsonl"])
