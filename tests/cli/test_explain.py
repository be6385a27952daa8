"""`seesay explain`: heat and weights as JSON, table and drawing, by every method."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from seesay.export.exporting import export_weights
from seesay.images.features import FeatureSpec
from seesay.images.io import open_image
from seesay.models import pretrained
from seesay.models.smlstm import SMLSTM, SMLSTMConfig
from seesay.text.vocabulary import Vocabulary

Run = Callable[..., Any]


@pytest.fixture(autouse=True)
def _here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, in_colours_cache: Path, small_backbone: Any) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(FeatureSpec, "load_backbone", lambda spec: small_backbone)


@pytest.fixture
def weights(identifier_run: Path) -> tuple[str, str]:
    return ("-m", str(identifier_run / "weights"))


@pytest.fixture
def photo(colours: Path) -> Path:
    return colours / "images" / "red_5.png"


@pytest.mark.parametrize("method", ["excitation", "contrastive"])
def test_words_with_weights_and_a_map_as_json(seesay: Run, weights: tuple[str, str], photo: Path, method: str) -> None:
    finished = seesay("explain", photo, "A red picture.", "--method", method, *weights, "--json")
    report = json.loads(finished.out)
    assert (finished.code, report["method"]) == (0, method)
    assert [row["word"] for row in report["words"]] == ["a", "red", "picture"]
    assert np.shape(report["map"]) == (2, 2)
    total = sum(row["weight"] for row in report["words"]) + np.sum(report["map"])
    assert 0 < total <= 1.001
    assert 0 <= report["probability"] <= 1
    assert "picture" not in report


def test_the_sentence_that_fits_matches_with_the_higher_probability(
    seesay: Run, weights: tuple[str, str], photo: Path
) -> None:
    right, wrong = (
        json.loads(seesay("explain", photo, f"a {colour} picture", *weights, "--json").out)["probability"]
        for colour in ("red", "green")
    )
    assert right > wrong


def test_without_a_file_name_it_draws_beside_the_user(seesay: Run, weights: tuple[str, str], photo: Path) -> None:
    finished = seesay("explain", photo, "a red picture", *weights)
    assert finished.code == 0
    assert [line.split()[0] for line in finished.out.splitlines()[1:4]] == ["a", "red", "picture"]
    assert finished.out.splitlines()[-1].startswith("matches with a probability of")
    assert finished.err == "drawn in red_5-explain.png\n"
    drawn = open_image(Path("red_5-explain.png"))
    assert drawn.height > 800  # the photo is 40 × 48: its longer side at 800 pixels, and the sentence below


def test_alignment_has_a_map_for_every_word(seesay: Run, model: tuple[str, str], photo: Path) -> None:
    finished = seesay("explain", photo, "a red picture", "--method", "alignment", *model, "--json")
    report = json.loads(finished.out)
    assert np.shape(report["word_maps"]) == (3, 2, 2)
    assert np.shape(report["boxes"]) == (3, 4)
    assert sum(row["weight"] for row in report["words"]) == pytest.approx(1, abs=1e-3)
    assert "probability" not in report


class TestAttention:
    @pytest.fixture
    def pairs(self, tmp_path: Path) -> str:
        """Untrained weights of an sm-LSTM that looks twice."""
        torch.manual_seed(0)
        config = SMLSTMConfig(dim=8, hidden=6, units=4, similarity_dim=4, word_dim=4, n_steps=2)
        vocabulary = Vocabulary.build(["a red picture"], min_count=1)
        model = SMLSTM(config, vocabulary, FeatureSpec("efficientnet-lite0", 64))
        model.initialise(0)
        pretrained.save(tmp_path / "pairs", model, {"name": "pairs"})
        export_weights(tmp_path / "pairs", precision="fp32")
        return str(tmp_path / "pairs")

    def test_every_step_has_a_map_and_two_words(self, seesay: Run, pairs: str, photo: Path) -> None:
        finished = seesay("explain", photo, "a red picture", "--method", "attention", "-m", pairs, "--json")
        steps = json.loads(finished.out)["steps"]
        assert [len(step["words"]) for step in steps] == [2, 2]
        assert np.shape(steps[1]["map"]) == (2, 2)
        assert np.sum(steps[1]["map"]) == pytest.approx(1, abs=1e-3)

    def test_two_models_are_drawn_one_below_the_other(self, seesay: Run, pairs: str, photo: Path) -> None:
        options = ("--method", "attention", "-m", pairs)
        alone = seesay("explain", photo, "a red picture", *options, "-o", "alone.png")
        assert [line.partition(":")[0] for line in alone.out.splitlines()[-2:]] == ["step 1", "step 2"]
        assert seesay("explain", photo, "a red picture", *options, "--beside", pairs, "-o", "both.png").code == 0
        one, two = (open_image(Path(name)) for name in ("alone.png", "both.png"))
        assert two.height > 1.5 * one.height

    def test_beside_is_for_attention_only(self, seesay: Run, weights: tuple[str, str], photo: Path) -> None:
        finished = seesay("explain", photo, "a red picture", *weights, "--beside", weights[1])
        assert finished.code == 2
        assert "with --method attention" in finished.err


def test_an_unknown_method_is_answered_with_the_list(seesay: Run, photo: Path) -> None:
    finished = seesay("explain", photo, "a red picture", "--method", "gaze")
    assert (finished.code, finished.out) == (2, "")
    assert (
        "there is no explainer 'gaze'\n  allowed: alignment, attention, contrastive, crops, excitation" in finished.err
    )
    assert "try: --method alignment" in finished.err


def test_without_a_method_the_weights_say_which(seesay: Run, model: tuple[str, str], photo: Path) -> None:
    finished = seesay("explain", photo, "a red picture", *model, "--json")
    assert (finished.code, json.loads(finished.out)["method"]) == (0, "alignment")


def test_a_model_without_a_match_score_is_refused_with_what_to_type(
    seesay: Run, model: tuple[str, str], photo: Path
) -> None:
    finished = seesay("explain", photo, "a red picture", "--method", "excitation", *model)
    assert finished.code == 2
    assert "--method alignment" in finished.err


def test_a_sentence_without_words_is_refused(seesay: Run, weights: tuple[str, str], photo: Path) -> None:
    finished = seesay("explain", photo, "!", *weights)
    assert finished.code == 2
    assert "has no words" in finished.err
