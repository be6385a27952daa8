"""The step of `seesay tune` for later stages of search: how much they count, with whole sentences and short texts."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from seesay.catalogue.weights import Weights, tuned_table
from seesay.data import Collection
from seesay.errors import SeesayError
from seesay.models.pretrained import load
from seesay.models.registry import family_of
from seesay.training.finishing import cascade
from seesay.training.finishing.embeddings import SPLIT
from seesay.training.finishing.requests import JOINED, Proposal, Request
from seesay.training.finishing.scores import best, read_blend, score_stages, score_texts
from seesay.training.finishing.vectors import draw_sentences, short_queries

FIRST_STAGES = {"regions": ("eye",), "captions": ("eye", "dvsa")}
"""The stages of search before one of regions and before one of captions, where nothing else is said."""


def propose_cascade(weights: Weights, request: Request) -> Proposal:
    collections = request.collections(weights, "cascade", ("flickr8k", "coco-all", "iapr"))
    after = request.after or stages_before(weights)
    content_words, knows = request.words.content_words, load(weights.folder).caption_words.knows
    whole: list[cascade.Asked] = []
    short: list[cascade.Asked] = []
    for collection in collections:
        photos = collection.split(SPLIT).with_images()
        known = {text: of for text, of in short_queries(photos).items() if all(map(knows, content_words(text)))}
        for asked, texts in ((whole, draw_sentences(photos)), (short, known)):
            asked.append(_ask(weights, after, photos, texts, request))
        request.tell(f"{len(whole[-1].fits):,} sentences and {len(short[-1].fits):,} short queries of {photos.name}")
    blend, found = cascade.choose_blend(whole, after)
    mixes, tables = cascade.choose_short(short, blend)
    blend = replace(blend, short=mixes)
    if fits_weights(weights, "cascade"):
        present = read_blend(str(weights.folder))
        blend = present if replace(present, calibration=None) == blend else blend  # another blend needs another curve
    figures = {"R@1 + R@5 + R@10 of sentences": found, "average precision of short queries by words": tables}
    return Proposal("cascade", blend.to_table(), JOINED.join(each.name for each in collections), after, figures)


def _ask(
    weights: Weights, after: Sequence[str], photos: Collection, said: Mapping[str, Sequence[int]], request: Request
) -> cascade.Asked:
    """The scores of texts with all photos, where each is said of some."""
    texts = list(said)
    before = score_stages(after, photos, texts)
    own = score_texts(load(weights.folder), photos, texts, among=best(before, max(cascade.KS)))
    fits = np.zeros(before.shape, bool)
    for row, of in enumerate(said.values()):
        fits[row, list(of)] = True
    n_words = np.array([len(request.words.content_words(text)) for text in texts])
    return cascade.Asked(photos.name, before, own, fits, n_words)


def stages_before(weights: Weights) -> tuple[str, ...]:
    if fits_weights(weights, "cascade"):
        return read_blend(str(weights.folder)).after
    return FIRST_STAGES[family_of(weights).stage or "regions"]


def fits_weights(weights: Weights, section: str) -> bool:
    """Whether there is a table that was chosen beside the weights that are there; one that was not is chosen anew."""
    try:
        return tuned_table(weights, section) is not None
    except SeesayError:
        return False
