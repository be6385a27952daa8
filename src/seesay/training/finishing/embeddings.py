"""The steps of `seesay tune` for joint embeddings: their vectors, their hubness, and how sure their choices are."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from seesay.catalogue.weights import Weights
from seesay.data import Collection
from seesay.data.examples import Examples
from seesay.images.extraction import features_of
from seesay.models.base import Matcher
from seesay.models.eye_ear import EyeEar
from seesay.models.hubness import HUBNESS
from seesay.models.pretrained import load, load_kind, save
from seesay.scoring import encode_all, score_all
from seesay.training.finishing import choice, vectors
from seesay.training.finishing.hubness import choose_hubness
from seesay.training.finishing.requests import JOINED, Proposal, Request
from seesay.training.finishing.scores import encode_photos

SPLIT = "dev"
BESIDE = "vse"
"""The second embedding of an eye, unless its configuration names another."""


def propose_hubness(weights: Weights, request: Request) -> Proposal:
    collection = request.collection(weights, "hubness")
    model = load(weights.folder)
    learned, dev = (examples_of(model, collection.split(split)) for split in ("train", SPLIT))
    images, texts = encode_all(model, dev)
    found = choose_hubness(
        encode_all(model, learned), (images, texts), dev.image_of, model.temperature, request.n_centres
    )
    figures = {"Sum": round(found.sum_without, 2), "Sum, corrected for hubness": round(found.sum_with, 2)}
    return Proposal(
        "hubness", found.to_table(), collection.name, figures=figures,
        save=lambda folder: found.hubness.write(folder / HUBNESS),
    )  # fmt: skip


def propose_choice(weights: Weights, request: Request) -> Proposal:
    collections = request.collections(weights, "choice", ("flickr8k", "coco-all", "iapr"))
    model = load(weights.folder)
    drawn = {}
    for collection in collections:
        dev = examples_of(model, collection.split(SPLIT))
        drawn[collection.name] = choice.trial_scores(score_all(model, dev).numpy(), dev.image_of)
    temperature = round(choice.fit_choice(list(drawn.values())), 5)
    errors = {name: round(choice.choice_error(logits, temperature), 2) for name, logits in drawn.items()}
    return Proposal(
        "choice", {"temperature": temperature}, JOINED.join(drawn), figures={"calibration error in percent": errors}
    )


def propose_vectors(weights: Weights, request: Request) -> Proposal:
    collections = request.collections(weights, "vectors", ("flickr8k", "coco-all", "iapr"))
    model = load_kind(weights.folder, EyeEar, "is no eye")
    beside = load(model.config.beside or BESIDE)
    alone = vectors.alone(model, beside.feature_spec)
    devs = []
    for collection in collections:
        examples = [examples_of(each, collection.split(SPLIT)) for each in (alone, beside)]
        devs.append(
            vectors.Dev(collection.name, encode_all(alone, examples[0]), encode_all(beside, examples[1]),
                        examples[0].image_of)
        )  # fmt: skip
        request.tell(f"vectors of {collection.name} are there")
    made, figures = vectors.put_together(alone, beside, devs, vectors.draw_bank(collections))
    table = {key: getattr(made.config, key) for key in ("beside_weight", "hub_weight", "hub_mean")}
    names = JOINED.join(collection.name for collection in collections)
    # Weights that have these vectors already stay as they are, with all that was chosen for and measured of them.
    same = model.bank is not None and table == {key: getattr(model.config, key) for key in table}
    save_made = None if same else partial(_save_again, model=made, about=weights.about)
    return Proposal("vectors", table, names, (made.config.beside,), figures, save_made)


def propose_short(weights: Weights, request: Request) -> Proposal:
    collections = request.collections(weights, "short", ("flickr8k", "coco-all", "iapr"))
    model = load_kind(weights.folder, EyeEar, "is no eye")
    devs = []
    for collection in collections:
        dev = collection.split(SPLIT).with_images()
        queries = vectors.short_queries(dev)
        devs.append(vectors.score_short(model, collection.name, encode_photos(model, dev), queries))
        request.tell(f"{len(queries):,} short queries of {collection.name}")
    found, figures = vectors.choose_shares(devs)
    names = JOINED.join(collection.name for collection in collections)
    return Proposal("short", found.to_table(), names, figures={"average precision by words and share": figures})


def _save_again(folder: Path, model: Matcher, about: Mapping[str, Any]) -> None:
    """Write changed weights over their own folder; what was chosen for or measured of them before does not fit."""
    kept = ("name", "data", "recipe", "recipe_fingerprint", "seed", "epochs", "trained", "versions")
    save(folder, model, {key: about[key] for key in kept if key in about})


def examples_of(model: Matcher, collection: Collection) -> Examples:
    collection = collection.with_images()
    return Examples.of(collection, features_of(collection.images, model.feature_spec, model.outputs))
