"""Tables of docs/papers/smlstm.md and of the ensembles in docs/concepts.md."""

from typing import Any

from seesay.evaluation.attending import N_WORDS
from seesay.evaluation.replication.papers import rows as published_rows
from tables.reading import RECALL_HEADINGS, RECALLS, both_ways, compared, dated, rankings, result, swept, table, typed

TITLES = {"flickr8k": "trained on Flickr8K alone", "shipped": "the weights that ship"}


def ensembles() -> str:
    """Matchers alone and as ensembles."""
    found = result("ensembles")
    rows: list[list[object]] = []
    for key, part in found["ensembles"].items():
        for row in part["rows"]:
            name = _together(row["members"]) if "members" in row else f"`{row['name']}`"
            rows.append([TITLES[key], name, f"{row['dev']['sum']:.1f}", *both_ways(row["test"]), _sum(row["test"])])
    header = ["members", "scores", "dev Sum", *(f"test, {heading}" for heading in RECALL_HEADINGS), "test Sum"]
    members = [
        f"--{key} {' '.join(typed(row['name']) for row in part['rows'] if 'members' not in row)}"
        for key, part in found["ensembles"].items()
    ]
    return dated(table(header, rows), found, f"python -m benchmarks.quality.ensembles {' '.join(members)}")


def _together(members: list[dict[str, Any]]) -> str:
    """What is added up, in a cell."""
    parts = [f"{member['weight']:.2f} {member['name']}" for member in members if member["weight"]]
    corrected = " − hubness" if any(member["of_images"] or member["of_texts"] for member in members) else ""
    return f"**{' + '.join(parts)}{corrected}**"


def hubness() -> str:
    """The gain of the hubness correction by the number of cluster centres."""
    found = result("hubness")
    numbers = list(found["rows"][0]["sums"])
    rows: list[list[object]] = [
        [f"`{row['name']}`", *(f"{row['sums'][number]:.1f}" for number in numbers)] for row in found["rows"]
    ]
    header = ["dev Sum", "uncorrected", *(f"{number} centres" for number in numbers[1:])]
    weights = " ".join(typed(row["name"]) for row in found["rows"])
    return dated(table(header, rows), found, f"python -m benchmarks.ablations.hubness {weights}")


def smlstm() -> str:
    """Retrieval on Flickr8K's test photos, with the models that sm-LSTM builds on."""
    found = table(["model", *RECALL_HEADINGS, "Sum", "measured"], rankings("smlstm", "vse", "dvsa"))
    return f"{found}\nTest photos of Flickr8K, by `seesay evaluate WEIGHTS --data flickr8k`.\n"


def attention_variants() -> str:
    """The variants, with the paper's rows on Flickr30K for their order."""
    rows: list[list[object]] = []
    for row in published_rows("retrieval", "flickr30k"):
        if row.paper == "sm-LSTM" and row.method.startswith("sm-LSTM"):
            sides = [[row.printed[f"{side}.{key}"] or "–" for key in RECALLS] for side in ("i2t", "t2i")]
            rows.append([f"{row.method}, Flickr30K", "–", *(" / ".join(side) for side in sides), row.printed["sum"]])
    found = result("attention_ablations")
    for row in (row for row in found["rows"] if row["group"] == "variants"):
        dev = _sum(row["dev"]) if "dev" in row else "–"  # nothing of the ensemble is chosen
        rows.append([row["variant"], dev, *both_ways(row["test"]), _sum(row["test"])])
    header = ["variant", "dev Sum", *(f"test, {side}" for side in RECALL_HEADINGS), "test Sum"]
    return _noted(table(header, rows), found, "variants")


def attention_sweeps() -> str:
    """T, λ, the size, and other forms: on dev, which chooses among them."""
    found = result("attention_ablations")
    others = [row for row in found["rows"] if row["group"] != "variants"]
    rows: list[list[object]] = [[row["variant"], *both_ways(row["dev"]), _sum(row["dev"])] for row in others]
    header = ["", *(f"dev, {side}" for side in RECALL_HEADINGS), "dev Sum"]
    return _noted(table(header, rows), found, *dict.fromkeys(row["group"] for row in others))


def _noted(rows: str, found: dict[str, Any], *groups: str) -> str:
    note = (
        f"Each row is one run of `recipes/{found['recipe']}.toml`, with {found['config']['hidden']} hidden units "
        "unless stated."
    )
    return dated(f"{rows}\n{note}", found, f"{swept('attention')} --groups {' '.join(groups)}")


def attended_places() -> str:
    """The pointing game by step."""
    found = result("attention")
    rows: list[list[object]] = [
        [f"`{row['name']}` ({row['variant']})", step + 1, f"{row['pointing'][step]:.1f} %",
         f"{row['centre'][step]:.1f} %", f"{row['n_words'][step]:,}"]
        for row in found["rows"].values()
        for step in range(len(row["pointing"]))
    ]  # fmt: skip
    header = ["weights", "step", "pointing", "centre of the photo", "attended words with a box"]
    note = f"{found['data']} {found['split']}, the {N_WORDS} most attended words of each step."
    for row in found["rows"].values():
        if "entropy" in row:
            shares = ", ".join(f"{value:.3f}" for value in row["entropy"]["regions"])
            words = ", ".join(f"{value:.3f}" for value in row["entropy"]["words"])
            alike = ", ".join(f"{value:.3f}" for value in row["correlation"]["regions"])
            sums = ", ".join(f"{value:.1f} with {name} weights" for name, value in row["sums"].items())
            note += (
                f"\n\n`{row['name']}`: entropy of attention by step, 1 being equal weights: regions {shares}; words "
                f"{words}. Correlation of each step's map with the one before: {alike}. Sum among {row['n_ranked']} "
                f"photos: {sums.replace('attention weights', 'attention as it is')}."
            )
    return dated(table(header, rows) + f"\n{note}", found, compared(found))


def pair_scoring() -> str:
    """Pairs scored in blocks and one by one."""
    found = result("pair_scoring")
    rows: list[list[object]] = [
        [row["hidden"], f"{row['microseconds']['blocks']:.0f} µs", f"{row['times_faster_than_pairs']:.0f}×",
         f"{row['times_faster_than_half']:.1f}×",
         f"{row['processor_minutes_of_all_pairs']['blocks']:.0f} min",
         f"{row['processor_minutes_of_all_pairs']['pairs'] / 60:.0f} h",
         f"{row['milliseconds_of_a_short_list']:.0f} ms", f"{row['largest_difference']:.0e}"]
        for row in found["rows"]
    ]  # fmt: skip
    header = ["hidden units", "one pair, in blocks", "faster than one by one", "faster than bfloat16",
              "all 1,000 × 5,000, in blocks", "one by one", f"{found['n_short_list']} images, one sentence",
              "largest difference"]  # fmt: skip
    note = "CPU time of one thread, random weights."
    if whole := found["whole"]:
        note += f" All pairs at {whole['hidden']} hidden units: {whole['seconds']:.0f} s on {whole['threads']} threads."
    command = "python -m benchmarks.speed.pair_scoring" + (" --whole" if whole else "")
    return dated(table(header, rows) + f"\n{note}", found, command)


def _sum(report: dict[str, Any]) -> str:
    return f"{report['sum']:.1f}"


TABLES = (
    ensembles,
    hubness,
    smlstm,
    attention_variants,
    attention_sweeps,
    attended_places,
    pair_scoring,
)
