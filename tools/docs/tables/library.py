"""Tables of docs/how-to/own-photos.md, docs/how-to/measure.md and docs/concepts.md."""

import csv
import json
from collections import Counter
from typing import Any

from tables.reading import RESULTS, dated, ensemble_figures, result, table


def calibration() -> str:
    found = result("calibration")
    now = found["judged"]["search"]
    before = found["judged"]["match, fitted to describers' words"]
    rows: list[list[object]] = [
        [
            f"{100 * row['from']:.0f} – {100 * row['to']:.0f} %",
            f"{100 * row['predicted']:.1f} %",
            f"{100 * row['observed']:.1f} %",
            f"{row['pairs']:,}",
        ]
        for row in now["reliability"]
    ]
    header = ["search says", "predicted, mean", "observed: people who said yes", "pairs"]
    note = (
        f"{found['pairs']:,} pairs of photo and sentence that were not used for the fit. Expected calibration error "
        f"{100 * now['expected calibration error']:.1f} %. Log-loss {now['log-loss']:.3f}; a constant prediction "
        f"has {now['log-loss of a constant']:.3f}, a curve fitted to describers' words {before['log-loss']:.3f}."
    )
    return dated(table(header, rows) + f"\n{note}", found, "python -m benchmarks.quality.calibration")


def calibration_phrases() -> str:
    """The same for queries of one and two content words."""
    found = result("calibration")
    rows: list[list[object]] = [
        [
            words,
            f"{100 * row['from']:.0f} – {100 * row['to']:.0f} %",
            f"{100 * row['predicted']:.1f} %",
            f"{100 * row['observed']:.1f} %",
            f"{row['pairs']:,}",
        ]
        for words, part in found["phrases"].items()
        for row in part["reliability"]
    ]
    header = ["query", "search says", "predicted, mean", "observed: describers, divided by c", "pairs"]
    shares = ", ".join(f"{part['c']:.2f} with {words}" for words, part in found["phrases"].items())
    return dated(table(header, rows) + f"\nMean c: {shares}.", found, "python -m benchmarks.quality.calibration")


def calibration_commands() -> str:
    """How good the percentages of each command are."""
    found = result("calibration")
    rows: list[list[object]] = [
        [
            name,
            f"{100 * row['expected calibration error']:.1f} %",
            f"{row['log-loss']:.3f}",
            f"{row['log-loss of a constant']:.3f}",
        ]
        for name, row in found["judged"].items()
    ]
    header = ["percentage", "expected calibration error", "log-loss", "log-loss of a constant"]
    return dated(table(header, rows), found, "python -m benchmarks.quality.calibration")


LOOKED_THROUGH = dict.fromkeys(("audit", "other"), ("activity", "count", "colour", "typo", "language"))
"""Kinds of queries for which every photo of a set was looked at, so that all photos that fit are known."""


def searches() -> str:
    """What was found for queries as people type them, judged by looking, and what could have been found."""
    sets = {path.stem: json.loads(path.read_text()) for path in sorted((RESULTS / "searches").glob("*.json"))}
    fitting = {name: count_fitting(name) for name in sets}
    rows: list[list[object]] = []
    for kind in next(iter(sets.values()))["by_kind"]:
        cells: list[object] = [kind]
        for name, found in sets.items():
            own, at = found["by_kind"][kind], found["at"]
            queries = [row["query"] for row in found["queries"] if row["kind"] == kind]
            possible = sum(min(at, fitting[name][query]) for query in queries)
            cells.append(f"{own['fit']} of {own['of']}")
            if name in LOOKED_THROUGH:
                cells.append(possible if kind in LOOKED_THROUGH[name] else "")
        rows.append(cells)
    header = ["kind of query"]
    for name, found in sets.items():
        header += [f"`{name}`, photos {found['photos']}", *(["at most"] if name in LOOKED_THROUGH else [])]
    commands = "` and `".join(f"python -m benchmarks.quality.searches {name}" for name in sets)
    return dated(table(header, rows), next(iter(sets.values())), commands)


def count_fitting(name: str) -> Counter[str]:
    """How many photos of a set of searches are known to fit each query, whether they were found or not."""
    with (RESULTS / "searches" / f"{name}.tsv").open(encoding="utf-8", newline="") as file:
        return Counter(row["query"] for row in csv.DictReader(file, delimiter="\t") if row["fits"] == "1")


def trials() -> str:
    """Which of two sentences is about a photo, where they differ in one word."""
    reports = [json.loads(path.read_text()) for path in sorted((RESULTS / "trials").glob("*.json"))]
    kinds = reports[0]["trials"]["n"]
    rows: list[list[object]] = [
        [
            f"`{report['model']['name']}`",
            f"{report['data']['name']}/{report['data']['split']}",
            *(f"{report['trials'][kind]:.1f} %" for kind in (*kinds, "all")),
        ]
        for report in reports
    ]
    commands = "` and `".join(report["command"] for report in reports)
    return dated(table(["weights", "data", *kinds, "all"], rows), reports[0], commands)


def library_hubness() -> str:
    """Hubness corrections that look at the library, beside the one that ships."""
    found = result("library_hubness")
    libraries = list(found["ships"]["found"])
    ships = found["ships"]
    rows: list[list[object]] = [
        ["**what shipped then**", ships["settings"], *(f"{ships['found'][name]:.1f}" for name in libraries)]
    ]
    rows += [
        [name, row["settings"] or "–", *(f"{row['found'][each]:.1f}" for each in libraries)]
        for name, row in found["best"].items()
    ]
    header = ["correction", "strength", *libraries]
    note = "R@1 + R@5 + R@10 of photos on dev, each with its best setting."
    return dated(table(header, rows) + f"\n{note}", found, "python -m benchmarks.ablations.library_hubness")


def later_stages() -> str:
    """What other models add behind the eye."""
    found = result("later_stages")
    rows: list[list[object]] = []
    for name, row in found["rows"].items():
        alone, chosen = row["by_weight"]["0.0"], row["by_weight"][str(row["chosen"])]
        rows.append([f"`{name}`", row["chosen"], *(f"{alone[part]:.1f} → {chosen[part]:.1f}" for part in alone)])
    header = ["stage after the eye", "weight", *next(iter(found["rows"].values()))["by_weight"]["0.0"]]
    note = (
        f"R@1 + R@5 + R@10 of photos without → with the stage, for {found['queries_of_each']:,} dev sentences of each "
        f"collection; the best {found['k']} photos are reranked."
    )
    return dated(table(header, rows) + f"\n{note}", found, "python -m benchmarks.ablations.later_stages")


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
    """What a person waits for: each row by the record of its own benchmark, beside rclip where both were timed."""
    beside, warm = result("rclip"), result("warm")
    index, query = beside["index"], beside["query"]
    width, height = beside["size"]
    rows: list[list[object]] = [
        [f"index {beside['photos']} photos of {width} × {height} and search, one command", *_seconds(index)],
        ["one search command, nothing new to index", *_seconds(query)],
        ["most memory, indexing", *(f"{index[f'{who}_peak_megabytes']} MB" for who in ("seesay", "rclip")), ""],
        ["most memory, searching", *(f"{query[f'{who}_peak_megabytes']} MB" for who in ("seesay", "rclip")), ""],
    ]
    rows += [
        [
            f"a further search in the same process, {row['photos']:,} photos",
            f"{row['warm_milliseconds']:.1f} ms",
            "–",
            "",
        ]
        for row in warm["rows"]
    ]
    commands = {"python -m benchmarks.speed.rclip": beside, "python -m benchmarks.speed.warm": warm}
    if (RESULTS / "install.json").is_file():  # which takes a package index, and is not recorded everywhere
        install = result("install")
        commands["python -m benchmarks.speed.install"] = install
        rows += _installing(install)
    told = ", ".join(f"`{command}` ({found['date'][:10]})" for command, found in commands.items())
    note = (
        f"On {beside['cores']} cores; rclip {beside['rclip']} of the same size. Further searches are timed on random "
        f"vectors; they find the same photos as an exact search. Measured by {told}."
    )
    return table(["", "seesay", "rclip", "times as fast"], rows) + f"\n{note}\n"


def _installing(install: dict[str, Any]) -> list[list[object]]:
    return [
        ["`pip install .` into an empty environment", f"{install['install_seconds']:.0f} s", "–", ""],
        ["that environment on the disk", f"{install['megabytes']} MB", "–", ""],
        ["`seesay demo`, the first time", f"{install['demo_seconds'][0]:.1f} s", "–", ""],
    ]


def _seconds(row: dict[str, Any]) -> list[str]:
    return [f"{row['seesay_seconds']:.2f} s", f"{row['rclip_seconds']:.2f} s", f"{row['times_as_fast']:.1f}×"]


def rounding() -> str:
    """What the network in 8 bits costs."""
    found = result("rounding")
    rows: list[list[object]] = [
        [
            f"{row['data']}, {row['photos']:,}",
            f"{row['dev_sum_fp16']:.1f}",
            f"{row['dev_sum_int8']:.1f}",
            f"{row['cosine_of_vectors']['mean']:.4f}",
            f"{100 * row['same_first_tag']:.0f} %",
            f"{row['times_as_fast']:.1f}×",
        ]
        for row in found["rows"]
    ]
    header = ["dev photos", "Sum, float", "Sum, int8", "cosine of vectors", "same first tag", "speed of the network"]
    return dated(table(header, rows), found, "python -m benchmarks.quality.rounding")


def stage_times() -> str:
    """How long a core is busy with a search of a large library, by all stages."""
    found = result("warm_stages")
    rows: list[list[object]] = [
        [
            f"{row['photos']:,}",
            f"{row['all_stages_core_milliseconds']:.0f} ms",
            f"{row['short_core_milliseconds']:.0f} ms",
        ]
        for row in found["rows"]
    ]
    text = table(["photos", "a caption", "its first one or two content words"], rows)
    note = (
        "Time of a core for a search by all stages in a process that has answered before; vectors grown from real ones."
    )
    sizes = " ".join(str(row["photos"]) for row in found["rows"])
    command = f"python -m benchmarks.speed.warm --sizes {sizes} --rounds {found['rounds']} -o FILE"
    return dated(f"{text}\n{note}", found, command)


def search() -> str:
    """What `seesay search` finds, and what comparing all pairs with one model or with the ensemble would."""
    together = ensemble_figures()
    rows: list[list[object]] = []
    reports = [json.loads(path.read_text()) for path in sorted((RESULTS / "search").glob("*.json"))]
    for report in reports:
        found, data = report["search"], report["data"]
        key = f"{data['name']}/{data['split']}"
        rows.append([key, f"**search: {' + '.join(found['stages'])}**", *_recalls(found)])
        beside = {name: row for name, row in found["beside"].items() if name != "ensemble"}
        if key in together:  # as it is today: a record of search has what was recorded when it was made
            beside["--ensemble shipped"] = together[key]["t2i"]
        rows += [[key, f"`{name}`, all pairs", *_recalls(row)] for name, row in beside.items()]
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


TABLES = (
    calibration, calibration_phrases, calibration_commands, searches, trials, library_hubness, later_stages,
    stage_times, library_indexing, library_queries, rounding, search, cascade,
)  # fmt: skip
