"""Towers answer as `transformers` does: pixels, tokens, vectors, in torch and through ONNX."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from PIL import Image

from seesay.catalogue.weights import find
from seesay.images.features import FeatureSpec
from seesay.images.tower import build_tower
from seesay.images.views import preprocess
from seesay.models.pretrained import load
from seesay.runtime.matching import Model
from seesay.towers.looking import look_at
from seesay.verbs.adding import add_model

transformers = pytest.importorskip("transformers")
published_families = pytest.importorskip("benchmarks.published").FAMILIES
LIMIT = 1e-4
PAIRS = ("clip", "siglip", "siglip2")
"""Those that read, too."""
Publish = Callable[[str], Path]


def their_pixels(folder: Path, photos: list[Image.Image]) -> torch.Tensor:
    from transformers.models.bit.image_processing_pil_bit import BitImageProcessorPil
    from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil
    from transformers.models.siglip.image_processing_pil_siglip import SiglipImageProcessorPil
    from transformers.models.vit.image_processing_pil_vit import ViTImageProcessorPil

    kinds = {"clip": CLIPImageProcessorPil, "siglip": SiglipImageProcessorPil, "vit": ViTImageProcessorPil}
    kind = kinds.get(folder.name.removesuffix("2"), BitImageProcessorPil)
    found: torch.Tensor = kind.from_pretrained(folder)(photos, return_tensors="pt")["pixel_values"]
    return found


def their_vectors(folder: Path, pixels: torch.Tensor) -> torch.Tensor:
    model = transformers.AutoModel.from_pretrained(folder).eval()
    with torch.inference_mode():
        if hasattr(model, "get_image_features"):
            found = model.get_image_features(pixel_values=pixels)
            return F.normalize(found if isinstance(found, torch.Tensor) else found.pooler_output, dim=1)
        return model(pixel_values=pixels).last_hidden_state[:, 0]


def their_texts(folder: Path, tokens: Any) -> torch.Tensor:
    model = transformers.AutoModel.from_pretrained(folder).eval()
    with torch.inference_mode():
        found = model.get_text_features(input_ids=torch.from_numpy(tokens))
        return F.normalize(found if isinstance(found, torch.Tensor) else found.pooler_output, dim=1)


@pytest.mark.parametrize("family", published_families)
def test_photos_are_prepared_to_the_pixel(family: str, published: Publish, photos: list[Image.Image]) -> None:
    folder = published(family)
    view = look_at(folder).view
    own = np.concatenate([preprocess(photo, view.size, view.crop) for photo in photos])
    scaled = (own - np.array(view.mean)) / np.array(view.std)
    assert np.abs(scaled.transpose(0, 3, 1, 2) - their_pixels(folder, photos).numpy()).max() < 1e-5


def test_a_processor_of_transformers_5_is_read_as_well(published: Publish, tmp_path: Path) -> None:
    source, folder = published("clip"), tmp_path / "clip"
    shutil.copytree(source, folder, ignore=shutil.ignore_patterns("preprocessor_config.json"))
    image_processor = transformers.CLIPImageProcessor.from_pretrained(source)
    tokenizer = transformers.CLIPTokenizer.from_pretrained(source)
    transformers.CLIPProcessor(image_processor, tokenizer).save_pretrained(folder)
    if (folder / "preprocessor_config.json").exists():
        pytest.skip("this release of transformers writes the older file")
    assert look_at(folder).view == look_at(source).view


@pytest.mark.parametrize("family", published_families)
def test_image_towers_see_the_same(family: str, published: Publish, photos: list[Image.Image]) -> None:
    folder = published(family)
    found = look_at(folder)
    backbone = build_tower(found.published, found.towers, found.view)
    views = np.concatenate([preprocess(photo, found.view.size, found.view.crop) for photo in photos])
    maps, vectors = backbone(torch.from_numpy(views))
    wanted = their_vectors(folder, their_pixels(folder, photos))
    own = F.normalize(vectors, dim=1) if found.towers.text else vectors
    assert (own - wanted).abs().max() < LIMIT
    assert maps.shape[1:3] == (4, 4)


@pytest.mark.parametrize("family", PAIRS)
def test_tokens_are_the_same(
    family: str, published: Publish, captions: list[str], their_tokens: Callable[..., Any]
) -> None:
    from seesay.text.pieces import Pieces

    folder = published(family)
    found = look_at(folder)
    assert found.rule is not None
    rows, _ = Pieces(found.tokenizer, found.rule).rows(captions)
    assert np.array_equal(rows, their_tokens(folder, captions))
    if family != "clip":
        assert rows.shape[1] == 64


@pytest.mark.parametrize("family", PAIRS)
def test_an_added_model_answers_as_transformers_does(
    family: str,
    published: Publish,
    photos: list[Image.Image],
    captions: list[str],
    their_tokens: Callable[..., Any],
    models_folder: Path,
) -> None:
    folder = published(family)
    assert add_model(folder).name == family
    assert find(family).about["family"] == "tower"
    wanted = their_texts(folder, their_tokens(folder, captions)).numpy()
    graphs, own = Model(family), load(family)
    with torch.inference_mode():
        assert np.abs(own.encode_texts(captions).numpy() - wanted).max() < LIMIT
    assert np.abs(graphs.encode_texts(captions) - wanted).max() < LIMIT
    seen = their_vectors(folder, their_pixels(folder, photos)).numpy()
    network = graphs.network
    views = np.concatenate([preprocess(photo, network.size, network.crop) for photo in photos])
    vectors = network.run(views)["pooled"]
    assert np.abs(vectors / np.linalg.norm(vectors, axis=1, keepdims=True) - seen).max() < LIMIT
    # What is kept of a photo is rounded to half precision: eleven bits of each number.
    kept = graphs.encode_images(network.features(photos))
    assert np.abs(kept - seen).max() < 2**-11 * np.abs(seen).max() + 1e-6
    in_torch = own.features(photos)
    with torch.inference_mode():
        assert np.abs(own.encode_images(in_torch).numpy() - kept).max() < 1e-6


def test_opening_a_graph_turns_no_weights_around(published: Publish, models_folder: Path) -> None:
    onnx = pytest.importorskip("onnx")
    add_model(published("clip"), "clip")
    for path in (find("clip").folder / "texts.onnx", Model("clip").network.folder / "network.onnx"):
        body = onnx.load(str(path), load_external_data=False).graph
        matrices = {each.name for each in body.initializer if ".layers." in each.name and len(each.dims) > 1}
        assert matrices
        assert not [node for node in body.node if node.op_type == "Transpose" and node.input[0] in matrices]


def test_a_cell_of_siglip_s_map_is_its_vector_where_there_is_one_place(published: Publish) -> None:
    found = look_at(published("siglip"))
    tower = build_tower(found.published, found.towers, found.view).network
    head = tower.vision_model.head  # type: ignore[union-attr]
    states = torch.randn(5, 1, 64)
    with torch.inference_mode():
        assert torch.allclose(head.alone(states)[:, 0], head(states), atol=1e-5)  # type: ignore[union-attr, operator]


def test_an_eye_of_ones_own_gives_features(published: Publish) -> None:
    spec = FeatureSpec("tower", weights=str(published("dinov2")))
    assert (spec.size, spec.crop) == (64, "shortest-73-bicubic")
    backbone = spec.load_backbone()
    maps, vectors = backbone(torch.zeros(2, 64, 64, 3, dtype=torch.uint8))
    assert (maps.shape, vectors.shape) == ((2, 4, 4, 64), (2, 64))


def test_a_patch_that_does_not_divide_the_side(published: Publish, tmp_path: Path) -> None:
    """As of siglip-so400m-patch14-384, which looks at 27 patches of 14 pixels."""
    import json
    import shutil

    folder = Path(shutil.copytree(published("vit"), tmp_path / "vit"))
    config, size = json.loads((folder / "config.json").read_text()), {"height": 70, "width": 70}
    (folder / "config.json").write_text(json.dumps({**config, "image_size": 70}))
    prepared = json.loads((folder / "preprocessor_config.json").read_text())
    (folder / "preprocessor_config.json").write_text(json.dumps({**prepared, "size": size}))
    spec = FeatureSpec("tower", weights=str(folder))
    pixels = torch.randint(0, 255, (2, 70, 70, 3), dtype=torch.uint8)
    maps, vectors = spec.load_backbone()(pixels)
    wanted = their_vectors(folder, ((pixels / 255 - 0.5) / 0.5).permute(0, 3, 1, 2))
    assert maps.shape == (2, 4, 4, 64)
    assert (vectors - wanted).abs().max() < LIMIT


def test_defaults_are_those_of_transformers() -> None:
    """A configuration may say nothing, as that of google/siglip-base-patch16-224 does."""
    from seesay.towers.families import read_config

    kinds = {
        "clip": transformers.CLIPConfig,
        "siglip": transformers.SiglipConfig,
        "vit": transformers.ViTConfig,
        "dinov2": transformers.Dinov2Config,
        "dinov2_with_registers": transformers.Dinov2WithRegistersConfig,
    }
    for name, kind in kinds.items():
        assert read_config({"model_type": name}, "x") == read_config({**kind().to_dict(), "model_type": name}, "x")
