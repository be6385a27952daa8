"""Captions in the order of a matcher: one that sees what the captioner sees."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from seesay.captioning.captions import caption_images
from seesay.captioning.matching import CaptionJudge, Matching, judge_of, matching_of, score_captions
from seesay.captioning.sentences import Caption, judge
from seesay.captioning.settings import Sampling, Settings
from seesay.catalogue.weights import PACKAGED
from seesay.errors import SeesayError
from seesay.images.arrays import ImageFeatures
from seesay.runtime.matching import Model
from seesay.settings.doubt import Doubt

SAMPLES = [Path(__file__).parents[2] / "src/seesay/samples" / name for name in ("cat.jpg", "rocket.jpg")]


@pytest.fixture(scope="module")
def captioner() -> Model:
    return Model("mrnn")


@pytest.fixture(scope="module")
def eye() -> Model:
    return Model("eye")


@pytest.fixture(scope="module")
def features(captioner: Model) -> ImageFeatures:
    return captioner.features(SAMPLES)


def caption(text: str, log_prob: float) -> Caption:
    return Caption(text, tuple(text.split()), log_prob, finished=True)


def test_what_the_captioner_saw_gives_the_vectors_that_the_eye_gives_itself(
    captioner: Model, eye: Model, features: ImageFeatures
) -> None:
    own = eye.encode_images(eye.features(SAMPLES))
    np.testing.assert_allclose(eye.encode_pooled(features.pooled.astype(np.float32)), own, atol=2e-3)


def test_the_sentence_that_fits_comes_first_and_carries_its_cosine(
    captioner: Model, eye: Model, features: ImageFeatures
) -> None:
    candidates = [caption("a rocket on a launch pad", -9.0), caption("a cat with green eyes", -9.5)]
    by_eye = CaptionJudge(captioner, Matching("eye", weight=20.0))
    of_cat, of_rocket = by_eye.order(by_eye.compare([candidates, candidates], features), power=0.5)
    assert [each.text for each in of_cat] == ["a cat with green eyes", "a rocket on a launch pad"]
    assert [each.text for each in of_rocket] == ["a rocket on a launch pad", "a cat with green eyes"]
    texts = eye.encode_texts([each.text for each in of_cat])
    wanted = texts @ eye.encode_pooled(features.pooled.astype(np.float32))[0]
    assert [each.match for each in of_cat] == pytest.approx(wanted.tolist(), abs=1e-5)


def test_without_weight_the_order_is_that_of_likelihood(captioner: Model, features: ImageFeatures) -> None:
    candidates = [caption("a cat", -9.0), caption("a rocket", -5.0)]
    by_eye = CaptionJudge(captioner, Matching("eye", weight=0.0))
    compared = by_eye.compare([candidates], features.rows([0]))
    assert [each.text for each in by_eye.order(compared, power=0.0)[0]] == ["a rocket", "a cat"]


def test_a_longer_sentence_is_not_punished_for_its_words() -> None:
    short, long = caption("a cat", -3.0), caption("a cat on a mat", -6.0)
    merits = score_captions([short, long], power=1.0, weight=5.0)
    assert merits.tolist() == pytest.approx([-1.0, -1.0])


def test_captions_are_chosen_among_candidates_and_drawn_ones_stay_as_drawn(
    captioner: Model, features: ImageFeatures
) -> None:
    by_eye = CaptionJudge(captioner, Matching("eye", weight=1000.0, candidates=5))
    settings = Settings.of(captioner)
    (best,) = caption_images(captioner, features.rows([0]), settings=settings, judge=by_eye)
    (five,) = caption_images(captioner, features.rows([0]), n_best=5, settings=settings, judge=by_eye)
    assert best[0].text == five[0].text
    matches = [each.match for each in five]
    assert matches == sorted(matches, reverse=True)
    drawn = {"n_best": 3, "settings": settings, "sampling": Sampling(seed=4)}
    (compared,) = caption_images(captioner, features.rows([0]), judge=by_eye, **drawn)
    (plain,) = caption_images(captioner, features.rows([0]), **drawn)
    assert [each.text for each in compared] == [each.text for each in plain]
    assert all(each.match is not None for each in compared)


def test_a_narrow_beam_is_widened_to_the_captions_that_are_ordered_unless_its_width_was_typed(
    captioner: Model, features: ImageFeatures
) -> None:
    by_eye = CaptionJudge(captioner, Matching("eye", weight=1000.0, candidates=10))
    narrow, wide = (replace(Settings.of(captioner), beam=width, candidates=10) for width in (2, 10))
    (from_narrow,), (from_wide,) = (
        caption_images(captioner, features.rows([0]), settings=settings, judge=by_eye) for settings in (narrow, wide)
    )
    assert from_narrow[0].text == from_wide[0].text
    typed = replace(narrow, candidates=2)
    assert by_eye.widen(typed).beam == 2


def test_confidence_that_rests_on_a_match_is_not_told_without_one() -> None:
    doubt = Doubt(1.0, 0.0, 0.0, 0.5, per_match=4.0, matcher="eye")
    assert judge(caption("a cat", -3.0), doubt).confidence is None
    assert judge(replace(caption("a cat", -3.0), match=0.9), doubt).confidence > 0.9


def test_weights_without_a_table_are_not_judged() -> None:
    assert judge_of(Model("mrnn-flickr8k")) is None


def test_the_shipped_captioner_is_judged_by_the_eye(captioner: Model) -> None:
    found = matching_of(captioner)
    assert found is not None
    assert found.matcher == "eye"
    assert found.weight > 0


def test_a_matcher_of_another_network_is_refused_by_name(captioner: Model) -> None:
    with pytest.raises(SeesayError, match="vse cannot judge what mrnn has seen"):
        CaptionJudge(captioner, Matching("vse", weight=1.0))


def test_a_table_with_a_wrong_value_is_refused(tmp_path: Path) -> None:
    shutil.copytree(PACKAGED / "mrnn", tmp_path / "mrnn")
    path = tmp_path / "mrnn" / "config.json"
    about = json.loads(path.read_text())
    about["matching"] = {"matcher": "eye", "weight": -1.0, "candidates": 10}
    about["tuned"].pop("matching", None)
    path.write_text(json.dumps(about))
    with pytest.raises(SeesayError, match=r"matching\.weight"):
        matching_of(Model(tmp_path / "mrnn"))
