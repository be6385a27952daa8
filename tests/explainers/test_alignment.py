"""Where phrases and words are, as `seesay ground` asks an explainer."""

import numpy as np
import pytest
import torch

from seesay.engines import TorchModel
from seesay.errors import SeesayError
from seesay.explainers.registry import find_explainer
from seesay.grounding.heat import heat_maps, term_vectors
from seesay.images.arrays import ImageFeatures
from seesay.images.features import Features, FeatureSpec
from seesay.models.base import Matcher
from seesay.models.dvsa import DVSA, DVSAConfig
from seesay.models.identifier import Identifier, IdentifierConfig
from seesay.models.vse import VSE, VSEConfig
from seesay.text.vocabulary import Vocabulary

VOCABULARY = Vocabulary.build(["a dog runs in the snow"], min_count=1)
ALIGNMENT = find_explainer("alignment")


def ready(model: Matcher) -> TorchModel:
    torch.manual_seed(0)
    model.initialise(0)
    return TorchModel(model.eval().requires_grad_(False))


@pytest.fixture
def embedding() -> TorchModel:
    return ready(VSE(VSEConfig(dim=8, word_dim=4, image_dim=5, word_vectors=""), VOCABULARY, FeatureSpec()))


@pytest.fixture
def aligner() -> TorchModel:
    config = DVSAConfig(dim=8, word_dim=6, map_dim=5, regions="windows-5", word_vectors="", sentence=True)
    return ready(DVSA(config, VOCABULARY, FeatureSpec()))


@pytest.fixture
def features() -> ImageFeatures:
    cells = torch.rand(1, 2, 3, 5, generator=torch.Generator().manual_seed(1))
    return Features(cells.mean((1, 2)), cells).to_arrays()


def test_phrases_are_located_by_the_heat_of_their_vectors(embedding: TorchModel, features: ImageFeatures) -> None:
    found = ALIGNMENT.locate(embedding, features, ["a dog", "runs"])
    np.testing.assert_array_equal(found, heat_maps(embedding, features, term_vectors(embedding, ["a dog", "runs"])))


def test_an_aligner_locates_words_as_they_are_read_in_their_sentence(
    aligner: TorchModel, features: ImageFeatures
) -> None:
    found = ALIGNMENT.locate_words(aligner, features, "A dog runs.")
    states = aligner.encode_texts(["A dog runs."]).states[0]
    assert len(states) == 4  # the sentence as a whole is no word of it
    np.testing.assert_array_equal(found, heat_maps(aligner, features, states[:3]))
    alone = ALIGNMENT.locate(aligner, features, ["a", "dog", "runs"])
    assert not np.allclose(found, alone)


def test_an_embedding_locates_each_word_by_itself(embedding: TorchModel, features: ImageFeatures) -> None:
    found = ALIGNMENT.locate_words(embedding, features, "A dog!")
    np.testing.assert_array_equal(found, ALIGNMENT.locate(embedding, features, ["a", "dog"]))


def test_an_explainer_without_word_maps_locates_phrases_only(features: ImageFeatures) -> None:
    config = IdentifierConfig(dim=6, hidden=8, word_dim=4, image_dim=5, word_vectors="")
    identifier, contrastive = ready(Identifier(config, VOCABULARY, FeatureSpec())), find_explainer("contrastive")
    found = contrastive.locate(identifier, features, ["a dog", "runs"])
    np.testing.assert_array_equal(found[0], contrastive.explain(identifier, features, "a dog").map)
    with pytest.raises(SeesayError, match="the explainer contrastive has one map for a whole sentence"):
        contrastive.locate_words(identifier, features, "a dog runs")
