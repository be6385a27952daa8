"""Models on top of a published eye, and a CLIP that is learned here and goes the whole way."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from seesay.catalogue.weights import eyes, read_about
from seesay.errors import SeesayError
from seesay.export.exporting import export_weights
from seesay.images.features import FeatureSpec
from seesay.models.pretrained import load
from seesay.runtime.matching import Model
from seesay.training.recipe import Recipe
from seesay.training.run import run_recipe
from seesay.verbs.adding import add_model, remove_model

FIVE = {
    "vse": {"dim": 16, "word_dim": 8},
    "dvsa": {"dim": 16},
    "smlstm": {},
    "mrnn": {"embedding": 8, "recurrent": 16, "multimodal": 24, "n_marginal": 5},
    "identifier": {},
}


@pytest.mark.parametrize("named", ["folder", "added"])
def test_a_model_on_top_of_an_eye_learns_and_is_used_without_the_folder(
    named: str,
    published: Callable[[str], Path],
    colours_recipe: dict[str, Any],
    colours: Path,
    models_folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SEESAY_CACHE", str(tmp_path / "cache"))
    source = published("dinov2")
    add_model(source, "dino")
    eye = str(source) if named == "folder" else "dino"
    recipe = Recipe.from_dict({**colours_recipe, "eye": eye})
    weights = run_recipe(recipe, tmp_path / "run")
    assert weights.figures["colours/dev"]["sum"] > 400  # of 600: the colours are learned
    about = weights.about
    assert about["features"]["backbone"] == "tower"
    assert about["config"]["image_dim"] == 64
    assert str(source) not in (weights.folder / "config.json").read_text()
    assert about["recipe"]["eye"] in ("dinov2", "dino")
    export_weights(weights.folder, precision="fp32")  # which finds the eye among the added ones
    photo = next((colours / "images").glob("red_0.png"))
    graphs = Model(weights.folder)
    texts = graphs.encode_texts(["a red picture", "a blue picture"])
    scores = graphs.score(graphs.encode_images(graphs.features([photo])), texts)[0]
    assert scores[0] > scores[1]


@pytest.mark.parametrize("family", FIVE)
def test_all_five_models_can_look_through_it(
    family: str, published: Callable[[str], Path], colours_recipe: dict[str, Any], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    from seesay.training.run import prepare

    monkeypatch.setenv("SEESAY_CACHE", str(tmp_path / "cache"))
    table = {**colours_recipe, "model": family, "config": FIVE[family], "eye": str(published("vit"))}
    task = prepare(Recipe.from_dict(table))
    loss = task.loss(task.batch(0, 0), 0, 1)
    assert np.isfinite(loss.logs["loss"])


def test_an_eye_that_was_never_added_is_asked_for(
    published: Callable[[str], Path], models_folder: Path, tmp_path: Path
) -> None:
    described = FeatureSpec("tower", weights=str(published("vit"))).describe()
    digest = str(described.pop("digest"))
    spec = FeatureSpec(**described, expected_digest=digest)  # type: ignore[arg-type]
    with pytest.raises(SeesayError, match="not among the added ones"):
        spec.load_backbone()
    add_model(published("vit"), "seer")
    assert [folder.name for folder in eyes()] == ["seer"]
    maps, vectors = spec.load_backbone()(torch.zeros(1, 64, 64, 3, dtype=torch.uint8))
    assert (maps.shape, vectors.shape) == ((1, 4, 4, 64), (1, 64))
    remove_model("seer")
    assert eyes() == []


def test_an_eye_of_another_size_is_refused(published: Callable[[str], Path]) -> None:
    with pytest.raises(SeesayError, match="is shown 64 pixels, not 96"):
        FeatureSpec("tower", weights=str(published("vit")), size=96).load_backbone()


def test_a_clip_learned_here_goes_the_whole_way(
    colours_recipe: dict[str, Any],
    colours: Path,
    models_folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    transformers = pytest.importorskip("transformers")
    monkeypatch.setenv("SEESAY_CACHE", str(tmp_path / "cache"))
    config = {"dim": 16, "patch": 16, "width": 32, "n_layers": 2, "text_width": 32, "text_layers": 2, "heads": 2}
    table = {
        **colours_recipe, "model": "clip", "config": {**config, "n_subwords": 700, "longest": 12},
        "features": {"backbone": "pixels", "size": 32}, "optimiser": {"rate": 0.001}, "stop": {"epochs": 40},
    }  # fmt: skip
    weights = run_recipe(Recipe.from_dict(table), tmp_path / "run")
    assert weights.figures["colours/dev"]["sum"] > 400
    folder = weights.folder / "published"
    add_model(folder, "tiny")
    own, graphs = load(weights.folder), Model("tiny")
    texts = ["a red picture", "everything here is blue", "PINK 🐶"]
    photos = sorted((colours / "images").glob("*_4.png"))
    theirs = transformers.CLIPModel.from_pretrained(folder).eval()
    tokens = torch.from_numpy(own.tokenizer.rows(texts)[0])  # type: ignore[attr-defined]
    with torch.inference_mode():
        found = theirs.get_text_features(input_ids=tokens)
        wanted = F.normalize(found if isinstance(found, torch.Tensor) else found.pooler_output, dim=1).numpy()
        assert np.abs(own.encode_texts(texts).numpy() - wanted).max() < 1e-5
        assert np.abs(graphs.encode_texts(texts) - wanted).max() < 1e-5
        seen = own.encode_images(own.features(photos)).numpy()
    assert np.abs(graphs.encode_images(graphs.features(photos)) - seen).max() < 2e-3  # pixels were kept in half
    assert theirs.logit_scale.exp().item() == pytest.approx(20, rel=1e-4)
    assert read_about(models_folder / "tiny").about["temperature"] == pytest.approx(0.05, rel=1e-4)
