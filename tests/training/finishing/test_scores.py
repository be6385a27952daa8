"""A later stage of search is scored on the photos that it will see."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from seesay.data import Collection
from seesay.images.features import Features, FeatureSpec
from seesay.models.mrnn import MRNN, MRNNConfig
from seesay.settings.blend import Blend
from seesay.text.vocabulary import Vocabulary
from seesay.training.finishing import scores
from seesay.training.finishing.scores import best, score_pairs, score_texts

TEXTS = ["a dog runs", "a red bus", "dog", "two men"]


def test_scores_among_few_photos_are_those_among_all(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    config = MRNNConfig(embedding=4, recurrent=5, multimodal=6, image_dim=7, shared=True)
    model = MRNN(config, Vocabulary.build(TEXTS, min_count=1), FeatureSpec()).eval()
    model.mean_image.normal_()
    table = SimpleNamespace(rows=lambda rows: Features(torch.rand(len(rows), 7, generator=torch.Generator())))
    monkeypatch.setattr(scores, "features_of", lambda *given: table)
    photos = Collection("toy", Path("toy"), "toy", (SimpleNamespace(image=None),) * 9)  # type: ignore[arg-type]
    before = np.random.default_rng(0).normal(size=(len(TEXTS), 9)).astype(np.float32)
    every = score_texts(model, photos, TEXTS)
    few = score_texts(model, photos, TEXTS, among=best(before, 3), at_once=3)
    assert ((few != 0).sum(1) == 3).all()
    np.testing.assert_allclose(few[few != 0], every[few != 0], rtol=1e-4, atol=1e-5)
    pairs = np.array([0, 0, 2, 3]), np.array([4, 8, 1, 4])
    np.testing.assert_allclose(score_pairs(model, photos, TEXTS, pairs), every[pairs], rtol=1e-4)
    blend = Blend(("vse",), 3, 0.5, 0.1, 0.0)
    np.testing.assert_allclose(blend.whole.blend(before, few), blend.whole.blend(before, every), rtol=1e-4, atol=1e-5)
