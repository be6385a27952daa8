"""Draw alignments, snippet search, region and photo captions on Flickr8K's test photos, good and bad as they come.

    SEESAY_DATA=DIR python tools/docs/make_alignment_pictures.py [--weights dvsa] [--captions dvsa-captions]
                                                                 [--only sentences]

The photos are shown small, as figures of a paper are; they belong to their owners on Flickr.
"""

import argparse
from dataclasses import replace
from pathlib import Path

import torch

import seesay
from seesay.captioning.captions import caption_images
from seesay.captioning.settings import Settings
from seesay.cli.use.regions import regions
from seesay.data import Collection
from seesay.data.examples import Examples
from seesay.drawing.overlay import Mark, Word, colour_of, draw_alignment, draw_boxes, fit
from seesay.drawing.sheets import Cell, draw_sheet, save_picture
from seesay.engines import answering
from seesay.evaluation.page import align_sentences
from seesay.grounding.describing import describe_image
from seesay.images.extraction import features_of
from seesay.images.io import open_image
from seesay.images.proposals import proposals_of
from seesay.models.aligner import Aligner, load_aligner
from seesay.runtime.matching import Model
from seesay.scoring import score_all

PICTURES = Path(__file__).parents[2] / "docs/pictures"
N_PHOTOS = 9
N_SHOWN = 6  # whole photos with three sentences
SHORTEST = 8  # words of a generated sentence, as dev chose for `mrnn-flickr8k`
FAINT = 0.25  # of the best phrase: below it a phrase speaks of nothing in particular
SNIPPETS = ["red shirt", "blue shirt", "brown dog", "white dog", "snow", "a man riding a bike"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--weights", default="dvsa")
    parser.add_argument("--captions", default="dvsa-captions")
    parser.add_argument("--only", choices=["sentences"], help="the supplement's Figure 5 alone")
    arguments = parser.parse_args()
    flickr8k = seesay.load_data("flickr8k")
    test = flickr8k.split("test")
    aligner = load_aligner(arguments.weights)
    draw_sentences(aligner, Model(arguments.captions), test, flickr8k.split("train").sentences)
    if arguments.only:
        return
    draw_alignments(aligner, test)
    draw_descriptions(Model(arguments.captions), Model(arguments.weights), test)
    regions(SNIPPETS, "flickr8k", None, "test", arguments.weights, 7, PICTURES / "snippets.jpg")


@torch.inference_mode()
def draw_sentences(aligner: Aligner, writer: Model, test: Collection, training: list[str]) -> None:
    """A person's sentence, the best training sentence and the generated one, as in the supplement's Figure 5."""
    places = range(len(test) // (2 * N_SHOWN), len(test), len(test) // N_SHOWN)
    some = replace(test, items=tuple(test.items[place] for place in places[:N_SHOWN]))
    images = aligner.encode_images(features_of(some.images, aligner.feature_spec, aligner.outputs).rows(range(N_SHOWN)))
    order = sorted(training, key=lambda sentence: len(sentence.split()))
    blocks = [order[start : start + 512] for start in range(0, len(order), 512)]
    scores = torch.cat([aligner.score(images, aligner.encode_texts(block)) for block in blocks], 1)
    found = [order[place] for place in scores.argmax(1).tolist()]
    table = features_of(some.images, writer.feature_spec, writer.outputs)
    # It learned phrases of regions, too, and says no more of a photo unless it has to.
    written = caption_images(writer, table, settings=Settings.of(writer, min_length=SHORTEST))
    cells = [
        Cell(item.image, f"person: {tidy(item.sentences[0])}\ntraining: {tidy(best)}\ngenerated: {own[0].text}")
        for item, best, own in zip(some.items, found, written, strict=True)
    ]
    save_picture(draw_sheet(cells, 3, width=220, n_lines=12), PICTURES / "dvsa-sentences.jpg")


def tidy(sentence: str) -> str:
    """A sentence of Flickr8K without the spaces before its marks."""
    return sentence.replace(" .", "").replace(" ,", ",").strip()


@torch.inference_mode()
def draw_alignments(model: Aligner, test: Collection) -> None:
    """The first photos with the sentence of the whole test set that fits each best, as in the supplement's Figure 4."""
    table = features_of(test.images, model.feature_spec, model.outputs)
    best = score_all(model, Examples.of(test, table)).argmax(1)[:N_PHOTOS].tolist()
    first = replace(test, items=test.items[:N_PHOTOS])
    maps = features_of(first.images, model.feature_spec, ("pooled", "map"))
    boxes = proposals_of(first.images, "search-100")
    cells = []
    for place, text in enumerate(best):
        (aligned,) = align_sentences(answering(model), maps.arrays([place]), boxes[place], [test.sentences[text]])
        marks: list[Mark] = []
        words: list[Word] = []
        most = max(part["gain"] for part in aligned["parts"])
        for part in aligned["parts"]:
            is_seen = part["gain"] >= FAINT * most
            own = aligned["words"][part["first"] : part["last"]]
            words += [Word(word, colour_of(len(marks)) if is_seen else None) for word in own]
            if is_seen:
                marks.append(Mark(part["box"], "", colour_of(len(marks))))
        cells.append(Cell(draw_alignment(open_image(first.images[place]), marks, words, side=480)))
    sheet = draw_sheet(cells, 3, width=330, shape=0.95, title="The first test photos, each with its best sentence")
    save_picture(sheet, PICTURES / "alignments.jpg")


def draw_descriptions(describer: Model, aligner: Model, test: Collection) -> None:
    """The same photos with a phrase on each salient region, as in the supplement's Figure 6."""
    cells = []
    for path in test.images[:N_PHOTOS]:
        picture = open_image(path)
        found = describe_image(describer, aligner, picture, n=4)
        marks = [Mark(region.box, region.caption.text, colour_of(place)) for place, region in enumerate(found)]
        cells.append(Cell(draw_boxes(fit(picture, 480), marks)))
    save_picture(draw_sheet(cells, 3, width=330, shape=0.95), PICTURES / "regions.jpg")


if __name__ == "__main__":
    main()
