"""Draw where sm-LSTM looks: Flickr8K test photos step by step, and the mean map of every step.

    SEESAY_DATA=DIR python tools/docs/make_attention_pictures.py WEIGHTS [WITHOUT_CONTEXT] [-o docs/pictures]

attention.jpg has the first sentence of every 333rd test photo, good and bad ones as they come, a second row for weights
without context where they are given (the paper's Figures 4 and 5). attention-mean.png is drawn from what
benchmarks/results/attention.json has (Figure 6). The photos are shown small, as figures of a paper are; they belong to
their owners on Flickr.
"""

import argparse
import json
from pathlib import Path

import numpy as np
from PIL import Image

import seesay
from seesay.drawing.overlay import draw_heat
from seesay.drawing.saliency import draw_steps
from seesay.drawing.sheets import Cell, draw_sheet, save_picture
from seesay.explainers.explaining import explain
from seesay.explainers.explanation import scale_heat
from seesay.images.extraction import features_of
from seesay.images.io import open_image
from seesay.runtime.matching import Model

EVERY = 333
LABELS = {"full": "with context", "att": "without context"}
RESULT = Path(__file__).resolve().parents[2] / "benchmarks/results/attention.json"


def draw_photos(names: list[str]) -> Image.Image:
    models = [Model(name) for name in names]
    labels = [LABELS[model.config["variant"]] for model in models] if len(models) > 1 else []
    test = seesay.load_data("flickr8k").split("test")
    sheets = []
    for number in range(EVERY // 2, len(test), EVERY):
        item = test.items[number]
        found = []
        for model in models:
            features = features_of([test.images[number]], model.feature_spec, ("pooled", "map")).arrays([0])
            found.append(explain(model, features, item.sentences[0], "attention"))
        sheets.append(draw_steps(open_image(test.images[number]), found, labels, title=item.sentences[0], width=220))
    return stack(sheets)


def draw_means(recorded: Path) -> Image.Image:
    rows = json.loads(recorded.read_text())["rows"]
    blank = Image.new("RGB", (300, 300), (128, 128, 128))
    sheets = []
    for row in rows.values():
        cells = [
            Cell(draw_heat(blank, scale_heat(np.array(mean))), f"step {step}", f"{row['name']}, {row['variant']}")
            for step, mean in enumerate(row["maps"], 1)
        ]
        sheets.append(draw_sheet(cells, len(cells), width=160, shape=1.0))
    return stack(sheets)


def stack(sheets: list[Image.Image]) -> Image.Image:
    """One below the other."""
    paper = Image.new("RGB", (max(sheet.width for sheet in sheets), sum(sheet.height for sheet in sheets)), "white")
    top = 0
    for sheet in sheets:
        paper.paste(sheet, (0, top))
        top += sheet.height
    return paper


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("weights", nargs="+", help="names or folders; the second one without context")
    parser.add_argument("--recorded", type=Path, default=RESULT)
    parser.add_argument("-o", "--output", type=Path, default=Path(__file__).parents[2] / "docs/pictures")
    arguments = parser.parse_args()
    save_picture(draw_photos(arguments.weights), arguments.output / "attention.jpg")
    if arguments.recorded.is_file():
        save_picture(draw_means(arguments.recorded), arguments.output / "attention-mean.png")


if __name__ == "__main__":
    main()
