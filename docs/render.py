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
from collections.abc import Callable
from pathlib import Path
from typing import Any

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


def weights() -> str:
    rows: list[list[object]] = []
    for path in sorted(WEIGHTS.glob("*/config.json")):
        about = json.loads(path.read_text())
        for key, report in sorted(about.get("figures", {}).items()):
            cells = [_recalls(report["i2t"]), _recalls(report["t2i"])]
            rows.append([f"`{about['name']}`", key, *cells, f"{report['sum']:.1f}", report["date"][:10]])
    header = ["weights", "data", "sentences: R@1 / 5 / 10 / median", "pictures: R@1 / 5 / 10 / median", "Sum", "date"]
    return table(header, rows) + "\nMeasured by `seesay evaluate WEIGHTS --data DATA --split SPLIT`.\n"


def _recalls(direction: dict[str, float]) -> str:
    return " / ".join(f"{direction[key]:.1f}" for key in ("r1", "r5", "r10")) + f" / {direction['median']:g}"


TABLES: dict[str, Callable[[], str]] = {
    "backbones": backbones,
    "regions": regions,
    "pipeline": pipeline,
    "caption-metrics": caption_metrics,
    "noun-phrases": noun_phrases,
    "weights": weights,
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
