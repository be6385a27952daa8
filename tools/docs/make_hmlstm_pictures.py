"""Draw what HM-LSTM has found out by itself, good and bad as it comes: correspondences with trees, the map, phrases.

    SEESAY_DATA=DIR python tools/docs/make_hmlstm_pictures.py [--weights hmlstm] [--only phrases]

The photos are shown small, as figures of a paper are; they belong to their owners on Flickr.
"""

import argparse
from pathlib import Path

import numpy as np
from PIL import Image

import seesay
from seesay.cli.research.map import map as draw_map
from seesay.data import Collection, entities, locate
from seesay.drawing.overlay import Mark, draw_boxes, fit
from seesay.drawing.sheets import PAPER, Cell, draw_sheet, save_picture
from seesay.drawing.trees import draw_correspondences
from seesay.errors import SeesayError
from seesay.evaluation.correspondences import match_phrases
from seesay.grounding.describing import LARGEST
from seesay.grounding.phrases import describe_boxes, read_bank
from seesay.images.extraction import features_of
from seesay.images.io import open_image
from seesay.models.hmlstm import HMLSTM
from seesay.models.pretrained import load
from seesay.runtime.matching import Model
from seesay.text.trees import parse

PICTURES = Path(__file__).parents[2] / "docs/pictures"
N_PHOTOS = 4
GAP = 28


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--weights", default="hmlstm")
    parser.add_argument("--only", choices=["phrases"], help="the paper's Figure 6 alone")
    arguments = parser.parse_args()
    draw_phrases(arguments.weights)
    if arguments.only:
        return
    model = load(arguments.weights)
    if not isinstance(model, HMLSTM):
        raise SeesayError(f"{arguments.weights} finds no correspondences", allowed="weights of the family hmlstm")
    draw_examples(model, seesay.load_data("flickr8k").split("train"))
    draw_map("flickr8k", model=arguments.weights, output=[PICTURES / "hmlstm-map.jpg"])


def draw_phrases(weights: str) -> None:
    """A region of some test photos that people marked, with five phrases that say different things of it (Figure 6)."""
    model = Model(weights)
    bank = read_bank(model)
    test = entities.attach(seesay.load_data("flickr8k").split("test"), locate("flickr30k_entities"))
    test = test.keep(lambda item: bool(item.boxes))
    cells = []
    for place in range(len(test) // (2 * N_PHOTOS), len(test), len(test) // N_PHOTOS):
        item = test.items[place]
        edges = [(box.left, box.top, box.right, box.bottom) for box in item.boxes]
        areas = [(right - left) * (bottom - top) for left, top, right, bottom in edges]
        largest = max((area, edge) for area, edge in zip(areas, edges, strict=True) if area <= LARGEST)[1]
        table = features_of([item.image], model.feature_spec, ("pooled", "map"))
        (found,) = describe_boxes(model, bank, table.arrays([0]), np.array([largest], np.float32), 5)
        picture = draw_boxes(fit(open_image(item.image), 480), [Mark(largest)])
        cells.append(Cell(picture, "\n".join(phrase.text for phrase in found)))
    save_picture(draw_sheet(cells[:N_PHOTOS], N_PHOTOS, width=200, n_lines=12), PICTURES / "hmlstm-phrases.jpg")


def draw_examples(model: HMLSTM, collection: Collection) -> None:
    """Sentences of some training photos, drawn at random, with three to six noun phrases each."""
    drawn: list[Image.Image] = []
    for place in np.random.default_rng(0).permutation(len(collection)):
        item = collection.items[place]
        sentence = item.sentences[0]
        if item.image is None or not 3 <= len(model.read([sentence])[0].nouns) <= 6:
            continue
        table = features_of([item.image], model.feature_spec, ("pooled", "map"))
        boxes = match_phrases(model, table.rows([0]), sentence)
        (tree,) = parse([sentence])
        drawn.append(draw_correspondences(open_image(item.image), tree, boxes, side=420, size=16))
        if len(drawn) == N_PHOTOS:
            break
    width, height = max(part.width for part in drawn), max(part.height for part in drawn)
    sheet = Image.new("RGB", (2 * width + 3 * GAP, (height + GAP) * (len(drawn) // 2) + GAP), PAPER)
    for number, part in enumerate(drawn):
        row, column = divmod(number, 2)
        sheet.paste(part, (GAP + column * (width + GAP), GAP + row * (height + GAP) + (height - part.height) // 2))
    save_picture(sheet, PICTURES / "hmlstm-correspondences.jpg")


if __name__ == "__main__":
    main()
