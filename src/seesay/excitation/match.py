"""Excitation backprop of an identifier's match: how much each part of the image and each word contributes.

Probability starts at the match score, flows back in time through the ReLU-LSTM to the words and to the first input,
which is the image, and from there through the fully connected layers and the mean over the last map to its cells.
Image and words together hold 1: what share the image has is an answer too.

The contrastive method subtracts what flows from a dual, whose weights are negated, scaled to the same total: what
excites for and against alike drops out. First it is the dual of the score, which is the evidence against a match: it is
subtracted within the first input, and within the words. Then those of the units of the fully connected layer. A unit is
excited by nearly all channels of the map a little, which leaves the map's brightest places whatever was said; what
excites it more than its dual is its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from seesay.excitation.lstm import propagate_lstm
from seesay.excitation.networks import head_layers
from seesay.excitation.rules import Layers, divide, fold_batch_norm, linear_rule, propagate, run
from seesay.images.arrays import Saliency
from seesay.images.features import Features
from seesay.layers.dropout import without_dropout
from seesay.models.identifier import Identifier

MEAN: Layers = (nn.AdaptiveAvgPool2d(1), nn.Flatten())
"""From the map to the image's vector, for networks whose vector is the mean."""


@dataclass(frozen=True)
class MatchSaliency(Saliency[Tensor]):
    """What a match rests on, with what is needed to go on from further down the network.

    Attributes:
        lengths: (n,) words of each sentence.
        activations: (n, h, w, C) the same as `maps` for every channel.
    """

    lengths: Tensor
    activations: Tensor


@torch.no_grad()
def match_saliency(
    model: Identifier,
    features: Features,
    sentences: Sequence[str],
    *,
    contrastive: bool = False,
) -> MatchSaliency:
    """Explain the match of every image with the sentence in the same place.

    Args:
        features: Of n images, with their maps; of one image for all sentences.
        contrastive: Subtract what is evidence against a match.

    Example:
        >>> from seesay.images.features import FeatureSpec
        >>> from seesay.models.identifier import IdentifierConfig
        >>> from seesay.text.vocabulary import Vocabulary
        >>> _ = torch.manual_seed(0)
        >>> config = IdentifierConfig(dim=8, hidden=8, word_dim=4, word_vectors="", image_dim=6)
        >>> model = Identifier(config, Vocabulary.build(["a dog runs"], min_count=1), FeatureSpec())
        >>> cells = torch.rand(1, 2, 3, 6)
        >>> found = match_saliency(model, Features(cells.mean((1, 2)), cells), ["a dog runs"])
        >>> found.maps.shape, found.words.shape, round(float(found.maps.sum() + found.words.sum()), 4)
        (torch.Size([1, 2, 3]), torch.Size([1, 3]), 1.0)
    """
    if features.map is None:
        raise ValueError("an explanation needs the features' map")
    with without_dropout(model):
        cells = features.map.permute(0, 3, 1, 2)  # (n, C, h, w)
        below = fold_batch_norm(_head_of(model, cells.shape[1]))
        lowest = len(below)
        below += fold_batch_norm(model.image_layers)
        lowest = next(place for place in range(lowest, len(below)) if isinstance(below[place], nn.Linear))
        seen = run(below, cells)  # the last is the first input (n, dim)
        texts = model.encode_texts(sentences)
        first = seen[-1].expand(len(texts), -1)
        trace = model.lstm.trace(torch.cat([first.unsqueeze(1), texts.states], 1))
        last = trace.h[torch.arange(len(texts)), texts.lengths + 1]  # (n, H): the image, then the words
        logits = model.output(last).squeeze(1)
    flows = [
        propagate_lstm(model.lstm, trace, texts.lengths + 1, _share(last * (sign * model.output.weight).clamp(min=0)))
        for sign in (1, -1)[: 1 + contrastive]
    ]  # (n, T + 1, dim) each: of what makes the score high, and of what makes it low
    first_flow, words = flows[0][:, 0], flows[0][:, 1:].sum(2)
    if contrastive:
        first_flow = _contrast(first_flow, flows[1][:, 0])
        words = _contrast(words, flows[1][:, 1:].sum(2))
    seen = [part.expand(len(texts), *part.shape[1:]) for part in seen]
    at_vector = _descend_from(below[lowest:], seen[lowest:], first_flow, contrastive)
    at_map = propagate(below[:lowest], seen[: lowest + 1], at_vector)[0]
    return MatchSaliency(logits, at_map.sum(1), words, texts.lengths, at_map.permute(0, 2, 3, 1))


def _head_of(model: Identifier, n_channels: int) -> Layers:
    """From the map to the image's vector: the mean, or the fully connected layers of a network that has some.

    The network is loaded only where its vector cannot be the mean of its map: features may come from a store.
    """
    return MEAN if model.config.image_dim == n_channels else head_layers(model.backbone)


def _descend_from(layers: Layers, seen: Sequence[Tensor], prior: Tensor, contrastive: bool) -> Tensor:
    """From the first input to the image's vector, which is what the lowest, linear layer reads."""
    lowest, *above = layers
    units = propagate(above, seen[1:], prior)[0]
    flow = propagate([lowest], seen[:2], units)[0]
    if not contrastive:
        return flow
    assert isinstance(lowest, nn.Linear)
    return _contrast(flow, linear_rule(seen[0], -lowest.weight, units))


def _share(excited: Tensor) -> Tensor:
    return divide(excited, excited.sum(1, keepdim=True))


def _contrast(flow: Tensor, against: Tensor) -> Tensor:
    """What a flow brings beyond what the other would, had they the same total."""
    return (flow - _share(against) * flow.sum(1, keepdim=True)).clamp(min=0)
