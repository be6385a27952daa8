"""Running the command line inside a test."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from seesay.cli.main import run


class Finished(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str


@pytest.fixture
def seesay(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Finished]:
    """Call the command line as a person would, but for the terminal, which is plain and 100 columns wide."""
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("TERM", "dumb")

    def call(*arguments: object) -> Finished:
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            run([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return Finished(int(end.value.code or 0), out, err)

    return call


@pytest.fixture
def own_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the library of the test is, instead of the user's own."""
    monkeypatch.setenv("SEESAY_LIBRARY", str(tmp_path / "library"))
    return tmp_path / "library"


@pytest.fixture
def photo_folder(tmp_path: Path, own_library: Path, colours: Path) -> Path:
    """A folder with four photos, one of them in a folder named 2019, that no library knows yet."""
    folder = tmp_path / "photos"
    (folder / "2019").mkdir(parents=True)
    for colour, name in (("red", "red.png"), ("green", "green.png"), ("blue", "blue.png"), ("white", "2019/white.png")):
        shutil.copy(colours / "images" / f"{colour}_5.png", folder / name)
    return folder


@pytest.fixture(scope="session")
def small_backbone() -> Any:
    from seesay.images.backbones import load_backbone

    return load_backbone("efficientnet-lite0", size=64)


@pytest.fixture
def model(colours_run: Path, small_backbone: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    """The option that chooses weights which know colours: a copy of them that the test may change."""
    from seesay.images.features import FeatureSpec

    # Loading the network takes longer than running it on these photos.
    monkeypatch.setattr(FeatureSpec, "load_backbone", lambda spec: small_backbone)
    # To a model of sixteen numbers a picture, red and green are the same picture.
    monkeypatch.setattr("seesay.library.ranking.search.NEAR_IDENTICAL", 0.9999)
    shutil.copytree(colours_run / "weights", tmp_path / "weights")
    return ("-m", str(tmp_path / "weights"))


@pytest.fixture
def indexed(seesay: Callable[..., Finished], photo_folder: Path, model: tuple[str, str]) -> Path:
    """That folder, indexed with those weights."""
    assert seesay("index", photo_folder, *model).code == 0
    return photo_folder


@pytest.fixture
def calibrated(model: tuple[str, str]) -> None:
    """Give the weights a curve that turns cosines into probabilities."""
    path = Path(model[1]) / "config.json"
    curve = {"slope": 20.0, "slope_per_word": 0.0, "offset": -10.0, "offset_per_word": 0.0}
    path.write_text(json.dumps(json.loads(path.read_text()) | {"calibration": curve}))


@pytest.fixture
def retrained(indexed: Path, model: tuple[str, str]) -> None:
    """Let the weights be others than those that the library was made with."""
    path = Path(model[1]) / "model.safetensors"
    content = bytearray(path.read_bytes())
    content[-2] ^= 1
    path.write_bytes(content)


@pytest.fixture(scope="session")
def identifier_run(
    colours_recipe: dict[str, Any], colours_cache: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The folder of a finished run that has learned to tell colours apart; its `weights` can be loaded."""
    from seesay.export.exporting import export_weights
    from seesay.training.recipe import Recipe
    from seesay.training.run import run_recipe

    recipe = colours_recipe | {
        "name": "colour-identifier",
        "model": "identifier",
        "config": {"dim": 16, "hidden": 16, "word_dim": 8, "word_vectors": "", "mismatches": 3},
        "optimiser": {"rate": 0.02, "clip_norm": 2.0},
        "stop": {"epochs": 40, "metric": "of_10", "evaluate_every": 20},
    }
    folder = tmp_path_factory.mktemp("run") / "colour-identifier"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SEESAY_CACHE", str(colours_cache))
        run_recipe(Recipe.from_dict(recipe), folder)
        export_weights(folder / "weights", precision="fp32")
    return folder
