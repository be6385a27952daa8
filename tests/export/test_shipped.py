"""The graphs that ship answer as the weights beside them do: who changes what a score is, has to export again."""

import numpy as np
import torch

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
