"""Plans, from costs that are easy to compute with."""

import dataclasses

import pytest

from seesay.errors import SeesayError
from seesay.library.plan import MOST_PHOTOS, Cost, Costs, make_plan


def fixed(value: float, n: int = 1000) -> Cost:
    return Cost(((n, value),), "not")


COSTS = Costs(
    indexing_seconds_per_photo=fixed(0.036),
    indexing_megabytes=fixed(300),
    sqlite_bytes_per_photo=fixed(50_000),
    sqlite_search_milliseconds=Cost(((1000, 1.0), (100_000, 10.0)), "linearly"),
    sqlite_search_megabytes=Cost(((1000, 100.0), (100_000, 200.0)), "linearly"),
    postgres_bytes_per_photo=fixed(60_000),
    postgres_index_bytes_per_photo=fixed(8000),
    postgres_building_seconds_per_photo=fixed(0.002),
    postgres_search_milliseconds=Cost(((1000, 3.0),), "logarithm"),
    postgres_writing_seconds_per_photo=fixed(0.001),
    date="2026-01-01",
    machine="a machine",
)


def test_a_plan_multiplies_what_was_measured() -> None:
    plan = make_plan(100_000, cores=2, costs=COSTS)
    assert plan.store == "sqlite"
    assert plan["network"] == pytest.approx(1.0)  # core hours
    assert plan["indexing"] == pytest.approx(0.5)
    assert plan["disk"] == pytest.approx(5.0)
    assert plan["search"] == pytest.approx(10.0)
    assert plan["memory_search"] == pytest.approx(200.0)


def test_one_machine_keeps_a_folder_until_comparing_every_photo_takes_too_long() -> None:
    assert make_plan(1_000_000, costs=COSTS).store == "sqlite"
    late = make_plan(1_000_001, costs=COSTS)
    assert (late.store, late.why) == ("postgres", "comparing every photo would take 100 ms a search")


def test_several_machines_need_a_server_and_share_the_work() -> None:
    plan = make_plan(100_000, machines=5, cores=2, costs=COSTS)
    assert plan.store == "postgres"
    assert plan["indexing"] == pytest.approx(0.1)
    assert plan["building"] == pytest.approx(200 / 3600)
    assert plan["search"] == pytest.approx(3.0 * 5 / 3)  # log 100,000 / log 1,000


def test_an_index_beyond_the_memory_of_one_server_is_shared_by_several() -> None:
    plan = make_plan(100_000_000, machines=10, cores=1, costs=COSTS)
    assert plan["servers"] == 4  # 800 GB by 256 GB
    assert plan["writing"] == pytest.approx(100_000_000 * 0.001 / 4 / 3600)


def test_an_estimate_says_whether_it_goes_beyond_what_was_measured() -> None:
    within = {estimate.name: estimate for estimate in make_plan(50_000, costs=COSTS).estimates}
    assert within["search"].measured == (1000, 100_000)
    assert not within["search"].extrapolates
    assert within["disk"].extrapolates  # measured at one size, which is another one
    assert make_plan(1000, costs=COSTS).extrapolates is False
    assert make_plan(100_001, costs=COSTS).extrapolates is True


@pytest.mark.parametrize("photos", [0, -1, MOST_PHOTOS + 1, 10**18, True, 2.5])
def test_a_number_that_nobody_has_is_refused(photos: int) -> None:
    with pytest.raises(SeesayError, match=r"photos is .*\n  allowed: a whole number from 1 to 1,000,000,000,000"):
        make_plan(photos, costs=COSTS)


@pytest.mark.parametrize(("machines", "cores"), [(0, 1), (-3, 1), (10**9, 1), (1, -1), (1, 10**6)])
def test_machines_that_nobody_has_are_refused(machines: int, cores: int) -> None:
    with pytest.raises(SeesayError, match=r"(machines|cores) is"):
        make_plan(1000, machines, cores, costs=COSTS)


def test_the_recorded_costs_are_whole_and_positive() -> None:
    costs = Costs.read()
    for field in dataclasses.fields(costs):
        value = getattr(costs, field.name)
        if isinstance(value, Cost):
            assert value.points == tuple(sorted(value.points))
            assert all(n > 0 and each > 0 for n, each in value.points)
