"""The steps of `seesay tune`: each reads a dev split and chooses one table of trained weights."""

from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial
from typing import Any

import numpy as np

from seesay import data
from seesay.captioning.bank import read_bank
from seesay.catalogue.ensembles import Scored
from seesay.catalogue.weights import ENSEMBLE, Weights, find, tuned_table
from seesay.data import Collection, entities
from seesay.engines import answering
from seesay.errors import SeesayError
from seesay.grounding.tuned import grounding_of
from seesay.images.backbones import find_network
from seesay.models.aligner import load_aligner
from seesay.models.declared import LATER_STAGES
from seesay.models.ensemble import scored_by
from seesay.models.pretrained import load, load_captioner
from seesay.models.registry import family_of
from seesay.runtime.matching import Model
from seesay.scoring import encode_all
from seesay.settings.tags import TagSettings
from seesay.training.boxes.step import propose_boxes
from seesay.training.finishing import calibration, captions, doubt, grounding, matching, tags
from seesay.training.finishing.embeddings import (
    SPLIT,
    examples_of,
    propose_choice,
    propose_hubness,
    propose_short,
    propose_vectors,
)
from seesay.training.finishing.ensemble import choose_weights_on
from seesay.training.finishing.later_stages import propose_cascade
from seesay.training.finishing.requests import JOINED, Proposal, Request
from seesay.training.finishing.scores import Scores, read_blend, score_pairs, score_stages, tag_gains

MAX_LENGTH = 20
"""Words at which captions are cut, where the weights have not said otherwise."""
N_TOGETHER = 400
"""Dev images of each collection that an ensemble is chosen on, where there are several: pair models take their time."""
N_BOXED = 200
"""Dev images on which people's boxes choose: each is seen in several crops."""
N_SHOWN = 150
"""Dev images whose phrases presence is fitted to, for the same reason; it is measured on a third as many others."""
N_FITTED = 300
"""Dev images whose captions confidence is fitted to; it is measured on a third as many others."""
FIT = "fit"
"""The part of people's judgements that a curve is fitted to."""


NEED_BOXES = ("grounding", "boxes", "presence")
"""Steps that need boxes which people drew."""


def steps_for(weights: Weights) -> list[str]:
    """The steps that make sense for weights, in their order; pruning of words is only done when it is asked for."""
    if weights.about["family"] == ENSEMBLE:
        return ["ensemble"]
    able = family_of(weights).tuning_steps()
    return [step for step in PROPOSERS if step in able]


def propose_calibration(weights: Weights, request: Request) -> Proposal:
    kind = family_of(weights)
    is_later = kind.stage in LATER_STAGES
    section = "cascade.calibration" if is_later else "calibration"
    collection = request.collection(weights, section)
    if is_later and not weights.about.get("cascade"):
        raise SeesayError(
            f"{weights.name} is no stage of search yet, so it has no scores to calibrate",
            hint=f"seesay tune {weights.name} --only cascade --only calibration",
        )
    stages = [*(read_blend(str(weights.folder)).after if is_later else ()), str(weights.folder)]
    first = find(stages[0])
    content_words, count = request.words.content_words, load(stages[0]).caption_words.count
    how = TagSettings.from_table(tuned_table(first, "tags") or {}, str(first.folder / "config.json"))

    def rarest(text: str) -> int:
        return how.rarest({word: count(word) for word in content_words(text)}, request.words.classes_named)

    def score(photos: Collection, texts: list[str]) -> Scores:
        return score_stages(stages, photos, texts) + tag_gains(load(stages[0]), photos, texts, request.words, how)

    judgements, figures = request.judgements_file(collection), dict[str, Any]()
    curve = None
    if kind.stage is not None:  # others judge pairs outside of search, and take their time for each
        spoken = data.load(request.entities) if request.has_entities else None
        if spoken is None:
            request.tell("without Flickr30k Entities, queries are whole sentences only")
        phrases = calibration.gather_queries(collection.split(SPLIT), spoken, content_words, rarest)
        if judgements is not None:
            phrases = phrases.of_phrases()
        if not phrases.texts:
            raise SeesayError(f"{collection.name}/{SPLIT} has no phrases to calibrate on", hint="--judgements none")
        request.tell(f"{len(phrases.texts):,} queries; a query fits {100 * phrases.said.mean():.2f} % of photos")
        scores = score(collection.split(SPLIT), phrases.texts)
        curve = calibration.fit_said(scores, phrases)
        figures["average precision"] = calibration.precisions({"all": scores}, phrases)
    if judgements is not None:
        judged, photos, texts, pairs = calibration.read_part(judgements, collection, FIT)
        request.tell(f"{len(judged):,} judgements of {len(photos):,} photos and {len(texts):,} sentences")
        n_words = np.array([len(content_words(text)) for text in texts])[pairs[0]]
        seen = np.array([rarest(text) for text in texts])[pairs[0]]
        found = score(photos, texts)[pairs] if kind.stage else score_pairs(load(weights.folder), photos, texts, pairs)
        curve, figures["judgements"] = calibration.fit_judged(found, judged, n_words, seen, curve)
    if curve is None:
        raise SeesayError(f"{weights.name} is calibrated by people's judgements alone", hint="--judgements FILE")
    where = (collection.name,) if judgements is None else (judgements.name, collection.name)
    splits = [*([FIT] if judgements else []), *([SPLIT] if kind.stage else [])]
    return Proposal(
        section, curve.to_table(), JOINED.join(where), tuple(stages[:-1]), figures, split=JOINED.join(splits)
    )  # fmt: skip


def propose_captions(weights: Weights, request: Request) -> Proposal:
    collections = request.collections(weights, "captioning")
    model = load_captioner(weights.folder)
    devs = [examples_of(model, each.split(SPLIT).with_images()) for each in collections]
    max_length = int(weights.about.get("captioning", {}).get("max_length", MAX_LENGTH))

    def tell(row: captions.Row) -> None:
        request.tell(", ".join(f"{key} {value}" for key, value in row.items()))

    bank = read_bank(answering(model), collections[0])
    table, rows, reranked = captions.choose_captions(model, devs, bank, max_length, tell)
    where = JOINED.join(each.name for each in collections)
    return Proposal("captioning", table, where, figures={"decoding": rows, "reranking": reranked})


def propose_matching(weights: Weights, request: Request) -> Proposal:
    model = load_captioner(weights.folder)
    matcher = _witness_of(model.feature_spec.backbone, request)
    if not matcher:
        raise SeesayError(
            f"{weights.name} sees through {model.feature_spec.backbone}, which is no matcher's",
            hint=f"seesay tune {weights.name} --only matching --after MATCHER, with one on the same network",
        )
    devs = {
        each.name: examples_of(model, each.split(SPLIT).with_images())
        for each in request.collections(weights, "matching", matching.DATA)
    }
    found, figures = matching.choose_matching(answering(model), matcher, devs)
    return Proposal("matching", asdict(found), JOINED.join(devs), (matcher,), figures)


def propose_grounding(weights: Weights, request: Request) -> Proposal:
    boxed = _boxed(weights, request, "grounding")
    boxed = replace(boxed, items=boxed.items[:N_BOXED])
    model, gathered = load_aligner(weights.folder), {}
    for side in grounding.sides_for(model, present := grounding_of(model)):
        gathered[side] = grounding.gather(model, boxed, side)
        n_phrases = len(gathered[side][0].truth)
        request.tell(f"{n_phrases:,} phrases of {len(boxed):,} photos, crops of side {side:g}")
    found, figures = grounding.choose_grounding(gathered, present)
    return Proposal("grounding", asdict(found), boxed.name, figures=figures)


def propose_presence(weights: Weights, request: Request) -> Proposal:
    boxed = _boxed(weights, request, "presence")
    # Learned boxes are a graph, and judged beside the graphs that they were learned with.
    aligner = Model(weights.folder) if weights.about.get("boxes") else load_aligner(weights.folder)
    matcher = _witness_of(str(weights.about["features"]["backbone"]), request)
    parts = _fitted_and_others(boxed, N_SHOWN)
    answers, others = (doubt.gather_phrases(aligner, part, matcher) for part in parts)
    found = doubt.fit_presence(answers)
    figures = {"fitted": doubt.describe_doubt(found, answers), "other photos": doubt.describe_doubt(found, others)}
    if answers.crops is not None:
        for name, n_signs in (("without learned boxes", 2), ("without crops", 0)):
            if n_signs < answers.crops.shape[1]:
                once, others_once = (each.without_signs(n_signs) for each in (answers, others))
                figures[f"other photos, {name}"] = doubt.describe_doubt(doubt.fit_presence(once), others_once)
    return Proposal("presence", found.to_table(), boxed.name, (matcher,) if matcher else (), figures)


def _witness_of(backbone: str, request: Request) -> str:
    """The matcher that was asked for (`--after`), or the eye where a model sees through it; else none."""
    return request.after[0] if request.after else find_network(backbone).upper


def lacks_matcher(weights: Weights, request: Request) -> bool:
    """Whether nothing could order the captions of weights, so that the step `matching` makes no sense."""
    return not _witness_of(str(weights.about["features"]["backbone"]), request)


def _boxed(weights: Weights, request: Request, section: str) -> Collection:
    """The dev images on which people drew boxes."""
    collection = request.collection(weights, section).split(SPLIT)
    boxed = entities.attach(collection, data.locate(request.entities)).keep(lambda item: bool(item.boxes))
    if not boxed.items:
        raise SeesayError(
            f"no image of {collection.name}/{SPLIT} has a box in {request.entities}",
            allowed="--data with photos of Flickr30k, such as flickr8k",
        )
    return boxed


def propose_confidence(weights: Weights, request: Request) -> Proposal:
    model = load_captioner(weights.folder)
    dev = request.collection(weights, "confidence").split(SPLIT).with_images()
    answers, others = (doubt.gather_captions(model, examples_of(model, part)) for part in _fitted_and_others(dev))
    found = doubt.fit_doubt(answers)
    figures = {"fitted": doubt.describe_doubt(found, answers), "other photos": doubt.describe_doubt(found, others)}
    return Proposal("confidence", found.to_table(), dev.name, (found.matcher,) if found.matcher else (), figures)


def _fitted_and_others(dev: Collection, most: int = N_FITTED) -> tuple[Collection, Collection]:
    """The images that doubt is fitted to, and those that it is measured on."""
    n = min(most, 3 * len(dev) // 4)
    return replace(dev, items=dev.items[:n]), replace(dev, items=dev.items[n : 4 * n // 3])


def propose_tags(weights: Weights, request: Request) -> Proposal:
    collections = [
        each.split(SPLIT).with_images() for each in request.collections(weights, "tags", ("flickr8k", "coco"))
    ]
    model = load(weights.folder)
    present = TagSettings.from_table(tuned_table(weights, "tags") or {}, str(weights.folder / "config.json"))
    own = request.words
    gather = partial(tags.gather, model)
    splits = [gather(each, own.content_words, own.classes_named, own.likeliest_tags) for each in collections]
    request.tell(f"{sum(len(split.owners) for split in splits):,} queries")
    found, figures = tags.choose_tags(splits, present)
    names = JOINED.join(collection.name for collection in collections)
    return Proposal("tags", asdict(found), names, figures={"R@1 + R@5 + R@10 by weight and well_known": figures})


def propose_ensemble(weights: Weights, request: Request) -> Proposal:
    collections = request.collections(weights, "members")
    names = request.members or tuple(str(member["name"]) for member in weights.about["members"])
    for name in names:
        find(name)  # a misspelt one is refused before the others have taken their time
    most = N_TOGETHER if len(collections) > 1 else None
    splits = [
        replace(each, items=each.items[:most]) for each in (own.split(SPLIT).with_images() for own in collections)
    ]
    found: list[list[Scored]] = [[] for _ in splits]
    for name in names:
        model = load(name)
        for split, own in zip(splits, found, strict=True):
            own.append(scored_by(model, *encode_all(model, examples_of(model, split))))
        request.tell(f"scores of {name} are there")
    owners = [np.repeat(np.arange(len(each)), [len(item.sentences) for item in each.items]) for each in splits]
    where = JOINED.join(f"{each.name}/{SPLIT}" for each in splits)
    chosen = choose_weights_on(names, list(zip(found, owners, strict=True)), where)
    return Proposal("members", chosen.about(weights.name)["members"], JOINED.join(e.name for e in splits), names)


PROPOSERS: dict[str, Callable[[Weights, Request], Proposal]] = {
    "vectors": propose_vectors,
    "short": propose_short,
    "hubness": propose_hubness,
    "cascade": propose_cascade,
    "calibration": propose_calibration,
    "choice": propose_choice,
    "captions": propose_captions,
    "matching": propose_matching,
    "confidence": propose_confidence,
    "grounding": propose_grounding,
    "boxes": propose_boxes,
    "presence": propose_presence,
    "tags": propose_tags,
    "ensemble": propose_ensemble,
}
