"""Several matchers together: one scale, weights from dev, and the same scores for one pair as for many."""

from pathlib import Path

import numpy as np
import pytest
import torch

from seesay.errors import SeesayError
from seesay.evaluation import ensembles
from seesay.evaluation.ensembles import Ensemble, Member, choose_weights, evaluate_ensemble, read_ensemble
from seesay.evaluation.protocols import evaluate_retrieval
from seesay.metrics.retrieval import retrieval_report


def noisy(seed: int, noise: float, scale: float = 1.0, shift: float = 0.0, n: int = 60) -> np.ndarray:
    """Scores of n images with two texts each, that know the right ones up to noise."""
    generator = np.random.default_rng(seed)
    right = np.repeat(np.eye(n), 2, axis=1)
    return (scale * (right + noise * generator.normal(size=(n, 2 * n))) + shift).astype(np.float32)


IMAGE_OF = np.repeat(np.arange(60), 2)


def measure(scores: np.ndarray) -> float:
    return retrieval_report(scores, IMAGE_OF)["sum"]


class TestWeights:
    def test_two_that_err_apart_find_more_together_on_whatever_scales_they_score(self) -> None:
        parts = [noisy(0, 0.5), noisy(1, 0.5, scale=300, shift=-4000)]
        both = choose_weights(["a", "b"], parts, IMAGE_OF)
        assert measure(both.join(parts)) > max(map(measure, parts)) + 20

    def test_one_that_knows_nothing_is_left_out(self) -> None:
        parts = [noisy(0, 0.3), noisy(1, 1e6)]
        chosen = choose_weights(["a", "b"], parts, IMAGE_OF)
        assert chosen.members[1].weight <= 0.1
        assert measure(chosen.join(parts)) >= measure(parts[0])

    def test_the_ensemble_is_never_worse_on_dev_than_its_first_member(self) -> None:
        for seed in range(3):
            parts = [noisy(seed, 0.4), noisy(seed + 10, 0.7), noisy(seed + 20, 2.0)]
            assert measure(choose_weights("abc", parts, IMAGE_OF).join(parts)) >= measure(parts[0])

    def test_scores_that_are_all_the_same_do_not_disturb(self) -> None:
        parts = [noisy(0, 0.3), np.zeros((60, 120), np.float32)]
        assert measure(choose_weights(["a", "b"], parts, IMAGE_OF).join(parts)) == measure(parts[0])


def test_scores_are_standardised_weighed_and_added_up() -> None:
    both = Ensemble((Member("a", 1.0, 1.0, 2.0), Member("b", 0.5, 0.0, 1.0), Member("c", 0.0, 0.0, 1.0)))
    joined = both.join([np.array([[3.0, 1.0]]), np.array([[4.0, 0.0]]), np.array([[np.inf, 0.0]])])
    np.testing.assert_allclose(joined, [[3.0, 0.0]])


def test_a_file_keeps_an_ensemble_as_it_was(tmp_path: Path) -> None:
    both = Ensemble((Member("vse", 1.0, 0.1, 0.2), Member("runs/dvsa/weights", 0.5, 0.0, 1.0)), "flickr8k/dev")
    both.write(tmp_path / "ensemble.json")
    assert read_ensemble(tmp_path / "ensemble.json") == both
    assert both.name == "vse + weights"


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"members": [{"name": "a"}]}'])
def test_what_is_no_ensemble_is_refused_with_the_file_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "other.json"
    path.write_text(text)
    with pytest.raises(SeesayError, match=r"other\.json describes no ensemble"):
        read_ensemble(path)
    with pytest.raises(SeesayError, match=r"cannot read .*missing\.json"):
        read_ensemble(tmp_path / "missing.json")


def test_an_ensemble_of_one_measures_and_matches_as_that_one(three_images, monkeypatch: pytest.MonkeyPatch) -> None:
    model, collection, store = three_images
    monkeypatch.setattr(ensembles, "load", lambda name: model)
    alone = Ensemble((Member("toy", 1.0, 0.0, 1.0),))
    expected = evaluate_retrieval(model, collection, store=store)
    found = evaluate_ensemble(alone, collection, store=store)
    assert found.figures == expected.figures
    assert (found.n_images, found.n_sentences) == (expected.n_images, expected.n_sentences)
    monkeypatch.setattr(type(model), "match", lambda self, images, sentences: torch.tensor([[3.0]]))
    assert Ensemble((Member("toy", 0.5, 1.0, 2.0), Member("toy", 1.0, 0.0, 1.0))).match("a", "b").item() == 3.5
