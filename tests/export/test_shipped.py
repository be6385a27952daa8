"""The graphs that ship answer as the weights beside them do: who changes what a score is, has to export again."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
import torch

from seesay import data
from seesay.engines import open_model
from seesay.export.checking import LIMIT, SENTENCES, compare
from seesay.export.exporting import SAMPLES
from seesay.images.arrays import ImageFeatures
from seesay.images.features import Features
from seesay.models.base import Matcher
from seesay.models.mrnn import MRNN
from seesay.models.pretrained import installed, load
from seesay.models.smlstm import SMLSTM
from seesay.runtime.matching import Model

TWO = ["a dog runs in the snow", "two men in a red boat"]


def test_mrnn_ranks_by_exact_probabilities() -> None:
    model, graphs = load("mrnn"), Model("mrnn")
    assert isinstance(model, MRNN)
    images = 0.5 * torch.randn(3, model.config.multimodal, generator=torch.Generator().manual_seed(0))
    for normalise in ("marginal", "mean-image", "none"):
        wanted = model.score(images, model.encode_texts(TWO), normalise=normalise).numpy()
        found = graphs.score(images.numpy(), graphs.encode_texts(TWO), normalise=normalise)
        np.testing.assert_allclose(found, wanted, atol=1e-3)


def test_what_smlstm_shows_is_its_attention() -> None:
    model, graphs = load("smlstm"), Model("smlstm")
    assert isinstance(model, SMLSTM)
    images = torch.randn(1, 101, model.config.dim, generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        wanted = model.look(images, model.encode_texts(TWO[:1]))
    found = graphs.look(images.numpy(), graphs.encode_texts(TWO[:1]))
    np.testing.assert_allclose(found.regions, wanted.regions.numpy(), atol=1e-5)
    np.testing.assert_allclose(found.words, wanted.words.numpy(), atol=1e-5)


MATCHERS = ("eye", "vse", "dvsa", "hmlstm", "smlstm", "identifier", "mrnn")
SHIPPED = sorted(weights.name for weights in installed())
PHOTOS = sorted(SAMPLES.glob("*.jpg"))
See = Callable[[Model, Sequence[Path]], ImageFeatures]


@pytest.fixture(scope="module")
def see() -> See:
    """The features of photos as graphs see them, computed once for all weights that see through the same network."""
    seen: dict[tuple[object, ...], ImageFeatures] = {}

    def look(graphs: Model, photos: Sequence[Path]) -> ImageFeatures:
        key = (graphs.network.name, graphs.outputs, tuple(photos))
        if key not in seen:
            seen[key] = graphs.features(photos)
        return seen[key]

    return look


@pytest.mark.parametrize("name", SHIPPED)
def test_every_graph_answers_as_torch_does_on_the_samples(name: str, see: See) -> None:
    model, graphs = load(name), Model(name)
    if name == "hmlstm":
        pytest.importorskip("spacy", reason="needs the extra [parse]")
    found = compare(model, graphs, Features.of_arrays(see(graphs, PHOTOS)))
    assert found.keys() == set(graphs.graphs.names)
    assert max(found.values()) < LIMIT


@pytest.mark.parametrize("name", SHIPPED)
def test_every_graph_answers_as_torch_does_on_a_hundred_photos_and_hundreds_of_sentences(
    name: str, see: See, shared_data: Path
) -> None:
    if name == "hmlstm":
        pytest.importorskip("spacy", reason="needs the extra [parse]")
    model, graphs = load(name), Model(name)
    test = data.load(shared_data / "flickr8k").split("test").with_images()
    seen = see(graphs, test.images[:100])
    sentences = [*SENTENCES, *(sentence for item in test.items[100:160] for sentence in item.sentences)]
    assert len(sentences) > 300
    for n_photos, n_sentences, without in _parts(model, len(sentences)):
        features = Features.of_arrays(seen.rows(range(n_photos)))
        found = compare(model, graphs, features, sentences[:n_sentences], at_once=60, without=without)
        assert found.keys() == set(graphs.graphs.names) - set(without)
        assert max(found.values()) < LIMIT


def _parts(model: Matcher, n_sentences: int) -> list[tuple[int, int, tuple[str, ...]]]:
    """How many photos and sentences are compared at once, and without which graphs.

    An identifier reads every sentence once for each photo, a captioner for each of many training images where it
    divides by their mean: many photos, then many sentences.
    """
    if "captions" in model.graph_kinds:
        return [(100, len(SENTENCES), ()), (2, n_sentences, ("score",))]
    if "choose" in model.graph_kinds:
        return [(100, len(SENTENCES), ()), (2, n_sentences, ())]
    return [(100, n_sentences, ())]


@pytest.mark.parametrize("name", MATCHERS)
def test_both_engines_find_the_same_among_a_hundred_photos(name: str, see: See, shared_data: Path) -> None:
    if name == "hmlstm":
        pytest.importorskip("spacy", reason="needs the extra [parse]")
    test = data.load(shared_data / "flickr8k").split("test").with_images()
    n_each = len(test.sentences) // len(test.images)
    photos, sentences = list(test.images[:100]), list(test.sentences[: 100 * n_each : n_each])
    graphs, model = open_model(name), open_model(name, "torch")
    assert isinstance(graphs, Model)
    features = see(graphs, photos)
    scores = [each.score(each.encode_images(features), each.encode_texts(sentences)) for each in (graphs, model)]
    assert np.abs(scores[0] - scores[1]).max() < 1e-3 * max(1.0, float(np.abs(scores[1]).max()))
    figures = []
    for found in scores:
        right = np.diagonal(found)
        ranks = ((found > right).sum(0), (found > right[:, None]).sum(1))  # of the photo, and of the sentence
        figures.append([int((places < k).sum()) for places in ranks for k in (1, 5, 10)])
    assert figures[0] == figures[1]
    assert min(figures[0]) > 5
