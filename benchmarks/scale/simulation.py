"""A hundred million photos on 10, 100 and 1,000 workers: where the bottleneck goes, and what a million photos cost.

A simulation by events, from service times that were measured (sections `workers` and `server` of scale.json). A
worker takes four photos from the queue in the database, fetches each from object storage, computes, writes, and
begins again. The database is a station with so many cores, the object store one with so many answers a second;
workers wait where a station is busy. A worker dies now and then, its photos go back, and it comes back after a while
with its network to load.

Not measured here, and therefore stated as assumptions: the latency and the rate of the object store, the cores of the
database server, and how often a worker dies.

    python -m benchmarks.scale.simulation
"""

import argparse
import heapq
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from benchmarks.scale.sections import read_sections, write_section

WORKERS = (10, 100, 1000, 10_000)
PHOTOS = 100_000_000
BATCH = 4


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds, unless it says otherwise.

    Attributes:
        computing: CPU time of a worker for a photo.
        database: CPU time of the database for a photo: claim, vector, thumbnail, regions, tags.
        building: CPU time of the database for a photo's place in the search index.
        fetch: Latency of the object store.
        fetches: Answers a second of the object store.
        cores: Of the database server.
        life: A worker's mean time until it dies.
        recovery: From a worker's death until another one works.
    """

    computing: float
    database: float
    building: float
    fetch: float = 0.03
    fetches: float = 5500.0
    cores: int = 16
    life: float = 24 * 3600.0
    recovery: float = 60.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    seed = parser.parse_args().seed
    report = read_sections()
    one = report["workers"]["rows"][0]
    building = report["server"]["building_cpu_seconds"] / report["server"]["photos"]
    times = Times(one["worker_cpu_seconds_per_photo"], one["database_cpu_seconds_per_photo"], building)
    rows = [simulate(n, times, seed) for n in WORKERS]
    per_million = {name: round(1e6 * getattr(times, name) / 3600, 2) for name in ("computing", "database", "building")}
    write_section(
        "simulation", photos=PHOTOS, seed=seed, times=asdict(times), rows=rows, core_hours_per_million=per_million
    )


def simulate(n_workers: int, times: Times, seed: int, n_batches: int = 40_000) -> dict[str, Any]:
    """The steady rate of so many workers, and how busy each station is."""
    rng = np.random.default_rng(seed)
    database = [0.0] * times.cores  # when each core is free
    store = 0.0  # when the object store is free
    # A worker's next step, in the order of time: so many photos are fetched; at `BATCH` it computes, and then writes.
    events = [(float(start), number, 0) for number, start in enumerate(rng.uniform(0, 1, n_workers))]
    heapq.heapify(events)
    busy = {"database": 0.0, "store": 0.0, "workers": 0.0}
    began, ends, deaths = [0.0] * n_workers, list[float](), 0
    while len(ends) + deaths < n_batches:
        now, number, step = heapq.heappop(events)
        if step < BATCH:  # one after the other, as a worker does
            began[number] = now if step == 0 else began[number]
            store = max(store, now) + 1 / times.fetches
            busy["store"] += 1 / times.fetches
            heapq.heappush(events, (store + times.fetch, number, step + 1))
        elif step == BATCH:
            computing = BATCH * times.computing * _spread(rng)
            busy["workers"] += computing
            heapq.heappush(events, (now + computing, number, step + 1))
        else:
            service = BATCH * times.database * _spread(rng)
            done = max(heapq.heappop(database), now) + service
            busy["database"] += service
            heapq.heappush(database, done)
            if rng.random() < (done - began[number]) / times.life:
                deaths += 1
                heapq.heappush(events, (done + times.recovery, number, 0))
            else:
                ends.append(done)
                heapq.heappush(events, (done, number, 0))
    ends.sort()
    # The middle of the run: neither while workers start nor while they end.
    first, last = ends[len(ends) // 5], ends[4 * len(ends) // 5]
    rate = BATCH * 0.6 * len(ends) / (last - first)
    span = ends[-1]
    shares = {
        "database": busy["database"] / times.cores / span,
        "store": busy["store"] / span,
        "workers": busy["workers"] / n_workers / span,
    }
    return {
        "workers": n_workers,
        "photos_per_second": round(rate, 1),
        "of_ideal": round(rate / (n_workers / (times.computing + times.database + times.fetch)), 3),
        "days_for_all": round(PHOTOS / rate / 86400, 2),
        "busy": {name: round(min(1.0, share), 3) for name, share in shares.items()},
        "bottleneck": max(shares, key=shares.__getitem__),
        "deaths_simulated": deaths,
        "days_building_index": round(PHOTOS * times.building / times.cores / 86400, 2),
    }


def _spread(rng: np.random.Generator) -> float:
    """A factor around one: photos are not all alike."""
    return float(rng.lognormal(-0.02, 0.2))


if __name__ == "__main__":
    main()
