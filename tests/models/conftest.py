"""Models small enough to look at."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from seesay.images.features import FeatureSpec
from seesay.models.mrnn import MRNN, MRNNConfig
from seesay.models.vse import VSE, VSEConfig
from seesay.text.vocabulary import Vocabulary

SENTENCES = ("a dog runs", "a red bus", "two dogs play in the snow", "the bus is red and the dog is brown")


@pytest.fixture(scope="session")
def vocabulary() -> Vocabulary:
    return Vocabulary.build(SENTENCES, min_count=1)


@pytest.fixture
def build(vocabulary: Vocabulary) -> Callable[..., VSE]:
    """Build an untrained model, ready to use, from the keys of its configuration."""

    def build_model(**config: Any) -> VSE:
        torch.manual_seed(0)
        small = {"dim": 8, "word_dim": 6, "image_dim": 1280, "dropout": 0.5, "image_dropout": 0.5}
        model = VSE(VSEConfig(**(small | config)), vocabulary, FeatureSpec("efficientnet-lite0", 64))
        model.initialise(0)
        return model.eval()

    return build_model


@pytest.fixture
def build_mrnn(vocabulary: Vocabulary) -> Callable[..., MRNN]:
    """Build an untrained m-RNN, ready to use, from the keys of its configuration; no weight is 0."""

    def build_model(**config: Any) -> MRNN:
        small = {"embedding": 4, "recurrent": 5, "multimodal": 6, "image_dim": 7, "n_marginal": 3}
        torch.manual_seed(0)
        model = MRNN(MRNNConfig(**(small | config)), vocabulary, FeatureSpec("efficientnet-lite0", 64))
        model.initialise(0)
        for weight in model.parameters():
            weight.data.normal_(0, 0.5)
        return model.eval()

    return build_model
