"""Trained weights as a library uses them."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from seesay.errors import SeesayError
from seesay.export.exporting import SAMPLES
from seesay.images.io import open_image
from seesay.library.encoder import WeightsEncoder
from seesay.library.indexing.encoding import encode_all
from seesay.library.ranking.cascade import Blend
from seesay.library.stages import Regions, open_stage
from seesay.library.weights import LibraryWeights, Role
from seesay.models import pretrained
from seesay.models.aligner import load_aligner
from seesay.runtime.network import Network


@pytest.fixture(scope="module")
def weights(colours_run: Path) -> Path:
    return colours_run / "weights"


def test_vectors_are_those_of_the_model(weights: Path) -> None:
    encoder, model = WeightsEncoder(weights), pretrained.load(weights)
    images = [Image.new("RGB", (50, 40), colour) for colour in ("red", "blue")]
    with encoder.inference_session() as prepare:
        prepare()
        vectors, tags = encoder.encode_photos(images)
    with torch.inference_mode():
        expected = model.encode_images(model.features(images)).numpy()
        text = model.encode_texts(["a red picture"]).numpy()[0]
    np.testing.assert_allclose(vectors, expected, atol=1e-3)
    np.testing.assert_allclose(encoder.encode_text("a red picture"), text, atol=1e-5)
    for likeliest in tags:
        probabilities = [p for _, p in likeliest]
        assert probabilities == sorted(probabilities, reverse=True)
        assert len(likeliest) <= 10
        assert sum(probabilities) <= 1
        assert all(0 <= number < 1000 for number, _ in likeliest)


def test_a_stage_that_sees_through_the_eye_lets_a_photo_be_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    eye, stage = WeightsEncoder("eye"), open_stage("dvsa", Blend(("eye",), 20, 0.0, 1.0, 0.0))
    photos = [open_image(path) for path in sorted(SAMPLES.glob("*.jpg"))[:2]]
    looked = []
    run = Network.run
    monkeypatch.setattr(Network, "run", lambda self, pixels: looked.append(len(pixels)) or run(self, pixels))
    vectors, tags, views = encode_all(eye, [stage], photos)
    assert looked == [len(photos)]
    alone, own_tags = eye.encode_photos(photos)
    assert (vectors * alone).sum(1) == pytest.approx((alone * alone).sum(1), abs=1e-3)
    assert [[number for number, _ in each] for each in tags] == [[number for number, _ in each] for each in own_tags]
    np.testing.assert_array_equal(views["regions"], stage.encode_photos(photos))


SENTENCES = ["a dog runs", "two dogs play in the snow", "a zebra", "", "🐶", "snow", "the " * 150]


@pytest.mark.parametrize(("name", "shape"), [("dvsa", (3, 20, 768)), ("mrnn", (3, 1, 512))])
def test_later_stages_score_as_torch_does(name: str, shape: tuple[int, ...]) -> None:
    views = np.random.default_rng(0).standard_normal(shape).astype(np.float16) / 30
    stage, model = open_stage(name, Blend(("eye",), 20, 0.5, 1.0, 0.0)), pretrained.load(name)
    with torch.inference_mode():
        expected = model.score_views(torch.from_numpy(views).float(), SENTENCES).T.numpy()
    for row, sentence in enumerate(SENTENCES):
        np.testing.assert_allclose(stage.score(views, sentence), expected[row], rtol=1e-4, atol=1e-4)


def test_a_phrase_points_at_the_region_that_torch_finds() -> None:
    views = np.random.default_rng(0).standard_normal((3, 20, 768)).astype(np.float16) / 30
    stage, model = open_stage("dvsa"), load_aligner("dvsa")
    assert isinstance(stage, Regions)
    for sentence in SENTENCES:
        with torch.inference_mode():
            phrase = torch.nn.functional.normalize(model.encode_phrases([sentence])[0], dim=0)
            products = (torch.from_numpy(views).float() @ phrase).numpy()
        scores, boxes = stage.point(views, sentence)
        np.testing.assert_allclose(scores, products.max(1), atol=1e-5)
        np.testing.assert_array_equal(boxes, model.boxes[products.argmax(1)])


def test_the_fingerprint_names_weights_and_features(weights: Path) -> None:
    fingerprint = WeightsEncoder(weights).fingerprint
    assert fingerprint.model == str(weights)
    assert fingerprint.features == pretrained.load(weights).feature_spec.name
    assert fingerprint.dim == 16
    assert WeightsEncoder("vse").fingerprint.model == "vse"


@pytest.mark.parametrize(
    ("name", "stage", "dim"), [("vse", "first", 768), ("dvsa", "regions", 768), ("mrnn", "captions", 512)]
)
def test_weights_say_what_they_can_be_in_search(name: str, stage: str, dim: int, tmp_path: Path) -> None:
    assert LibraryWeights(name).role == Role(stage, dim)
    about = dict(LibraryWeights(name).about)
    assert about.pop("search") == {"stage": stage, "dim": dim}
    (tmp_path / "config.json").write_text(json.dumps(about))
    with pytest.raises(SeesayError, match=f"seesay export {tmp_path}"):
        _ = LibraryWeights(tmp_path).role
    for broken in ("first", {"stage": "first"}):
        (tmp_path / "config.json").write_text(json.dumps({**about, "search": broken}))
        with pytest.raises(SeesayError, match=r"config\.json: '?search'? is"):
            _ = LibraryWeights(tmp_path).role


def test_weights_that_can_be_no_stage_are_refused_as_one() -> None:
    assert LibraryWeights("smlstm").role is None
    with pytest.raises(SeesayError, match="smlstm cannot be a stage of search"):
        _ = open_stage("smlstm", Blend(("vse",), 10, 0.5, 1.0, 0.0)).stage


def test_other_weights_have_another_fingerprint(weights: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(weights, copy)
    before = WeightsEncoder(copy).fingerprint
    assert before.weights == WeightsEncoder(weights).fingerprint.weights
    data = bytearray((copy / "model.safetensors").read_bytes())
    data[-1] ^= 1
    (copy / "model.safetensors").write_bytes(data)
    assert WeightsEncoder(copy).fingerprint != before


def test_content_words_are_counted_as_training_saw_them(weights: Path) -> None:
    counts = WeightsEncoder(weights).count_words("a red guitar and the picture of a red guitar")
    assert counts == {"red": 8, "guitar": 0, "picture": 32}


def test_the_calibration_travels_with_the_weights(weights: Path, tmp_path: Path) -> None:
    assert WeightsEncoder(weights).calibration is None
    copy = tmp_path / "copy"
    shutil.copytree(weights, copy)
    about = json.loads((copy / "config.json").read_text())
    curve = {"slope": 8.0, "slope_per_word": 1.0, "offset": -3.0, "offset_per_word": -1.0}
    (copy / "config.json").write_text(json.dumps(about | {"calibration": curve}))
    calibration = WeightsEncoder(copy).calibration
    assert calibration is not None
    assert calibration.to_table() == {**curve, "ceiling": 1.0, "per_frequency": 0.0}


def test_weights_that_do_not_exist_are_answered_with_those_that_do() -> None:
    with pytest.raises(SeesayError, match=r"there are no weights 'vsee'\n  allowed: .*vse"):
        WeightsEncoder("vsee")


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"format": 2, "name": "x", "family": "vse", "config": {}, "features": {}}']
)
def test_a_config_that_cannot_be_read_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(SeesayError, match=r"config\.json"):
        WeightsEncoder(tmp_path)


def test_a_query_needs_neither_torch_nor_pictures(weights: Path) -> None:
    program = (
        "import sys\n"
        "from seesay.library.library import Library\n"
        f"with Library(sys.argv[1], model={str(weights)!r}) as library:\n"
        "    library.store.start(library.encoder.fingerprint)\n"
        "    assert library.search('a red picture') == []\n"
        "print([name for name in ('torch', 'PIL', 'spacy', 'cv2', 'matplotlib') if name in sys.modules])\n"
    )
    place = weights.parent / "library"
    finished = subprocess.run([sys.executable, "-c", program, place], capture_output=True, text=True, timeout=120)
    assert finished.stdout == "[]\n", finished.stderr
