"""Tables of docs/papers/hmlstm.md."""

from typing import Any

from seesay.evaluation.replication.papers import rows as published_rows
from tables.reading import RECALL_HEADINGS, RECALLS, both_ways, compared, dated, rankings, result, swept, table


def hmlstm() -> str:
    """Retrieval on Flickr8K's test photos: the paper's rows, then models trained on the same photos or more."""
    rows: list[list[object]] = []
    for row in published_rows("retrieval", "flickr8k"):
        if row.paper == "HM-LSTM":
            sides = [[row.printed.get(f"{side}.{key}") or "–" for key in RECALLS] for side in ("i2t", "t2i")]
            rows.append([row.method, *(" / ".join(side) for side in sides), "–", row.stands_in])
    rows += rankings("hmlstm", "vse", "dvsa")
    header = ["model", *RECALL_HEADINGS, "Sum", "source"]
    return table(header, rows) + "\nMeasured by `seesay evaluate WEIGHTS --data flickr8k --task retrieval`.\n"


def bag_scores() -> str:
    found = result("bag_scores")
    rows: list[list[object]] = [[f"`{found['beside']['weights']}`", f"{found['beside']['sum']:.1f}"]]
    rows += [[f"`bag_score = {weight}`", f"{total:.1f}"] for weight, total in found["sums"].items()]
    note = f"`{found['weights']}` on the {found['split']} photos of {found['data']}; it has {found['chosen']:g}."
    return dated(table(["", "dev Sum"], rows) + f"\n{note}", found, "python -m benchmarks.ablations.bag_scores")


PARTS = (
    *("as published", "sentence level, Tree-LSTM", "sentence level", "one round", "two rounds", "three rounds"),
    *("three rounds, by cosine", "three rounds, bags learned"),
)  # the other variants are in `hmlstm_steps`


def hmlstm_ablations() -> str:
    found = result("hmlstm_ablations")
    variants = {row["variant"]: row for row in found["rows"]}
    rows: list[list[object]] = [
        [
            *(row["variant"], f"{row['dev']['sum']:.1f}", f"{row['dev_with_bags']['sum']:.1f}"),
            *(*both_ways(row["test"]), f"{row['test']['sum']:.1f}"),
            f"{row['correspondences'][row['correspondences']['chosen_by']]['correct']:.1f} %",
        ]
        for row in (variants[name] for name in PARTS)
    ]
    headings = [f"test, {heading}" for heading in RECALL_HEADINGS]
    header = ["variant", "dev Sum", "with bags", *headings, "test Sum", "correspondences"]
    note = f"{found['epochs']} epochs of `recipes/{found['recipe']}.toml` each, from random weights."
    return dated(table(header, rows) + f"\n{note}", found, swept("hmlstm"))


def hmlstm_steps() -> str:
    """What each change to the published method gains on dev, from runs that differ in that change alone."""
    found = result("hmlstm_ablations")
    sums = {row["variant"]: row["dev"]["sum"] for row in found["rows"]}
    bags = {row["variant"]: row["dev_with_bags"]["sum"] for row in found["rows"]}
    longer = result("bag_scores")
    steps = [
        (
            "hinge over the hardest negative instead of all negatives",
            sums["three rounds, hinge"],
            sums["three rounds, hardest"],
        ),
        ("softmax over all negatives instead of the hinge", sums["three rounds, hardest"], sums["three rounds"]),
        ("learned word vectors of 300 dimensions", sums["sentence level, fixed words"], sums["sentence level"]),
        ("max pooling over all nodes instead of the root state", sums["sentence level, root"], sums["sentence level"]),
        ("separate weights for noun phrases", sums["sentence level, Tree-LSTM"], sums["sentence level"]),
        ("three rounds of correspondences, scored with bags", bags["sentence level"], bags["three rounds"]),
        ("bags included in the score", sums["three rounds"], bags["three rounds"]),
        ("trained on bags of phrases", bags["three rounds"], bags["three rounds, bags learned"]),
        ("20 epochs and 384 hidden units instead of 8 and 256", sums["three rounds"], longer["sums"]["0"]),
        ("bags included in the score, after 20 epochs", longer["sums"]["0"], longer["sums"][f"{longer['chosen']:g}"]),
    ]
    rows: list[list[object]] = [
        [what, f"{before:.1f}", f"{after:.1f}", f"{after - before:+.1f}"] for what, before, after in steps
    ]
    text = table(["change", "dev Sum before", "after", "gain"], rows)
    commands = f"{swept('hmlstm')}` and `python -m benchmarks.ablations.bag_scores"
    return dated(text, found, commands)


def phrases() -> str:
    found = result("phrases")
    return _ranked_phrases(found, compared(found))


def phrases_100() -> str:
    """The same among fewer photos, with captioners."""
    found = result("phrases_100")
    return _ranked_phrases(
        found, f"{compared(found)} --limit {found['n_images']} -o benchmarks/results/phrases_100.json"
    )


def _ranked_phrases(found: dict[str, Any], command: str) -> str:
    rows: list[list[object]] = []
    first = next(iter(found["rows"].values()))
    for ways in (*found["rows"].values(), {"name": "random", **first["random"]}):
        name = ways["name"]
        for way, report in ((way, ways[way]) for way in ("distinct", "all")):
            sides = (report["region_to_phrase"], report["phrase_to_region"])
            cells = [
                f"{side['r1']:.1f} / {side['r5']:.1f} / {side['r10']:.1f} / {side['median']:.0f}" for side in sides
            ]
            rows.append([f"**`{name}`**" if name != "random" else name, way, *cells])
    header = ["model", "phrases", "phrases for a region: R@1 / 5 / 10 / median", "regions for a phrase"]
    n = first["n_phrases"]
    note = (
        f"{first['n_regions']:,} boxes of {first['n_images']:,} {found['split']} photos, {n['distinct']:,} distinct "
        f"phrases, {n['all']:,} in all."
    )
    return dated(table(header, rows) + f"\n{note}", found, command)


def correspondences() -> str:
    found = result("correspondences")
    keys = ("correct", "confident", "random", "whole", "upper_bound")
    ways = [(f"{row['name']}, {way}", row[way]) for row in found["rows"].values() for way in ("cosine", "heat")]
    rows: list[list[object]] = [[name, *(f"{row[key]:.1f} %" for key in keys)] for name, row in ways]
    header = ["weights", "correct", "confident half", "random region", "whole image", "upper bound"]
    n = ways[0][1]["n_phrases"]
    note = f"{n:,.0f} annotated noun phrases of {found['n_images']:,} {found['split']} photos of {found['data']}."
    return dated(table(header, rows) + f"\n{note}", found, compared(found))


def correspondences_parts() -> str:
    """Milder rules, phrases that choose among the parts of a photo, and how far their regions are nested."""
    found = result("correspondences_parts")
    keys = ("correct", "correct_30", "centred", "whole_chosen", "covered", "covered_shuffled")
    ways = [
        (f"{row['name']}, {way}", row[way])
        for row in found["rows"].values()
        for way in ("cosine", "heat", "cosine, parts only", "heat, parts only")
    ]
    rows: list[list[object]] = [[name, *(f"{row[key]:.1f} %" for key in keys)] for name, row in ways]
    header = ["weights", "IoU ≥ .5", "IoU ≥ .3", "centre in box", "whole image chosen", "nested", "nested by chance"]
    first = ways[0][1]
    note = (
        f"{first['n_phrases']:,.0f} annotated noun phrases of the first {found['n_images']:,} {found['split']} photos "
        f"of {found['data']}; {first['n_nested']:,.0f} noun phrases that stand inside another one."
    )
    command = f"{compared(found)} --limit {found['n_images']} -o benchmarks/results/correspondences_parts.json"
    return dated(table(header, rows) + f"\n{note}", found, command)


def proposed_regions() -> str:
    """Correspondences among fixed windows and among proposals of selective search."""
    found = result("proposed_regions")
    keys = ("correct", "correct_30", "centred", "whole_chosen", "random", "upper_bound")
    rows: list[list[object]] = [[name, *(f"{row[key]:.1f} %" for key in keys)] for name, row in found["rows"].items()]
    header = ["chosen by, among", "IoU ≥ .5", "IoU ≥ .3", "centre in box", "whole image chosen", "random region",
              "upper bound"]  # fmt: skip
    first = next(iter(found["rows"].values()))
    note = (
        f"`{found['weights']}`, {first['n_phrases']:,} annotated noun phrases of the first {found['n_images']:,} "
        f"{found['split']} photos of {found['data']}; random region and upper bound by IoU ≥ .5."
    )
    command = f"python -m benchmarks.quality.proposed_regions {found['weights']} --photos {found['n_images']}"
    return dated(table(header, rows) + f"\n{note}", found, command)


def judged_regions() -> str:
    """What a reader made of random correspondences."""
    found = result("judged_regions")
    titles = {"heat": "by heat", "cosine": "by cosine, as published", "random": "at random"}
    rows: list[list[object]] = [
        [
            title,
            *(found["rows"][rule][verdict] for verdict in ("right", "half", "wrong")),
            _interval(found["rows"][rule]["percent_right"], " %"),
            _interval(found["rows"][rule]["percent_right_or_half"], " %"),
        ]
        for rule, title in titles.items()
    ]
    header = ["region chosen", "right", "half right", "wrong", "right", "right or half right"]
    note = (
        f"{found['n_phrases']} noun phrases of as many random {found['split']} photos of {found['data']}, "
        f"`{found['weights']}`; one reader; 95 % intervals by bootstrap. The paper: {found['paper']:.0f} %."
    )
    return dated(table(header, rows) + f"\n{note}", found, "python -m benchmarks.quality.judged_regions --count")


def region_phrases() -> str:
    """How alike the five phrases of a region are, and whether they are about it."""
    found = result("region_phrases")
    titles = {"nearest": "the five nearest, as published", "diverse": "chosen one after the other"}
    rows: list[list[object]] = [
        [titles[way], _interval(row["alike"], " %"), _interval(row["about"], " %"), _interval(row["words"], "")]
        for way, row in found["rows"].items()
    ]
    header = ["phrases", "content words shared by two", "about the region", "different content words"]
    note = (
        f"{found['n_regions']:,} annotated regions of {found['n_photos']:,} {found['split']} photos of "
        f"{found['data']}, `{found['weights']}` with {found['bank']:,} phrases; "
        "95 % intervals by bootstrap over photos."
    )
    return dated(table(header, rows) + f"\n{note}", found, "python -m benchmarks.quality.region_phrases")


def _interval(row: dict[str, float], unit: str) -> str:
    return f"{row['mean']:.1f}{unit} ({row['low']:.1f}–{row['high']:.1f})"


def tree_lstm() -> str:
    found = result("tree_lstm")
    rows: list[list[object]] = [
        [name, f"{row['sentences_per_second']:.0f}", f"{row['ratio_to_peer']:.2f} ×"]
        for name, row in found["ways"].items()
    ]
    note = (
        f"{found['n_sentences']} captions of Flickr8K, batches of {found['batch']}, {found['dim']} hidden units, "
        f"{found['threads']} thread, the median of interleaved rounds. States differ from the peer's by "
        f"{found['largest_difference']['states']:.0e} at most. *Own leaves* computes every leaf, *ours* every distinct "
        "word once."
    )
    header = ["layer", "sentences/s", f"ratio to {found['peer']}"]
    return dated(table(header, rows) + f"\n{note}", found, "python -m benchmarks.speed.tree_lstm")


TABLES = (
    hmlstm,
    bag_scores,
    hmlstm_ablations,
    hmlstm_steps,
    phrases,
    phrases_100,
    region_phrases,
    correspondences,
    correspondences_parts,
    proposed_regions,
    judged_regions,
    tree_lstm,
)
