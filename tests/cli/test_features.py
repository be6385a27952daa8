"""`seesay features`: compute once, say what was done, and fail only by what failed."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Call = Callable[..., Any]
SMALL = ("--backbone", "efficientnet-lite0", "--size", 64)


@pytest.fixture
def few(colours: Path, tmp_path: Path) -> Path:
    """The test pictures of the colours, as a collection of its own."""
    root = tmp_path / "few"
    (root / "images").mkdir(parents=True)
    header, *rows = (colours / "captions.csv").read_text().splitlines()
    rows = [row for row in rows if row.endswith(",test")]
    (root / "captions.csv").write_text("\n".join([header, *rows]) + "\n")
    for name in {row.split(",")[0] for row in rows}:
        shutil.copy(colours / "images" / name, root / "images" / name)
    return root


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SEESAY_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "features"


def test_features_are_computed_once(seesay: Call, few: Path, own_cache: Path) -> None:
    code, out, err = seesay("features", few, *SMALL)
    assert (code, err) == (0, "")
    assert out.startswith("8 photos have features in ")
    assert "(8 computed in this run)" in out
    (store,) = own_cache.iterdir()
    assert str(store) in out
    assert [path.name for path in store.iterdir()] == ["pooled"]
    code, out, _ = seesay("features", few, *SMALL)
    assert code == 0
    assert "(0 computed in this run)" in out


def test_maps_are_kept_where_they_are_asked_for(seesay: Call, few: Path, own_cache: Path) -> None:
    code, out, _ = seesay("features", few, *SMALL, "--maps", "--json", "--split", "test")
    assert code == 0
    summary = json.loads(out)
    assert (summary["collection"], summary["images"], summary["computed"]) == ("few", 8, 8)
    assert (summary["failures"], summary["missing"]) == ({}, 0)
    assert {path.name for path in Path(summary["store"]).iterdir()} == {"pooled", "map"}


def test_broken_and_missing_pictures_are_named_and_the_others_computed(seesay: Call, few: Path) -> None:
    (few / "images" / "red_5.png").write_bytes(b"")
    (few / "images" / "blue_5.png").unlink()
    code, out, err = seesay("features", few, *SMALL)
    assert code == 1
    assert out.startswith("6 photos have features")
    assert "(6 computed in this run)" in out
    assert f"not usable: {few / 'images' / 'red_5.png'}: cannot open" in err
    assert "1 photos of the collection do not exist here" in err
    code, out, err = seesay("features", few, *SMALL, "--json")
    assert (code, err) == (1, "")
    summary = json.loads(out)
    assert (summary["images"], summary["computed"], summary["missing"]) == (7, 0, 1)
    assert list(summary["failures"]) == [str(few / "images" / "red_5.png")]


def test_the_pictures_may_lie_elsewhere(seesay: Call, few: Path, tmp_path: Path) -> None:
    shutil.move(few / "images", tmp_path / "elsewhere")
    code, out, _ = seesay("features", few, *SMALL, "--images", tmp_path / "elsewhere")
    assert code == 0
    assert out.startswith("8 photos")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--backbone", "lite0"), "there is no backbone 'lite0'\n  allowed: alexnet, efficientnet-lite0, "),
        (("--backbone", "vgg16"), "vgg16 comes without weights"),
        (("--size", 16), "an input of 16 pixels is too small for efficientnet-lite2"),
        (("--crop", "centre"), "there is no crop 'centre'\n  allowed: squash, mirror, ten-crop"),
        (("--crop", "ten-crop", "--maps"), "ten crops have no common map"),
        (("--split", "train"), "few has no split 'train'\n  allowed: test"),
    ],
)
def test_impossible_features_are_refused(seesay: Call, few: Path, options: tuple[object, ...], message: str) -> None:
    code, out, err = seesay("features", few, *options)
    assert (code, out) == (2, "")
    assert message in err


def test_an_unknown_collection_is_refused(seesay: Call, tmp_path: Path) -> None:
    code, _, err = seesay("features", tmp_path / "absent")
    assert code == 2
    assert f"there is no {tmp_path / 'absent'}" in err


def test_an_interruption_keeps_what_was_finished(seesay: Call, few: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from seesay.images import extraction

    whole = extraction._compute_all

    def interrupted(*arguments: Any) -> Any:
        for n_done, outcome in enumerate(whole(*arguments)):
            if n_done == 3:
                raise KeyboardInterrupt
            yield outcome

    monkeypatch.setattr(extraction, "_compute_all", interrupted)
    code, out, err = seesay("features", few, *SMALL)
    assert (code, out) == (130, "")
    assert "the same command goes on from there" in err
    monkeypatch.undo()
    monkeypatch.setenv("SEESAY_CACHE", str(few.parent / "cache"))
    code, out, _ = seesay("features", few, *SMALL)
    assert code == 0
    assert "(5 computed in this run)" in out


def test_a_folder_of_photos_needs_no_sentences(seesay: Call, few: Path) -> None:
    code, out, err = seesay("features", few / "images", *SMALL, "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["images"] == 8
    assert seesay("features", few / "images", "--split", "test", *SMALL).code == 2
