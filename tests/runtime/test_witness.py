"""A matcher that judges with what another model has seen."""

import numpy as np
import pytest

from seesay.errors import SeesayError
from seesay.export.exporting import SAMPLES
from seesay.runtime.matching import Model
from seesay.runtime.witness import Witness

PHOTOS = sorted(SAMPLES.glob("*.jpg"))[:3]


@pytest.mark.parametrize("name", ["mrnn", "dvsa"])
def test_the_eye_gives_the_cosines_that_it_gives_when_it_looks_itself(name: str) -> None:
    model, eye = Model(name), Model("eye")
    witness = Witness("eye", model)
    sentences = ["a photo of a cat", "an astronaut in an orange suit"]
    found = witness.see(model.features(PHOTOS)) @ witness.read(sentences).T
    wanted = eye.encode_images(eye.features(PHOTOS)) @ eye.encode_texts(sentences).T
    np.testing.assert_allclose(found, wanted, atol=3e-3)  # features are rounded to half precision


def test_a_matcher_on_the_same_network_takes_the_features_as_they_are() -> None:
    model, vse = Model("mrnn-flickr8k"), Model("vse")
    features = model.features(PHOTOS[:1])
    np.testing.assert_array_equal(Witness("vse", model).see(features), vse.encode_images(features))


def test_one_on_another_network_is_refused_by_name() -> None:
    with pytest.raises(SeesayError, match="vse cannot judge what mrnn has seen: it sees through another network"):
        Witness("vse", Model("mrnn"))


def test_short_texts_keep_their_share_of_the_correction_for_hubness() -> None:
    eye = Model("eye")
    shares, whole = eye.about["short"]["shares"], eye.config["hub_weight"]
    words = ["dog", "brown dog", "brown dog runs", "brown dog runs happily", "brown dog runs happily home"]
    found = -eye.encode_texts(words)[:, -1] / whole
    np.testing.assert_allclose(found, [*shares, *[1] * len(words)][: len(words)], rtol=1e-3)
