"""Which files of a folder are photos of the library."""

import os
from pathlib import Path

import pytest

from seesay.errors import SeesayError
from seesay.library.indexing.scan import scan
from seesay.library.types import File, Folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "photos"
    for name in ("a.jpg", "2019/b.JPEG", "2019/deep/er/c.webp"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"...")
    return folder


def found(root: Path, *exclude: str, below: Path | None = None) -> list[str]:
    return [os.fsdecode(os.path.relpath(path, os.fsencode(root))) for path in scan(Folder(root, exclude), below).files]


def test_photos_at_any_depth_in_the_order_of_their_names(root: Path) -> None:
    assert found(root) == ["a.jpg", "2019/b.JPEG", "2019/deep/er/c.webp"]


def test_size_and_time_are_those_of_the_disk(root: Path) -> None:
    os.utime(root / "a.jpg", ns=(1, 123_456_789_012))
    path = os.fsencode(root / "a.jpg")
    assert scan(Folder(root)).files[path] == File(path, 3, 123_456_789_012)


def test_only_names_of_pictures_count_whatever_the_case(root: Path) -> None:
    for name in ("x.HeIc", "y.avif", "notes.txt", "movie.mp4", "jpg", "z.jpg.part", "archive.tar.gz"):
        (root / name).write_bytes(b"...")
    assert found(root)[:3] == ["a.jpg", "x.HeIc", "y.avif"]
    assert len(found(root)) == 5


def test_hidden_files_and_folders_are_left_out(root: Path) -> None:
    (root / ".thumbs").mkdir()
    (root / ".thumbs" / "a.jpg").write_bytes(b"...")
    (root / "._a.jpg").write_bytes(b"...")
    assert len(found(root)) == 3


def test_a_hidden_folder_that_is_asked_for_by_name_is_scanned(root: Path) -> None:
    (root / ".private").mkdir()
    (root / ".private" / "d.jpg").write_bytes(b"...")
    assert found(root / ".private") == ["d.jpg"]


def test_patterns_leave_out_files_and_whole_folders(root: Path) -> None:
    assert found(root, "deep/") == ["a.jpg", "2019/b.JPEG"]
    assert found(root, "*.jpg", "/2019/deep") == ["2019/b.JPEG"]


def test_an_ignore_file_speaks_of_its_own_folder_and_what_is_below(root: Path) -> None:
    (root / "2019" / ".seesayignore").write_text("*.webp\n/a.jpg\n")
    (root / "2019" / "a.jpg").write_bytes(b"...")
    assert found(root) == ["a.jpg", "2019/b.JPEG"]


def test_part_of_a_folder_obeys_what_stands_above_it(root: Path) -> None:
    (root / ".seesayignore").write_text("*.webp\n")
    assert found(root, below=root / "2019") == ["2019/b.JPEG"]
    assert found(root, "*.JPEG", below=root / "2019") == []


@pytest.mark.parametrize(("name", "why"), [("2019/deep", "a pattern leaves it out"), (".hidden/x", "it is hidden")])
def test_a_part_that_is_left_out_is_refused(root: Path, name: str, why: str) -> None:
    (root / name).mkdir(parents=True, exist_ok=True)
    with pytest.raises(SeesayError, match=f"is no part of the indexed folder .*: {why}"):
        found(root, "deep/", below=root / name)


def test_links_are_followed_but_not_in_circles(root: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "sub").mkdir(parents=True)
    (elsewhere / "e.jpg").write_bytes(b"...")
    (elsewhere / "sub" / "back").symlink_to(elsewhere)
    (elsewhere / "sub" / "up").symlink_to(root)
    (root / "link").symlink_to(elsewhere)
    (root / "link2").symlink_to(elsewhere)
    (root / "self").symlink_to(root)
    (root / "2019" / "above").symlink_to(tmp_path)
    (root / "2019" / "again").symlink_to(root / "2019" / "deep")
    (root / "one.jpg").symlink_to(root / "a.jpg")
    (root / "nothing.jpg").symlink_to(root / "absent.jpg")
    (root / "circle").symlink_to(root / "circle")
    assert found(root) == ["a.jpg", "one.jpg", "2019/b.JPEG", "2019/deep/er/c.webp", "link/e.jpg"]


def test_odd_names_are_found_as_they_are(root: Path) -> None:
    names = [b"100%_a.jpg", b"new\nline.jpg", b"caf\xe9.jpg", b"-rf.jpg", b" .jpg", "日本.jpg".encode()]
    for name in names:
        with open(os.path.join(os.fsencode(root), name), "wb") as file:  # noqa: PTH123, PTH118 - no text
            file.write(b"...")
    assert {path.rpartition(b"/")[2] for path in scan(Folder(root, ("*.tif",))).files} >= set(names)


def test_pipes_and_folders_with_photo_names_are_no_photos(root: Path) -> None:
    os.mkfifo(root / "pipe.jpg")
    (root / "folder.jpg").mkdir()
    (root / "folder.jpg" / "in.jpg").write_bytes(b"...")
    assert "pipe.jpg" not in found(root)
    assert "folder.jpg/in.jpg" in found(root)


def test_a_folder_that_cannot_be_listed_hides_what_it_holds(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.scandir

    def refuse(path: bytes) -> object:
        if path.endswith(b"/2019"):
            raise PermissionError(13, "Permission denied")
        return real(path)

    monkeypatch.setattr(os, "scandir", refuse)  # root may list everything, so file modes cannot stage this
    listing = scan(Folder(root))
    place = os.fsencode(root / "2019")
    assert listing.unreadable == {place: "Permission denied"}
    assert listing.is_hidden(place + b"/deep/er/c.webp")
    assert not listing.is_hidden(place + b"2/c.webp")
    with pytest.raises(SeesayError, match=r"cannot list .*2019: Permission denied"):
        scan(Folder(root), root / "2019")


def test_a_folder_that_is_not_there_is_said(root: Path) -> None:
    with pytest.raises(SeesayError, match=r"there is no folder .*absent\n  try: if it is gone for good"):
        scan(Folder(root / "absent"))


def test_the_whole_machine_is_no_folder_of_photos(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "scandir", lambda place: pytest.fail("it was listed"))
    with pytest.raises(SeesayError, match="/ is the whole machine"):
        scan(Folder(Path("/")))


def test_scanning_writes_nothing(root: Path) -> None:
    before = sorted((path, path.lstat().st_mtime_ns) for path in root.rglob("*"))
    scan(Folder(root))
    assert sorted((path, path.lstat().st_mtime_ns) for path in root.rglob("*")) == before
