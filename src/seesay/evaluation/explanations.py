"""Are explanations right, not only pretty? Three games for all explainers of a model, and one figure.

Pointing: the hottest place of a phrase's map has to lie in one of the phrase's boxes (Flickr30k Entities). Baselines
are the centre, the brightest place of the network's map, and gradients (`seesay.evaluation.gradients`).
Hiding a part of the photo and leaving out words: the score has to fall (`seesay.evaluation.taking_away`).
Dependence: how alike the maps of right and of foreign sentences are (`seesay.evaluation.dependence`).
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seesay.data import Collection
from seesay.engines import answering
from seesay.errors import SeesayError
from seesay.evaluation.dependence import Dependence, measure_dependence
from seesay.evaluation.gradients import gradient_maps, last_block
from seesay.evaluation.protocols import timed
from seesay.evaluation.taking_away import Falls, maps_of, measure_hiding, measure_leaving_out
from seesay.explainers.registry import choose_explainer, explainers_of
from seesay.grounding.boxed_phrases import BoxedPhrase, boxed_phrases
from seesay.grounding.heat import heat_maps, point_at, term_vectors
from seesay.images.backbones import Backbone
from seesay.images.extraction import FeatureTable, features_of
from seesay.images.io import open_image
from seesay.layers.dropout import without_dropout
from seesay.metrics.bootstrap import Estimate, estimate
from seesay.metrics.grounding import pointing_game
from seesay.models.base import Matcher
from seesay.system.progress import Progress

Floats = NDArray[np.float64]
BRIGHTEST, CENTRE = "brightest place, no words", "centre"


@dataclass(frozen=True)
class ExplanationsEvaluation:
    """How well the explainers of a model play, and what others reach.

    Attributes:
        pointing: Percent of phrases whose hottest place lies in a box, of every explainer and baseline.
        better: For each explainer, by how many points it is better than each baseline.
        hiding: By how much the score falls for each share of a photo that is hidden.
        leaving_out: By how much it falls for each number of words that are left out.
        dependence: How alike the maps of the right and of foreign sentences are.
        n_photos: Whose phrases were pointed at.
        n_hidden: Of them, photos of which parts were hidden.
        n_sentences: Of them, photos whose sentences lost words.
        seconds: How long features and each game took.
    """

    pointing: dict[str, Estimate]
    better: dict[str, dict[str, Estimate]]
    hiding: Falls
    leaving_out: Falls
    dependence: Dependence
    n_phrases: int
    n_photos: int
    n_hidden: int
    n_sentences: int
    seconds: dict[str, float] = field(default_factory=dict)

    def to_report(self) -> dict[str, Any]:
        """The part of a report that this is."""
        table = asdict(self)
        del table["seconds"]
        return {"explanations": table}


def evaluate_explanations(
    model: Matcher,
    collection: Collection,
    *,
    beside: Matcher | None = None,
    n_photos: int = 1000,
    n_hidden: int = 60,
    n_sentences: int = 150,
    seed: int = 0,
    store: Path | None = None,
    on_progress: Progress | None = None,
) -> ExplanationsEvaluation:
    """Play the three games with every explainer of a model.

    Args:
        model: One with an explainer or more.
        collection: Photos with boxes and phrases (`seesay.data.entities.attach`); others are left out.
        beside: A joint embedding or aligner whose heat maps of the phrases play the pointing game, too.
        n_photos: Drawn at random for pointing.
        n_hidden: Of these, the first ones, for hiding.
        n_sentences: Of these, the first ones, for leaving out and for dependence.
        seed: Of what is drawn at random.
        store: The folder of the feature store, where it is not the user's own.
        on_progress: Called with the photos whose features are there, and all.

    Raises:
        SeesayError: Nothing explains the model, or no phrase has a box.
    """
    choose_explainer(model)
    rng = np.random.default_rng(seed)
    collection = draw_photos(collection, n_photos, rng)
    seconds: dict[str, float] = {}
    with timed("features", seconds):
        table, other = (
            features_of(collection.images, each.feature_spec, ("pooled", "map"), root=store, on_progress=on_progress)
            for each in (model, beside or model)
        )
    backbone = model.feature_spec.load_backbone()
    with without_dropout(model):
        with timed("pointing", seconds):
            phrases = boxed_phrases(collection)
            points = _point(model, collection, phrases, table, backbone)
            if beside is not None:
                points[alignment_of(beside)] = point_by_alignment(beside, phrases, other)
            pointing, better = compare_pointing(points, phrases, explainers_of(model))
        with timed("hiding", seconds):
            hiding = measure_hiding(model, _first(collection, n_hidden), table, backbone, rng)
        with timed("leaving out", seconds):
            leaving_out = measure_leaving_out(model, _first(collection, n_sentences), table, rng)
        with timed("dependence", seconds):
            dependence = compare_sentences(model, _first(collection, n_sentences), table, beside, other)
    return ExplanationsEvaluation(
        pointing=pointing,
        better=better,
        hiding=hiding,
        leaving_out=leaving_out,
        dependence=dependence,
        n_phrases=len(phrases),
        n_photos=len(collection),
        n_hidden=min(n_hidden, len(collection)),
        n_sentences=min(n_sentences, len(collection)),
        seconds=seconds,
    )


def draw_photos(collection: Collection, n: int, rng: np.random.Generator) -> Collection:
    """n random photos that have phrases with boxes, in their order.

    Raises:
        SeesayError: No phrase has a box.
    """
    boxed = collection.keep(lambda item: bool(item.boxes) and item.image is not None)
    if not boxed_phrases(boxed):
        raise SeesayError(
            f"no phrase of {collection.name} has a box", hint="--entities with the folder of Flickr30k Entities"
        )
    chosen = sorted(rng.permutation(len(boxed))[:n].tolist())
    return replace(boxed, items=tuple(boxed.items[place] for place in chosen))


def compare_sentences(
    model: Matcher, collection: Collection, table: FeatureTable, beside: Matcher | None, other: FeatureTable
) -> Dependence:
    """How alike the maps of the right and of foreign sentences are, of every explainer and of a model beside it."""

    def all_maps(photo: int, sentence: str) -> dict[str, Floats]:
        maps = maps_of(model, table.rows([photo]), sentence)
        if beside is not None:
            reader, arrays = answering(beside), other.arrays([photo])
            maps[alignment_of(beside)] = heat_maps(reader, arrays, term_vectors(reader, [sentence]))[0]
        return maps

    return measure_dependence(all_maps, collection)


def compare_pointing(
    points: dict[str, Floats], phrases: Sequence[BoxedPhrase], explainers: Sequence[str]
) -> tuple[dict[str, Estimate], dict[str, dict[str, Estimate]]]:
    """What every row of points (n, 2) reaches, and by how much each explainer is better than the others."""
    photos = np.array([phrase.item for phrase in phrases])
    hits = {
        name: np.array([pointing_game(at[None], [phrase.boxes]) for at, phrase in zip(some, phrases, strict=True)])
        for name, some in points.items()
    }
    shares = {name: estimate(found, photos) for name, found in hits.items()}
    others = [name for name in hits if name not in explainers]
    better = {
        name: {other: estimate(hits[name] - hits[other], photos) for other in others}
        for name in explainers
        if name in hits
    }
    return shares, better


def _point(
    model: Matcher, collection: Collection, phrases: Sequence[BoxedPhrase], table: FeatureTable, backbone: Backbone
) -> dict[str, Floats]:
    """Where every explainer and every baseline points for each phrase: (n_phrases, 2) each."""
    points: dict[str, list[Floats]] = {}
    seen, features, block = -1, None, None
    for phrase in phrases:  # photo after photo
        if phrase.item != seen:
            seen, features = phrase.item, table.rows([phrase.item])
            path = collection.items[phrase.item].image
            assert path is not None
            block = last_block(backbone, open_image(path, at_least=model.feature_spec.pixels))
        assert features is not None
        maps = maps_of(model, features, phrase.text) | gradient_maps(model, features, phrase.text, backbone, block)
        assert features.map is not None
        maps[BRIGHTEST] = features.map[0].sum(2).double().numpy()
        for name, found in maps.items():
            points.setdefault(name, []).append(point_at(found[None])[0])
        points.setdefault(CENTRE, []).append(np.full(2, 0.5))
    return {name: np.stack(some) for name, some in points.items()}


def point_by_alignment(model: Matcher, phrases: Sequence[BoxedPhrase], table: FeatureTable) -> Floats:
    """Where the heat maps of a model point for each phrase, read as a whole: (n_phrases, 2)."""
    found: list[Floats] = []
    for item in dict.fromkeys(phrase.item for phrase in phrases):
        vectors = term_vectors(answering(model), [phrase.text for phrase in phrases if phrase.item == item])
        found.append(point_at(heat_maps(answering(model), table.arrays([item]), vectors)))
    return np.concatenate(found)


def _first(collection: Collection, n: int) -> Collection:
    return replace(collection, items=collection.items[:n])


def alignment_of(model: Matcher) -> str:
    return f"alignment ({model.weights.name if model.weights else model.family})"
