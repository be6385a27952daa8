"""Are explanations right, not only pretty? Three games for all explainers of a model, and one figure.

Pointing: the hottest place of a phrase's map has to lie in one of the phrase's boxes (Flickr30k Entities). Baselines
are the centre, the brightest place of the network's map, and gradients (`seesay.evaluation.gradients`).
Hiding: the most salient part of a photo is painted grey; the score has to fall further than for the same shape
elsewhere. Leaving out: the same for the heaviest words of a sentence, beside random ones.
Dependence: how alike the maps of right and of foreign sentences are (`seesay.evaluation.dependence`).
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image

from seesay.data import Collection
from seesay.engines import answering
from seesay.errors import SeesayError
from seesay.evaluation.dependence import Dependence, measure_dependence
from seesay.evaluation.gradients import PRODUCT, gradient_maps, last_block, word_gradients
from seesay.evaluation.protocols import timed
from seesay.explainers.explaining import explain
from seesay.explainers.registry import choose_explainer, explainers_of
from seesay.grounding.boxed_phrases import BoxedPhrase, boxed_phrases
from seesay.grounding.heat import heat_maps, point_at, term_vectors
from seesay.images.backbones import Backbone
from seesay.images.extraction import FeatureTable, features_of
from seesay.images.features import Features, preprocess
from seesay.images.io import open_image
from seesay.layers.dropout import without_dropout
from seesay.metrics.bootstrap import Estimate, estimate
from seesay.metrics.grounding import pointing_game
from seesay.models.base import Matcher
from seesay.system.progress import Progress
from seesay.text.tokens import tokenize

Floats = NDArray[np.float64]
Falls = dict[str, dict[str, float]]
"""For each way of choosing: how much is taken away → by how much the score falls."""

SHARES = (0.1, 0.2, 0.4)
"""Of a photo that are hidden."""
N_LEFT_OUT = (1, 2)
"""Words of a sentence that are left out."""
SHORTEST = 4
"""Words that a sentence needs to lose some."""
GREY = 127
BRIGHTEST, CENTRE, ELSEWHERE, RANDOM = "brightest place, no words", "centre", "same shape elsewhere", "random word"


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
                points[_aligned(beside)] = _point_beside(beside, phrases, other)
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

    def maps_of(photo: int, sentence: str) -> dict[str, Floats]:
        maps = _maps(model, table.rows([photo]), sentence)
        if beside is not None:
            reader, arrays = answering(beside), other.arrays([photo])
            maps[_aligned(beside)] = heat_maps(reader, arrays, term_vectors(reader, [sentence]))[0]
        return maps

    return measure_dependence(maps_of, collection)


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
        maps = _maps(model, features, phrase.text) | gradient_maps(model, features, phrase.text, backbone, block)
        assert features.map is not None
        maps[BRIGHTEST] = features.map[0].sum(2).double().numpy()
        for name, found in maps.items():
            points.setdefault(name, []).append(point_at(found[None])[0])
        points.setdefault(CENTRE, []).append(np.full(2, 0.5))
    return {name: np.stack(some) for name, some in points.items()}


def _point_beside(model: Matcher, phrases: Sequence[BoxedPhrase], table: FeatureTable) -> Floats:
    """Where the heat maps of a model point for each phrase, read as a whole: (n_phrases, 2)."""
    found: list[Floats] = []
    for item in dict.fromkeys(phrase.item for phrase in phrases):
        vectors = term_vectors(answering(model), [phrase.text for phrase in phrases if phrase.item == item])
        found.append(point_at(heat_maps(answering(model), table.arrays([item]), vectors)))
    return np.concatenate(found)


def _maps(model: Matcher, features: Features, sentence: str) -> dict[str, Floats]:
    given = answering(model), features.to_arrays(), sentence
    return {name: explain(*given, name).map for name in explainers_of(model)}


def measure_hiding(
    model: Matcher, collection: Collection, table: FeatureTable, backbone: Backbone, rng: np.random.Generator
) -> Falls:
    """By how much the score falls, on average, when a share of the photo is hidden."""
    falls: dict[str, dict[float, list[float]]] = {}
    first = explainers_of(model)[0]
    for number, item in enumerate(collection.items):
        assert item.image is not None
        sentence, features = item.sentences[0], table.rows([number])
        pixels = preprocess(open_image(item.image, at_least=backbone.size), backbone.size, "squash")[0]
        maps = _maps(model, features, sentence) | gradient_maps(model, features, sentence)
        shapes = {
            (name, share): hottest_share(found, share, backbone.size)
            for name, found in maps.items()
            for share in SHARES
        }
        for share in SHARES:  # rolled around the edges
            shift = rng.integers(backbone.size // 4, 3 * backbone.size // 4, 2)
            shapes[ELSEWHERE, share] = np.roll(shapes[first, share], tuple(shift), (0, 1))
        views = np.stack([pixels, *(np.where(mask[..., None], GREY, pixels) for mask in shapes.values())])
        cells, vectors = backbone(torch.from_numpy(views.astype(np.uint8)))
        with torch.inference_mode():
            scores = model.score(model.encode_images(Features(vectors, cells)), model.encode_texts([sentence]))[:, 0]
        for (name, share), score in zip(shapes, scores[1:].tolist(), strict=True):
            falls.setdefault(name, {}).setdefault(share, []).append(float(scores[0]) - score)
    return _means(falls)


def measure_leaving_out(model: Matcher, collection: Collection, table: FeatureTable, rng: np.random.Generator) -> Falls:
    """By how much the score falls, on average, when one or two words are left out."""
    falls: dict[str, dict[float, list[float]]] = {}
    for number, item in enumerate(collection.items):
        features = table.rows([number])
        for sentence in item.sentences:
            words = tokenize(sentence)
            if len(words) < SHORTEST:
                continue
            given = answering(model), features.to_arrays(), sentence
            weights = {name: explain(*given, name).weights for name in explainers_of(model)}
            gradients = word_gradients(model, features, sentence, len(words))
            if gradients is not None:
                weights[PRODUCT] = gradients
            weights[RANDOM] = rng.random(len(words))
            left = {
                (name, n): [word for place, word in enumerate(words) if place not in np.argsort(-some)[:n]]
                for name, some in weights.items()
                for n in N_LEFT_OUT
            }
            with torch.inference_mode():
                texts = model.encode_texts([" ".join(some) for some in (words, *left.values())])
                scores = model.score(model.encode_images(features), texts)[0]
            for (name, n), score in zip(left, scores[1:].tolist(), strict=True):
                falls.setdefault(name, {}).setdefault(n, []).append(float(scores[0]) - score)
    return _means(falls)


def hottest_share(found: Floats, share: float, size: int) -> NDArray[np.bool_]:
    """The hottest share of an image (size, size), after spreading its map smoothly over it.

    Example:
        >>> hottest_share(np.array([[0.0, 0.0], [0.0, 1.0]]), 0.25, 4)[2:, 2:].all()
        np.True_
    """
    spread = np.asarray(Image.fromarray(found.astype(np.float32)).resize((size, size), Image.Resampling.BICUBIC))
    return np.asarray(spread > np.quantile(spread, 1 - share))


def _means(falls: dict[str, dict[float, list[float]]]) -> Falls:
    return {
        name: {f"{much:g}": round(float(np.mean(some)), 3) for much, some in row.items()} for name, row in falls.items()
    }


def _first(collection: Collection, n: int) -> Collection:
    return replace(collection, items=collection.items[:n])


def _aligned(model: Matcher) -> str:
    return f"alignment ({model.weights.name if model.weights else model.family})"
