"""Batches of photos with captions: which rows belong together, and whose captions are left out."""

from dataclasses import replace

import numpy as np

from seesay.training.eye.photos import PhotoBatch
from seesay.training.eye.views import View

WHOLE = View(1.0, 0.0, 0.0, np.zeros(2, bool))
BATCH = PhotoBatch(0, np.array([7, 4]), ["a", "b", "c", "d", "e"], np.array([0, 0, 0, 1, 1]), np.zeros(5, bool), WHOLE)


def test_a_photo_belongs_to_its_captions() -> None:
    assert BATCH.positives(np.arange(2), 1).tolist() == [[True] * 3 + [False] * 2, [False] * 3 + [True] * 2]


def test_rows_stand_as_the_processes_gather_them() -> None:
    """The first has captions a, c and e, the second b and d."""
    assert BATCH.positives(np.arange(2), 2).tolist() == [
        [True, True, False, True, False],
        [False, False, True, False, True],
    ]


def test_a_photo_without_captions_in_the_batch_belongs_to_none() -> None:
    assert not BATCH.positives(np.array([0, 1, -1]), 1)[2].any()


def test_first_captions_are_taken_out_of_the_batch() -> None:
    first, rest = BATCH.without_first_captions()
    assert first == ["a", "d"]
    assert rest.texts == ["b", "c", "e"]
    assert rest.owners.tolist() == [0, 0, 1]
    assert (rest.images == BATCH.images).all()


def test_a_wrong_sentence_is_refused_by_its_own_photo_and_says_nothing_of_others() -> None:
    batch = replace(BATCH, wrong=np.array([False, False, True, False, False]))
    photos = np.arange(2)
    assert batch.positives(photos, 1).tolist() == [
        [True, True, False, False, False],
        [False, False, False, True, True],
    ]
    assert batch.uncounted(photos, 1).tolist() == [[False] * 5, [False, False, True, False, False]]
