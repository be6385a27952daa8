"""What search keeps of an image: from it a model gives the scores that it gives from the features themselves."""

from collections.abc import Callable

import numpy as np
import pytest
import torch

from seesay.engines import TorchModel
from seesay.images.features import Features, FeatureSpec
from seesay.images.regions import windows
from seesay.models.base import Matcher
from seesay.models.dvsa import DVSA, DVSAConfig
from seesay.models.ensemble import scored_by
from seesay.models.mrnn import MRNN, MRNNConfig
from seesay.models.vse import VSE
from seesay.text.vocabulary import Vocabulary

SENTENCES = ["a dog runs", "the bus is red"]


@pytest.fixture
def features() -> Features:
    generator = torch.Generator().manual_seed(0)
    return Features(torch.rand(3, 1280, generator=generator), torch.rand(3, 4, 4, 1280, generator=generator))


def build_dvsa(vocabulary: Vocabulary) -> Matcher:
    return DVSA(DVSAConfig(dim=8, word_dim=6, regions="windows-5"), vocabulary, FeatureSpec("efficientnet-lite0", 64))


def build_mrnn(vocabulary: Vocabulary) -> MRNN:
    config = MRNNConfig(embedding=4, recurrent=6, multimodal=10, n_marginal=2)
    return MRNN(config, vocabulary, FeatureSpec("efficientnet-lite0", 64))


def test_an_embedding_keeps_one_vector(build: Callable[..., VSE], features: Features) -> None:
    model = build()
    views = model.view(features)
    assert views.shape == (3, 1, model.view_dim) == (3, 1, 8)
    expected = model.score(model.encode_images(features), model.encode_texts(SENTENCES))
    torch.testing.assert_close(model.score_views(views, SENTENCES), expected)


def test_an_aligner_keeps_its_regions(vocabulary: Vocabulary, features: Features) -> None:
    torch.manual_seed(0)
    model = build_dvsa(vocabulary).eval()
    views = model.view(features)
    assert views.shape == (3, len(windows(5)), model.view_dim) == (3, 5, 8)
    expected = model.score(model.encode_images(features), model.encode_texts(SENTENCES))
    torch.testing.assert_close(model.score_views(views, SENTENCES), expected)


def test_a_captioner_compares_with_the_mean_training_image(vocabulary: Vocabulary, features: Features) -> None:
    torch.manual_seed(0)
    model = build_mrnn(vocabulary).eval()
    model.initialise(0)
    model.finalize(features)
    views = model.view(features)
    assert views.shape == (3, 1, model.view_dim) == (3, 1, 10)
    texts = model.encode_texts(SENTENCES)
    expected = model.score(model.encode_images(features), texts, normalise="mean-image")
    torch.testing.assert_close(model.score_views(views, SENTENCES), expected)


def test_a_captioner_counts_in_an_ensemble_as_in_a_stage_of_search(vocabulary: Vocabulary, features: Features) -> None:
    torch.manual_seed(0)
    config = MRNNConfig(embedding=4, recurrent=6, multimodal=10, n_marginal=2, self_normalise=0.1)
    model = MRNN(config, vocabulary, FeatureSpec("efficientnet-lite0", 64)).eval()
    model.initialise(0)
    model.finalize(features)
    images, texts = model.encode_images(features), model.encode_texts(SENTENCES)
    logits = model.score(images, texts, normalise="mean-image", softmax="logits").numpy()
    assert not np.allclose(logits, model.score(images, texts).numpy())
    np.testing.assert_array_equal(scored_by(model, images, texts).scores, logits)
    answering = TorchModel(model)
    read = answering.encode_texts(SENTENCES)
    np.testing.assert_array_equal(answering.score_as_stage(images.detach().numpy(), read), logits)
