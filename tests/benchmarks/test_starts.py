"""The ridge probe: a linear relation is found, and differences add up to those of the Sum."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks.ablations.starts import Photos, fit, hits, probe, rank, unit
from seesay.data.collection import Collection, Item

N, N_CAPTIONS, DIM = 40, 2, 6


@pytest.fixture
def photos() -> Photos:
    items = tuple(Item(f"{i}.jpg", None, ("a", "b"), "train") for i in range(N))
    sentences = unit(np.random.default_rng(0).normal(size=(N, DIM)))
    return Photos(
        Collection("toy", Path("toy"), "toy", items),
        np.repeat(sentences, N_CAPTIONS, 0),
        np.repeat(np.arange(N), N_CAPTIONS),
    )


def test_photos_that_are_a_linear_map_of_their_sentences_are_all_found(photos: Photos) -> None:
    x = photos.means @ np.random.default_rng(1).normal(size=(DIM, DIM))
    found = rank(fit(x, photos.means, 1e-9), x, photos.sentences, photos.owners)
    assert found.report()["sum"] == 600.0


def test_the_penalty_is_chosen_without_the_dev_photos(photos: Photos) -> None:
    train, dev, other = (np.random.default_rng(seed).normal(size=(N, 4)) for seed in (2, 3, 4))
    chosen, on_dev = probe(train, dev, photos, photos)
    again, on_other = probe(train, other, photos, photos)
    assert chosen == again
    assert on_dev.report() != on_other.report()


def test_what_photos_add_to_the_sum_has_the_sum_as_its_mean(photos: Photos) -> None:
    x = np.random.default_rng(3).normal(size=(N, 4))
    found = rank(fit(x, photos.means, 10.0), x, photos.sentences, photos.owners)
    assert hits(found, photos).mean() == pytest.approx(found.report()["sum"])


def test_a_vector_that_never_changes_is_no_division_by_zero(photos: Photos) -> None:
    x = np.concatenate([np.ones((N, 1)), photos.means], 1)
    assert np.isfinite(fit(x, photos.means, 1.0).weight).all()
