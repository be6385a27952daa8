"""Agreement with draws: what a captioner says on the whole, and captions that are typical of it."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from seesay.captioning.agreement import Agreement, expected_cider
from seesay.captioning.captions import caption_images
from seesay.captioning.matching import CaptionJudge, Matching
from seesay.captioning.sentences import Caption
from seesay.captioning.settings import Settings
from seesay.errors import SeesayError
from seesay.images.arrays import ImageFeatures
from seesay.metrics.cider import CiderScorer
from seesay.metrics.frequencies import DocumentFrequencies
from seesay.runtime.matching import Model

SAMPLES = [Path(__file__).parents[2] / "src/seesay/samples" / name for name in ("cat.jpg", "rocket.jpg")]


@pytest.fixture(scope="module")
def captioner() -> Model:
    return Model("mrnn")


@pytest.fixture(scope="module")
def features(captioner: Model) -> ImageFeatures:
    return captioner.features(SAMPLES)


def test_expected_cider_is_the_mean_over_the_draws_of_the_own_image() -> None:
    said = [["a dog runs on grass", "two dogs"], ["a cat sleeps", "the cat", "a red bus"]]
    captions = [["a dog runs", "a cat"], ["a cat sleeps on grass"]]
    table = DocumentFrequencies.build([*said, ["a man rides"], ["two red birds"]])
    spelled = [[[each.split() for each in own] for own in part] for part in (captions, said)]
    found = expected_cider(*spelled, table)
    assert [len(own) for own in found] == [2, 1]
    for place, own in enumerate(captions):
        for caption, score in zip(own, found[place], strict=True):
            scorer = CiderScorer([[each.split()] for each in said[place]], table)
            alone = [scorer.pairs([caption.split()], [0], [number])[0] for number in range(len(said[place]))]
            assert score == pytest.approx(np.mean(alone))


def test_a_caption_that_fits_agrees_more_than_one_of_another_photo(captioner: Model, features: ImageFeatures) -> None:
    images, settings = captioner.encode_images(features), Settings.of(captioner)
    cat, rocket = (Caption(text, tuple(text.split()), -9.0, True) for text in ("a close up of a cat", "a large plane"))
    of_cat, of_rocket = Agreement(captioner, 20).scores([[cat, rocket]] * 2, images, settings)
    assert of_cat[0] > of_cat[1]
    assert of_rocket[1] > of_rocket[0]


def test_a_photo_has_the_same_caption_alone_and_among_others(captioner: Model, features: ImageFeatures) -> None:
    judge = CaptionJudge(captioner, Matching("eye", 12.0, agreement=3.0))
    together = caption_images(captioner, features, judge=judge)
    alone = [caption_images(captioner, features.rows([place]), judge=judge)[0] for place in range(2)]
    assert [own[0].text for own in together] == [own[0].text for own in alone]
    for one, other in zip(together, alone, strict=True):
        assert one[0].agreement == pytest.approx(other[0].agreement, abs=1e-4)


def test_agreement_orders_captions_by_its_weight(captioner: Model, features: ImageFeatures) -> None:
    judge = CaptionJudge(captioner, Matching("eye", 0.0, agreement=1000.0))
    (found,) = caption_images(captioner, features.rows([0]), n_best=5, judge=judge)
    agreements = [each.agreement for each in found]
    assert agreements == sorted(agreements, reverse=True)
    assert agreements[0] > agreements[-1]


def test_weights_without_a_table_of_ngrams_are_refused_by_name(captioner: Model) -> None:
    assert captioner.weights is not None
    bare = Model("mrnn")
    bare.weights = replace(captioner.weights, folder=Path("nowhere"))
    with pytest.raises(SeesayError, match=r"the weights of mrnn have no frequencies\.safetensors"):
        Agreement(bare, 20)
