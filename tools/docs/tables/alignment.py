"""Tables of docs/papers/dvsa.md."""

from seesay.catalogue.figures import measured_on
from seesay.evaluation.replication.papers import rows as published_rows
from tables.reading import RECALL_HEADINGS, RECALLS, both_ways, dated, measured, result, swept, table, typed


def alignment() -> str:
    """Retrieval on Flickr8K's test photos: the rows of DVSA's supplement, then aligners and joint embeddings."""
    rows: list[list[object]] = []
    for row in published_rows("retrieval", "flickr8k"):
        if row.paper == "DVSA":
            sides = [[row.printed[f"{side}.{key}"] or "–" for key in RECALLS] for side in ("i2t", "t2i")]
            total = sum(float(cell) for side in sides for cell in side[:3])
            rows.append([row.method, *(" / ".join(side) for side in sides), f"{total:.1f}", row.stands_in])
    for name, key, report in measured("sum", unshipped=True):
        if key == "flickr8k/test" and name.startswith(("dvsa", "vse")):
            rows.append([f"**`{name}`**", *both_ways(report), f"{report['sum']:.1f}", measured_on(report, "sum")])
    header = ["model", *RECALL_HEADINGS, "Sum", "source"]
    return table(header, rows) + "\nMeasured by `seesay evaluate WEIGHTS --data flickr8k --task retrieval`.\n"


def alignment_ablations() -> str:
    """What is aligned with regions, trained alike."""
    found = result("alignment_ablations")
    rows: list[list[object]] = [
        [row["variant"], f"{row['dev']['sum']:.1f}", *both_ways(row["test"]), f"{row['test']['sum']:.1f}"]
        for row in found["rows"]
    ]
    header = ["variant", "dev Sum", *(f"test, {heading}" for heading in RECALL_HEADINGS), "test Sum"]
    note = f"{found['epochs']} epochs of `recipes/{found['recipe']}.toml` each, from random weights."
    return dated(table(header, rows) + f"\n{note}", found, swept("alignment"))


def alignment_objectives() -> str:
    """The three methods of the supplement's Table 2 that are its own, each as published, over seeds."""
    found = result("alignment_objectives")
    printed = {
        row.method: f"{sum(float(row.printed[f'{side}.{key}']) for side in ('i2t', 't2i') for key in RECALLS[:3]):.1f}"
        for row in published_rows("retrieval", "flickr8k")
        if row.paper == "DVSA"
    }
    methods = {"words": "DVSA: BRNN", "edges": "DVSA: DepTree edges", "DeFrag": "DeFrag (DVSA's own)"}
    rows: list[list[object]] = [
        [group, printed.get(methods.get(group, ""), "–"), *_spread(figures, 1), figures["n"]]
        for group, figures in found["seeds"].items()
    ]
    note = f"A short run of `recipes/{found['recipe']}.toml` each, from random weights (epochs: 1)."
    header = ["variant", "test Sum in the paper", "dev Sum, mean", "lowest to highest", "seeds"]
    return dated(table(header, rows) + f"\n{note}", found, swept("alignment_objectives"))


def caption_words() -> str:
    """Word vectors of the caption RNN, over seeds."""
    found = result("caption_words")
    rows: list[list[object]] = [
        [group, *_spread(figures, 2), figures["n"]] for group, figures in found["seeds"].items()
    ]
    header = ["word vectors", "PPL, mean", "lowest to highest", "seeds"]
    note = f"{found['data']} dev, whole photos; `recipes/{found['recipe']}.toml` with the changes of the sweep."
    return dated(table(header, rows) + f"\n{note}", found, swept("caption_words"))


def _spread(figures: dict[str, float], digits: int) -> list[str]:
    mean, low, high = (f"{figures[key]:.{digits}f}" for key in ("mean", "lowest", "highest"))
    return [mean, f"{low} to {high}"]


def grounding() -> str:
    """Grounding accuracy, with baselines that read no word."""
    models: list[tuple[object, ...]] = []
    others: dict[tuple[object, ...], None] = {}  # a baseline that several models share has one row
    notes: dict[str, None] = {}
    for name, key, report in measured("grounding", unshipped=True):
        part = report["grounding"]
        others_than_it = dict(part["beside"])
        own = others_than_it.pop("without boxes", part)  # what is learned from boxes has a table of its own
        figures = [f"{own['pointing']:.1f} %", f"{own['iou50']:.1f} %"]
        models.append((key, f"**`{name}`**", *figures, measured_on(report, "grounding")))
        for who, row in others_than_it.items():
            others[key, who, f"{row['pointing']:.1f} %", f"{row['iou50']:.1f} %", ""] = None
        others[key, f"upper bound of {part['proposals']}", "–", f"{part['upper_bound']:.1f} %", ""] = None
        notes[f"{key}: {part['n_phrases']:,} boxed phrases of {part['n_images']:,} photos."] = None
    note = "\nMeasured by `seesay evaluate WEIGHTS --data flickr8k --task grounding`.\n"
    rows = [list(row) for row in (*models, *others)]
    return table(["data", "answer", "pointing", "IoU ≥ 0.5", "measured"], rows) + "\n" + "\n".join(notes) + note


def region_captions() -> str:
    found = result("region_captions")
    rows: list[list[object]] = [
        [row["variant"], f"{row['captions']['perplexity']:.2f}", f"{row['phrases']['perplexity']:.1f}"]
        for row in found["rows"]
    ]
    header = ["variant", "PPL, sentences of whole photos", "PPL, phrases given their box"]
    note = (
        f"{found['data']} dev; one short run of `recipes/{found['recipe']}.toml` each (epochs: {found['epochs']}); "
        f"{found['rows'][0]['phrases']['n_phrases']:,} boxed phrases."
    )
    return dated(table(header, rows) + f"\n{note}", found, swept("region_captions"))


def magnitudes() -> str:
    """The shortest and longest words of each model, as Table 1 of the supplement; then what they have in common."""
    found = result("magnitudes")
    blocks = []
    for row in found["rows"]:
        rows: list[list[object]] = [
            [short_word, f"{short_length:.2f}", long_word, f"{long_length:.2f}"]
            for (short_word, short_length), (long_word, long_length) in zip(
                row["shortest"], row["longest"], strict=True
            )
        ]
        header = [f"`{row['weights']}`: shortest words", "length", "longest words", "length"]
        function, naming = row["function"], row["naming"]
        blocks.append(
            table(header, rows)
            + f"\n{row['n_words']:,} words of {found['data']} that occur {found['min_count']} times or more. "
            f"The {naming['n']:,} content words have an average length of {naming['mean']:.2f}, the {function['n']} "
            f"function words one of {function['mean']:.2f}. Rank correlation with the idf: "
            f"{row['spearman_idf']:.2f}.\n"
        )
        if regions := row.get("regions"):
            blocks.append(
                f"Regions of `{row['weights']}` are {regions['shortest']:.2f} to {regions['longest']:.2f} long. One "
                f"around a thing that people marked is longer than another region of the photo in "
                f"{regions['longer']['mean']:.1f} % of the cases, and larger in {regions['larger']['mean']:.1f} %.\n"
            )
    names = " ".join(typed(row["weights"]) for row in found["rows"])
    return dated("\n".join(blocks).rstrip(), found, f"python -m benchmarks.quality.magnitudes --weights {names}")


def alignment_scoring() -> str:
    found = result("alignment")
    rows: list[list[object]] = [
        [name, f"{row['median']:.3f} s", f"{row['ratio_to_blocks']:.1f}×", f"{row['bytes_of_products'] / 1e6:.1f} MB",
         f"{row['largest_difference']:.0e}"]
        for name, row in found["sample"]["ways"].items()
    ]  # fmt: skip
    sample, whole = found["sample"], found["whole"]
    note = (
        f"{sample['n_images']} images × {sample['n_texts']} sentences, {found['n_regions']} regions. All "
        f"{whole['n_images']:,} × {whole['n_texts']:,} pairs in blocks: {whole['seconds']:.1f} s on {found['threads']} "
        "threads."
    )
    header = ["method", "time", "ratio to blocks", "inner products in memory", "largest difference"]
    return dated(table(header, rows) + f"\n{note}", found, "python -m benchmarks.speed.alignment")


def learned_boxes() -> str:
    """Points and boxes with and without learning from boxes, by kind of phrase."""
    found = result("learned_boxes")
    rows: list[list[object]] = []
    for name, part in found["rows"].items():
        kinds = {"all": {**part, "without boxes": part["beside"]["without boxes"]}}
        kinds |= part["by_kind"] if len(part["by_kind"]) > 1 else {}
        for kind, row in kinds.items():
            both = [f"{each[key]:.1f} %" for key in ("pointing", "iou50") for each in (row["without boxes"], row)]
            rows.append([name, kind, f"{row['n_phrases']:,}", *both])
    header = ["data", "phrases", "number", "pointing", "pointing, with boxes", "IoU ≥ 0.5", "IoU ≥ 0.5, with boxes"]
    n_learned = next(iter(found["rows"].values()))["n_learned"]
    photos = ", ".join(f"{part['n_images']:,} photos of {name}" for name, part in found["rows"].items())
    note = f"{photos}. With boxes: learned from those of {n_learned:,} training photos of Flickr8K."
    split, own = next((name.split("/")[1], part) for name, part in found["rows"].items() if name.startswith("flickr8k"))
    command = f"python -m benchmarks.quality.learned_boxes --split {split} --photos {own['n_images']}"
    return dated(table(header, rows) + f"\n{note}", found, command)


def presence() -> str:
    found = result("presence")["steps"][0]
    rows: list[list[object]] = [
        [name, *(f"{row[key]:.1f} %" for key in ("kept of right", "kept of wrong", "expected calibration error"))]
        for name, row in found["figures"].items()
    ]
    header = ["dev photos", "phrases of the photo with a box", "phrases of others with a box", "calibration error"]
    return (
        f"{table(header, rows)}\nPhrases of others were written about other photos only; some of them are true of this "
        f"one too. Chosen on {found['data']}/{found['split']} by `seesay tune dvsa --only presence`.\n"
    )


TABLES = (
    alignment,
    alignment_ablations,
    alignment_objectives,
    grounding,
    learned_boxes,
    region_captions,
    caption_words,
    magnitudes,
    alignment_scoring,
    presence,
)
