"""The card that goes with trained weights, written from their config.json so that no figure is typed by hand."""

from collections.abc import Mapping
from typing import Any

from seesay.catalogue.figures import decimals, measured_on, summarise
from seesay.catalogue.weights import ENSEMBLE, REMARKS, STEPS
from seesay.models.registry import family_class

TERMS = {
    "flickr8k": "Flickr8K: photos and captions for research use",
    "coco": "MS COCO captions: CC BY 4.0; photos under their Flickr licences",
    "iapr": "IAPR TC-12: research use",
    "flickr30k_entities": "Flickr30k Entities sentences: research use",
}


def write_card(about: Mapping[str, Any]) -> str:
    """The text of card.md.

    Example:
        >>> print(write_card({"name": "tiny", "family": "vse", "features": {"backbone": "alexnet", "size": 224}}))
        # tiny
        ...
    """
    if about["family"] == ENSEMBLE:
        return _ensemble_card(about)
    kind, features = family_class(about["family"]), about["features"]
    lines = [
        f"# {about['name']}",
        "",
        f"A `{about['family']}` model on {features['backbone']} features of {features['size']} × {features['size']} "
        "pixels. This card is written from `config.json`.",
        "",
    ]
    if data := about.get("data"):
        lines += [
            "## Training data",
            "",
            "| collection | split | images | sentences | terms |",
            "| --- | --- | --- | --- | --- |",
        ]
        sources = about.get("recipe", {}).get("data", {}).get("train", [])
        for place, row in enumerate(data):
            source = sources[place] if place < len(sources) else {}
            images = f"{row['n_images']:,}" if row["n_images"] else "none, sentences only"
            sentences = f"{row['n_sentences']:,}"
            if source.get("snippets"):
                sentences += f" noun phrases, each with the region that `{source['snippets']}` assigned to it"
            terms = next((TERMS[name] for name in TERMS if row["name"].startswith(name)), "as its owner says")
            lines.append(f"| {row['name']} | {row['split']} | {images} | {sentences} | {terms} |")
        lines += ["", "The dev and test photos of each of these collections were left out of it."]
        if any(row["name"].startswith("flickr8k") for row in data):
            lines.append(
                "Some of Flickr8K's training photos are dev or test photos of Flickr30K: do not measure there."
            )
        lines.append("")
    if sources := about.get("source_weights"):
        names = " and ".join(f"`{source}`" for source in sources)
        lines += [f"It shares the parts that training left as they were with {names}.", ""]
    if start := about.get("config", {}).get("start_from"):
        lines += [f"Its training went on from `{start}`.", ""]
    if kind.starting_point:
        lines += [kind.starting_point, ""]
    if pruned := about.get("pruned"):
        lines += [f"Words that were seen fewer than {pruned['min_count']} times were taken out after training.", ""]
    lines += card_lines(about)
    lines += graph_lines(about)
    if figures := about.get("figures"):
        lines += ["## Measured", "", *_measured(figures)]
        lines += [f"`{kind.measured_by.format(name=about['name'])}` measures again.", ""]
    if kind.weak_points:
        lines += ["## What it is bad at", "", *(f"- {point}" for point in kind.weak_points), ""]
    if "recipe_fingerprint" in about:
        lines += [
            f"Trained on {about['trained']} with seed {about['seed']}, recipe `{about['recipe']['name']}` "
            f"({about['recipe_fingerprint'][:12]}).",
            "",
        ]
    if averaged := about.get("averaged"):
        first, second = (f"`{name}` ({digest[:12]})" for name, digest in averaged.items() if name != "share")
        share = f"{100 * averaged['share']:g} %"
        lines += [f"Averaged after training by `tools/average_weights.py`: {first} with {share} of {second}.", ""]
    return "\n".join(lines)


def _ensemble_card(about: Mapping[str, Any]) -> str:
    members = ", ".join(f"`{member['name']}`" for member in about["members"])
    what = f"An ensemble: the standardised scores of {members}, weighted and added up."
    lines = [f"# {about['name']}", "", f"{what} This card is written from `config.json`.", ""]
    lines += card_lines(about)
    if figures := about.get("figures"):
        again = f"`seesay evaluate --ensemble {about['name']} --data DATA --split SPLIT` measures again."
        lines += ["## Measured", "", *_measured(figures), again, ""]
    return "\n".join(lines)


def _measured(figures: Mapping[str, Any]) -> list[str]:
    lines = []
    if captions := {key: report for key, report in sorted(figures.items()) if "captions" in report}:
        lines += [
            "| data | captions by | perplexity | BLEU-1 / 2 / 3 / 4 | CIDEr | ROUGE-L | date |",
            "| --- | --- | --- | --- | --- | --- | --- |",
        ]
        for key, report in captions.items():
            row = report["captions"]
            bleu = " / ".join(decimals(row[f"bleu{n}"]) for n in (1, 2, 3, 4))
            lines.append(
                f"| {key} | {row.get('decoding', 'greedy')} | {row['perplexity']:.2f} | {bleu} | "
                f"{decimals(row['cider'])} | {decimals(row['rouge_l'])} | {measured_on(report, 'captions')} |"
            )
        lines.append("")
    if retrieval := {key: report for key, report in sorted(figures.items()) if "sum" in report}:
        lines += [
            "| data | sentences for an image: R@1 / R@5 / R@10 / median | images for a sentence | Sum | date |",
            "| --- | --- | --- | --- | --- |",
        ]
        for key, report in retrieval.items():
            lines.append(
                f"| {key} | {_cells(report['i2t'])} | {_cells(report['t2i'])} | {report['sum']:.1f} | "
                f"{measured_on(report, 'sum')} |"
            )
        lines.append("")
    for key, report in sorted(figures.items()):
        if found := report.get("grounding"):
            lines += [
                f"{key}, {found['n_phrases']:,} boxed phrases: pointing {found['pointing']:.1f} %, boxes that overlap "
                f"theirs by half {found['iou50']:.1f} %.",
                "",
            ]
        if "identification" in report:
            lines += [f"{key}: {summarise({'identification': report['identification']})}.", ""]
    return lines


def graph_lines(about: Mapping[str, Any]) -> list[str]:
    """The graphs that `seesay export` has written, in plain words."""
    table = about.get("graphs")
    if not table:
        return []
    stored = {"fp32": "single precision", "fp16": "half precision, computed with in single precision"}
    absent = [f"- no graph `{name}`: {why}" for name, why in table["missing"].items()]
    return [
        "## Graphs",
        "",
        f"They run without torch, in ONNX Runtime: operator set {table['opset']}, with the weights of "
        "model.safetensors. Their network, "
        f"`{table['network']}`, has its weights in {stored.get(table['precision'], table['precision'])}. "
        "The largest difference of each graph to torch, as a share of the largest number:",
        "",
        "| graph | difference |",
        "| --- | --- |",
        *(f"| {name} | {entry.get('difference', 0.0):.0e} |" for name, entry in table["files"].items()),
        "",
        *([*absent, ""] if absent else []),
    ]


def _cells(direction: Mapping[str, float]) -> str:
    recalls = " / ".join(f"{direction[key]:.1f}" for key in ("r1", "r5", "r10"))
    return f"{recalls} / {direction['median']:g}"


def _shown(key: str, value: Any) -> str:
    """A key of a table as a card shows it; a calibration inside a table has a row of its own."""
    if isinstance(value, Mapping):
        subtracted = [value[side] for side in ("of_images", "of_texts") if value.get(side)]
        hubness = f" (hubness {' and '.join(map(str, subtracted))})" if subtracted else ""
        if "weight" in value:
            return f"{key} {value['weight']}{hubness}"
        inside = ", ".join(filter(None, (_shown(name, own) for name, own in value.items())))
        return "" if key == "calibration" else f"{key} ({inside})"
    if value is None:
        return ""
    if isinstance(value, list) and all(isinstance(entry, Mapping) for entry in value):
        entries = "; ".join(", ".join(f"{name} {own}" for name, own in entry.items()) for entry in value)
        return f"{key} ({entries})"
    return f"{key} {' + '.join(map(str, value)) if isinstance(value, list) else value}"


def card_lines(about: Mapping[str, Any]) -> list[str]:
    """The tables as a card shows them, each with where it was chosen."""
    rows = []
    for step, section in STEPS.items():
        table = about.get(section)
        if section == "calibration" and table is None:
            table = (about.get("cascade") or {}).get("calibration")
        if isinstance(table, list):
            table = {member["name"]: member for member in table}
        if not isinstance(table, Mapping) or step == "prune":  # which the card says in a sentence
            continue
        record = about.get("tuned", {}).get(section)
        if record:
            chosen = f"{record['data']}/{record['split']}, {record['date'][:10]}"
        else:
            chosen = str(table.get("chosen on") or table.get("data") or "")
        shown = (_shown(key, value) for key, value in table.items() if key not in REMARKS)
        rows.append(f"| {step} | {', '.join(filter(None, shown))} | {chosen} |")
    if not rows:
        return []
    return ["## Tuned", "", "| step | table | chosen on |", "| --- | --- | --- |", *rows, ""]
