"""Write what `seesay plan` estimates from: src/seesay/library/costs.json, from benchmarks/results/scale.json.

python -m benchmarks.scale.costs
"""

import json
from typing import Any

from benchmarks.scale.sections import read_sections
from seesay.library.plan import COSTS
from seesay.system.files import replace_atomically

Points = list[tuple[int, float]]
N_WORTH = 1000
"""Photos that a run has to index for its cost to count: starting takes a few seconds."""


def main() -> None:
    table = costs(read_sections())
    with replace_atomically(COSTS) as temporary:
        temporary.write_text(json.dumps(table, indent=1) + "\n")
    print(f"written to {COSTS}")


def costs(report: dict[str, Any]) -> dict[str, Any]:
    """The table, from the sections of the report."""
    indexing, workers = report["indexing"], report["workers"]
    servers = [report["server_small"], report["server"], report["grown_server"]]
    searches, memory = exact_costs(report)
    sittings = [row for row in indexing["log"] if row["after"] - row["before"] >= N_WORTH]
    first = [(int(n), value) for n, value in indexing["bytes_per_photo_of_the_first"].items()]
    kept = [*first, (indexing["photos"], indexing["bytes_per_photo"])]
    sizes = [server["photos"] for server in servers]
    database = workers["rows"][0]["database_cpu_seconds_per_photo"]
    # On a server a vector has its place in a page of the table, and another one in the index.
    on_server = [
        kept[-1][1] - 2 * server["dim"] + server["table_bytes_per_photo"] + server["index_bytes_per_photo"]
        for server in servers
    ]
    spent = [(row["after"], row["cpu_seconds"] / (row["after"] - row["before"])) for row in sittings]
    return {
        "indexing_seconds_per_photo": cost(spent, "not"),
        "indexing_megabytes": cost([(row["after"], row["peak_megabytes"]) for row in sittings], "not"),
        "sqlite_bytes_per_photo": cost(kept, "not"),
        "sqlite_search_milliseconds": cost(searches, "linearly"),
        "sqlite_search_megabytes": cost(memory, "linearly"),
        "postgres_bytes_per_photo": cost(list(zip(sizes, on_server, strict=True)), "not"),
        "postgres_index_bytes_per_photo": cost([(s["photos"], s["index_bytes_per_photo"]) for s in servers], "not"),
        "postgres_building_seconds_per_photo": cost(
            [(s["photos"], s["building_cpu_seconds"] / s["photos"]) for s in servers], "logarithm"
        ),
        "postgres_search_milliseconds": cost([(s["photos"], searching(s)) for s in servers], "logarithm"),
        "postgres_writing_seconds_per_photo": cost([(workers["photos"], database)], "not"),
        "date": max(section["date"] for section in report.values())[:10],
        "machine": indexing["machine"],
    }


def searching(server: dict[str, Any]) -> float:
    """CPU milliseconds of the server for a search as the product asks."""
    if "latency" in server:
        return float(server["latency"][0]["server_cpu_milliseconds"])
    return float(server["recall"][str(server["breadth"])]["milliseconds"])


def exact_costs(report: dict[str, Any]) -> tuple[Points, Points]:
    """CPU milliseconds and megabytes of a search that compares every photo.

    Beyond the libraries that were searched as a whole, the pass over the bytes was measured alone: what a search does
    besides is as in the largest of those libraries.
    """
    whole = sorted(report["exact"]["rows"] + report["grown_library"]["rows"], key=lambda row: row["photos"])
    searches = [(row["photos"], row["warm_cpu_milliseconds"]) for row in whole]
    memory = [(row["photos"], row["memory_megabytes"]["peak"]) for row in whole]
    largest = whole[-1]
    for row in report["grown_bytes"]["rows"]:
        if row["photos"] > largest["photos"]:
            one_pass = row["pass_cpu_milliseconds"]
            besides = largest["warm_cpu_milliseconds"] - one_pass * largest["photos"] / row["photos"]
            searches.append((row["photos"], besides + one_pass))
            memory.append((row["photos"], largest["memory_megabytes"]["own"] + row["matrix_megabytes"]))
    return searches, memory


def cost(points: Points, grows: str) -> dict[str, Any]:
    return {"points": [[n, float(f"{value:.6g}")] for n, value in points], "grows": grows}


if __name__ == "__main__":
    main()
