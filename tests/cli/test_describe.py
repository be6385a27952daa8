"""`seesay describe`: what is said of the halves of a picture by a captioner that has learned whole ones."""

import json
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from seesay.drawing.overlay import PALETTE
from seesay.export.exporting import export_weights
from seesay.grounding.phrases import PHRASES, Phrase, write_phrases
from seesay.images.features import FeatureSpec
from seesay.images.io import open_image
from seesay.text.trees import Tree
from seesay.training.recipe import Recipe
from seesay.training.run import run_recipe

Run = Callable[..., Any]
load_once = cache(FeatureSpec.load_backbone)  # which takes longer than running it on these pictures


@pytest.fixture(scope="module")
def describer_run(
    colours_recipe: dict[str, Any], colours_cache: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The folder of a finished run that has learned to name the colour of whole pictures."""
    recipe = colours_recipe | {
        "name": "colour-regions",
        "model": "dvsa-captions",
        "config": {"embedding": 16, "hidden": 24, "context": False},
        "features": {"backbone": "efficientnet-lite0", "size": 128},
        "optimiser": {"rate": 0.02, "clip_value": 0.5},
        "stop": {"epochs": 20, "metric": "perplexity", "mode": "min", "evaluate_every": 20},
    }
    folder = tmp_path_factory.mktemp("run") / "colour-regions"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SEESAY_CACHE", str(colours_cache))
        run_recipe(Recipe.from_dict(recipe), folder)
        export_weights(folder / "weights", precision="fp32")
    return folder


@pytest.fixture
def weights(
    describer_run: Path, aligner_run: Path, in_colours_cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> tuple[str, ...]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(FeatureSpec, "load_backbone", load_once)
    return ("-m", str(describer_run / "weights"), "--salience", str(aligner_run / "weights"))


@pytest.fixture
def photo(halves: Path) -> Path:
    return halves / "images" / "red_blue.png"


@pytest.mark.parametrize("colour", ["red", "blue", "white"])
def test_a_region_of_ones_own_is_called_by_its_colour(
    seesay: Run, weights: tuple[str, ...], colours: Path, colour: str
) -> None:
    photo = colours / "images" / f"{colour}_5.png"
    finished = seesay("describe", photo, *weights, "--box", "2,2,30,40", "--box", "0,0,40,48", "--json")
    report = json.loads(finished.out)
    assert (finished.code, report["size"]) == (0, [40, 48])
    assert [colour in row["caption"].split() for row in report["regions"]] == [True, True]
    assert [row["pixels"] for row in report["regions"]] == [[2, 2, 30, 40], [0, 0, 40, 48]]
    assert "picture" not in report


def test_salient_regions_are_found_and_drawn(seesay: Run, weights: tuple[str, ...], photo: Path) -> None:
    finished = seesay("describe", photo, *weights, "-n", "2", "--regions", "grid-1x2")
    assert finished.code == 0
    rows = [line.split()[-4:] for line in finished.out.splitlines()[1:]]
    assert rows
    assert all(row in (["0", "0", "48", "64"], ["48", "0", "48", "64"]) for row in rows)
    assert finished.err == "drawn in red_blue-described.png\n"
    drawn = np.asarray(open_image(Path("red_blue-described.png")), int)
    assert drawn.shape == (640, 960, 3)
    assert (np.abs(drawn - PALETTE[0]).max(axis=2) < 12).sum() > 1000


def test_regions_that_are_nearly_everything_are_left_out(seesay: Run, weights: tuple[str, ...], photo: Path) -> None:
    finished = seesay("describe", photo, *weights, "-n", "9", "--regions", "grid-1x2", "--json")
    assert {row["box"][2] - row["box"][0] for row in json.loads(finished.out)["regions"]} == {0.5}


@pytest.mark.parametrize("box", ["1,2,3", "a,b,c,d", "0,0,0,10", "90,0,20,20", "-1,0,5,5", "nan,0,5,5"])
def test_a_box_that_is_none_is_refused(seesay: Run, weights: tuple[str, ...], photo: Path, box: str) -> None:
    finished = seesay("describe", photo, *weights, f"--box={box}")
    assert finished.code == 2
    assert f"the box '{box}'" in finished.err
    assert "inside the 96 x 64 of the photo" in finished.err


def test_weights_that_describe_no_regions_are_refused(seesay: Run, photo: Path, colours_run: Path) -> None:
    finished = seesay("describe", photo, "-m", colours_run / "weights", "--json")
    assert finished.code == 2
    assert "colours describes no regions\n  allowed: dvsa-captions, hmlstm" in finished.err


@pytest.mark.usefixtures("colours_named", "in_colours_cache")
def test_a_model_of_phrases_finds_several_that_people_wrote(
    seesay: Run, phrases_run: Path, photo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FeatureSpec, "load_backbone", load_once)
    folder = shutil.copytree(phrases_run / "weights", tmp_path / "weights")
    colours = ("red", "blue", "green", "yellow", "black", "white")
    write_phrases([Phrase(Tree.from_json(f'["NP", "{colour}"]'), 2) for colour in colours], folder / PHRASES)
    boxes = ("--box", "0,0,48,64", "--box", "48,0,48,64")
    rows = json.loads(seesay("describe", photo, "-m", folder, *boxes, "--phrases", 2, "--json").out)["regions"]
    assert [row["phrases"][0]["text"] for row in rows] == ["red", "blue"]
    assert [len({phrase["text"] for phrase in row["phrases"]}) for row in rows] == [2, 2]
    finished = seesay("describe", photo, "-m", folder, *boxes, "--phrases", 2, "-o", tmp_path / "drawn.png")
    assert [line.split()[0] for line in finished.out.splitlines()[1::2]] == ["red", "blue"]
    assert open_image(tmp_path / "drawn.png").width == 960
