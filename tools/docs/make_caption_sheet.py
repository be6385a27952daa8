"""Draw the captions of the first twenty Flickr8K test photos, good and bad ones as they come.

    SEESAY_DATA=DIR python tools/docs/make_caption_sheet.py

The photos are shown small, as figures of a paper are; they belong to their owners on Flickr.
"""

from dataclasses import replace
from pathlib import Path

import seesay
from seesay.captioning.captions import caption_images
from seesay.captioning.reranking import Reranker
from seesay.captioning.settings import Settings
from seesay.drawing.sheets import Cell, draw_sheet, save_picture
from seesay.evaluation.captions import features_in
from seesay.evaluation.protocols import EvaluationSet
from seesay.runtime.matching import Model

N_PHOTOS = 20


def main() -> None:
    model = Model("mrnn")
    flickr8k = seesay.load_data("flickr8k")
    test = flickr8k.split("test")
    first = EvaluationSet(replace(test, items=test.items[:N_PHOTOS])).read(model)
    settings = Settings.of(model)
    reranker = Reranker.of(model, flickr8k, settings.metric)
    captions = caption_images(model, features_in(first), settings=settings, reranker=reranker)
    cells = [Cell(item.image, several[0].text) for item, several in zip(first.collection.items, captions, strict=True)]
    sheet = draw_sheet(cells, 5, width=190, title="mrnn, reranked: the first twenty test photos of Flickr8K")
    save_picture(sheet, Path(__file__).parents[2] / "docs/pictures/captions.jpg")


if __name__ == "__main__":
    main()
