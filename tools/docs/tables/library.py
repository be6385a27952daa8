"""Tables of docs/how-to/own-photos.md, docs/how-to/measure.md and docs/concepts.md."""

import json
from typing import Any

from tables.reading import RESULTS, dated, ensemble_figures, result, table


def calibration() -> str:
    found = result("calibration")
    rows: list[list[object]] = [
        [
            f"{row['from']:.2f} – {row['to']:.2f}",
            f"{row['predicted']:.3f}",
            f"{row['observed']:.3f}",
            f"{row['pairs']:,}",
        ]
        for row in found["reliability"]
    ]
    header = ["probability", "predicted", "observed", "pairs of query and photo"]
    note = f"Fitted on {found['fitted_on']}, measured on {found['judged_on']}."
    return dated(table(header, rows) + f"\n{note}", found, "python -m benchmarks.quality.calibration")


def library_indexing() -> str:
    found = result("library")
    rows: list[list[object]] = [
        [
            row["photos"],
            f"{row['indexed_photos_per_second']:.1f}",
            f"{row['network_photos_per_second']:.1f}",
            f"{100 * row['share_of_time_outside_the_network']:.0f} %",
            f"{row['peak_megabytes']} MB",
        ]
        for row in found["index"]
    ]
    header = ["photos", "indexed per second", "network alone", "time outside the network", "peak memory"]
    return dated(table(header, rows), found, "python -m benchmarks.speed.library")


def library_queries() -> str:
    found = result("library")
    rows: list[list[object]] = [
        [
            f"{row['photos']:,}",
            f"{row['cold_seconds']:.2f} s",
            f"{row['torch_over_cold']:.1f}×",
            f"{row['warm_milliseconds']:.1f} ms",
            f"{row['peak_megabytes']} MB",
        ]
        for row in found["query"]
    ]
    header = [
        "photos",
        "whole command",
        "slowdown with the torch encoder",
        "repeated query, same process",
        "peak memory",
    ]
    scan = found["rescan"]
    note = (
        f"Scanning {scan['files']:,} files for changes takes {scan['seconds']:.1f} s, {scan['over_listing']:.1f}× "
        "the time of listing them. An image of 30,000 × 30,000 pixels is refused in "
        f"{found['refusal']['milliseconds']:.1f} ms. The vectors are random."
    )
    return dated(table(header, rows) + f"\n{note}", found, "python -m benchmarks.speed.library")


def search() -> str:
    """What `seesay search` finds, and what comparing all pairs with one model or with the ensemble would."""
    together = ensemble_figures()
    rows: list[list[object]] = []
    reports = [json.loads(path.read_text()) for path in sorted((RESULTS / "search").glob("*.json"))]
    for report in reports:
        found, data = report["search"], report["data"]
        key = f"{data['name']}/{data['split']}"
        rows.append([key, f"**search: {' + '.join(found['stages'])}**", *_recalls(found)])
        rows += [[key, f"`{name}`, all pairs", *_recalls(row)] for name, row in found["beside"].items()]
        if key in together and "ensemble" not in found["beside"]:
            rows.append([key, "`--ensemble shipped`, all pairs", *_recalls(together[key]["t2i"])])
    header = ["data", "ranking", "R@1", "R@5", "R@10", "median"]
    commands = "` and `".join(report["command"] for report in reports)
    return dated(table(header, rows), reports[0], commands)


def _recalls(row: dict[str, Any]) -> list[str]:
    median = row["median"]
    return [*(f"{row[key]:.1f}" for key in ("r1", "r5", "r10")), "over 100" if median is None else f"{median:g}"]


def cascade() -> str:
    found = result("cascade")
    rows: list[list[object]] = [
        [stage, *(f"{row[key]:.1f}" for key in ("R@1", "R@5", "R@10")), f"{row['milliseconds']:.1f} ms"]
        for stage, row in found["test"].items()
    ]
    chosen = ", ".join(
        f"{blend['k']} photos and a weight of {blend['weight']:g} for `{name}`"
        for name, blend in zip(found["stages"][1:], found["blends"], strict=True)
    )
    sums = ", ".join(f"{sum(row.values()):.1f}" for row in found["dev"].values())
    note = (
        "Flickr8K's 5,000 test sentences over a library of its 1,000 test photos. Settings of the later stages, chosen "
        f"on dev: {chosen}. Sums of the three recalls on dev: {sums}."
    )
    header = ["stages", "R@1", "R@5", "R@10", "time per query"]
    return dated(table(header, rows) + f"\n{note}", found, "python -m benchmarks.quality.cascade")


def cascade_precision() -> str:
    found = result("calibration")
    precision = found["average_precision"]["test"]
    rows: list[list[object]] = [
        [kind, f"{row['first']:.1f} %", f"{row['all']:.1f} %"] for kind, row in precision.items()
    ]
    header = ["mean average precision of", "first stage alone", "all stages"]
    return dated(table(header, rows), found, "python -m benchmarks.quality.calibration")


TABLES = (calibration, library_indexing, library_queries, search, cascade, cascade_precision)
