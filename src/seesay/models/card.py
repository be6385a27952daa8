"""The card that goes with trained weights, written from their config.json so that no figure is typed by hand."""

from collections.abc import Mapping
from typing import Any

TERMS = {
    "flickr8k": "Flickr8K: photos and captions for research use",
    "coco": "MS COCO captions: CC BY 4.0; photos under their Flickr licences",
    "iapr": "IAPR TC-12: research use",
    "flickr30k_entities": "Flickr30k Entities sentences: research use",
}

EAR_HAS_SEEN = (
    "Its ear started from all-MiniLM-L6-v2 (Apache-2.0), which had learned from a billion pairs of sentences. Among "
    "them are captions of Flickr30K and COCO, those of Flickr8K's test photos with them: sentences, never photos. So "
    "its figures are not to be compared with those of models that have not read them, a paper's least of all. Its eye "
    "started from EfficientNet-Lite2 with ImageNet's weights (Apache-2.0), whose lower half stays as it was."
)

WEAK_POINTS = {
    "dvsa": (
        "It learned where things are from whole pictures and whole sentences: a box is often around the telling part "
        "of a thing, or around all of several.",
        "Counting, and what is small: the network's map has ten by ten cells.",
        "A phrase about something that is not there gets a box too.",
        "Words that captions of everyday photos do not use, text inside pictures, named people and places.",
    ),
    "dvsa-captions": (
        "The phrases that it learned for regions were laid on them by a model, and many of them wrongly: it names what "
        "is usual in such a picture and guesses the rest. Read a description as a guess.",
        "Small regions: the network's map has ten by ten cells.",
        "Counting, colours, text inside pictures, named people and places.",
        "The captions carry their writers' guesses about the age, gender and intentions of people.",
    ),
    "eye-ear": (
        "Counting, left and right, and who does what to whom: a picture is one vector.",
        "What is small: the network's map has nine by nine cells.",
        "Text inside pictures, named people and places. Words that no caption taught have the meaning that they have "
        "in text, and the eye may never have learned to see it.",
        "People of kinds that Flickr's photos of 2004–2014 show rarely; the captions carry their writers' guesses "
        "about age and gender.",
    ),
    "hmlstm": (
        "It found out by itself which phrase speaks of which region, and was often wrong: read a box as a guess.",
        "A sentence is read as a tree. Where the parser stumbles, over a list or a line of verse, so does the model.",
        "Counting, left and right, and what is smaller than its windows.",
        "Words that captions of everyday photos do not use, text inside pictures, named people and places.",
    ),
    "identifier": (
        "Pictures that look alike: it tells any two apart far better than two near ones.",
        "Its maps show what in the picture speaks for a match, which is not always what a word speaks of.",
        "Counting, text inside pictures, named people and places.",
    ),
    "mrnn": (
        "It says what is usual: a man in a blue shirt where the shirt is green, a dog where the animal is rare. Read a "
        "caption as a guess.",
        "Counting, text inside pictures, named people and places, and whatever its few thousand words cannot say.",
        "The captions carry their writers' guesses about the age, gender and intentions of people.",
    ),
    "smlstm": (
        "A score is of one picture with one sentence: it is slow over many pictures, and meant for a short list.",
        "Where it looks is what helps it to match, not always what a word speaks of.",
        "Counting, text inside pictures, named people and places, and words that captions of everyday photos do not "
        "use.",
    ),
    "vse": (
        "Counting, left and right, and who does what to whom: a picture is one vector, and two sentences with the same "
        "words in another order are nearly the same to it.",
        "Text inside pictures, named people and places, and words that captions of everyday photos do not use.",
        "People of kinds that Flickr's photos of 2004–2014 show rarely; the captions carry their writers' guesses "
        "about age and gender.",
    ),
}


def write_card(about: Mapping[str, Any]) -> str:
    """The text of card.md.

    Example:
        >>> print(write_card({"name": "tiny", "family": "vse", "features": {"backbone": "alexnet", "size": 224}}))
        # tiny
        ...
    """
    features = about["features"]
    lines = [
        f"# {about['name']}",
        "",
        f"A `{about['family']}` model on {features['backbone']} features of {features['size']} × {features['size']} "
        "pixels. This card is written from `config.json`.",
        "",
    ]
    if data := about.get("data"):
        lines += [
            "## Learned from",
            "",
            "| collection | split | pictures | sentences | terms |",
            "| --- | --- | --- | --- | --- |",
        ]
        sources = about.get("recipe", {}).get("data", {}).get("train", [])
        for place, row in enumerate(data):
            source = sources[place] if place < len(sources) else {}
            pictures = f"{row['n_images']:,}" if row["n_images"] else "none, sentences only"
            sentences = f"{row['n_sentences']:,}"
            if source.get("snippets"):
                sentences += f" noun phrases, each with the region that `{source['snippets']}` laid it on"
            terms = next((TERMS[name] for name in TERMS if row["name"].startswith(name)), "as its owner says")
            lines.append(f"| {row['name']} | {row['split']} | {pictures} | {sentences} | {terms} |")
        lines += ["", "The dev and test photos of each of these collections were left out of it."]
        if any(row["name"].startswith("flickr8k") for row in data):
            lines.append(
                "Some of Flickr8K's training photos are dev or test photos of Flickr30K: do not measure there."
            )
        lines.append("")
    if borrowed := about.get("borrowed"):
        lenders = " and ".join(f"`{lender}`" for lender in borrowed)
        lines += [f"It stands on {lenders}, from which it borrows what stayed as it was in training.", ""]
    if about["family"] == "eye-ear":
        lines += [EAR_HAS_SEEN, ""]
    if pruned := about.get("pruned"):
        lines += [f"Words that were seen fewer than {pruned['min_count']} times were taken out after training.", ""]
    if figures := about.get("figures"):
        lines += ["## Measured", "", *_measured(figures)]
        command = f"seesay evaluate {about['name']} --data DATA --split SPLIT"
        if about["family"] == "identifier":
            command = f"python benchmarks/identification.py --identifiers {about['name']}"
        lines += [f"`{command}` measures again.", ""]
    lines += ["## What it is bad at", "", *(f"- {point}" for point in WEAK_POINTS.get(about["family"], ())), ""]
    if "recipe_fingerprint" in about:
        lines += [
            f"Trained on {about['trained']} with seed {about['seed']}, recipe `{about['recipe']['name']}` "
            f"({about['recipe_fingerprint'][:12]}).",
            "",
        ]
    return "\n".join(lines)


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
        parts += [f"{name} {_decimals(captions[key])}" for name, key in (("BLEU-4", "bleu4"), ("CIDEr", "cider"))]
    if "sum" in report:
        parts.append(f"Sum {report['sum']:.1f}")
    if grounding := report.get("grounding"):
        parts.append(f"pointing {grounding['pointing']:.1f} %")
    if found := report.get("identification"):
        parts.append(f"of two pictures {found['of_2']:.1f} % right, of ten {found['of_10']:.1f} %")
    return ", ".join(parts)


def _measured(figures: Mapping[str, Any]) -> list[str]:
    lines = []
    if captions := {key: report for key, report in sorted(figures.items()) if "captions" in report}:
        lines += [
            "| data | captions by | perplexity | BLEU-1 / 2 / 3 / 4 | CIDEr | ROUGE-L | date |",
            "| --- | --- | --- | --- | --- | --- | --- |",
        ]
        for key, report in captions.items():
            row = report["captions"]
            bleu = " / ".join(_decimals(row[f"bleu{n}"]) for n in (1, 2, 3, 4))
            lines.append(
                f"| {key} | {row.get('decoding', 'greedy')} | {row['perplexity']:.2f} | {bleu} | "
                f"{_decimals(row['cider'])} | {_decimals(row['rouge_l'])} | {report.get('date', '')[:10]} |"
            )
        lines.append("")
    if retrieval := {key: report for key, report in sorted(figures.items()) if "sum" in report}:
        lines += [
            "| data | sentences for a picture: R@1 / R@5 / R@10 / median | pictures for a sentence | Sum | date |",
            "| --- | --- | --- | --- | --- |",
        ]
        for key, report in retrieval.items():
            lines.append(
                f"| {key} | {_cells(report['i2t'])} | {_cells(report['t2i'])} | {report['sum']:.1f} | "
                f"{report.get('date', '')[:10]} |"
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


def _decimals(value: float) -> str:
    return f"{value:.3f}".removeprefix("0")


def _cells(direction: Mapping[str, float]) -> str:
    recalls = " / ".join(f"{direction[key]:.1f}" for key in ("r1", "r5", "r10"))
    return f"{recalls} / {direction['median']:g}"
