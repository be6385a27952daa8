"""The eye as a network for other models."""

from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from seesay.errors import SeesayError
from seesay.images import eye
from seesay.images.features import FeatureSpec, compute
from seesay.images.halves import split_network
from seesay.images.io import open_image
from seesay.models.pretrained import load

SAMPLES = sorted((Path(__file__).parents[2] / "src" / "seesay" / "samples").glob("*.jpg"))[:3]


def test_its_vector_is_the_mean_of_the_map_of_the_weights_eye() -> None:
    spec = FeatureSpec(backbone="eye")
    found = compute([open_image(path) for path in SAMPLES], spec.load_backbone())["pooled"]
    model = load("eye")
    lower = model.features(SAMPLES).lower
    with torch.inference_mode():
        wanted = model.feature_map(lower).mean((2, 3)).numpy()
    np.testing.assert_allclose(found, wanted, atol=5e-3)  # both round to half precision, at other places


def test_its_lower_half_is_that_of_imagenet() -> None:
    lower, _ = split_network(FeatureSpec(backbone="eye").load_backbone())
    of_imagenet, _ = split_network(FeatureSpec(backbone="efficientnet-lite2").load_backbone())
    assert all(torch.equal(a, b) for a, b in zip(lower.parameters(), of_imagenet.parameters(), strict=True))


def test_the_digest_is_that_of_the_upper_half_alone(tmp_path: Path) -> None:
    state = load_file(eye.WEIGHTS)
    name = next(name for name in state if not name.startswith("upper."))
    save_file(state | {name: state[name] + 1}, tmp_path / "model.safetensors")
    assert eye.Eye().digest_of(tmp_path / "model.safetensors") == FeatureSpec(backbone="eye").digest
    name = next(name for name in state if name.startswith("upper."))
    save_file(state | {name: state[name] + 1}, tmp_path / "model.safetensors")
    assert eye.Eye().digest_of(tmp_path / "model.safetensors") != FeatureSpec(backbone="eye").digest


def test_weights_that_lack_a_layer_are_refused_by_name(tmp_path: Path) -> None:
    state = {name: part for name, part in load_file(eye.WEIGHTS).items() if not name.startswith("upper.0.")}
    save_file(state, tmp_path / "model.safetensors")
    with pytest.raises(SeesayError, match=r"does not fit eye: it lacks 0\.layers"):
        eye.Eye().build(tmp_path / "model.safetensors", 300)


def test_beside_imagenet_both_vectors_stand_in_one() -> None:
    photos = [open_image(path) for path in SAMPLES]
    both, eye_alone, imagenet = (
        compute(photos, FeatureSpec(backbone=name, size=300).load_backbone())
        for name in ("eye-imagenet", "eye", "efficientnet-lite2")
    )
    for output in ("pooled", "map"):
        np.testing.assert_allclose(both[output], np.concatenate([eye_alone[output], imagenet[output]], -1), atol=2e-3)
