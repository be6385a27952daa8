"""An eye and an ear as small as they ship: fewer subwords, and matrices as bytes."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

from seesay.images.backbones import find_network
from seesay.images.features import FeatureSpec
from seesay.models.eye_ear import EyeEar
from seesay.text.subwords import SPECIAL, Subwords

SPOKEN = 0.75
"""Share of the subwords that are kept because captions have them."""


def shrink(model: EyeEar, sentences: Sequence[str]) -> EyeEar:
    """The same eye and ear with `config.keep_subwords` subwords, packed: what ships.

    Kept are single characters, the subwords that are most frequent in `sentences`, and, for words that no caption has,
    the most frequent of English: in BERT's vocabulary they stand first. A word that lost its own subword is read in
    pieces.
    """
    tokens = model.subwords.tokens
    counts = Counter(number for sentence in sentences for number in model.subwords.encode(sentence))
    wanted = {token for token in tokens if len(token.removeprefix("##")) == 1} | set(SPECIAL)
    n_spoken = round(SPOKEN * model.config.keep_subwords)
    wanted |= {tokens[number] for number, _ in counts.most_common(n_spoken)}
    common = (token for token in tokens if token.isalpha() and token.isascii() and token not in wanted)
    wanted |= set(islice(common, max(0, model.config.keep_subwords - len(wanted))))
    subwords, kept = model.subwords.keep(wanted)
    return _packed(model, subwords, kept, model.feature_spec)


def pack(model: EyeEar) -> EyeEar:
    """An eye whose ear has learned on from vectors, packed, and on the network that its lower half is of."""
    spec, network = model.feature_spec, find_network(model.feature_spec.backbone)
    lower = FeatureSpec(network.lower, spec.size, spec.crop)
    return _packed(model, model.subwords, list(range(len(model.subwords))), lower)


def _packed(model: EyeEar, subwords: Subwords, kept: Sequence[int], features: FeatureSpec) -> EyeEar:
    config = replace(model.config, n_subwords=len(kept), packed=True, on_vectors=False)
    made = EyeEar(config, subwords, features)
    tensors = {name: tensor for name, tensor in model.state_dict().items() if not name.startswith("classifier.")}
    tensors["ear.embedding.weight"] = tensors["ear.embedding.weight"][list(kept)]
    made.load_state_dict(tensors)
    return made.eval().requires_grad_(False)
