"""A library follows its folder."""

import os
import shutil
import zlib
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from PIL import Image

from seesay.errors import SeesayError
from seesay.library.indexing import intake
from seesay.library.library import Library
from seesay.library.types import Counts, Filter

Open = Callable[..., Library]


def names(library: Library) -> list[str]:
    return sorted(photo.path.name for photo in library.latest(99))


def encoded(library: Library) -> int:
    return int(library.encoder.n_encoded)  # type: ignore[attr-defined]


def test_what_is_there_is_indexed_once(open_library: Open, photos: Path) -> None:
    library = open_library()
    done = library.index(photos)
    assert (done.n_found, done.n_added, done.n_encoded, done.failures) == (4, 4, 4, [])
    assert names(library) == ["blue.jpg", "green.png", "red.png", "white.png"]
    again = open_library()
    done = again.index(photos)
    assert (done.n_found, done.n_added, done.n_changed, done.n_encoded) == (4, 0, 0, 0)
    assert encoded(again) == 0


def test_a_file_whose_size_and_time_are_known_is_not_opened(
    library: Library, photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intake, "_read", lambda file: pytest.fail("it was opened"))
    assert library.index(photos).n_found == 4


def test_a_renamed_photo_is_not_encoded_again(library: Library, photos: Path) -> None:
    before = encoded(library)
    (photos / "red.png").rename(photos / "2019" / "crimson.png")
    done = library.index(photos)
    assert (done.n_added, done.n_removed, done.n_encoded) == (1, 1, 0)
    assert encoded(library) == before
    assert names(library) == ["blue.jpg", "crimson.png", "green.png", "white.png"]
    assert library.store.counts() == Counts(4, 4, 0)


def test_a_copy_is_not_encoded_either(library: Library, photos: Path) -> None:
    shutil.copy(photos / "red.png", photos / "copy.png")
    assert library.index(photos).n_encoded == 0
    assert library.store.counts() == Counts(5, 4, 0)


def test_copies_that_are_met_for_the_first_time_are_encoded_once(open_library: Open, photos: Path) -> None:
    for number in range(10):
        shutil.copy(photos / "red.png", photos / f"copy{number}.png")
    library = open_library()
    seen: list[tuple[int, int]] = []
    done = library.index(photos, workers=3, on_progress=lambda *step: seen.append(step))
    assert (done.n_added, done.n_encoded) == (14, 4)
    assert encoded(library) == 4
    assert seen[0] == (0, 14)
    assert seen[-1] == (14, 14)


def test_a_deleted_photo_disappears_with_its_thumbnail(library: Library, photos: Path) -> None:
    (photo,) = (photo for photo in library.latest(9) if photo.path.name == "red.png")
    (photos / "red.png").unlink()
    assert library.index(photos).n_removed == 1
    assert names(library) == ["blue.jpg", "green.png", "white.png"]
    assert library.thumbnail(photo.id) is None
    assert library.store.counts() == Counts(3, 3, 0)
    assert "red.png" not in {result.path.name for result in library.search("red")}


def test_an_edited_photo_is_encoded_again(library: Library, photos: Path) -> None:
    Image.new("RGB", (50, 50), "blue").save(photos / "red.png")
    done = library.index(photos)
    assert (done.n_added, done.n_changed, done.n_encoded) == (0, 1, 1)
    assert {result.path.name for result in library.search("blue", top=1)} <= {"red.png", "blue.jpg"}
    assert library.store.counts().contents == 4


def test_a_touched_photo_is_read_and_not_encoded(library: Library, photos: Path) -> None:
    os.utime(photos / "red.png", ns=(5, 5))
    done = library.index(photos)
    assert (done.n_changed, done.n_encoded) == (1, 0)
    assert library.index(photos).n_changed == 0


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "it is empty (0 bytes)"),
        (b"hello", "not an image of a known format (allowed: JPEG, "),
        (b"\xff\xd8\xff\xe0", "damaged or cut off"),
        (b"\0\0\0\x18ftypheic\0\0\0\0mif1heic", "HEIC needs|damaged or cut off"),
    ],
)
def test_an_unusable_file_is_kept_with_its_reason_and_tried_again_when_it_changes(
    library: Library, photos: Path, content: bytes, reason: str
) -> None:
    path = photos / "odd.jpg"
    path.write_bytes(content)
    done = library.index(photos)
    (failure,) = library.failures()
    assert done.failures == [failure]
    assert failure.path == path
    assert any(part in failure.reason for part in reason.split("|"))
    assert str(photos) not in failure.reason
    assert library.index(photos).failures == []
    assert library.index(photos, retry=True).failures == [failure]
    Image.new("RGB", (9, 9), "red").save(path)
    assert library.index(photos).failures == []
    assert library.failures() == []
    assert library.store.counts() == Counts(5, 5, 0)


def test_a_photo_that_breaks_becomes_a_failure(library: Library, photos: Path) -> None:
    (photos / "red.png").write_bytes(b"broken")
    library.index(photos)
    assert library.store.counts() == Counts(3, 3, 1)
    (photos / "red.png").unlink()
    assert library.index(photos).n_removed == 1
    assert library.failures() == []


def test_copies_of_one_unusable_file_all_fail(open_library: Open, photos: Path) -> None:
    for number in range(6):
        (photos / f"odd{number}.jpg").write_bytes(b"the same nonsense")
    library = open_library()
    assert len(library.index(photos, workers=2).failures) == 6
    assert len(library.failures()) == 6


def test_huge_pictures_and_files_are_refused_unread(
    open_library: Open, photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chunk = b"IHDR" + (30_000).to_bytes(4, "big") * 2 + b"\x08\x02\0\0\0"
    header = b"\x89PNG\r\n\x1a\n\0\0\0\r" + chunk + zlib.crc32(chunk).to_bytes(4, "big") + b"\0\0\0\x01IDAT"
    (photos / "huge.png").write_bytes(header)
    monkeypatch.setattr(intake, "LARGEST", 2000)
    (photos / "fat.bmp").write_bytes(b"BM" + bytes(2000))
    library = open_library()
    reasons = {failure.path.name: failure.reason for failure in library.index(photos).failures}
    assert reasons["huge.png"].startswith("too large (30000 x 30000) (allowed: up to 100,000,000 pixels, ")
    assert reasons["fat.bmp"] == "2,002 bytes are too many (allowed: up to 2,000 bytes)"


def test_a_file_that_goes_away_meanwhile_is_no_accident(
    library: Library, photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(photos / "red.png", photos / "fleeting.png")
    real = intake._read

    def read_late(file: Any) -> Any:
        (photos / "fleeting.png").unlink(missing_ok=True)
        return real(file)

    monkeypatch.setattr(intake, "_read", read_late)
    (failure,) = library.index(photos).failures
    assert failure.reason == "no such file or directory"
    assert library.index(photos).n_removed == 1
    assert library.failures() == []


def test_a_folder_that_cannot_be_listed_costs_none_of_its_photos(
    library: Library, photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.scandir

    def refuse(path: bytes) -> Any:
        if path.endswith(b"/2019"):
            raise PermissionError(13, "Permission denied")
        return real(path)

    monkeypatch.setattr(os, "scandir", refuse)
    done = library.index(photos)
    assert done.unreadable == {photos / "2019": "Permission denied"}
    assert done.n_removed == 0
    assert library.store.counts().photos == 4


def test_a_disk_that_is_away_costs_nothing(library: Library, photos: Path) -> None:
    away = photos.with_name("unmounted")
    photos.rename(away)
    with pytest.raises(SeesayError, match="does not exist"):
        library.index(photos)
    photos.mkdir()  # the empty place where it was mounted
    with pytest.raises(SeesayError, match=r"holds no photo, and the library knows 4 of it\n  try: if they are gone"):
        library.index(photos)
    assert library.store.counts().photos == 4
    photos.rmdir()
    away.rename(photos)
    assert library.index(photos).n_encoded == 0


def test_a_batch_is_one_commit_and_an_interruption_keeps_the_finished_ones(
    open_library: Open, tmp_path: Path, toy: ModuleType
) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(14):
        toy.draw(folder / f"{number:02}.png", number)
    library = open_library()

    def interrupt(done: int, total: int) -> None:
        if done == 8:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        library.index(folder, workers=1, on_progress=interrupt)
    n_kept = open_library().store.counts().photos
    assert n_kept in (8, 12)  # the batch that was at hand may have been finished
    again = open_library()
    done = again.index(folder, workers=1)
    assert (done.n_added, encoded(again)) == (14 - n_kept, 14 - n_kept)


ORIENTATIONS = {
    1: None, 2: Image.Transpose.FLIP_LEFT_RIGHT, 3: Image.Transpose.ROTATE_180, 4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE, 6: Image.Transpose.ROTATE_90, 7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_270,
}  # fmt: skip


def test_all_eight_orientations_give_one_vector_and_one_thumbnail(open_library: Open, tmp_path: Path) -> None:
    upright = Image.new("RGB", (96, 72), "blue")
    upright.paste("red", (0, 0, 48, 36))
    upright.paste("white", (48, 36, 96, 72))
    folder = tmp_path / "turned"
    folder.mkdir()
    for orientation, stored in ORIENTATIONS.items():
        exif = Image.Exif()
        exif[0x0112] = orientation
        image = upright.transpose(stored) if stored is not None else upright
        image.save(folder / f"{orientation}.jpg", exif=exif, quality=95, subsampling=0)
    library = open_library()
    library.index(folder)
    hits = library.store.nearest(library.encoder.encode_text("red"), 9, Filter())
    assert len(hits) == 8
    for hit in hits:
        np.testing.assert_allclose(hit.vector, hits[0].vector, atol=0.03)
        (photo,) = hit.photos
        assert (photo.width, photo.height) == (96, 72)
        small = library.thumbnail(photo.id)
        assert small is not None
        np.testing.assert_allclose(
            np.asarray(Image.open(BytesIO(small))).astype(int)[[18, 18, 54, 54], [24, 72, 24, 72]],
            [(255, 0, 0), (0, 0, 255), (0, 0, 255), (255, 255, 255)],
            atol=40,
        )


def test_date_camera_and_size_come_from_the_file(open_library: Open, tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0132], exif[0x0110], exif[0x0112] = "2019:07:04 12:30:00", "Pixel 3", 6
    (tmp_path / "photos").mkdir()
    Image.new("RGB", (40, 30)).save(tmp_path / "photos" / "a.jpg", exif=exif)
    library = open_library()
    library.index(tmp_path / "photos")
    (photo,) = library.latest(2)
    assert (photo.date, photo.taken, photo.camera) == ("2019-07-04T12:30:00", "2019-07-04T12:30:00", "Pixel 3")
    assert (photo.width, photo.height) == (30, 40)


def test_tags_are_kept(library: Library) -> None:
    (result,) = library.search("blue", top=1)
    assert library.store.tags([result.photo.content]) == {result.photo.content: ((2, 0.5),)}


def test_the_photos_are_never_written_to(open_library: Open, photos: Path) -> None:
    def look() -> list[tuple[str, int, bytes]]:
        files = [path for path in sorted(photos.rglob("*")) if path.is_file()]
        return [(str(path), path.stat().st_mtime_ns, path.read_bytes()) for path in files]

    before = look()
    library = open_library()
    library.index(photos)
    library.search("red")
    library.forget(photos)
    assert look() == before


def test_one_photo_never_ends_an_index(open_library: Open, photos: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = open_library()
    encode = library.encoder.encode_photos

    def fail_for_red(images: list[Image.Image]) -> Any:
        if any(image.getpixel((0, 0)) == (255, 0, 0) for image in images):
            raise MemoryError
        return encode(images)

    monkeypatch.setattr(library.encoder, "encode_photos", fail_for_red)
    done = library.index(photos)
    assert {failure.path.name: failure.reason for failure in done.failures} == {
        "red.png": "cannot be used: MemoryError"
    }
    assert names(library) == ["blue.jpg", "green.png", "white.png"]


def test_a_model_that_fails_for_every_photo_is_no_fault_of_theirs(
    open_library: Open, photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(images: list[Image.Image]) -> Any:
        raise RuntimeError("the weights are damaged")

    library = open_library()
    monkeypatch.setattr(library.encoder, "encode_photos", fail)
    with pytest.raises(RuntimeError, match="damaged"):
        library.index(photos)
    assert library.status().counts == Counts(0, 0, 0)


@pytest.mark.parametrize("size", [(90_000_000, 1), (1, 90_000_000)])
def test_a_line_of_pixels_is_refused(open_library: Open, photos: Path, size: tuple[int, int]) -> None:
    chunk = b"IHDR" + size[0].to_bytes(4, "big") + size[1].to_bytes(4, "big") + b"\x08\x02\0\0\0"
    header = b"\x89PNG\r\n\x1a\n\0\0\0\r" + chunk + zlib.crc32(chunk).to_bytes(4, "big") + b"\0\0\0\x01IDAT"
    (photos / "line.png").write_bytes(header)
    (failure,) = open_library().index(photos).failures
    assert failure.reason.startswith(f"too large ({size[0]} x {size[1]})")


@pytest.mark.parametrize("seconds", [13_569_465_600, -5_000_000_000])
def test_a_photo_of_another_century_is_indexed_once(open_library: Open, photos: Path, seconds: int) -> None:
    os.utime(photos / "red.png", (seconds, seconds))
    library = open_library()
    assert library.index(photos).n_added == 4
    assert library.index(photos).n_changed == 0


@pytest.mark.parametrize("kind", ["fifo", "endless"])
def test_an_ignore_file_that_is_no_file_is_an_error_and_no_hang(open_library: Open, photos: Path, kind: str) -> None:
    if kind == "fifo":
        os.mkfifo(photos / ".seesayignore")
    else:
        (photos / ".seesayignore").symlink_to("/dev/zero")
    with pytest.raises(SeesayError, match="not a regular file"):
        open_library().index(photos)
