"""Tables of docs/identify.md."""

from tables.reading import dated, result, table


def identification() -> str:
    found = result("identification")
    games = list(found["games"])
    rows: list[list[object]] = [
        ["paper 004 on COCO", f"{found['paper']['identifier']:.1f} %", *["–"] * (len(games) - 1)],
        ["paper 004 on COCO, baseline", f"{found['paper']['baseline']:.1f} %", *["–"] * (len(games) - 1)],
        *(
            [name, *(f"{row[game]:.1f} %" if game in row else "–" for game in games)]
            for name, row in found["rows"].items()
        ),
    ]
    trials = ", ".join(f"{name}: {game['n_trials']:,}" for name, game in found["games"].items())
    note = f"{found['data']} {found['split']}; trials: {trials}."
    header = ["who", *games]
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
    note = f"{found['n_phrases']:,} phrases of {photos}, `{found['model']}`; 95 % intervals, photos drawn anew."
    header = ["the hottest place by", "lies in a box", "interval", *(f"{own} is better by" for own in explainers)]
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
        "chosen by",
        *(f"{100 * float(s):.0f} % of the photo" for s in shares),
        *(f"{n} of the words" for n in counts),
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
    note = f"A part of {found['n_hidden']} photos hidden; all sentences of {found['n_sentences']}; `{found['model']}`."
    return dated(table(header, rows) + f"\n{note}", found, "python benchmarks/explanations.py")


def excitation() -> str:
    found = result("excitation")
    rows: list[list[object]] = [
        [name, way, f"{row['ms']:.1f} ms", f"{row['ratio']:.2f}×"]
        for name, ways in found["rows"].items()
        for way, row in ways.items()
    ]
    note = f"One thread, {found['clock']}, median of {found['repeats']}; each way with its own forward pass."
    return dated(
        table(["network", "way", "time", "ratio"], rows) + f"\n{note}", found, "python benchmarks/excitation.py"
    )


TABLES = (identification, identification_calibration, explanations_pointing, explanations_deletion, excitation)
