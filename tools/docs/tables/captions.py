"""Tables of docs/papers/mrnn.md."""

from collections.abc import Iterable
from typing import Any

from seesay.catalogue.figures import measured_on
from seesay.evaluation.replication.papers import rows as published_rows
from tables.reading import RECALL_HEADINGS, RECALLS, both_ways, dated, measured, result, short, swept, table


def captions() -> str:
    """Captions on the test sets of the paper, its rows first."""
    rows: list[list[object]] = []
    for data, title in (("flickr8k", "Flickr8K"), ("iapr", "IAPR TC-12")):
        rows += [
            [title, row.method, *(row.printed.get(key) or "–" for key in CAPTION_FIGURES), row.stands_in]
            for row in published_rows("captions", data)
        ]
        rows += [
            [
                title,
                f"**`{name}`, {own['captions']['decoding']}**",
                *_figures(own["captions"]),
                measured_on(own, "captions"),
            ]
            for name, key, own in measured("captions", unshipped=True)
            if key in (f"{data}/test", f"{data}/test/beam-1") or key.startswith(f"{data}/test/sample-")
        ]
    note = "\nMeasured by `seesay evaluate WEIGHTS --data DATA --split test --task captions`.\n"
    return table(["test set", "captions by", *CAPTION_FIGURES.values(), "source"], rows) + note


def likelihood_retrieval() -> str:
    """Retrieval by likelihood on the test sets of the paper, its rows first; other ways to normalise below."""
    rows: list[list[object]] = []
    captioners = {name for name, _, _ in measured("captions", unshipped=True)}
    for data, title in (("flickr8k", "Flickr8K"), ("iapr", "IAPR TC-12")):
        for row in published_rows("retrieval", data):
            if row.paper == "m-RNN" and row.own:
                sides = [[row.printed[f"{side}.{key}"] for key in RECALLS] for side in ("i2t", "t2i")]
                figures = (" / ".join(side) for side in sides)
                rows.append([title, row.method, "marginal", "exact", *figures, row.stands_in])
        for name, key, report in measured("sum", unshipped=True):
            if name in captioners and key.startswith(f"{data}/test"):
                how = [report["protocol"].get(key, usual) for key, usual in _SCORED]
                rows.append([title, f"**`{name}`**", *how, *both_ways(report), measured_on(report, "sum")])
    header = ["test set", "model", "normalised by", "softmax", *RECALL_HEADINGS, "source"]
    return table(header, rows) + "\nMeasured by `seesay evaluate WEIGHTS --data DATA --task retrieval --normalise …`.\n"


_SCORED = (("normalise", "marginal"), ("softmax", "exact"))


def reranking() -> str:
    """Plain captions, reranked ones and the oracles, in the layout of the paper's Table 8."""
    figures = [key for key in CAPTION_FIGURES if key not in ("perplexity", "novel")]
    header = ["weights, data", "captions", "k / m", *(CAPTION_FIGURES[key] for key in figures)]
    rows: list[list[object]] = []
    notes = []
    for name, key, report in measured("reranking"):
        about, plain = report["reranking"], report["captions"]
        for row in ({"name": plain["decoding"], **plain}, *about["rows"]):
            chosen = f"{row['k']} / {row['m']}" if "k" in row else "–"
            rows.append([f"`{name}`, {key}", row["name"], chosen, *_figures(row, figures)])
        how = (
            f"chosen on {about['chosen_on']}"
            if about["chosen_on"]
            else "from the weights, or the paper's values for COCO"
        )
        notes.append(
            f"`{name}`, {key}: {about['n_hypotheses']} hypotheses, references are {about['n_references']:,} training "
            f"images of {about['references']}, k and m {how}. Measured {measured_on(report, 'captions')} by "
            f"`seesay evaluate {name} --data {key.partition('/')[0]} --split {key.partition('/')[2]} --task captions "
            f"--references {about['references']}`."
        )
    for row in published_rows("captions", "coco"):
        if row.where.startswith("Table 8, val"):
            rows.append([row.stands_in, row.method, "–", *(row.printed.get(key) or "–" for key in figures)])
    return table(header, rows) + "\n" + "\n".join(notes) + "\n"


def wirings() -> str:
    found = result("wirings")
    bleu = [f"bleu{n}" for n in (1, 2, 3, 4)]
    header = ["wiring", "PPL", "B-1 / 2 / 3 / 4", "CIDEr", "paper, Flickr30K: B-1 / 2 / 3 / 4"]
    rows: list[list[object]] = [
        [
            f"`{row['variant']}`",
            f"{row['captions']['perplexity']:.2f}",
            " / ".join(short(row["captions"][key]) for key in bleu),
            short(row["captions"]["cider"]),
            " / ".join(short(float(row["published"][key])) for key in bleu) if "published" in row else "–",
        ]
        for row in found["rows"]
    ]
    decoding = found["rows"][0]["captions"]["decoding"]
    note = f"{found['data']} dev, {found['epochs']} epochs of `recipes/{found['recipe']}.toml` each, {decoding}."
    return dated(table(header, rows) + f"\n{note}", found, swept("wirings"))


def wirings_sgd() -> str:
    """Plain gradient descent at several rates: which wiring can be trained."""
    found = result("wirings_sgd")
    rates = list(dict.fromkeys(group.rpartition(" ")[2] for group in found["seeds"]))
    wirings = list(dict.fromkeys(row["group"].partition(",")[0] for row in found["rows"]))
    seeds = list(dict.fromkeys(row["variant"] for row in found["rows"]))
    n_runs = len(seeds)
    rows: list[list[object]] = [
        [f"`{wiring}`", *(_runs(found["seeds"][f"{wiring}, rate {rate}"], n_runs) for rate in rates)]
        for wiring in wirings
    ]
    runs = "one seed" if n_runs == 1 else f"the mean of {n_runs} seeds and their range"
    note = (
        f"Perplexity on {found['data']} dev after {found['epochs']} epoch on 2,000 training photos in batches of 32: "
        f"{runs}. Plain gradient descent at a constant rate without clipping; the better of untrained and trained "
        "weights is kept."
    )
    header = ["wiring", *(f"rate {rate}" for rate in rates)]
    command = swept("wirings_sgd") + (f' --variants "{seeds[0]}" --finished' if n_runs == 1 else "")
    return dated(table(header, rows) + f"\n{note}", found, command)


def _runs(figures: dict[str, float], n_runs: int) -> str:
    """The mean and range of the runs that stayed finite, and how many did not."""
    if n_runs == 1:
        return f"{figures['mean']:.1f}" if figures["n"] else "diverged"
    diverged = f"{n_runs - figures['n']:g} of {n_runs} diverged" if figures["n"] < n_runs else ""
    if not figures["n"]:
        return diverged
    spread = f"{figures['mean']:.1f} ({figures['lowest']:.1f} to {figures['highest']:.1f})"
    return f"{spread}, {diverged}" if diverged else spread


def decoding() -> str:
    found = result("decoding")
    together = found["milliseconds_per_caption_all_photos_at_once"]
    rows: list[list[object]] = [
        [way, f"{value:.1f} ms", f"{together[way]:.1f} ms" if way in together else "–", found["mean_words"][way]]
        for way, value in found["milliseconds_per_caption"].items()
    ]
    note = (
        f"{found['data']}, `{found['weights']}` with {found['words']:,} words, one thread, {found['clock']}. The plain "
        f"loop takes {found['plain_loop_takes_times']:.1f}× as long as the batched beam."
    )
    header = ["decoding", "one photo", "all photos at once", "words"]
    return dated(table(header, rows) + f"\n{note}", found, "python -m benchmarks.speed.decoding")


def likelihood() -> str:
    found = result("likelihood")
    rows: list[list[object]] = [
        [
            name,
            f"{row['gflops']['exact']:.0f} GF/s",
            f"{row['gflops']['products']:.0f} GF/s",
            f"{100 * row['share_of_same_products']:.0f} %",
            f"{row['times_faster_than_pairs']:.1f}×",
            f"{row['processor_minutes_of_all_pairs']['exact']:.0f} min",
            f"{60 * row['processor_minutes_of_all_pairs']['logits']:.0f} s",
        ]
        for name, row in found["rows"].items()
    ]
    header = [
        "weights", "scoring", "matrix products alone", "share", "faster than one by one", "all pairs, exact",
        "all pairs, logits",
    ]  # fmt: skip
    note = f"{found['data']}; one thread, CPU time."
    if whole := found["whole_split_seconds"]:
        note += (
            f" Wall-clock time on {found['threads_of_the_whole_split']} threads: {whole['exact'] / 60:.1f} minutes "
            f"exact, {whole['logits']:.0f} s by logits."
        )
    return dated(table(header, rows) + f"\n{note}", found, "python -m benchmarks.speed.likelihood --whole")


def consensus() -> str:
    found = result("consensus")
    rows: list[list[object]] = [
        [
            {"cider": "CIDEr-D", "bleu": "BLEU-4"}[metric],
            f"{row['reranking_s']:.1f} s",
            f"{row['seesay_us_per_pair']:.2f} µs",
            f"{row['pycocoevalcap_us_per_pair']:.0f} µs",
            f"{row['ratio']:.0f}×",
            f"{row['largest_difference']:.0e}",
        ]
        for metric, row in found["rows"].items()
    ]
    header = ["similarity", "reranking all", "one pair", "pycocoevalcap, one pair", "faster", "largest difference"]
    note = (
        f"{found['n_images']:,} {found['data']} images, {found['n_hypotheses']} hypotheses each against the captions "
        f"of {found['k']} neighbours: {found['n_pairs'] / 1e6:.1f} million pairs; CPU time."
    )
    return dated(table(header, rows) + f"\n{note}", found, "python -m benchmarks.speed.consensus")


CAPTION_FIGURES = {
    "perplexity": "PPL", "bleu1": "B-1", "bleu2": "B-2", "bleu3": "B-3", "bleu4": "B-4", "cider": "CIDEr",
    "rouge_l": "ROUGE-L", "meteor": "METEOR", "novel": "novel",
}  # fmt: skip


def _figures(row: dict[str, Any], keys: Iterable[str] = tuple(CAPTION_FIGURES)) -> list[str]:
    found = {key: row.get(key) for key in keys}
    return ["–" if v is None else f"{v:.2f}" if key == "perplexity" else short(v) for key, v in found.items()]


TABLES = (captions, likelihood_retrieval, reranking, wirings, wirings_sgd, decoding, likelihood, consensus)
