"""Tables of docs/how-to/scale.md: what was measured, and estimates for other sizes."""

import math

from tables.reading import dated, result, table

SCALE, SHARING = "python -m benchmarks.speed.scale", "python -m benchmarks.speed.sharing"
SIZES = (100_000, 10_000_000, 1_000_000_000)
SERVER_BYTES = 256e9


def scale_latency() -> str:
    found = result("scale")
    measured = found["vectors"]
    rows: list[list[object]] = [
        [
            row["store"],
            row["clients"],
            f"{row['median_milliseconds']:.1f} ms",
            f"{row['slowest_of_twenty_milliseconds']:.1f} ms",
            f"{row['queries_per_second']:.0f}",
        ]
        for row in measured["latency"]
    ]
    header = ["store", "clients at once", "median", "slowest of 20", "searches per second"]
    note = (
        f"{measured['n']:,} synthetic vectors of {measured['dim']} dimensions, server and clients on the same "
        f"{found['cores']} cores. The index was built in {measured['building_seconds']:,.0f} s and takes "
        f"{measured['index_bytes_per_vector']:,} bytes per vector; recall@10 {measured['recall_at_10']:.3f}."
    )
    return dated(table(header, rows) + f"\n{note}", found, SCALE)


def scale_recall() -> str:
    found = result("scale")
    recall = found["recall"]
    row = [recall["photos"], recall["recall_at_10_by_sentences"], recall["recall_at_10_by_photos"]]
    cells: list[object] = [f"{row[0]:,}", *(f"{value:.3f}" for value in row[1:])]
    header = ["photos of Flickr8K", "recall@10 by sentences", "recall@10 by photos"]
    return dated(table(header, [cells]), found, SCALE)


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
    found, indexing = result("scale"), result("sharing")
    vectors, rate = found["vectors"], indexing["workers"]["one_process_photos_per_second"]
    bytes_each = vectors["index_bytes_per_vector"] + vectors["vector_bytes"] + indexing["sharing"]["bytes_per_photo"]
    alone = next(row for row in vectors["latency"] if row["store"] == "postgres" and row["clients"] == 1)
    rows: list[list[object]] = []
    for n in SIZES:
        growth = math.log(n) / math.log(vectors["n"])  # the index is a graph that is walked in about log n steps
        n_servers = max(1, math.ceil(n * vectors["index_bytes_per_vector"] / SERVER_BYTES))
        building = vectors["building_seconds"] * n / vectors["n"] * growth / n_servers
        rows.append(
            [
                f"{n:,}",
                f"{n / rate / 3600:,.0f}",
                _bytes(n * bytes_each),
                _bytes(n * vectors["index_bytes_per_vector"]),
                n_servers,
                f"{building / 3600:,.1f} h" if building >= 3600 else f"{building / 60:.0f} min",
                f"{alone['median_milliseconds'] * growth:.0f} ms",
            ]
        )
    header = [
        "photos", "core hours of the network", "disk", "memory for the index", "servers of 256 GB",
        "building the index", "one search",
    ]  # fmt: skip
    note = (
        f"Estimated from {vectors['n']:,} vectors and {indexing['workers']['photos']} photos on {found['cores']} cores "
        f"of {found['machine']}: {rate:.1f} photos per second and core, {bytes_each:,} bytes per photo in the "
        "database. Several servers each hold a share of the photos, build its index and answer in parallel."
    )
    return dated(table(header, rows) + f"\n{note}", found, f"{SCALE}` and `{SHARING}")


def _bytes(n: float) -> str:
    for unit, size in (("TB", 1e12), ("GB", 1e9)):
        if n >= size:
            return f"{n / size:,.1f} {unit}"
    return f"{n / 1e6:,.0f} MB"


TABLES = (scale_latency, scale_recall, scale_sharing, scale_capacity)
