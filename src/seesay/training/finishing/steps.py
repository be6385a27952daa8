"""The steps of `seesay tune`: each reads a dev split and chooses one table of trained weights."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seesay import data
from seesay.captioning.bank import read_bank
from seesay.data import Collection, entities
from seesay.data.examples import Examples
from seesay.errors import SeesayError
from seesay.grounding.tuned import grounding_of
from seesay.images.extraction import features_of
from seesay.models.aligner import Aligner, load_aligner
from seesay.models.base import Captioner, Matcher
from seesay.models.ensemble import Scored, read_ensemble
from seesay.models.hubness import HUBNESS
from seesay.models.pretrained import load, load_captioner
from seesay.models.registry import family_class
from seesay.models.weights import ENSEMBLE, Weights, find, tuned_table
from seesay.scoring import encode_all
from seesay.settings.tags import TagSettings
from seesay.training.finishing import calibration, captions, cascade, grounding, tags
from seesay.training.finishing.ensemble import choose_weights
from seesay.training.finishing.hubness import N_CENTRES, choose_hubness
from seesay.training.finishing.scores import read_blend, score_stages, score_texts

SPLIT = "dev"
MAX_LENGTH = 20
"""Words at which captions are cut, where the weights have not said otherwise."""
FIRST_STAGES = {"regions": ("vse",), "captions": ("vse", "dvsa")}
"""The stages of search before one of regions and before one of captions, where nothing else is said."""


@dataclass(frozen=True)
class QueryWords:
    """What search knows of words and photos, which this room does not import.

    Attributes:
        content_words: The words of a query that say what is to be seen.
        classes_named: The ImageNet classes that a word names.
        likeliest_tags: The tags that a library keeps of a classifier's probabilities.
    """

    content_words: Callable[[str], list[str]]
    classes_named: Callable[[str], Mapping[int, float]]
    likeliest_tags: Callable[[NDArray[np.float32]], Sequence[tuple[int, float]]]


@dataclass(frozen=True)
class Request:
    """What the person has asked for; what is empty is as each step has it by default.

    Attributes:
        data: Collections whose dev splits choose.
        images: Where the images of a collection lie that has none beside it.
        entities: Flickr30k Entities, for noun phrases and boxes.
        after: The weights of the stages of search before this one.
        members: The members of an ensemble.
        n_centres: Of hubness, on each side.
        tell: Told how far a long step has come.
    """

    words: QueryWords
    data: tuple[str, ...] = ()
    images: Path | None = None
    entities: str = "flickr30k_entities"
    after: tuple[str, ...] = ()
    members: tuple[str, ...] = ()
    n_centres: int = N_CENTRES
    tell: Callable[[str], None] = lambda line: None

    def collections(self, default: Sequence[str]) -> list[Collection]:
        """The collections that a step chooses on, all of which have images here."""
        return [self._load(name) for name in self.data or default]

    def _load(self, name: str) -> Collection:
        collection = data.load(name)
        if not collection.images and self.images is not None:
            collection = data.load(name, images=self.images)
        if not collection.images:
            raise SeesayError(
                f"{collection.name} has no images here", hint="--images DIR, or --data with another collection"
            )
        return collection

    def collection(self, step: str, default: str = "flickr8k") -> Collection:
        """The one collection that a step chooses on."""
        if len(self.data) > 1:
            raise SeesayError(f"{step} is chosen on one collection, not on {', '.join(self.data)}")
        return self.collections([default])[0]


@dataclass(frozen=True)
class Proposal:
    """A table that dev prefers.

    Attributes:
        section: Where it stands in config.json.
        data: The collections it was chosen on.
        beside: Other weights that took part.
        figures: What was reached on dev.
        save: Writes what does not fit into a table.
    """

    section: str
    table: Any
    data: str
    beside: tuple[str, ...] = ()
    figures: Mapping[str, Any] | None = None
    save: Callable[[Path], None] | None = None


def steps_for(weights: Weights) -> list[str]:
    """The steps that make sense for weights, in their order; pruning of words is only done when it is asked for."""
    if weights.about["family"] == ENSEMBLE:
        return ["ensemble"]
    kind = family_class(weights.about["family"])
    is_stage = issubclass(kind, Aligner | Captioner)
    able = {
        "hubness": kind.is_embedding,
        "cascade": is_stage,
        "calibration": kind.is_embedding or is_stage,
        "captions": issubclass(kind, Captioner),
        "grounding": issubclass(kind, Aligner),
        "tags": kind.is_embedding,
    }
    return [step for step, does in able.items() if does]


def propose_hubness(weights: Weights, request: Request) -> Proposal:
    collection = request.collection("hubness")
    model = load(weights.folder)
    learned, dev = (_examples(model, collection.split(split)) for split in ("train", SPLIT))
    images, texts = encode_all(model, dev)
    found = choose_hubness(
        encode_all(model, learned), (images, texts), dev.image_of, model.temperature, request.n_centres
    )
    figures = {"Sum": round(found.sum_without, 2), "Sum, corrected for hubness": round(found.sum_with, 2)}
    return Proposal(
        "hubness", found.to_table(), collection.name, figures=figures,
        save=lambda folder: found.hubness.write(folder / HUBNESS),
    )  # fmt: skip


def propose_cascade(weights: Weights, request: Request) -> Proposal:
    photos = request.collection("a cascade").split(SPLIT)
    after = request.after or _stages_before(weights)
    texts = photos.sentences
    owners = np.repeat(np.arange(len(photos)), [len(item.sentences) for item in photos.items])
    before = score_stages(after, photos, texts)
    request.tell(f"scores of {', '.join(after)} are there")
    own = score_texts(load(weights.folder), photos, texts)
    blend, found = cascade.choose_blend(before, own, owners, after)
    if weights.about.get("cascade"):
        present = read_blend(str(weights.folder))
        blend = present if replace(present, calibration=None) == blend else blend  # another blend needs another curve
    figures = {"before": cascade.recalls(before, owners), "with it": found}
    return Proposal("cascade", blend.to_table(), photos.name, after, figures)


def _stages_before(weights: Weights) -> tuple[str, ...]:
    if weights.about.get("cascade"):
        return read_blend(str(weights.folder)).after
    kind = family_class(weights.about["family"])
    return FIRST_STAGES["regions" if issubclass(kind, Aligner) else "captions"]


def propose_calibration(weights: Weights, request: Request) -> Proposal:
    photos = request.collection("calibration").split(SPLIT)
    is_first = family_class(weights.about["family"]).is_embedding
    if not is_first and not weights.about.get("cascade"):
        raise SeesayError(
            f"{weights.name} is no stage of search yet, so it has no scores to calibrate",
            hint=f"seesay tune {weights.name} --only cascade --only calibration",
        )
    before = () if is_first else read_blend(str(weights.folder)).after
    queries = calibration.gather_queries(photos, data.load(request.entities), request.words.content_words)
    request.tell(f"{len(queries.texts):,} queries, {100 * queries.fits.mean():.2f} % of pairs fit")
    scores = score_stages([*before, str(weights.folder)], photos, queries.texts)
    curve = calibration.fit_queries(scores, queries)
    figures = {kind: found["all"] for kind, found in calibration.precisions({"all": scores}, queries).items()}
    section = "calibration" if is_first else "cascade.calibration"
    return Proposal(section, dict(curve.to_table()), photos.name, before, {"average precision": figures})


def propose_captions(weights: Weights, request: Request) -> Proposal:
    collection = request.collection("captions")
    model = load_captioner(weights.folder)
    dev = _examples(model, collection.split(SPLIT))
    max_length = int(weights.about.get("captioning", {}).get("max_length", MAX_LENGTH))

    def tell(row: captions.Row) -> None:
        request.tell(", ".join(f"{key} {value}" for key, value in row.items()))

    table, rows, reranked = captions.choose_captions(model, dev, read_bank(model, collection), max_length, tell)
    return Proposal("captioning", table, collection.name, figures={"decoding": rows, "reranking": reranked})


def propose_grounding(weights: Weights, request: Request) -> Proposal:
    collection = request.collection("grounding").split(SPLIT)
    model = load_aligner(weights.folder)
    boxed = entities.attach(collection, data.locate(request.entities)).keep(lambda item: bool(item.boxes))
    phrases, words = grounding.gather(model, boxed)
    request.tell(f"{len(phrases.truth):,} phrases of {len(boxed):,} photos")
    found, figures = grounding.choose_grounding(phrases, words, grounding_of(model))
    return Proposal("grounding", asdict(found), boxed.name, figures=figures)


def propose_tags(weights: Weights, request: Request) -> Proposal:
    collections = [collection.split(SPLIT).with_images() for collection in request.collections(("flickr8k", "coco"))]
    model = load(weights.folder)
    present = TagSettings.from_table(tuned_table(weights, "tags") or {}, str(weights.folder / "config.json"))
    own = request.words
    gather = partial(tags.gather, model)
    splits = [gather(each, own.content_words, own.classes_named, own.likeliest_tags) for each in collections]
    request.tell(f"{sum(len(split.owners) for split in splits):,} queries")
    found, figures = tags.choose_tags(splits, present)
    names = " + ".join(collection.name for collection in collections)
    return Proposal("tags", asdict(found), names, figures={"R@1 + R@5 + R@10 by weight and well_known": figures})


def propose_ensemble(weights: Weights, request: Request) -> Proposal:
    collection = request.collection("an ensemble")
    names = request.members or tuple(member.name for member in read_ensemble(weights.folder).members)
    for name in names:
        find(name)  # a misspelt one is refused before the others have taken their time
    found: list[Scored] = []
    for name in names:
        model = load(name)
        dev = _examples(model, collection.split(SPLIT))
        found.append(Scored.by(model, *encode_all(model, dev)))
        request.tell(f"scores of {name} are there")
    chosen = choose_weights(names, found, dev.image_of, f"{collection.name}/{SPLIT}")
    return Proposal("members", chosen.about(weights.name)["members"], collection.name, names)


def _examples(model: Matcher, collection: Collection) -> Examples:
    collection = collection.with_images()
    return Examples.of(collection, features_of(collection.images, model.feature_spec, model.outputs))


PROPOSERS: dict[str, Callable[[Weights, Request], Proposal]] = {
    "hubness": propose_hubness,
    "cascade": propose_cascade,
    "calibration": propose_calibration,
    "captions": propose_captions,
    "grounding": propose_grounding,
    "tags": propose_tags,
    "ensemble": propose_ensemble,
}
