"""Tables of docs/papers/identifier.md."""

from tables.reading import dated, result, table

WAYS = {
    "two pictures": "2-way",
    "ten pictures": "10-way",
    "hundred pictures": "100-way",
    "two look-alikes": "2-way, look-alikes",
    "ten look-alikes": "10-way, look-alikes",
}
"""The recorded name of a game → its heading."""


def identification() -> str:
    found = result("identification")
    games = list(found["games"])
    rows: list[list[object]] = [
        ["published, COCO", f"{found['paper']['identifier']:.1f} %", *["–"] * (len(games) - 1)],
        ["published baseline, COCO", f"{found['paper']['baseline']:.1f} %", *["–"] * (len(games) - 1)],
        *(
            [name, *(f"{row[game]:.1f} %" if game in row else "–" for game in games)]
            for name, row in found["rows"].items()
        ),
    ]
    trials = ", ".join(f"{WAYS[name]}: {game['n_trials']:,}" for name, game in found["games"].items())
    note = f"{found['data']} {found['split']}; trials: {trials}."
    header = ["model", *(WAYS[game] for game in games)]
    return dated(table(header, rows) + f"\n{note}", found, "python benchmarks/identification.py")


def identification_calibration() -> str:
    found = result("identification")
    rows: list[list[object]] = [
        [name, kind, f"{100 * report['before']:.1f} %", f"{100 * report['after']:.1f} %"]
        for name, kinds in found["calibration"].items()
        for kind, report in kinds.items()
    ]
    text = table(["weights", "probability", "calibration error before", "after"], rows)
    return dated(text + f"\n{found['data']} {found['split']}.", found, "python benchmarks/identification.py")


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
    header = ["map", "pointing", "interval", *(f"{own} is better by" for own in explainers)]
    return dated(table(header, rows) + f"\n{note}", found, "python benchmarks/explanations.py")


def _difference(row: dict[str, float] | None) -> str:
    if row is None:
        return "–"
    mean, low, high = (f"{row[key]:+.1f}".replace("-", "−") for key in ("mean", "low", "high"))
    return f"{mean} ({low} to {high})"


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
    return dated(table(header, rows) + f"\n{note}", found, "python benchmarks/explanations.py")


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


TABLES = (identification, identification_calibration, explanations_pointing, explanations_deletion, excitation)
