"""Gradients as explanations: the baselines of explainers.

Any model whose score can be differentiated has them. The image's vector has to be the mean of its map: only then does
the map have a gradient.
"""

from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor, nn

from seesay.images.backbones import Backbone
from seesay.images.features import Features, preprocess
from seesay.layers.sequences import Sequences
from seesay.models.base import Matcher

Floats = NDArray[np.float64]
PRODUCT, POSITIVE, PLAIN = "gradient × input", "positive gradient × input", "gradient"


def score_of(model: Matcher, cells: Tensor, texts: Tensor | Sequences) -> Tensor:
    """The score of one image, given by its map (1, h, w, C), with one sentence; it can be differentiated."""
    own = torch.ones(1, len(texts), dtype=torch.bool)
    scores, _ = model.judge(model.encode_images(Features(cells.mean((1, 2)), cells)), texts, own)
    return scores.sum()


def gradient_maps(
    model: Matcher, features: Features, sentence: str, backbone: Backbone | None = None, block: Tensor | None = None
) -> dict[str, Floats]:
    """Maps (h, w) of one image and one sentence.

    Args:
        features: Of one image, with its map.
        backbone: The network whose last block `block` is.
        block: (1, C, h, w) the input of the network's last layer (`last_block`). The plain gradient is taken there: at
            the last map it is the same in every cell, since only the mean is read.
    """
    assert features.map is not None
    texts = model.encode_texts([sentence])
    cells = features.map.clone().requires_grad_()
    (slope,) = torch.autograd.grad(score_of(model, cells, texts), cells)
    found = {
        PRODUCT: slope * features.map,
        POSITIVE: slope.clamp(min=0) * features.map,
    }
    if block is not None and backbone is not None and isinstance(backbone.network, nn.Sequential):
        probe = block.clone().requires_grad_()
        last: Tensor = backbone.network[-1](probe)
        (below,) = torch.autograd.grad(score_of(model, last.permute(0, 2, 3, 1), texts), probe)
        found[PLAIN] = below.abs().permute(0, 2, 3, 1)
    return {name: one.sum(3)[0].double().numpy() for name, one in found.items()}


@torch.no_grad()
def last_block(backbone: Backbone, image: Image.Image) -> Tensor | None:
    """What a network's last layer reads of an image: (1, C, h, w); None where the network is no row of layers."""
    if not isinstance(backbone.network, nn.Sequential):
        return None
    pixels = torch.from_numpy(preprocess(image, backbone.size, "squash")).float()
    block: Tensor = backbone.network[:-1](
        ((pixels - torch.tensor(backbone.mean)) / torch.tensor(backbone.std)).permute(0, 3, 1, 2)
    )
    return block


def word_gradients(model: Matcher, features: Features, sentence: str, n_words: int) -> Floats | None:
    """Gradient × input of each word (n_words,); None for a model that does not keep the words of a sentence apart."""
    assert features.map is not None
    texts = model.encode_texts([sentence])
    if not isinstance(texts, Sequences):
        return None
    states = texts.states.clone().requires_grad_()
    (slope,) = torch.autograd.grad(score_of(model, features.map, replace(texts, states=states)), states)
    found: Floats = (slope * texts.states).sum(2)[0, :n_words].double().numpy()
    return found
