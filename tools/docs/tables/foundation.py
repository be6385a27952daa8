"""Tables of images, text and metrics, and the retrieval figures of all packaged weights."""

from typing import Any

from seesay.catalogue.figures import measured_on
from seesay.evaluation.replication.papers import rows as published_rows
from tables.reading import RECALL_HEADINGS, RECALLS, both_ways, dated, ensemble_figures, measured, result, table

ELSEWHERE = {"coco/dev": "Sum on COCO", "iapr/test": "Sum on IAPR TC-12"}
"""Photos from elsewhere, for what was chosen on Flickr8K's dev photos: it may be about these."""


def backbones() -> str:
    found = result("backbones")
    header = ["backbone", "pixels", "crop", "dev Sum", "R@10 sentences", "R@10 images", "images/s", "speed"]
    rows = [[*list(row.values())[:-1], f"{row['relative_speed']:.2f}×"] for row in found["rows"]]
    note = f"Probe trained on {found['train_images']:,} Flickr8K training images, mean of {found['seeds']} seeds."
    return dated(table(header, rows) + f"\n{note}", found, "python -m benchmarks.ablations.backbones")


def regions() -> str:
    found = result("regions")
    rows: list[list[object]] = [
        [name, row["regions"], f"{row['recall']:.1f} %", f"{row['mean_best_iou']:.3f}", row["cpu_ms_per_image"]]
        for name, entries in found["rows"].items()
        for row in entries
    ]
    header = ["scheme", "regions", "recall at IoU 0.5", "mean best IoU", "CPU ms per image"]
    note = f"{found['n_boxes']:,} boxes of {found['n_images']} Flickr8K {found['split']} images, seed {found['seed']}."
    return dated(table(header, rows) + f"\n{note}", found, "python -m benchmarks.quality.regions")


def pipeline() -> str:
    found = result("pipeline")
    header = ["network alone", "whole pipeline", "median ratio"]
    cells = [f"{found['network_images_per_second']} images/s", f"{found['pipeline_images_per_second']} images/s"]
    note = f"{found['data']}, {found['workers']} workers, median of {found['rounds']} rounds."
    return dated(
        table(header, [[*cells, found["median_ratio"]]]) + f"\n{note}", found, "python -m benchmarks.speed.pipeline"
    )


def caption_metrics() -> str:
    found = result("caption_metrics")
    rows: list[list[object]] = [
        [name, f"{row['seesay_s']:.2f} s", f"{row['pycocoevalcap_s']:.2f} s", f"{row['ratio']:.1f}×",
         f"{row['largest_difference']:.0e}"]
        for name, row in found["rows"].items()
    ]  # fmt: skip
    header = ["metric", "seesay", "pycocoevalcap", "faster", "largest difference"]
    note = f"{found['n_images']:,} images with {found['references_per_image']} references each; CPU time."
    return dated(table(header, rows) + f"\n{note}", found, "python -m benchmarks.speed.caption_metrics")


def noun_phrases() -> str:
    found = result("noun_phrases")
    rows: list[list[object]] = [
        [name, row.get("precision", "–"), row["recall"], row.get("f1", "–")] for name, row in found["rows"].items()
    ]
    note = f"Exact spans against the {found['n_phrases']:,} annotated phrases of Flickr8K {found['split']}, in percent."
    header = ["noun phrases", "precision", "recall", "F1"]
    return dated(table(header, rows) + f"\n{note}", found, "python -m benchmarks.quality.noun_phrases")


def weights() -> str:
    rows: list[list[object]] = [
        [f"`{name}`", key, *both_ways(report), f"{report['sum']:.1f}", measured_on(report, "sum")]
        for name, key, report in measured("sum")
    ]
    for key, report in ensemble_figures().items():
        rows.append(
            ["**`--ensemble shipped`**", key, *both_ways(report), f"{report['sum']:.1f}", measured_on(report, "sum")]
        )
    header = ["weights", "data", *RECALL_HEADINGS, "Sum", "date"]
    return table(header, rows) + "\nMeasured by `seesay evaluate WEIGHTS --data DATA --split SPLIT`.\n"


def headline() -> str:
    """Retrieval on Flickr8K's test photos in short: the papers' best row, the packaged weights, the ensemble."""
    best = max(
        (row for row in published_rows("retrieval", "flickr8k") if row.own),
        key=lambda row: float(row.printed.get("t2i.r10") or 0),
    )
    sides = [[best.printed.get(f"{side}.{key}") or "–" for key in RECALLS] for side in ("i2t", "t2i")]
    rows: list[list[object]] = [[f"{best.stands_in} (published)", *(" / ".join(side) for side in sides), "–", "–", "–"]]
    reports: dict[str, dict[str, dict[str, Any]]] = {}
    for name, key, report in measured("sum"):
        reports.setdefault(f"`{name}`", {})[key] = report
    reports["**`--ensemble shipped`**"] = ensemble_figures()
    rows += [
        [name, *both_ways(own["flickr8k/test"]), *(_sum(own.get(key)) for key in ("flickr8k/test", *ELSEWHERE))]
        for name, own in reports.items()
        if "flickr8k/test" in own
    ]
    note = (
        "Measured by `seesay evaluate WEIGHTS --data flickr8k`. Sum is the sum of the six recalls; on COCO it is "
        "measured on 1,000 dev photos (`--data coco --split dev`), on IAPR TC-12 on the test photos (`--data iapr`). "
        "The text encoder of `eye` was pretrained by others on a billion sentences. Captions of Flickr8K's test photos "
        "were among them, the photos were not. No other model uses this text encoder, but `dvsa` uses the image "
        "network of `eye`, which was trained together with it."
    )
    return table(["model", *RECALL_HEADINGS, "Sum", *ELSEWHERE.values()], rows) + f"\n{note}\n"


def _sum(report: dict[str, Any] | None) -> str:
    return f"{report['sum']:.1f}" if report else "–"


TABLES = (headline, backbones, regions, pipeline, caption_metrics, noun_phrases, weights)
