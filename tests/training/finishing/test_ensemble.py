"""The weights of an ensemble: what makes the right ones likeliest."""

from dataclasses import replace

import numpy as np
import pytest

from seesay.catalogue.ensembles import Ensemble, Scored
from seesay.metrics.retrieval import retrieval_report
from seesay.training.finishing.ensemble import choose_weights


def noisy(seed: int, noise: float, scale: float = 1.0, shift: float = 0.0, n: int = 60) -> Scored:
    """Scores of n images with two texts each, that know the right ones up to noise."""
    generator = np.random.default_rng(seed)
    right = np.repeat(np.eye(n), 2, axis=1)
    return Scored((scale * (right + noise * generator.normal(size=(n, 2 * n))) + shift).astype(np.float32))


IMAGE_OF = np.repeat(np.arange(60), 2)


def measure(scores: np.ndarray) -> float:
    return retrieval_report(scores, IMAGE_OF)["sum"]


def cost(joined: np.ndarray) -> float:
    """What `choose_weights` makes small, by hand."""
    right = joined[IMAGE_OF, np.arange(len(IMAGE_OF))]
    by_text, by_image = np.log(np.exp(joined).sum(0)), np.log(np.exp(joined).sum(1))[IMAGE_OF]
    return float(np.mean(by_text + by_image - 2 * right))


class TestWeights:
    def test_two_that_err_apart_find_more_together_on_whatever_scales_they_score(self) -> None:
        parts = [noisy(0, 0.5), noisy(1, 0.5, scale=300, shift=-4000)]
        both = choose_weights(["a", "b"], parts, IMAGE_OF)
        assert measure(both.join(parts)) > max(measure(part.scores) for part in parts) + 20

    def test_one_that_knows_nothing_is_left_out(self) -> None:
        parts = [noisy(0, 0.3), noisy(1, 1e6)]
        chosen = choose_weights(["a", "b"], parts, IMAGE_OF)
        assert chosen.members[1].weight <= 0.05 * chosen.members[0].weight
        assert measure(chosen.join(parts)) >= measure(parts[0].scores) - 2

    def test_a_further_member_never_costs_anything_whatever_the_order(self) -> None:
        for seed in range(3):
            parts = [noisy(seed, 0.4), noisy(seed + 10, 0.7), noisy(seed + 20, 2.0)]
            costs = [cost(choose_weights("abc"[:n], parts[:n], IMAGE_OF).join(parts[:n])) for n in (1, 2, 3)]
            assert costs[0] + 1e-4 >= costs[1] >= costs[2] - 1e-4
            assert cost(choose_weights("cba", parts[::-1], IMAGE_OF).join(parts[::-1])) == pytest.approx(
                costs[2], abs=1e-3
            )

    def test_no_other_weights_are_better(self) -> None:
        parts = [noisy(0, 0.5), noisy(1, 0.8)]
        chosen = choose_weights("ab", parts, IMAGE_OF)
        best = cost(chosen.join(parts))
        first, second = chosen.members
        for weight in (0.5 * first.weight, 0.9 * first.weight, 1.1 * first.weight, 2 * first.weight):
            assert cost(Ensemble((replace(first, weight=weight), second)).join(parts)) > best

    def test_scores_that_are_all_the_same_do_not_disturb(self) -> None:
        parts = [noisy(0, 0.3), Scored(np.zeros((60, 120), np.float32))]
        assert measure(choose_weights(["a", "b"], parts, IMAGE_OF).join(parts)) == measure(parts[0].scores)

    def test_members_that_know_nothing_still_have_an_order(self) -> None:
        wrong = Scored(-noisy(0, 0.1).scores)
        assert [member.weight for member in choose_weights("a", [wrong], IMAGE_OF).members] == [1.0]

    def test_hubness_is_subtracted(self) -> None:
        clean, generator = noisy(0, 0.3).scores, np.random.default_rng(5)
        of_images, of_texts = generator.normal(size=60), generator.normal(size=120)
        hubs = (clean + of_images[:, None] + of_texts).astype(np.float32)
        said = [Scored(hubs, of_images.astype(np.float32), of_texts.astype(np.float32))]
        chosen = choose_weights("a", said, IMAGE_OF)
        (member,) = chosen.members
        assert (member.of_images, member.of_texts) == pytest.approx((member.weight, member.weight), rel=0.1)
        assert measure(chosen.join(said)) > measure(hubs) + 100
        assert measure(chosen.join(said)) >= measure(clean) - 10
