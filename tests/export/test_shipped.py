"""The graphs that ship answer as the weights beside them do: who changes what a score is, has to export again."""

from pathlib import Path

import numpy as np
import pytest
import torch

from seesay import data
from seesay.engines import open_model
from seesay.models.mrnn import MRNN
from seesay.models.pretrained import load
from seesay.models.smlstm import SMLSTM
from seesay.runtime.matching import Model

SENTENCES = ["a dog runs in the snow", "two men in a red boat"]


def test_mrnn_ranks_by_exact_probabilities() -> None:
    model, graphs = load("mrnn"), Model("mrnn")
    assert isinstance(model, MRNN)
    images = 0.5 * torch.randn(3, model.config.multimodal, generator=torch.Generator().manual_seed(0))
    for normalise in ("marginal", "mean-image", "none"):
        wanted = model.score(images, model.encode_texts(SENTENCES), normalise=normalise).numpy()
        found = graphs.score(images.numpy(), graphs.encode_texts(SENTENCES), normalise=normalise)
        np.testing.assert_allclose(found, wanted, atol=1e-3)


def test_what_smlstm_shows_is_its_attention() -> None:
    model, graphs = load("smlstm"), Model("smlstm")
    assert isinstance(model, SMLSTM)
    images = torch.randn(1, 101, model.config.dim, generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        wanted = model.look(images, model.encode_texts(SENTENCES[:1]))
    found = graphs.look(images.numpy(), graphs.encode_texts(SENTENCES[:1]))
    np.testing.assert_allclose(found.regions, wanted.regions.numpy(), atol=1e-5)
    np.testing.assert_allclose(found.words, wanted.words.numpy(), atol=1e-5)


MATCHERS = ("eye", "vse", "dvsa", "hmlstm", "smlstm", "identifier", "mrnn")


@pytest.mark.parametrize("name", MATCHERS)
def test_both_engines_find_the_same_among_a_hundred_photos(name: str, shared_data: Path) -> None:
    if name == "hmlstm":
        pytest.importorskip("spacy", reason="needs the extra [parse]")
    test = data.load(shared_data / "flickr8k").split("test").with_images()
    n_each = len(test.sentences) // len(test.images)
    photos, sentences = list(test.images[:100]), list(test.sentences[: 100 * n_each : n_each])
    graphs, model = open_model(name), open_model(name, "torch")
    features = graphs.features(photos)
    scores = [each.score(each.encode_images(features), each.encode_texts(sentences)) for each in (graphs, model)]
    assert np.abs(scores[0] - scores[1]).max() < 1e-3 * max(1.0, float(np.abs(scores[1]).max()))
    figures = []
    for found in scores:
        right = np.diagonal(found)
        ranks = ((found > right).sum(0), (found > right[:, None]).sum(1))  # of the photo, and of the sentence
        figures.append([int((places < k).sum()) for places in ranks for k in (1, 5, 10)])
    assert figures[0] == figures[1]
    assert min(figures[0]) > 5
