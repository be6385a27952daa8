"""Draw how an identifier chooses: Flickr8K test photos with the probability of a match below each, and why.

    SEESAY_DATA=DIR python tools/docs/make_identify_sheet.py [WEIGHTS] [--only reliability]

The first sheet has each description with the photo that it was written for, its look-alike and two others (the paper's
Figure 5). The second has photo and look-alike with heat and weighted words (Figure 6). The plot of predicted against
observed frequencies is drawn from the record of `seesay evaluate --task identification`, and needs no photo.

The photos are shown small, as figures of a paper are; they belong to their owners on Flickr. The descriptions are the
first of every 333rd test photo, good and bad ones as they come.
"""

import argparse
import json
from pathlib import Path

import torch
from PIL import Image

import seesay
from seesay.data.examples import Examples, Indices
from seesay.drawing.saliency import draw_identification
from seesay.drawing.sheets import Cell, draw_sheet, save_picture
from seesay.engines import answering
from seesay.evaluation.reliability import CalibrationReport, plot_reliability
from seesay.explainers.explaining import explain
from seesay.images.extraction import features_of
from seesay.images.io import open_image
from seesay.models.identifier import Identifier, load_identifier
from seesay.scoring import similar_images

EVERY = 333
ROOT = Path(__file__).parents[2]
PICTURES = ROOT / "docs/pictures"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("weights", nargs="?", default="identifier")
    parser.add_argument("--only", choices=("reliability",))
    arguments = parser.parse_args()
    draw_reliability(arguments.weights)
    if arguments.only is None:
        draw_sheets(load_identifier(arguments.weights))


def draw_reliability(name: str) -> None:
    record = json.loads((ROOT / "benchmarks/results/identification.json").read_text(encoding="utf-8"))
    reports = {kind: CalibrationReport(**found) for kind, found in record["rows"][name]["calibration"].items()}
    plot_reliability(reports, f"{name}, {record['data']} {record['split']}", PICTURES / "reliability.png")


def draw_sheets(model: Identifier) -> None:
    test = seesay.load_data("flickr8k").split("test")
    source = Examples.of(test, features_of(test.images, model.feature_spec, model.outputs))
    rivals = similar_images(source, 1)
    draw_matches(model, source, rivals)
    assert source.table is not None
    sheets = []
    for number in range(EVERY // 2, len(test), EVERY):
        sentence = test.items[number].sentences[0]
        pair = [number, int(rivals[number, 0])]
        maps = features_of([test.images[place] for place in pair], model.feature_spec, ("pooled", "map"))
        features = [maps.rows([place]) for place in range(len(pair))]
        with torch.inference_mode():
            images = torch.cat([model.encode_images(some) for some in features])
            choice = model.choice_probability(model.score(images, model.encode_texts([sentence]))[:, 0])
        found = [explain(answering(model), some.to_arrays(), sentence, "contrastive") for some in features]
        pictures = [open_image(test.images[place]) for place in pair]
        labels = [f"{100 * float(p):.0f} %" + note for p, note in zip(choice, ("  meant", ""), strict=True)]
        sheets.append(draw_identification(pictures, found, labels, title=sentence, width=220))
    paper = Image.new("RGB", (max(sheet.width for sheet in sheets), sum(sheet.height for sheet in sheets)), "white")
    top = 0
    for sheet in sheets:
        paper.paste(sheet, (0, top))
        top += sheet.height
    save_picture(paper, PICTURES / "identify.jpg")


@torch.inference_mode()
def draw_matches(model: Identifier, source: Examples, rivals: Indices) -> None:
    """Probabilities of a match, each by itself, of the right photo, the most similar one and two at even distances."""
    assert source.table is not None
    items, cells, labels = source.collection.items, [], []
    for number in range(EVERY // 2, len(items), EVERY):
        sentence = items[number].sentences[0]
        shown = [number, int(rivals[number, 0]), *((number + step) % len(items) for step in (EVERY // 3, EVERY // 2))]
        logits = model.score(model.encode_images(source.table.rows(shown)), model.encode_texts([sentence]))[:, 0]
        cells += [
            Cell(items[place].image, f"{float(match):.3f}", accented=place == number)
            for place, match in zip(shown, model.match_probability(logits), strict=True)
        ]
        labels.append(sentence)
    sheet = draw_sheet(cells, 4, row_labels=labels, width=180)
    save_picture(sheet, PICTURES / "identify-match.jpg")


if __name__ == "__main__":
    main()
