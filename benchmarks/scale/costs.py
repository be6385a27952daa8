"""Write what `seesay plan` estimates from: src/seesay/library/costs.json, from benchmarks/results/scale.json.

python -m benchmarks.scale.costs
"""

import json
from typing import Any

from benchmarks.scale.sections import read_sections
from seesay.library.plan import COSTS
from seesay.system.files import replace_atomically

Points = list[tuple[int, float]]


def main() -> None:
    table = costs(read_sections())
    with replace_atomically(COSTS) as temporary:
        temporary.write_text(json.dumps(table, indent=1) + "\n")
    print(f"written to {COSTS}")


def costs(report: dict[str, Any]) -> dict[str, Any]:
    """The table, from the sections of the report."""
    indexing, server, workers = report["indexing"], report["server"], report["workers"]
    searches, memory = exact_costs(report)
    indexed, served = indexing["photos"], server["photos"]
    database = workers["rows"][0]["database_cpu_seconds_per_photo"]
    alone = next(row for row in server["latency"] if row["clients"] == 1)
    # On a server a photo has its vector in single precision, twice: in the table and in the index.
    dim = server["dim"]
    bytes_on_server = indexing["bytes_per_photo"] + 2 * dim + server["index_bytes_per_photo"]
    return {
        "indexing_seconds_per_photo": cost([(indexed, indexing["cpu_seconds_per_photo"])], "not"),
        "indexing_megabytes": cost([(indexed, indexing["peak_megabytes"])], "not"),
        "sqlite_bytes_per_photo": cost([(indexed, indexing["bytes_per_photo"])], "not"),
        "sqlite_search_milliseconds": cost(searches, "linearly"),
        "sqlite_search_megabytes": cost(memory, "linearly"),
        "postgres_bytes_per_photo": cost([(served, bytes_on_server)], "not"),
        "postgres_index_bytes_per_photo": cost([(served, server["index_bytes_per_photo"])], "not"),
        "postgres_building_seconds_per_photo": cost([(served, server["building_cpu_seconds"] / served)], "logarithm"),
        "postgres_search_milliseconds": cost([(served, alone["server_cpu_milliseconds"])], "logarithm"),
        "postgres_writing_seconds_per_photo": cost([(workers["photos"], database)], "not"),
        "date": max(section["date"] for section in report.values())[:10],
        "machine": indexing["machine"],
    }


def exact_costs(report: dict[str, Any]) -> tuple[Points, Points]:
    """CPU milliseconds and megabytes of a search that compares every photo.

    Beyond the libraries that were searched as a whole, the pass over the bytes was measured alone: what a search does
    besides is as in the largest of those libraries.
    """
    whole = sorted(report["exact"]["rows"], key=lambda row: row["photos"])
    searches = [(row["photos"], row["warm_cpu_milliseconds"]) for row in whole]
    memory = [(row["photos"], row["memory_megabytes"]["peak"]) for row in whole]
    largest = whole[-1]
    for row in report["million"]["rows"]:
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
