"""Tables of docs/papers/identifier.md."""

from typing import Any

from seesay.evaluation.replication.papers import rows as published_rows
from tables.reading import compared, dated, result, table


def identification() -> str:
    found = result("identification")
    return _identified(found, f"{compared(found)} --beam 3")


def identification_coco() -> str:
    """The same on COCO, where the paper measures."""
    found = result("identification_coco")
    command = f"{compared(found)} --data {found['data']} --beam 3 -o benchmarks/results/identification_coco.json"
    return _identified(found, command)


def _identified(found: dict[str, Any], command: str) -> str:
    n_trials = {game: n for row in found["rows"].values() for game, n in row["n_trials"].items()}
    games = list(n_trials)
    published = {row.method: f"{row.figure('accuracy.2-way'):.1f} %" for row in published_rows("identification")}
    rows: list[list[object]] = [
        ["published, COCO", published["proposed"], *["–"] * (len(games) - 1)],
        ["published baseline, COCO", published["baseline"], *["–"] * (len(games) - 1)],
    ]
    for row in found["rows"].values():
        name = row["name"]
        is_baseline = row.get("by") == "captions"
        how = "" if "vectors" in row else ", plain means of GloVe"
        rows.append([f"baseline: captions of {name}{how}" if is_baseline else name, *_percents(row["accuracy"], games)])
        if "plain" in row:
            rows.append([f"baseline: captions of {name}, plain means of GloVe", *_percents(row["plain"], games)])
        if "person" in row:
            rows.append(["baseline: captions by a person (upper bound)", *_percents(row["person"], games)])
    trials = ", ".join(f"{game}: {n:,}" for game, n in n_trials.items())
    note = f"{found['data']} {found['split']}; trials: {trials}."
    return dated(table(["model", *games], rows) + f"\n{note}", found, command)


def _percents(accuracy: dict[str, float], games: list[str]) -> list[str]:
    return [f"{accuracy[game]:.1f} %" if game in accuracy else "–" for game in games]


def identification_calibration() -> str:
    found = result("identification")
    rows: list[list[object]] = [
        [row["name"], kind, f"{100 * report['before']:.1f} %", f"{100 * report['after']:.1f} %"]
        for row in found["rows"].values()
        for kind, report in row.get("calibration", {}).items()
    ]
    text = table(["weights", "probability", "calibration error before", "after"], rows)
    return dated(text + f"\n{found['data']} {found['split']}.", found, f"{compared(found)} --beam 3")


def explanations_pointing() -> str:
    found = result("explanations")
    explainers = list(found["better"])
    rows: list[list[object]] = [
        [
            name,
            f"{row['mean']:.1f} %",
            f"{row['low']:.1f}–{row['high']:.1f}",
            *(_difference(found["better"][own].get(name)) for own in explainers),
        ]
        for name, row in sorted(found["pointing"].items(), key=lambda pair: -pair[1]["mean"])
    ]
    photos = f"{found['n_photos']:,} {found['data']} {found['split']} photos"
    note = f"{found['n_phrases']:,} phrases of {photos}, `{found['model']}`; 95 % intervals by bootstrap over photos."
    if about := found.get("dependence"):
        shares = ", ".join(f"{name} {value:.3f}" for name, value in about["correlation"].items())
        note += (
            f"\n\nMean correlation of the maps of right and of {about['n_foreign']} foreign sentences, over "
            f"{about['n_photos']} photos (1: the map does not depend on the sentence): {shares}"
        )
        only = f"--only dependence --sentences {about['n_photos']}"
        note += f" (measured {about['date'][:10]}, with `{only}`)." if "date" in about else "."
    header = ["map", "pointing", "interval", *(f"{own} is better by" for own in explainers)]
    return dated(table(header, rows) + f"\n{note}", found, "python -m benchmarks.quality.explanations")


def _difference(row: dict[str, float] | None) -> str:
    if row is None:
        return "–"
    mean, low, high = (f"{row[key]:+.1f}".replace("-", "−") for key in ("mean", "low", "high"))
    return f"{mean} ({low} to {high})"


def heat() -> str:
    """What maps of alignment reach by which weights: dev, which chooses, and test."""
    found = result("heat")
    splits = found["splits"]
    names = list(dict.fromkeys(name for part in splits.values() for name in part["rows"]))
    rows: list[list[object]] = []
    for name in names:
        weights, way = name.split(", ")
        cells: list[object] = []
        for part in splits.values():
            row = part["rows"].get(name)
            cells += [_spread(row["pointing"]), f"{row['dependence']:.3f}"] if row else ["–", "–"]
        rows.append([f"`{weights}`", way, *cells])
    header = ["weights", "map", *(f"{split}, {what}" for split in splits for what in ("pointing", "dependence"))]
    about = "; ".join(
        f"{split}: {part['n_phrases']:,} phrases of {part['n_photos']} photos, dependence over {part['n_sentences']}, "
        f"measured {part['date'][:10]}"
        for split, part in splits.items()
    )
    weights = " ".join(dict.fromkeys(name.split(", ")[0] for name in names))
    commands = " and ".join(
        f"`python -m benchmarks.quality.heat {weights} --split {split} --photos {part['n_photos']}`"
        for split, part in splits.items()
    )
    return table(header, rows) + f"\n{about}; 95 % intervals by bootstrap over photos. By {commands}.\n"


def _spread(row: dict[str, float]) -> str:
    return f"{row['mean']:.1f} % ({row['low']:.1f}–{row['high']:.1f})"


def explanations_deletion() -> str:
    found = result("explanations")
    hidden, words = found["hiding"], found["leaving_out"]
    shares, counts = (list(next(iter(part.values()))) for part in (hidden, words))
    header = [
        "removed by",
        *(f"{100 * float(s):.0f} % of the photo" for s in shares),
        *(f"{n} words" if n != "1" else "1 word" for n in counts),
    ]
    names = list(dict.fromkeys([*hidden, *words]))
    rows: list[list[object]] = [
        [
            name,
            *(
                f"{part[name][key]:.2f}" if name in part else "–"
                for part, keys in ((hidden, shares), (words, counts))
                for key in keys
            ),
        ]
        for name in names
    ]
    note = (
        f"Masking: {found['n_hidden']} photos. Words: all sentences of {found['n_sentences']} photos. "
        f"`{found['model']}`."
    )
    return dated(table(header, rows) + f"\n{note}", found, "python -m benchmarks.quality.explanations")


def excitation() -> str:
    found = result("excitation")
    rows: list[list[object]] = [
        [name, way, f"{row['ms']:.1f} ms", f"{row['ratio']:.2f}×"]
        for name, ways in found["rows"].items()
        for way, row in ways.items()
    ]
    note = f"One thread, {found['clock']}, median of {found['repeats']}; each includes its own forward pass."
    return dated(
        table(["network", "method", "time", "ratio"], rows) + f"\n{note}",
        found,
        "python -m benchmarks.speed.excitation",
    )


TABLES = (
    identification,
    identification_coco,
    identification_calibration,
    explanations_pointing,
    explanations_deletion,
    heat,
    excitation,
)
