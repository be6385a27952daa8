"""`seesay neighbours` with a captioner whose refined feature is known."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from seesay.drawing.sheets import ACCENT
from seesay.export.exporting import export_weights
from seesay.images.features import FeatureSpec
from seesay.models.mrnn import MRNN, MRNNConfig
from seesay.models.pretrained import load_captioner, save
from seesay.text.vocabulary import Vocabulary

Call = Callable[..., Any]


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A captioner that has learned nothing, and so sees pictures in a way of its own."""
    torch.manual_seed(0)
    config = MRNNConfig(embedding=4, recurrent=4, multimodal=6, n_marginal=1)
    model = MRNN(config, Vocabulary.build(["a red picture"], min_count=1), FeatureSpec("efficientnet-lite0", 64))
    folder = tmp_path_factory.mktemp("weights") / "untrained"
    save(folder, model, {"name": "untrained", "data": [], "figures": {}})
    export_weights(folder, precision="fp32")
    return folder


@pytest.fixture
def neighbours(seesay: Call, weights: Path, in_colours_cache: Path) -> Call:
    return lambda *arguments: seesay("neighbours", "-m", weights, *arguments)


def expected(weights: Path, photo: Path, others: list[Path], n: int) -> dict[str, list[str]]:
    """Names by falling cosine, one pair at a time."""
    model = load_captioner(weights)
    features = model.features([photo, *others])
    vectors = {"refined": model.refine(model.encode_images(features)), "original": features.pooled}
    found = {}
    for kind, (own, *rest) in vectors.items():
        by_cosine = [float(torch.nn.functional.cosine_similarity(own, other, dim=0)) for other in rest]
        found[kind] = [others[place].name for place in np.argsort(by_cosine)[::-1][:n]]
    return found


def test_neighbours_are_those_of_both_features_without_the_photo_itself(
    neighbours: Call, colours: Path, weights: Path
) -> None:
    photo = colours / "images" / "red_5.png"
    code, out, err = neighbours(photo, "--in", colours, "--split", "test", "-n", 3, "--json")
    assert (code, err) == (0, "")
    report = json.loads(out)
    assert (report["model"], report["in"], report["failures"]) == (str(weights), str(colours), {})
    (row,) = report["neighbours"]
    others = sorted(path for path in (colours / "images").glob("*_5.png") if path != photo)
    names = {kind: [Path(near["photo"]).name for near in row[kind]] for kind in ("refined", "original")}
    assert names == expected(weights, photo, others, 3)
    for kind in names:
        cosines = [near["cosine"] for near in row[kind]]
        assert cosines == sorted(cosines, reverse=True)


def test_the_table_has_both_kinds_side_by_side(neighbours: Call, colours: Path) -> None:
    code, out, err = neighbours(colours / "images" / "red_5.png", "--in", colours, "-n", 2)
    assert (code, err) == (0, "")
    title, header, *lines = out.splitlines()
    assert title.strip() == str(colours / "images" / "red_5.png")
    assert header.split() == ["refined", "photo", "original", "photo"]
    assert len(lines) == 2
    for line in lines:
        first, name, second, other = line.split()
        assert -1 <= float(first) <= 1
        assert -1 <= float(second) <= 1
        assert name.endswith(".png")
        assert other.endswith(".png")


def test_a_folder_of_photos_needs_no_sentences(
    neighbours: Call, colours: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("red_0", "red_1", "blue_0"):
        shutil.copy(colours / "images" / f"{name}.png", tmp_path / f"{name}.png")
    shutil.copy(tmp_path / "red_0.png", tmp_path / "copy.png")
    (tmp_path / "notes.txt").write_text("no picture")
    monkeypatch.chdir(tmp_path)
    code, out, err = neighbours("red_0.png", "--in", ".", "--json")
    assert (code, err) == (0, "")
    (row,) = json.loads(out)["neighbours"]
    names = {Path(near["photo"]).name for near in row["refined"]}
    assert names == {"red_1.png", "blue_0.png"}  # neither itself nor its copy


def test_the_sheet_shows_the_photo_and_two_rows(neighbours: Call, colours: Path, tmp_path: Path) -> None:
    sheet = tmp_path / "sheets" / "near.png"
    photo = colours / "images" / "blue_5.png"
    code, out, err = neighbours(photo, "--in", colours, "-n", 3, "-o", sheet, "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["picture"] == str(sheet)
    with Image.open(sheet) as drawn:
        pixels = np.asarray(drawn.convert("RGB")).astype(int)
    framed = np.argwhere((pixels == ACCENT).all(2))
    assert (np.ptp(framed, axis=0) + 1).tolist() == [200, 200]
    left = framed[:, 1].max() + 1
    coloured = np.ptp(pixels[:, left:], axis=2).max(1) > 60  # rows of the sheet that show something
    assert np.count_nonzero(np.diff(coloured.astype(int)) == 1) >= 2


def test_one_unreadable_photo_does_not_stop_the_rest(neighbours: Call, colours: Path, tmp_path: Path) -> None:
    (tmp_path / "damaged.jpg").write_bytes(b"\xff\xd8\xff damaged")
    photos = (tmp_path / "damaged.jpg", tmp_path / "gone.jpg", colours / "images" / "red_5.png")
    code, out, err = neighbours(*photos, "--in", colours, "-n", 1, "--json")
    assert (code, err) == (1, "")
    report = json.loads(out)
    assert [Path(row["photo"]).name for row in report["neighbours"]] == ["red_5.png"]
    assert set(report["failures"]) == {str(photo) for photo in photos[:2]}
    code, out, err = neighbours(*photos[:2], "--in", colours)
    assert (code, out) == (1, "")
    assert "damaged.jpg" in err
    assert "gone.jpg" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-o", "sheet.gif"), "cannot draw into sheet.gif\n  allowed: .png, .jpg, .jpeg, .webp\n  try: -o sheet.png"),
        (("--split", "val2"), "has no split 'val2'"),
    ],
)
def test_impossible_wishes_are_refused(
    neighbours: Call, colours: Path, arguments: tuple[str, ...], message: str
) -> None:
    code, out, err = neighbours(colours / "images" / "red_5.png", "--in", colours, *arguments)
    assert (code, out) == (2, "")
    assert message in err


def test_a_folder_with_nothing_else_is_refused(neighbours: Call, colours: Path, tmp_path: Path) -> None:
    shutil.copy(colours / "images" / "red_0.png", tmp_path / "only.png")
    code, _, err = neighbours(tmp_path / "only.png", "--in", tmp_path)
    assert code == 2
    assert "no photos that could be neighbours" in err
    (tmp_path / "empty").mkdir()
    code, _, err = neighbours(tmp_path / "only.png", "--in", tmp_path / "empty")
    assert code == 2
    assert "the folder is empty" in err


def test_a_model_that_writes_no_captions_is_refused(seesay: Call, colours_run: Path, colours: Path) -> None:
    photo = colours / "images" / "red_5.png"
    code, _, err = seesay("neighbours", photo, "--in", colours, "-m", colours_run / "weights")
    assert code == 2
    assert "writes no captions" in err
