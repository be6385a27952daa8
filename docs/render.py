"""Write the measured tables into README.md and docs/*.md, so that no figure is typed by hand.

A table stands between `<!-- table: NAME -->` and `<!-- end -->`; its figures come from benchmarks/results/*.json and
from the config.json of the packaged weights.

    python docs/render.py            renew the tables
    python docs/render.py --check    fail where one is stale
"""

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from seesay.evaluation.papers import rows as printed_rows

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks/results"
WEIGHTS = ROOT / "src/seesay/weights"
MARK = re.compile(r"(<!-- table: (?P<name>[\w-]+) -->\n)(?P<body>.*?)(<!-- end -->)", re.DOTALL)


def table(header: list[str], rows: list[list[object]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines) + "\n"


def result(name: str) -> dict[str, Any]:
    return json.loads((RESULTS / f"{name}.json").read_text())


def dated(text: str, found: dict[str, Any], command: str) -> str:
    return f"{text}\nMeasured {found['date'][:10]} by `{command}`.\n"


def backbones() -> str:
    found = result("backbones")
    header = ["backbone", "pixels", "crop", "dev Sum", "R@10 sentences", "R@10 pictures", "images/s", "speed"]
    rows = [[*list(row.values())[:-1], f"{row['relative_speed']:.2f}×"] for row in found["rows"]]
    note = f"Probe trained on {found['train_images']:,} Flickr8K training pictures, mean of {found['seeds']} seeds."
    return dated(table(header, rows) + f"\n{note}", found, "python benchmarks/backbones.py")


def regions() -> str:
    found = result("regions")
    rows: list[list[object]] = [
        [name, row["regions"], f"{row['recall']:.1f} %", f"{row['mean_best_iou']:.3f}", row["cpu_ms_per_image"]]
        for name, entries in found["rows"].items()
        for row in entries
    ]
    header = ["scheme", "regions", "recall at IoU 0.5", "mean best IoU", "CPU ms per image"]
    note = (
        f"{found['n_boxes']:,} boxes of {found['n_images']} Flickr8K {found['split']} pictures, seed {found['seed']}."
    )
    return dated(table(header, rows) + f"\n{note}", found, "python benchmarks/regions.py")


def pipeline() -> str:
    found = result("pipeline")
    header = ["network alone", "whole pipeline", "median ratio"]
    cells = [f"{found['network_images_per_second']} images/s", f"{found['pipeline_images_per_second']} images/s"]
    note = f"{found['data']}, {found['workers']} workers, median of {found['rounds']} rounds."
    return dated(table(header, [[*cells, found["median_ratio"]]]) + f"\n{note}", found, "python benchmarks/pipeline.py")


def caption_metrics() -> str:
    found = result("caption_metrics")
    rows: list[list[object]] = [
        [name, f"{row['seesay_s']:.2f} s", f"{row['pycocoevalcap_s']:.2f} s", f"{row['ratio']:.1f}×",
         f"{row['largest_difference']:.0e}"]
        for name, row in found["rows"].items()
    ]  # fmt: skip
    header = ["metric", "seesay", "pycocoevalcap", "faster", "largest difference"]
    note = f"{found['n_images']:,} images with {found['references_per_image']} references each; CPU time."
    return dated(table(header, rows) + f"\n{note}", found, "python benchmarks/caption_metrics.py")


def noun_phrases() -> str:
    found = result("noun_phrases")
    rows: list[list[object]] = [
        [name, row.get("precision", "–"), row["recall"], row.get("f1", "–")] for name, row in found["rows"].items()
    ]
    note = f"Exact spans against the {found['n_phrases']:,} annotated phrases of Flickr8K {found['split']}, in percent."
    header = ["noun phrases", "precision", "recall", "F1"]
    return dated(table(header, rows) + f"\n{note}", found, "python benchmarks/noun_phrases.py")


def measured(part: str, *, unshipped: bool = False) -> list[tuple[str, str, dict[str, Any]]]:
    """Name, data and report of all packaged weights that were measured in a part of the report.

    `unshipped` adds those of which only the card is kept (benchmarks/unshipped.py).
    """
    cards = sorted(WEIGHTS.glob("*/config.json"))
    if unshipped:
        cards += sorted((RESULTS / "weights").glob("*.json"))
    return [
        (about["name"], key, report)
        for about in (json.loads(path.read_text()) for path in cards)
        for key, report in sorted(about.get("figures", {}).items())
        if part in report
    ]


def weights() -> str:
    rows: list[list[object]] = [
        [f"`{name}`", key, *_both_ways(report), f"{report['sum']:.1f}", report["date"][:10]]
        for name, key, report in measured("sum")
    ]
    header = ["weights", "data", *RECALL_HEADINGS, "Sum", "date"]
    return table(header, rows) + "\nMeasured by `seesay evaluate WEIGHTS --data DATA --split SPLIT`.\n"


def _both_ways(report: dict[str, Any]) -> list[str]:
    sides = (report["i2t"], report["t2i"])
    return [" / ".join(f"{side[key]:.1f}" for key in RECALLS[:3]) + f" / {side['median']:g}" for side in sides]


RECALLS = ("r1", "r5", "r10", "median")
RECALL_HEADINGS = [f"{what}: R@1 / 5 / 10 / median" for what in ("sentences", "pictures")]


def captions() -> str:
    """Captions on the test sets of the paper, its rows first."""
    rows: list[list[object]] = []
    for data, title in (("flickr8k", "Flickr8K"), ("iapr", "IAPR TC-12")):
        rows += [
            [title, row.method, *(row.printed.get(key) or "–" for key in CAPTION_FIGURES), row.stands_in]
            for row in printed_rows("captions", data)
        ]
        rows += [
            [title, f"**`{name}`, {own['captions']['decoding']}**", *_figures(own["captions"]), own["date"][:10]]
            for name, key, own in measured("captions", unshipped=True)
            if key == f"{data}/test"
        ]
    note = "\nMeasured by `seesay evaluate WEIGHTS --data DATA --split test --task captions`.\n"
    return table(["test set", "captions by", *CAPTION_FIGURES.values(), "printed or measured"], rows) + note


def likelihood_retrieval() -> str:
    """Retrieval by likelihood on the test sets of the paper, its rows first; other ways to normalise below."""
    rows: list[list[object]] = []
    captioners = {name for name, _, _ in measured("captions", unshipped=True)}
    for data, title in (("flickr8k", "Flickr8K"), ("iapr", "IAPR TC-12")):
        for row in printed_rows("retrieval", data):
            if row.paper == "m-RNN" and row.own:
                sides = [[row.printed[f"{side}.{key}"] for key in RECALLS] for side in ("i2t", "t2i")]
                rows.append([title, row.method, "marginal", *(" / ".join(side) for side in sides), row.stands_in])
        for name, key, report in measured("sum", unshipped=True):
            if name in captioners and key.startswith(f"{data}/test") and "limit" not in key:
                how = report["protocol"].get("normalise", "marginal")
                rows.append([title, f"**`{name}`**", how, *_both_ways(report), report["date"][:10]])
    header = ["test set", "model", "normalised by", *RECALL_HEADINGS, "printed or measured"]
    return table(header, rows) + "\nMeasured by `seesay evaluate WEIGHTS --data DATA --task retrieval --normalise …`.\n"


def reranking() -> str:
    """Plain captions, reranked ones and the oracles, in the layout of the paper's Table 8."""
    figures = [key for key in CAPTION_FIGURES if key != "perplexity"]
    header = ["weights, data", "captions", "k / m", *(CAPTION_FIGURES[key] for key in figures)]
    rows: list[list[object]] = []
    notes = []
    for name, key, report in measured("reranking"):
        about, plain = report["reranking"], report["captions"]
        for row in ({"name": plain["decoding"], **plain}, *about["rows"]):
            chosen = f"{row['k']} / {row['m']}" if "k" in row else "–"
            rows.append([f"`{name}`, {key}", row["name"], chosen, *_figures(row, figures)])
        how = f"chosen on {about['chosen_on']}" if about["chosen_on"] else "as the weights say, or as the paper on COCO"
        notes.append(
            f"`{name}`, {key}: {about['n_hypotheses']} hypotheses, references are {about['n_references']:,} training "
            f"pictures of {about['references']}, k and m {how}."
        )
    for row in printed_rows("captions", "coco"):
        if row.where.startswith("Table 8, val"):
            rows.append([row.stands_in, row.method, "–", *(row.printed.get(key) or "–" for key in figures)])
    return table(header, rows) + "\n" + "\n".join(notes) + "\n"


def wirings() -> str:
    found = result("wirings")
    bleu = [f"bleu{n}" for n in (1, 2, 3, 4)]
    header = ["wiring", "PPL", "B-1 / 2 / 3 / 4", "CIDEr", "paper, Flickr30K: B-1 / 2 / 3 / 4"]
    rows: list[list[object]] = [
        [
            f"`{row['wiring']}`",
            f"{row['perplexity']:.2f}",
            " / ".join(_short(row[key]) for key in bleu),
            _short(row["cider"]),
            " / ".join(_short(float(row["printed"][key])) for key in bleu) if row["printed"] else "–",
        ]
        for row in found["rows"]
    ]
    note = f"{found['data']}, {found['epochs']} epochs of `recipes/{found['recipe']}.toml` each, beam {found['beam']}."
    return dated(table(header, rows) + f"\n{note}", found, "python benchmarks/wirings.py")


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
    header = ["captions by", "one photo", "all photos at once", "words"]
    return dated(table(header, rows) + f"\n{note}", found, "python benchmarks/decoding.py")


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
            f"{60 * row['processor_minutes_of_all_pairs']['self-normalised']:.0f} s",
        ]
        for name, row in found["rows"].items()
    ]
    header = [
        "weights", "scoring", "matrix products alone", "share", "faster than pair by pair", "all pairs, exact",
        "all pairs, self-normalised",
    ]  # fmt: skip
    note = f"{found['data']}; one thread, processor time."
    if whole := found["whole_split_seconds"]:
        note += (
            f" On the clock, {found['threads_of_the_whole_split']} threads: {whole['exact'] / 60:.1f} minutes exact, "
            f"{whole['self-normalised']:.0f} s self-normalised."
        )
    return dated(table(header, rows) + f"\n{note}", found, "python benchmarks/likelihood.py --whole")


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
    header = ["similarity", "reranking all", "a pair", "pycocoevalcap, a pair", "faster", "largest difference"]
    note = (
        f"{found['n_images']:,} {found['data']} images, {found['n_hypotheses']} hypotheses each against the captions "
        f"of {found['k']} neighbours: {found['n_pairs'] / 1e6:.1f} million pairs; CPU time."
    )
    return dated(table(header, rows) + f"\n{note}", found, "python benchmarks/consensus.py")


CAPTION_FIGURES = {
    "perplexity": "PPL", "bleu1": "B-1", "bleu2": "B-2", "bleu3": "B-3", "bleu4": "B-4", "cider": "CIDEr",
    "rouge_l": "ROUGE-L", "meteor": "METEOR",
}  # fmt: skip


def _figures(row: dict[str, Any], keys: Iterable[str] = tuple(CAPTION_FIGURES)) -> list[str]:
    found = {key: row.get(key) for key in keys}
    return ["–" if v is None else f"{v:.2f}" if key == "perplexity" else _short(v) for key, v in found.items()]


def _short(value: float) -> str:
    return f"{value:.3f}".removeprefix("0")


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
    rows: list[list[object]] = sorted(
        ([name, f"{next(iter(row.values())):.1f} %"] for name, row in found["pointing"].items()), key=lambda row: row[1]
    )
    photos = f"{found['n_photos']} {found['data']} {found['split']} photos"
    note = f"{found['n_phrases']:,} phrases of {photos}, `{found['model']}`."
    text = table(["the hottest place by", "lies in a box"], rows[::-1])
    return dated(text + f"\n{note}", found, "python benchmarks/explanations.py")


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
    note = f"A part of {found['n_hidden']} photos hidden; all sentences of {found['n_photos']}; `{found['model']}`."
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


def alignment() -> str:
    """Retrieval on Flickr8K's test photos: the rows of DVSA's supplement, then aligners and joint embeddings."""
    rows: list[list[object]] = []
    for row in printed_rows("retrieval", "flickr8k"):
        if row.paper == "DVSA":
            sides = [[row.printed[f"{side}.{key}"] or "–" for key in RECALLS] for side in ("i2t", "t2i")]
            total = sum(float(cell) for side in sides for cell in side[:3])
            rows.append([row.method, *(" / ".join(side) for side in sides), f"{total:.1f}", row.stands_in])
    for name, key, report in measured("sum", unshipped=True):
        if key == "flickr8k/test" and name.startswith(("dvsa", "vse")):
            rows.append([f"**`{name}`**", *_both_ways(report), f"{report['sum']:.1f}", report["date"][:10]])
    header = ["model", *RECALL_HEADINGS, "Sum", "printed or measured"]
    return table(header, rows) + "\nMeasured by `seesay evaluate WEIGHTS --data flickr8k --task retrieval`.\n"


def alignment_ablations() -> str:
    found = result("alignment_ablations")
    rows: list[list[object]] = [
        [row["variant"], f"{row['dev']['sum']:.1f}", *_both_ways(row["test"]), f"{row['test']['sum']:.1f}"]
        for row in found["rows"]
    ]
    header = ["variant", "dev Sum", *(f"test, {heading}" for heading in RECALL_HEADINGS), "test Sum"]
    note = f"{found['epochs']} epochs of `recipes/{found['recipe']}.toml` each, from random weights."
    return dated(table(header, rows) + f"\n{note}", found, "python benchmarks/alignment_ablations.py")


def grounding() -> str:
    """Phrases that find their place, beside answers that look at no word."""
    rows: list[list[object]] = []
    notes = []
    for name, key, report in measured("grounding", unshipped=True):
        part = report["grounding"]
        answers = {f"**`{name}`**": part, **part["beside"]}
        rows += [[key, who, f"{row['pointing']:.1f} %", f"{row['iou50']:.1f} %"] for who, row in answers.items()]
        rows.append([key, f"best of {part['proposals']}", "–", f"{part['upper_bound']:.1f} %"])
        notes.append(f"`{name}`, {key}: {part['n_phrases']:,} boxed phrases of {part['n_images']:,} photos.")
    note = "\nMeasured by `seesay evaluate WEIGHTS --data flickr8k --task grounding`.\n"
    return table(["data", "answer", "pointing", "IoU ≥ 0.5"], rows) + "\n" + "\n".join(notes) + note


def region_captions() -> str:
    found = result("region_captions")
    rows: list[list[object]] = [
        [row["variant"], f"{row['perplexity']:.2f}", _short(row["cider"]), f"{row['phrase_perplexity']:.1f}"]
        for row in found["rows"]
    ]
    header = ["variant", "PPL, whole photos", "CIDEr, greedy", "PPL, phrases given their box"]
    note = f"{found['data']}, {found['epochs']} epochs of `recipes/{found['recipe']}.toml` each."
    return dated(table(header, rows) + f"\n{note}", found, "python benchmarks/region_captions.py")


def alignment_scoring() -> str:
    found = result("alignment")
    rows: list[list[object]] = [
        [name, f"{row['median']:.3f} s", f"{row['ratio_to_blocks']:.1f}×", f"{row['bytes_of_products'] / 1e6:.1f} MB",
         f"{row['largest_difference']:.0e}"]
        for name, row in found["sample"]["ways"].items()
    ]  # fmt: skip
    sample, whole = found["sample"], found["whole"]
    note = (
        f"{sample['n_images']} pictures × {sample['n_texts']} sentences, {found['n_regions']} regions. All "
        f"{whole['n_images']:,} × {whole['n_texts']:,} pairs in blocks: {whole['seconds']:.1f} s on {found['threads']} "
        "threads."
    )
    header = ["way", "time", "of blocks", "inner products in memory", "largest difference"]
    return dated(table(header, rows) + f"\n{note}", found, "python benchmarks/alignment.py")


def calibration() -> str:
    found = result("calibration")
    rows: list[list[object]] = [
        [f"{row['from']:.2f} – {row['to']:.2f}", f"{row['said']:.3f}", f"{row['true']:.3f}", f"{row['pairs']:,}"]
        for row in found["reliability"]
    ]
    header = ["probability", "said on average", "true", "pairs of a query and a photo"]
    note = f"Fitted on {found['fitted_on']}, judged on {found['judged_on']}."
    return dated(table(header, rows) + f"\n{note}", found, "python benchmarks/calibration.py")


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
    header = ["photos", "indexed a second", "network alone", "time outside the network", "peak memory"]
    return dated(table(header, rows), found, "python benchmarks/library.py")


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
    header = ["photos", "a whole command", "with torch's encoder", "asked again in one process", "peak memory"]
    scan = found["rescan"]
    note = (
        f"Looking for changes among {scan['files']:,} files takes {scan['seconds']:.1f} s, {scan['over_listing']:.1f}× "
        "what listing them takes. Vectors beyond the 1,000 real ones are random."
    )
    return dated(table(header, rows) + f"\n{note}", found, "python benchmarks/library.py")


TABLES: dict[str, Callable[[], str]] = {
    "calibration": calibration,
    "library-indexing": library_indexing,
    "library-queries": library_queries,
    "alignment": alignment,
    "alignment-ablations": alignment_ablations,
    "alignment-scoring": alignment_scoring,
    "grounding": grounding,
    "region-captions": region_captions,
    "backbones": backbones,
    "regions": regions,
    "pipeline": pipeline,
    "caption-metrics": caption_metrics,
    "noun-phrases": noun_phrases,
    "weights": weights,
    "captions": captions,
    "likelihood-retrieval": likelihood_retrieval,
    "reranking": reranking,
    "wirings": wirings,
    "decoding": decoding,
    "likelihood": likelihood,
    "consensus": consensus,
    "identification": identification,
    "identification-calibration": identification_calibration,
    "explanations-pointing": explanations_pointing,
    "explanations-deletion": explanations_deletion,
    "excitation": excitation,
}


def render(text: str) -> str:
    """The text with every marked table written anew."""
    return MARK.sub(lambda mark: f"{mark[1]}{TABLES[mark['name']]()}{mark[4]}", text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="change nothing; fail where a table is stale")
    arguments = parser.parse_args()
    stale = []
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        text = page.read_text(encoding="utf-8")
        if (renewed := render(text)) != text:
            stale.append(page.name)
            if not arguments.check:
                page.write_text(renewed, encoding="utf-8")
    if arguments.check and stale:
        sys.exit(f"stale tables in {', '.join(stale)}: run python docs/render.py")


if __name__ == "__main__":
    main()
