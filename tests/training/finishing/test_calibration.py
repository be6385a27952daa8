"""Cosines as probabilities: the fit, and the queries it is fitted on."""

from pathlib import Path

import numpy as np
import pytest

from seesay.data.collection import Collection, Item, Phrase
from seesay.errors import SeesayError
from seesay.settings.calibration import MOST_WORDS, Calibration
from seesay.text.tokens import tokenize
from seesay.training.finishing.calibration import (
    Queries,
    fit_calibration,
    fit_judged,
    fit_said,
    gather_queries,
    mean_average_precision,
    precisions,
    read_part,
)

CURVE = Calibration(slope=8.0, slope_per_word=1.0, offset=-3.0, offset_per_word=-1.0)


def observe(n: int = 60_000) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pairs that follow the curve."""
    rng = np.random.default_rng(1)
    cosines, n_words = rng.uniform(-0.2, 0.9, n), rng.integers(1, MOST_WORDS + 1, n)
    logits = (8 + n_words) * cosines - 3 - n_words
    return cosines, rng.random(n) < 1 / (1 + np.exp(-logits)), n_words


def test_the_curve_that_made_the_pairs_is_found_again() -> None:
    found = fit_calibration(*observe())
    for n_words in (1, 3, 6):
        cosines = np.linspace(0, 0.8, 9)
        np.testing.assert_allclose(found.probability(cosines, n_words), CURVE.probability(cosines, n_words), atol=0.03)


def test_a_ceiling_is_found_where_people_never_agree_wholly() -> None:
    rng = np.random.default_rng(2)
    cosines = rng.uniform(0, 1, 60_000)
    fits = rng.random(60_000) < 0.7 / (1 + np.exp(6 - 20 * cosines))
    found = fit_calibration(cosines, fits, np.full(60_000, 2))
    assert found.ceiling == 0.7
    assert found.probability(1.0, 2) == pytest.approx(0.7, abs=0.02)
    assert fit_calibration(*observe()).ceiling == 1.0


def test_no_other_curve_makes_them_likelier() -> None:
    cosines, fits, n_words = observe(1000)
    found = fit_calibration(cosines, fits, n_words)

    def cost(curve: Calibration) -> float:
        p = np.array([curve.probability(c, int(n)) for c, n in zip(cosines, n_words, strict=True)])
        return -float(np.where(fits, np.log(p), np.log(1 - p)).sum())

    best = cost(found)
    for delta in np.eye(4) * 0.05:
        for sign in (1, -1):
            values = np.array([found.slope, found.slope_per_word, found.offset, found.offset_per_word]) + sign * delta
            assert cost(Calibration(*values, found.ceiling)) > best


def test_sentences_of_one_length_are_enough() -> None:
    rng = np.random.default_rng(0)
    cosines = rng.uniform(0, 1, 30_000)
    found = fit_calibration(cosines, rng.random(30_000) < 1 / (1 + np.exp(5 - 10 * cosines)), np.full(30_000, 3))
    assert found.probability(0.5, 3) == pytest.approx(0.5, abs=0.03)


@pytest.mark.parametrize("fits", [[True, True], [False, False], []])
def test_pairs_that_all_or_none_fit_teach_nothing(fits: list[bool]) -> None:
    with pytest.raises(SeesayError, match="some that fit and some that do not"):
        fit_calibration([0.1, 0.9][: len(fits)], fits, [1, 1][: len(fits)])


def test_pairs_of_which_more_fit_than_are_mentioned_are_too_few() -> None:
    with pytest.raises(SeesayError, match="50% of 4 pairs fit: too few pairs") as refused:
        fit_calibration([0.1, 0.2, 0.3, 0.4], [True, False, True, False], [1] * 4, ceilings=(1.0,), mentioned=0.5)
    assert "more dev photos" in str(refused.value.hint)


def test_a_step_is_no_curve() -> None:
    with pytest.raises(SeesayError, match="wholly apart"):
        fit_calibration([0.1, 0.2, 0.8, 0.9], [False, False, True, True], [1, 1, 1, 1])


def collection(*items: Item) -> Collection:
    return Collection("toy", Path(), "toy", items)


def names(text: str) -> list[str]:
    return [word for word in tokenize(text) if len(word) > 2]


def test_describers_say_a_query_of_a_photo_where_they_have_every_content_word_in_whatever_form() -> None:
    photos = collection(
        Item("1.jpg", None, ("Two dogs play.", "Dogs in the snow.", "A picture."), "dev"),
        Item("2.jpg", None, ("A cat sleeps in snow.", "A dog and a cat."), "dev"),
    )
    phrases = (Phrase(0, 0, 2, "a dog", "7", ()), Phrase(0, 0, 1, "nothing", "0", ()))
    entities = collection(Item("1.jpg", None, ("Two dogs play .",), None, phrases=phrases))
    queries = gather_queries(photos, entities, names, len)
    said = {text: each.tolist() for text, each in zip(queries.texts, queries.said, strict=True)}
    assert (queries.n_phrases, queries.texts[0], queries.owners[0]) == (1, "a dog", 0)
    assert said["a dog"] == [True, False]  # without its writer, and without one describer of the other photo
    assert said["A cat sleeps in snow."] == [False, False]  # nobody but its writer said so
    assert queries.fits[queries.texts.index("A cat sleeps in snow.")].tolist() == [False, True]
    assert queries.of_phrases().texts == ["a dog"]
    scores = np.array([[0.9, 0.1]] * len(queries.texts), np.float32)
    assert precisions({"all": scores}, queries)["phrases"] == {"all": 100.0}


def test_sentences_alone_are_enough() -> None:
    photos = collection(Item("1.jpg", None, ("Two dogs play.", "Dogs in the snow."), "dev"))
    assert gather_queries(photos, None, names, len).n_phrases == 0


def test_what_is_not_always_mentioned_still_fits() -> None:
    rng = np.random.default_rng(3)
    n_texts, n_photos, mentioned = 300, 201, np.array([0.0, 0.6, 0.3])
    n_words = rng.integers(1, 3, n_texts)
    scores = rng.uniform(-0.2, 0.9, (n_texts, n_photos)).astype(np.float32)
    fits = rng.random(scores.shape) < CURVE.probability(scores, n_words[:, None])
    fits[:, 0] = True  # each was written about the first photo
    said = fits & (rng.random(scores.shape) < mentioned[n_words][:, None])
    queries = Queries([""] * n_texts, n_words, np.full(n_texts, 9), np.zeros(n_texts, np.int64), said, n_texts)
    for own, n in zip(queries.mentioned(), n_words, strict=True):
        assert own == pytest.approx(mentioned[n], abs=0.1)
    found = fit_said(scores, queries)
    for n in (1, 2):
        at = np.linspace(0, 0.8, 9)
        np.testing.assert_allclose(found.probability(at, n, 9), CURVE.probability(at, n), atol=0.12)


def test_what_people_hardly_ever_speak_of_has_to_score_more() -> None:
    rng = np.random.default_rng(4)
    scores, rarest = rng.uniform(0, 1, 60_000), rng.choice([9, 999], 60_000)
    yes = rng.random(60_000) < 1 / (1 + np.exp(-(8 * scores - 8 + 1.5 * np.log10(1 + rarest))))
    found = fit_calibration(scores, yes, np.full(60_000, 2), rarest)
    assert found.per_frequency == pytest.approx(1.5, abs=0.1)
    assert found.probability(0.6, 2, 999) == pytest.approx(0.79, abs=0.03)
    assert found.probability(0.6, 2, 9) == pytest.approx(0.15, abs=0.03)


def test_judgements_make_the_curve_of_sentences_and_leave_that_of_phrases() -> None:
    scores, said, n_words = observe(20_000)
    phrases = Calibration(1.0, 0.0, 0.0, 0.0)
    rarest = np.full(len(scores), 99)
    curve, figures = fit_judged(scores.astype(np.float32), said.astype(float), n_words, rarest, phrases)
    assert curve.phrases == phrases
    assert curve.probability(0.5, 4, 99) == pytest.approx(float(CURVE.probability(0.5, 4)), abs=0.05)
    assert figures["log-loss"] < figures["log-loss of a constant"]
    assert figures["expected calibration error"] < 0.02


def test_judged_pairs_are_places_of_sentences_and_photos(tmp_path: Path) -> None:
    pets = collection(Item("dog.jpg", None, ("a dog", "it runs")), Item("cat.jpg", None, ("a cat",)))
    table = tmp_path / "votes.tsv"
    table.write_text("image\tcaption\tyes\tno\tpart\ncat.jpg\tdog.jpg#1\t1\t3\tfit\ncat.jpg\tcat.jpg#0\t3\t0\tfit\n")
    yes, photos, texts, (sentence_of, item_of) = read_part(table, pets, "fit")
    assert yes.tolist() == [0.25, 1.0]
    assert ([item.name for item in photos.items], texts) == (["cat.jpg"], ["it runs", "a cat"])
    assert (sentence_of.tolist(), item_of.tolist()) == ([0, 1], [0, 0])


def test_average_precision_is_over_queries_that_some_photo_fits() -> None:
    scores = np.array([[0.1, 0.9, 0.5], [0.3, 0.2, 0.1]], np.float32)
    fits = np.array([[True, False, True], [False, False, False]])
    assert mean_average_precision(scores, fits) == pytest.approx(100 * (1 / 2 + 2 / 3) / 2, abs=0.01)
