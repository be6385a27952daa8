"""Draw m-RNN's Figures 1, 3, 4 and 6 with our weights, good and bad photos as they come.

    SEESAY_DATA=DIR python tools/docs/make_mrnn_pictures.py [--only curve]

The photos stand at even distances in Flickr8K's test split. They are shown small, as figures of a paper are, and belong
to their owners on Flickr. The curve is drawn from the record of `mrnn-iapr`.
"""

import argparse
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

import seesay
from seesay.captioning.bank import features_in
from seesay.captioning.captions import caption_images
from seesay.captioning.reranking import Reranker
from seesay.captioning.settings import Settings
from seesay.catalogue.weights import find
from seesay.data import Collection
from seesay.data.examples import Examples
from seesay.drawing.sheets import Cell, draw_sheet, save_picture
from seesay.engines import answering
from seesay.evaluation.plots import drawing
from seesay.evaluation.protocols import EvaluationSet
from seesay.models.mrnn import MRNN
from seesay.models.pretrained import load, load_captioner
from seesay.scoring import similar_images
from seesay.verbs.neighbours import find_neighbours

PICTURES = Path(__file__).parents[2] / "docs/pictures"
WEIGHTS = "mrnn-flickr8k"
N_NEAR = 100


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=FIGURES)
    arguments = parser.parse_args()
    for name, draw in FIGURES.items():
        if arguments.only in (None, name):
            draw()


def draw_sentences() -> None:
    """Figure 1: the generated sentence, and the two best of those that people wrote about the nearest test photos."""
    whole = seesay.load_data("flickr8k").split("test")
    model = load(WEIGHTS)
    assert isinstance(model, MRNN)
    source = EvaluationSet(whole).read(model)
    near = similar_images(source, N_NEAR - 1)
    places = spread(len(whole), 4)
    captions = write_captions(take(whole, places))
    cells = []
    for place, caption in zip(places, captions, strict=True):
        owners = [place, *near[place].tolist()]
        found = [(text, owner) for owner in owners for text in whole.items[owner].sentences]
        with torch.inference_mode():
            image = model.encode_images(features_in(source).rows([place]))
            scores = model.score(image, model.encode_texts([text for text, _ in found]))[0]
        best = [found[number] for number in scores.topk(2).indices.tolist()]
        lines = [f"{rank}. {tidy(text)}{' (own)' * (owner == place)}" for rank, (text, owner) in enumerate(best, 1)]
        cells.append(Cell(whole.items[place].image, "\n".join([f"generated: {caption}", "retrieved:", *lines])))
    save_picture(draw_sheet(cells, 4, width=200, n_lines=14), PICTURES / "mrnn-sentences.jpg")


def draw_neighbours() -> None:
    """Figure 3: the nearest training photos by the refined and by the original feature."""
    flickr8k = seesay.load_data("flickr8k")
    test = flickr8k.split("test")
    photos = take(test, spread(len(test), 3)).images
    found = find_neighbours(photos, flickr8k, split="train", model=answering(load_captioner(WEIGHTS)), n=5)
    cells, labels = [], []
    for row in found:
        for name, first, near in (
            ("refined", Cell(row.image.source, accented=True), row.refined),
            ("original", Cell(), row.original),
        ):
            cells += [first, *(Cell(each.image.path, "", f"{each.cosine:.2f}") for each in near)]
            labels.append(name)
    sheet = draw_sheet(cells, 6, row_labels=labels, width=92, shape=1.0, crop=True)
    save_picture(sheet, PICTURES / "mrnn-neighbours.webp")


def draw_ranks() -> None:
    """Figure 4: the ten hypotheses as the beam orders them, and as consensus does."""
    flickr8k = seesay.load_data("flickr8k")
    test = flickr8k.split("test")
    chosen, model = take(test, spread(len(test), 3)), answering(load_captioner(WEIGHTS))
    settings = Settings.of(model)
    features = features_in(EvaluationSet(chosen).read(model))
    wide = replace(settings, beam=settings.candidates)
    before = caption_images(model, features, n_best=settings.candidates, settings=wide)
    reranker = Reranker.of(model, flickr8k, "cider")
    after = caption_images(model, features, n_best=settings.candidates, settings=settings, reranker=reranker)
    cells = []
    for item, *lists in zip(chosen.items, before, after, strict=True):
        text = [
            "\n".join([title, *(f"{number}. {caption.text}" for number, caption in enumerate(captions, 1))])
            for title, captions in zip(("by the beam", "by consensus (CIDEr)"), lists, strict=True)
        ]
        cells.append(Cell(item.image, "\n \n".join(text)))
    save_picture(draw_sheet(cells, 3, width=200, n_lines=80), PICTURES / "mrnn-ranks.webp")


def draw_curve() -> None:
    """Figure 6: sentences for an image of IAPR TC-12 among those of its 100 nearest images."""
    report = find("mrnn-iapr").figures[f"iapr/test/shortlist-{N_NEAR}"]
    retrieved, recall, _ = np.array(report["shortlist"]["curve"]).T
    with drawing("mrnn-iapr: sentences for an image", PICTURES / "mrnn-shortlist.png") as axes:
        axes.plot(retrieved, recall, color="#1f6f9f", linewidth=2, label=f"among {N_NEAR} nearest images")
        axes.plot(retrieved, retrieved, color="0.6", linewidth=1.2, linestyle=(0, (4, 3)), label="chance")
        axes.set_xscale("log")
        axes.set_xlim(retrieved[0], 100)
        axes.set_ylim(0, 100)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g} %")
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0f} %")
        axes.set_xlabel("part of the shortlist retrieved")
        axes.set_ylabel("the image's own sentences among it")
        axes.grid(which="major", color="0.9", linewidth=0.8)
        axes.legend(loc="best", frameon=False)


def write_captions(collection: Collection) -> list[str]:
    model = answering(load_captioner(WEIGHTS))
    source: Examples = EvaluationSet(collection).read(model)
    return [several[0].text for several in caption_images(model, features_in(source), settings=Settings.of(model))]


def tidy(sentence: str) -> str:
    """A sentence of Flickr8K without the spaces before its marks."""
    return sentence.replace(" .", "").replace(" ,", ",").strip()


def take(collection: Collection, places: list[int]) -> Collection:
    return replace(collection, items=tuple(collection.items[place] for place in places))


def spread(n: int, wanted: int) -> list[int]:
    """Places at even distances."""
    return list(range(n // (2 * wanted), n, n // wanted))[:wanted]


FIGURES: dict[str, Callable[[], None]] = {
    "sentences": draw_sentences,
    "neighbours": draw_neighbours,
    "ranks": draw_ranks,
    "curve": draw_curve,
}


if __name__ == "__main__":
    main()
