"""What the tables read: recorded results, the cards of weights, and how a table is written."""

import json
from pathlib import Path
from typing import Any

from seesay.catalogue.figures import measured_on

ROOT = Path(__file__).resolve().parents[3]
RESULTS = ROOT / "benchmarks/results"
WEIGHTS = ROOT / "src/seesay/weights"
RECALLS = ("r1", "r5", "r10", "median")
RECALL_HEADINGS = [f"{what} retrieval: R@1 / 5 / 10 / median" for what in ("sentence", "image")]


def table(header: list[str], rows: list[list[object]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines) + "\n"


def result(name: str) -> dict[str, Any]:
    return json.loads((RESULTS / f"{name}.json").read_text())


def dated(text: str, found: dict[str, Any], command: str) -> str:
    how = ""
    if found.get("softmax") == "logits":
        how = " m-RNN's part is scored by logits, without Eq. 7's sum over the vocabulary."
    return f"{text}\nMeasured {found['date'][:10]} by `{command}`.{how}\n"


def compared(found: dict[str, Any]) -> str:
    """The command that measures a task for several weights; those that do not ship lie where training writes them."""
    names = " ".join(found["rows"])
    split = "" if found["split"] == "test" else f" --split {found['split']}"
    return f"python -m benchmarks.quality.compare {found['benchmark']} {names}{split}"


def swept(name: str) -> str:
    """The command that trains and measures a sweep."""
    return f"python -m benchmarks.ablations.sweep benchmarks/ablations/{name}.toml"


def typed(name: str) -> str:
    """What to type for weights: a name, or the folder that training writes for those that do not ship."""
    return name if (WEIGHTS / name).is_dir() else f"runs/{name}/weights"


def measured(part: str, *, unshipped: bool = False) -> list[tuple[str, str, dict[str, Any]]]:
    """Name, data and report of all packaged weights that were measured in a part of the report.

    `unshipped` adds those of which only the config.json is kept, in benchmarks/results/weights.
    """
    cards = sorted(WEIGHTS.glob("*/config.json"))
    if unshipped:
        cards += sorted((RESULTS / "weights").glob("*.json"))
    return [
        (about["name"], key, report)
        for about in (json.loads(path.read_text()) for path in cards)
        for key, report in sorted(about.get("figures", {}).items())
        # An ensemble has rows of its own, and a part of a split is not compared with whole ones.
        if part in report and about.get("family") != "ensemble" and "/limit-" not in key
    ]


def ensemble_figures() -> dict[str, Any]:
    """What was measured of the ensemble that ships, by data and split."""
    figures: dict[str, Any] = json.loads((WEIGHTS / "ensemble/config.json").read_text()).get("figures", {})
    return figures


def both_ways(report: dict[str, Any]) -> list[str]:
    sides = (report["i2t"], report["t2i"])
    return [" / ".join(f"{side[key]:.1f}" for key in RECALLS[:3]) + f" / {side['median']:g}" for side in sides]


def rankings(*families: str) -> list[list[object]]:
    """A row for each of the weights of these families that was measured on Flickr8K's test photos."""
    return [
        [f"**`{name}`**", *both_ways(report), f"{report['sum']:.1f}", measured_on(report, "sum")]
        for name, key, report in measured("sum", unshipped=True)
        if key == "flickr8k/test" and name.startswith(families)
    ]


def short(value: float) -> str:
    """A figure below one, as papers print it: `.216`."""
    return f"{value:.3f}".removeprefix("0")
