import numpy as np
import pytest

from seesay.training.batching import batches, count_batches, mixed_batches

LENGTHS = np.random.default_rng(0).integers(1, 40, size=1003)


def flat(found):
    return sorted(np.concatenate(found).tolist())


@pytest.mark.parametrize("bucket", [True, False])
@pytest.mark.parametrize("size", [1, 7, 64, 1003, 5000])
def test_every_example_comes_exactly_once_an_epoch(size, bucket):
    for epoch in range(3):
        found = batches(LENGTHS, size, seed=1, epoch=epoch, bucket_by_length=bucket)
        assert flat(found) == list(range(len(LENGTHS)))


def test_no_batch_is_larger_than_asked_and_none_much_smaller_than_the_others():
    sizes = [len(indices) for indices in batches(LENGTHS, 50, seed=1, epoch=0)]
    assert max(sizes) <= 50
    assert max(sizes) - min(sizes) <= 1


def test_batches_depend_on_seed_and_epoch_and_nothing_else():
    def once(seed, epoch):
        return [indices.tolist() for indices in batches(LENGTHS, 32, seed=seed, epoch=epoch)]

    np.random.seed(7)  # noqa: NPY002 (the global generator must not matter)
    first = once(1, 0)
    np.random.seed(8)  # noqa: NPY002
    assert once(1, 0) == first
    assert once(1, 1) != first
    assert once(2, 0) != first


def test_bucketing_leaves_little_padding_and_still_mixes_the_examples():
    def padding(found):
        return np.mean([1 - LENGTHS[indices].mean() / LENGTHS[indices].max() for indices in found])

    sorted_, shuffled = (batches(LENGTHS, 20, seed=0, epoch=0, bucket_by_length=flag) for flag in (True, False))
    assert padding(sorted_) < 0.1 < 0.4 < padding(shuffled)
    companions = [
        {tuple(sorted(indices)) for indices in batches(LENGTHS, 20, seed=0, epoch=e, window=5)} for e in (0, 1)
    ]
    assert not companions[0] & companions[1]


def test_short_and_long_batches_come_in_random_order():
    means = [LENGTHS[indices].mean() for indices in batches(LENGTHS, 20, seed=0, epoch=0)]
    assert abs(np.corrcoef(means, range(len(means)))[0, 1]) < 0.5


def test_a_batch_stays_within_one_collection():
    lengths = [np.ones(40), np.ones(25)]
    found = mixed_batches(lengths, 8, weights=[1.0, 1.0], seed=0, epoch=0)
    for collection, n in enumerate((40, 25)):
        assert flat([indices for own, indices in found if own == collection]) == list(range(n))
    order = [collection for collection, _ in found]
    assert order != sorted(order)


def test_half_a_weight_shows_everything_once_in_two_epochs():
    both = [
        indices
        for epoch in (4, 5)
        for collection, indices in mixed_batches([LENGTHS, LENGTHS], 16, weights=[1.0, 0.5], seed=3, epoch=epoch)
        if collection == 1
    ]
    assert flat(both) == list(range(len(LENGTHS)))


def test_weight_two_shows_everything_twice_and_never_twice_in_a_batch():
    found = mixed_batches([np.ones(10)], 4, weights=[2.0], seed=0, epoch=0)
    assert flat([indices for _, indices in found]) == sorted([*range(10), *range(10)])
    assert all(len(set(indices.tolist())) == len(indices) for _, indices in found)


@pytest.mark.parametrize("weight", [0.1, 0.37, 1.0, 1.6, 3.0])
def test_uneven_weights_keep_all_examples_level_over_many_epochs(weight):
    seen = np.zeros(101, dtype=int)
    for epoch in range(20):
        for _, indices in mixed_batches([np.ones(101)], 8, weights=[weight], seed=0, epoch=epoch):
            np.add.at(seen, indices, 1)
    assert seen.max() - seen.min() <= 1
    assert seen.sum() == round(20 * weight * 101)


@pytest.mark.parametrize("epoch", [0, 1, 7])
def test_the_count_agrees_with_the_batches(epoch):
    sizes, weights = [1003, 17, 1, 0], [0.3, 2.5, 1.0, 1.0]
    lengths = [np.ones(n) for n in sizes]
    found = mixed_batches(lengths, 10, weights=weights, seed=0, epoch=epoch)
    assert count_batches(sizes, 10, weights=weights, epoch=epoch) == len(found)


def test_an_empty_collection_has_no_batches():
    assert batches([], 8, seed=0, epoch=0) == []
