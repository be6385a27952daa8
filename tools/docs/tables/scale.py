"""Tables of docs/how-to/scale.md: what was measured, and estimates for other sizes."""

from typing import Any

from seesay.cli.use.plan import show_value
from seesay.library.plan import Plan, make_plan
from tables.reading import dated, result, table

SHARING = "python -m benchmarks.speed.sharing"
STAGES = {
    "vectors": "vectors", "hubness": "corrected for hubness", "tags": "with tags",
    "regions": "and regions, as it ships",
}  # fmt: skip
PLANS = ((50_000, 1), (1_000_000, 1), (100_000_000, 100))


def section(name: str) -> dict[str, Any]:
    found: dict[str, Any] = result("scale")[name]
    return found


def noted(rows: str, note: str, name: str) -> str:
    found = section(name)
    return dated(f"{rows}\n{note}" if note else rows, found, found["command"])


def scale_indexing() -> str:
    found = section("indexing")
    rows: list[list[object]] = [
        ["photos", f"{found['photos']:,}"],
        ["CPU time per photo", f"{1000 * found['cpu_seconds_per_photo']:.1f} ms"],
        ["highest memory", f"{found['peak_megabytes']:,} MB"],
        ["disk per photo, with thumbnail and regions", f"{found['bytes_per_photo'] / 1000:.1f} KB"],
        ["runs ended by `SIGKILL`", found["kills"]],
        ["photos that were written in part after a kill", found["incomplete_after_kills"]],
    ]
    return noted(table(["`seesay index`, SQLite", "measured"], rows), "", "indexing")


def scale_postgres() -> str:
    found = section("postgres")
    rows: list[list[object]] = [
        ["photos", f"{found['photos']:,}"],
        ["CPU time per photo", f"{1000 * found['cpu_seconds_per_photo']:.1f} ms"],
        ["CPU time of the database per photo", f"{1000 * found['database_cpu_seconds_per_photo']:.1f} ms"],
        ["disk per photo", f"{found['bytes_per_photo'] / 1000:.1f} KB"],
        ["killed after", f"{found['killed_at']:,} photos"],
        ["photos that differ from those in SQLite", found["differing"]],
    ]
    return noted(table(["`seesay index`, PostgreSQL", "measured"], rows), "", "postgres")


def scale_scans() -> str:
    found = section("scans")
    runs = found["unchanged"]
    still = sorted(runs, key=lambda row: row["seconds"])[len(runs) // 2]
    cases = [("nothing has changed", still), ("one photo in a hundred has changed", found["changed"])]
    cases.append(("a folder was moved", found["moved"]))
    rows: list[list[object]] = [
        [
            what, f"{row['seconds']:.1f} s", f"{row['cpu_seconds']:.1f} s", f"{row['added'] + row['changed']:,}",
            f"{row['encoded']:,}",
        ]
        for what, row in cases
    ]  # fmt: skip
    header = [f"{found['photos']:,} files", "`seesay index` takes", "CPU time", "photos read", "photos encoded"]
    times = sorted(row["seconds"] for row in runs)
    note = (
        f"Nothing changed: the middle one of {len(runs)} runs, which took {times[0]:.1f} to {times[-1]:.1f} s. What "
        f"changed was timed on {found['changes_date']}, while other programs used the machine."
    )
    return noted(table(header, rows), note, "scans")


def scale_quality() -> str:
    found = section("quality")
    rows: list[list[object]] = [
        [f"{row['photos']:,}", STAGES[row["stage"]], row["R@1"], row["R@5"], row["R@10"], f"{row['median_rank']:.0f}",
         f"{row['k']:,}"]
        for row in found["rows"]
    ]  # fmt: skip
    header = ["photos", "stage", "R@1", "R@5", "R@10", "median rank", "k"]
    note = (
        f"{found['captions']:,} test captions of Flickr8K, of {found['test_photos']:,} photos; the others are drawn "
        f"at random, seed {found['seed']}. k: photos to look at to have the right one among them for 90 % of the "
        "captions."
    )
    return noted(table(header, rows), note, "quality")


def scale_precision() -> str:
    """Single against half precision on a server."""
    found = section("server")
    rows: list[list[object]] = [
        [
            f"`{kind}`", breadth, f"{row['sentences']:.3f}", f"{row['photos']:.3f}",
            f"{each['index_bytes_per_photo']:,}", f"{each['building_cpu_seconds']:.0f} s",
            f"{each['exact_milliseconds']['server_cpu_milliseconds']:.0f} ms",
        ]
        for kind, each in (("vector", found["single_precision"]), ("halfvec", found))
        for breadth, row in each["recall"].items()
    ]  # fmt: skip
    header = [
        "vectors", "`ef_search`", "recall@10 by sentences", "recall@10 by photos", "bytes of the index per photo",
        "CPU time of building it", "comparing every photo",
    ]  # fmt: skip
    note = (
        f"{found['photos']:,} real photos, {found['dim']:,} dimensions, pgvector {found['pgvector']}, m {found['m']}; "
        "comparing: CPU time of a search without the index."
    )
    return noted(table(header, rows), note, "server")


def scale_recall() -> str:
    found = section("server")
    filtered: list[list[object]] = [
        [
            row["filter"], f"{100 * row['share']:.1f} %", f"{row['sentences']:.3f}", f"{row['photos']:.3f}",
            f"{row['milliseconds']:.1f} ms", f"{row['compared_milliseconds']:.1f} ms",
        ]
        for row in found["filters"]
    ]  # fmt: skip
    header = [
        "which photos", "left by the filter", "recall@10 by sentences", "recall@10 by photos", "CPU time per search",
        "comparing all that pass",
    ]  # fmt: skip
    note = (
        f"{found['photos']:,} real photos in half precision, `ef_search` {found['breadth']}. Dates were assigned at "
        "random; folders and tags are real."
    )
    return noted(table(header, filtered), note, "server")


def scale_latency() -> str:
    found = section("server")
    rows: list[list[object]] = [
        [f"`{kind}`", row["clients"], f"{row['server_cpu_milliseconds']:.1f} ms", f"{row['p50']:.0f} ms",
         f"{row['p95']:.0f} ms"]
        for kind, each in (("vector", found["single_precision"]), ("halfvec", found))
        for row in each["latency"]
    ]  # fmt: skip
    note = f"{found['photos']:,} photos on a server; other programs used the machine, so waits are upper bounds."
    header = ["vectors", "clients at once", "CPU time of the server per search", "median wait", "95th percentile"]
    return noted(table(header, rows), note, "server")


def scale_exact() -> str:
    found = section("exact")
    grown = section("grown_library")["rows"]
    rows: list[list[object]] = [
        [
            f"{row['photos']:,}",
            "grown" if row["made"] else "real",
            f"{row['warm_cpu_milliseconds']:.1f} ms",
            f"{row['memory_megabytes']['peak']:,} MB",
            f"{row['matrix_megabytes']:,} MB",
            f"{row['same_of_20'][0]} of 20",
        ]
        for row in sorted([*found["rows"], *grown], key=lambda row: row["photos"])
    ]
    header = ["photos", "vectors", "CPU time per search", "highest memory", "matrix on disk", "same as exact, at least"]
    note = f"Grown vectors by `{section('grown_library')['command']} … library`."
    return noted(table(header, rows), note, "exact")


def scale_million() -> str:
    found = section("million")
    rows: list[list[object]] = [
        [
            f"{row['photos']:,}",
            f"{row['pass_cpu_milliseconds']:.0f} ms",
            f"{row['peak_megabytes']:,} MB",
            f"{row['own_megabytes']:,} MB",
        ]
        for row in found["rows"]
    ]
    note = (
        f"{found['rows'][0]['directions']} bytes for each photo, random ones: neither time nor memory depends on them. "
        "A process that reads sentences needs its networks besides; see the memory above."
    )
    header = [
        "photos",
        "CPU time of a pass over the bytes",
        "highest memory, mapped bytes included",
        "memory of its own",
    ]
    return noted(table(header, rows), note, "million")


def scale_workers() -> str:
    found = section("workers")
    rows: list[list[object]] = [
        [
            row["workers"],
            f"{row['over_one_worker']:.2f}×",
            f"{1000 * row['worker_cpu_seconds_per_photo']:.0f} ms",
            f"{1000 * row['database_cpu_seconds_per_photo']:.1f} ms",
        ]
        for row in found["rows"]
    ]
    killed = found["killed"]
    verdict = "the library of one process" if killed["equal_to_one_process"] else "not the library of one process"
    note = (
        f"{found['photos']} photos on a disk, {found['rounds']} rounds in turns, each worker held to "
        f"{100 * found['share']:.0f} % of a core on a machine that no other program used. Then the same photos in "
        f"object storage; killed while two workers indexed them: {'; '.join(killed['killed'])} photos. The same "
        f"command was given again, and the result is {verdict}. The database's time contains creating its tables and "
        "what the benchmark asked it all the while."
    )
    header = ["Ray workers", "photos per second against one", "CPU time of workers per photo", "of the database"]
    return noted(table(header, rows), note, "workers")


def scale_simulation() -> str:
    found = section("simulation")
    rows: list[list[object]] = [
        [
            f"{row['workers']:,}",
            f"{row['photos_per_second']:,.0f}",
            f"{100 * row['of_ideal']:.0f} %",
            f"{row['days_for_all']:,.1f}",
            f"{row['bottleneck']} ({100 * row['busy'][row['bottleneck']]:.0f} % busy)",
        ]
        for row in found["rows"]
    ]
    times, costs = found["times"], found["core_hours_per_million"]
    note = (
        f"A simulation, from measured CPU times of workers and database. Assumed: {times['cores']} cores of the "
        f"database, an object store that answers after {1000 * times['fetch']:.0f} ms and {times['fetches']:,.0f} "
        f"times a second. A million photos cost {costs['computing']:.1f} core hours of workers, "
        f"{costs['database']:.1f} of the database and {costs['building']:.1f} for the search index."
    )
    header = ["workers", "photos per second", "of ideal", f"days for {found['photos']:,} photos", "busiest"]
    return noted(table(header, rows), note, "simulation")


def scale_page() -> str:
    found = section("page")
    seen, waited = found["browser"], found["milliseconds"]
    frames = seen["frame_milliseconds"]
    rows: list[list[object]] = [
        ["first contentful paint", f"{seen['first_contentful_paint_milliseconds']:,} ms"],
        ["first photos", f"{seen['first_photos_milliseconds']:,} ms"],
        ["page with the results of a search", f"{seen['search_to_photos_milliseconds']:,} ms"],
        ["frame while scrolling, p50 / p95", f"{frames['p50']:.0f} / {frames['p95']:.0f} ms"],
        [
            "thumbnails fetched before / after scrolling",
            f"{seen['thumbnails_before_scrolling']} / {seen['thumbnails_after_scrolling']}",
        ],
        [
            f"search with {found['clients']} clients, p50 / p95 / p99",
            " / ".join(f"{waited[q]:,.0f}" for q in ("p50", "p95", "p99")) + " ms",
        ],
        ["CPU time of the server per search", f"{found['server_cpu_milliseconds']:.0f} ms"],
    ]  # fmt: skip
    note = f"Browser, clients and server share the machine ({found['machine']}), which no other program used."
    return noted(table([f"{found['photos']:,} photos", "measured"], rows), note, "page")


def scale_sharing() -> str:
    found = result("sharing")
    workers, sharing = found["workers"], found["sharing"]
    rows: list[list[object]] = [
        [
            f"two Ray workers against one process, {workers['photos']} photos, one thread each",
            f"{workers['two_workers_over_one_process']:.2f}×",
        ],
        [
            f"three indexers of {sharing['photos']} photos, one killed, the server restarted",
            "same library as from one process" if sharing["equal"] else "not the library of one process",
        ],
    ]
    return dated(table(["what", "measured"], rows), found, SHARING)


def scale_capacity() -> str:
    plans = [make_plan(photos, machines, 8) for photos, machines in PLANS]
    rows = [_planned(plan) for plan in plans]
    header = [
        "photos",
        "machines of 8 cores",
        "store",
        "computing",
        "indexing",
        "disk",
        "memory for search",
        "one search",
    ]
    note = f"`*` goes beyond the sizes that were measured. From figures of {plans[0].date}."
    return f"{table(header, rows)}\n{note}\n"


def _planned(plan: Plan) -> list[object]:
    named = {estimate.name: estimate for estimate in plan.estimates}
    cells = [
        show_value(named[name]) + (" *" if named[name].extrapolates else "")
        for name in ("network", "indexing", "disk", "memory_search", "search")
    ]
    return [f"{plan.photos:,}", plan.machines, {"sqlite": "SQLite", "postgres": "PostgreSQL"}[plan.store], *cells]


TABLES = (
    scale_indexing,
    scale_postgres,
    scale_scans,
    scale_quality,
    scale_precision,
    scale_recall,
    scale_latency,
    scale_exact,
    scale_million,
    scale_workers,
    scale_simulation,
    scale_page,
    scale_sharing,
    scale_capacity,
)
