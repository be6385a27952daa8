"""Measured figures in a few words."""

from collections.abc import Mapping
from typing import Any


def summarise(report: Mapping[str, Any]) -> str:
    """A report in a few words.

    Example:
        >>> summarise({"captions": {"perplexity": 20.51, "bleu4": 0.2149, "cider": 0.557}})
        'perplexity 20.5, BLEU-4 .215, CIDEr .557'
        >>> summarise({"sum": 334.31})
        'Sum 334.3'
    """
    parts = []
    if captions := report.get("captions"):
        parts += [f"perplexity {captions['perplexity']:.1f}"] if captions.get("perplexity") else []
        parts += [f"{name} {decimals(captions[key])}" for name, key in (("BLEU-4", "bleu4"), ("CIDEr", "cider"))]
    if "sum" in report:
        parts.append(f"Sum {report['sum']:.1f}")
    if grounding := report.get("grounding"):
        parts.append(f"pointing {grounding['pointing']:.1f} %")
    if found := report.get("identification"):
        # Training records two games only, `seesay evaluate` those that the photos are enough for.
        accuracy = found.get("accuracy") or {"2-way": found["of_2"], "10-way": found["of_10"]}
        named = (("two-way identification", "2-way"), ("ten-way", "10-way"))
        parts.append(", ".join(f"{name} {accuracy[game]:.1f} %" for name, game in named if game in accuracy))
    return ", ".join(parts)


def measured_on(report: Mapping[str, Any], part: str) -> str:
    """The day on which a part of a report was measured, such as `captions` or `sum`; empty where that is not said.

    Example:
        >>> report = {"captions": {}, "sum": 300.0, "date": "2026-11-18T17:03", "kept": {"sum": "2026-11-16T02:09"}}
        >>> measured_on(report, "captions"), measured_on(report, "sum")
        ('2026-11-18', '2026-11-16')
    """
    return str(report.get("kept", {}).get(part, report.get("date", "")))[:10]


def decimals(value: float) -> str:
    """A share without the zero before its point.

    Example:
        >>> decimals(0.2149)
        '.215'
    """
    return f"{value:.3f}".removeprefix("0")
