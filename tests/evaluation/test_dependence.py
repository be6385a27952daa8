"""Maps that follow the words, and maps that do not."""

from pathlib import Path

import numpy as np

from seesay.data import Collection, Item
from seesay.evaluation.dependence import Floats, measure_dependence

NAMES = ("red", "green", "blue", "white", "black", "grey", "pink", "brown")
PHOTOS = Collection("colours", Path(), "toy", tuple(Item(name, None, (name, f"also {name}")) for name in NAMES))


def test_a_map_of_brightness_has_1_and_one_that_follows_the_words_far_less() -> None:
    rng = np.random.default_rng(0)
    bright, words = rng.random((len(NAMES), 5, 5)), {name: rng.random((5, 5)) for name in NAMES}

    def maps_of(photo: int, sentence: str) -> dict[str, Floats]:
        return {"bright": bright[photo], "words": words[sentence], "both": bright[photo] + words[sentence]}

    found = measure_dependence(maps_of, PHOTOS)
    assert (found.n_photos, found.n_foreign) == (8, 3)
    assert found.correlation["bright"] == 1
    assert abs(found.correlation["words"]) < 0.2
    assert 0.3 < found.correlation["both"] < 0.7


def test_foreign_sentences_are_of_other_photos_at_even_distances() -> None:
    asked: list[tuple[int, str]] = []

    def maps_of(photo: int, sentence: str) -> dict[str, Floats]:
        asked.append((photo, sentence))
        return {"flat": np.zeros((2, 2))}

    assert measure_dependence(maps_of, PHOTOS).correlation == {"flat": 1.0}  # says nothing about any sentence
    assert [sentence for photo, sentence in asked if photo == 1] == ["green", "white", "grey", "brown"]
