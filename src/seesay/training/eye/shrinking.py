"""An eye and an ear as small as they ship: fewer subwords, and matrices as bytes."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

from seesay.models.eye_ear import EyeEar
from seesay.text.subwords import SPECIAL

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
    config = replace(model.config, n_subwords=len(kept), packed=True)
    smaller = EyeEar(config, subwords, model.feature_spec)
    tensors = {name: tensor for name, tensor in model.state_dict().items() if not name.startswith("classifier.")}
    tensors["ear.embedding.weight"] = tensors["ear.embedding.weight"][kept]
    smaller.load_state_dict(tensors)
    return smaller.eval().requires_grad_(False)
