"""A joint embedding small enough to look at."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from seesay.images.features import FeatureSpec
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
