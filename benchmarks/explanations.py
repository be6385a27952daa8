"""Are explanations right, not only pretty? Three games on the same identifier.

Pointing: the hottest place of a phrase's map has to lie in one of the phrase's boxes (Flickr30k Entities), beside the
centre, the brightest place of the network's map, the plain gradient and gradient × input, of which also the positive
part alone. The plain gradient is taken at the output of the network's last block: at the last map it is the same in
every cell, since only the mean is read.
Hiding: the most salient part of a photo is painted grey, and the logit of the match has to fall further than for the
same shape elsewhere. Leaving out: the same for the heaviest word of a sentence, beside a random one.

    SEESAY_DATA=… python benchmarks/explanations.py [identifier] [--split dev] [--photos 1000] [--hidden 60]
"""

import argparse
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

from recording import parse_arguments, record
from seesay import data
from seesay.data import Collection, entities
from seesay.evaluation.grounding import BoxedPhrase, boxed_phrases
from seesay.explainers.excitation import fold_batch_norm, run
from seesay.explainers.excitation_match import MEAN, match_saliency
from seesay.explainers.regions import word_maps
from seesay.grounding.heat import point_at
from seesay.images.extraction import FeatureTable, features_of
from seesay.images.features import Features, preprocess
from seesay.images.io import open_image
from seesay.metrics.grounding import pointing_game
from seesay.models.identifier import Identifier, load_identifier
from seesay.models.pretrained import load
from seesay.text.tokens import tokenize

Maps = NDArray[np.float64]
SHARES = (0.1, 0.2, 0.4)
GREY = 127
EXPLAINERS = ("excitation", "contrastive")


def logits_of(model: Identifier, cells: Tensor, states: Tensor, lengths: Tensor) -> Tensor:
    """From maps (n, C, h, w) and words (n, T, D) to logits (n,), with gradients."""
    first = run(fold_batch_norm([*MEAN, *model.image_layers]), cells)[-1]
    outputs = model.lstm(torch.cat([first.expand(len(states), -1).unsqueeze(1), states], 1))
    return model.output(outputs[torch.arange(len(states)), lengths]).squeeze(1)


def gradient_maps(model: Identifier, features: Features, phrases: list[str], block: Tensor | None) -> dict[str, Maps]:
    """Gradient × input at the last map and, where the last block's output (1, C, h, w) is given, the gradient there."""
    assert features.map is not None
    texts = model.encode_texts(phrases)
    cells = features.map.permute(0, 3, 1, 2).expand(len(phrases), -1, -1, -1).clone().requires_grad_()
    (slope,) = torch.autograd.grad(logits_of(model, cells, texts.states, texts.lengths).sum(), cells)
    found = {
        "gradient × input": (slope * cells.detach()).sum(1).double().numpy(),
        "positive gradient × input": (slope.clamp(min=0) * cells.detach()).sum(1).double().numpy(),
    }
    if block is not None:
        probe = block.expand(len(phrases), -1, -1, -1).clone().requires_grad_()
        last = model._backbone[0].network[-1](probe)
        (slope,) = torch.autograd.grad(logits_of(model, last, texts.states, texts.lengths).sum(), probe)
        found["gradient"] = slope.abs().sum(1).double().numpy()
    return found


def all_maps(model: Identifier, features: Features, phrases: list[str], block: Tensor | None = None) -> dict[str, Maps]:
    found = {
        name: match_saliency(model, features, phrases, contrastive=name == "contrastive").maps.double().numpy()
        for name in EXPLAINERS
    }
    return found | gradient_maps(model, features, phrases, block)


@torch.no_grad()
def last_block(model: Identifier, image: Image.Image) -> Tensor:
    """The output of a photo's last block: (1, C, h, w)."""
    backbone = model._backbone[0]
    x = (torch.from_numpy(preprocess(image, backbone.size, "squash")).float() - backbone.mean[0]) / backbone.std[0]
    block: Tensor = backbone.network[:-1](x.permute(0, 3, 1, 2))
    return block


def measure_pointing(
    model: Identifier, collection: Collection, table: FeatureTable
) -> tuple[int, dict[str, dict[str, float]], dict[str, dict[str, dict[str, float]]]]:
    """How many phrases there are, the share of each way, and by how much the explainers are better than the others."""
    phrases = boxed_phrases(collection)
    embedding = load("vse")
    points: dict[str, list[NDArray[np.float64]]] = {}
    by_photo: dict[int, list[BoxedPhrase]] = {}
    for phrase in phrases:
        by_photo.setdefault(phrase.item, []).append(phrase)
    for number, some in by_photo.items():
        path = collection.items[number].image
        assert path is not None
        own, features = [phrase.text for phrase in some], table.rows([number])
        assert features.map is not None
        block = last_block(model, open_image(path, at_least=model.feature_spec.pixels))
        maps = all_maps(model, features, own, block)
        maps["alignment (vse)"] = word_maps(embedding, features, own)
        maps["brightest place, no words"] = features.map.sum(3).expand(len(own), -1, -1).double().numpy()
        for name, found in maps.items():
            points.setdefault(name, []).append(point_at(found))
        points.setdefault("centre", []).append(np.full((len(own), 2), 0.5))
    order = [phrase for some in by_photo.values() for phrase in some]
    photos = np.array([phrase.item for phrase in order])
    hits = {
        name: np.array(
            [pointing_game(at[None], [phrase.boxes]) for at, phrase in zip(np.concatenate(some), order, strict=True)]
        )
        for name, some in points.items()
    }
    shares = {name: estimate(found, photos) for name, found in hits.items()}
    better = {
        name: {other: estimate(hits[name] - hits[other], photos) for other in hits if other not in EXPLAINERS}
        for name in EXPLAINERS
    }
    return len(phrases), shares, better


def estimate(values: NDArray[np.float64], photos: NDArray[np.int64], n_draws: int = 2000) -> dict[str, float]:
    """The mean, and where 95 % of means lie when photos, with all that belongs to them, are drawn anew."""
    _, places = np.unique(photos, return_inverse=True)
    totals, counts = np.bincount(places, values), np.bincount(places)
    drawn = np.random.default_rng(0).integers(len(totals), size=(n_draws, len(totals)))
    low, high = np.quantile(totals[drawn].sum(1) / counts[drawn].sum(1), [0.025, 0.975])
    return {"mean": round(float(values.mean()), 2), "low": round(float(low), 2), "high": round(float(high), 2)}


def measure_hiding(
    model: Identifier, collection: Collection, table: FeatureTable, rng: np.random.Generator
) -> dict[str, dict[str, float]]:
    """By how much the logit falls, on average, when a share of the photo is hidden."""
    falls: dict[str, dict[float, list[float]]] = {}
    backbone = model._backbone[0]
    for number, item in enumerate(collection.items):
        assert item.image is not None
        sentence, features = item.sentences[0], table.rows([number])
        pixels = preprocess(open_image(item.image, at_least=backbone.size), backbone.size, "squash")[0]
        maps = {name: found[0] for name, found in all_maps(model, features, [sentence]).items()}
        shapes = {(name, share): _mask(found, share, backbone.size) for name, found in maps.items() for share in SHARES}
        for share in SHARES:  # the shape of the contrastive map, somewhere else: rolled around the edges
            shift = rng.integers(backbone.size // 4, 3 * backbone.size // 4, 2)
            shapes["same shape elsewhere", share] = np.roll(shapes["contrastive", share], tuple(shift), (0, 1))
        views = np.stack([pixels, *(np.where(mask[..., None], GREY, pixels) for mask in shapes.values())])
        cells, _ = backbone(torch.from_numpy(views.astype(np.uint8)))
        with torch.inference_mode():
            images = model.encode_images(Features(cells.mean((1, 2))))
            logits = model.score(images, model.encode_texts([sentence]))[:, 0]
        for (name, share), logit in zip(shapes, logits[1:].tolist(), strict=True):
            falls.setdefault(name, {}).setdefault(share, []).append(float(logits[0]) - logit)
    return _means(falls)


def measure_leaving_out(
    model: Identifier, collection: Collection, table: FeatureTable, rng: np.random.Generator
) -> dict[str, dict[str, float]]:
    """By how much the logit falls, on average, when one or two words are left out."""
    falls: dict[str, dict[float, list[float]]] = {}
    for number, item in enumerate(collection.items):
        features = table.rows([number])
        for sentence in item.sentences:
            words = tokenize(sentence)
            if len(words) < 4:
                continue
            weights = {
                name: match_saliency(model, features, [sentence], contrastive=name == "contrastive").words[0].numpy()
                for name in EXPLAINERS
            }
            weights["gradient × input"] = _word_gradients(model, features, sentence)
            weights["random word"] = rng.random(len(words))
            left = {
                (name, n): [word for place, word in enumerate(words) if place not in np.argsort(-some)[:n]]
                for name, some in weights.items()
                for n in (1, 2)
            }
            with torch.inference_mode():
                texts = model.encode_texts([" ".join(some) for some in (words, *left.values())])
                logits = model.score(model.encode_images(features), texts)[0]
            for (name, n), logit in zip(left, logits[1:].tolist(), strict=True):
                falls.setdefault(name, {}).setdefault(n, []).append(float(logits[0]) - logit)
    return _means(falls)


def _word_gradients(model: Identifier, features: Features, sentence: str) -> NDArray[np.float32]:
    assert features.map is not None
    texts = model.encode_texts([sentence])
    states = texts.states.clone().requires_grad_()
    (slope,) = torch.autograd.grad(
        logits_of(model, features.map.permute(0, 3, 1, 2), states, texts.lengths).sum(), states
    )
    gradients: NDArray[np.float32] = (slope * states.detach()).sum(2)[0].numpy()
    return gradients


def _mask(found: Maps, share: float, size: int) -> NDArray[np.bool_]:
    """The hottest share of a picture, after spreading its map smoothly over it."""
    spread = np.asarray(Image.fromarray(found.astype(np.float32)).resize((size, size), Image.Resampling.BICUBIC))
    return spread > np.quantile(spread, 1 - share)


def _means(falls: dict[str, dict[float, list[float]]]) -> dict[str, dict[str, float]]:
    return {
        name: {f"{much:g}": round(float(np.mean(some)), 3) for much, some in row.items()} for name, row in falls.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", nargs="?", default="identifier")
    parser.add_argument("--split", default="test")
    parser.add_argument("--photos", type=int, default=1000, help="photos whose phrases are pointed at")
    parser.add_argument("--hidden", type=int, default=60, help="photos of which parts are hidden")
    parser.add_argument("--sentences", type=int, default=150, help="photos whose sentences lose words")
    arguments = parse_arguments(parser, "explanations")
    torch.set_num_threads(1)
    model = load_identifier(arguments.model)
    model._backbone.append(model.feature_spec.load_backbone())
    collection = entities.attach(data.load("flickr8k").split(arguments.split), data.locate("flickr30k_entities"))
    collection = collection.keep(lambda item: bool(item.boxes))
    rng = np.random.default_rng(0)
    chosen = sorted(rng.permutation(len(collection))[: arguments.photos].tolist())
    collection = replace(collection, items=tuple(collection.items[place] for place in chosen))
    table = features_of(collection.images, model.feature_spec, ("pooled", "map"))
    n_phrases, pointing, better = measure_pointing(model, collection, table)
    print(f"{n_phrases} phrases of {len(collection)} photos, percent in a box:")
    for name, row in sorted(pointing.items(), key=lambda pair: -pair[1]["mean"]):
        print(f"  {name:28}", row)
    for name, others in better.items():
        print(f"{name} is better by:", *others.items(), sep="\n  ")
    some = replace(collection, items=collection.items[: arguments.hidden])
    hiding = measure_hiding(model, some, table, rng)
    print("fall of the logit by share of the photo that is hidden:", *hiding.items(), sep="\n  ")
    some = replace(collection, items=collection.items[: arguments.sentences])
    leaving_out = measure_leaving_out(model, some, table, rng)
    print("fall of the logit by words left out:", *leaving_out.items(), sep="\n  ")
    record(
        arguments, ("torch", "numpy"), model=model.weights.name if model.weights else arguments.model,
        data="flickr8k", split=arguments.split, n_photos=len(collection), n_phrases=n_phrases, pointing=pointing,
        better=better, n_hidden=arguments.hidden, n_sentences=len(some), hiding=hiding, leaving_out=leaving_out,
    )  # fmt: skip


if __name__ == "__main__":
    main()
