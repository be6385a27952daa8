"""The graphs of a model that reads sentences as trees: leaves, one height of nodes, and what stands for a phrase.

Which rows are added up differs from sentence to sentence, so it is an input: `seesay.runtime.trees` gives the rows of
each height's children (`seesay.text.tree_places`), and hands on what the heights below have left. The equations are
those of `seesay.layers.tree_lstm`, whose function writes into one large array and cannot be followed.
"""

from typing import Any

import torch
from torch import Tensor

from seesay.export import stand_ins
from seesay.export.tracing import Graph
from seesay.images.features import Features
from seesay.layers.sequences import Sequences
from seesay.layers.tree_lstm import TreeLSTM
from seesay.models.hmlstm import HMLSTM
from seesay.text.tree_places import Levels

SENTENCES = ["a dog runs through the snow", "two dogs", ""]


def tree_graphs(model: HMLSTM, features: Features, images: Tensor) -> list[Graph]:
    """The graphs `leaves`, `level`, `nodes` and `score`."""
    tree, levels = model.tree, Levels.of(model.read(SENTENCES))
    words = torch.from_numpy(levels.words)

    def leaves(words: Tensor) -> tuple[Tensor, Tensor]:
        h, c = _apply_gates(tree, tree.W(model.embedding(words)))
        return h, _leave(tree, tree.U_other, h, c)

    def level(left: Tensor, children: Tensor, nouns: Tensor) -> tuple[Tensor, Tensor]:
        d = tree.dim
        sums = left[children].sum(1)  # (n, 4 d), Eq. 2
        h, c = _apply_gates(tree, sums[:, : 3 * d] + tree.W.bias, sums[:, 3 * d :])
        other = _leave(tree, tree.U_other, h, c)
        if tree.U_noun is None:
            return h, other + 0 * nouns.to(other.dtype).unsqueeze(1)
        return h, torch.where(nouns.unsqueeze(1), _leave(tree, tree.U_noun, h, c), other)

    def nodes(states: Tensor, runs: Tensor) -> Tensor:
        found: Tensor = model.W_t(states[runs].amax(1))
        return found

    with torch.no_grad():
        states, left = leaves(words)
    before = torch.cat([torch.zeros(1, left.shape[1]), left])
    runs = torch.tensor([[0, 1], [2, 2]])
    children, nouns = torch.from_numpy(levels.children[0]), torch.from_numpy(levels.nouns[0])
    both = {"states": ("r",), "left": ("r",)}
    return [
        Graph("leaves", leaves, {"words": words}, ["states", "left"], {"words": ("r",), **both}),
        Graph(
            "level", level, {"below": before, "children": children, "nouns": nouns}, ["states", "left"],
            {"below": ("b",), "children": ("r", "c"), "nouns": ("r",), **both},
        ),
        Graph("nodes", nodes, {"states": states, "runs": runs}, ["vectors"],
              {"states": ("r",), "runs": ("m", "k"), "vectors": ("m",)}),
        _score_graph(model, images),
    ]  # fmt: skip


def _apply_gates(tree: TreeLSTM, sums: Tensor, carried: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """h and c of nodes, of what they have gathered: Eqs. 5-8."""
    i, o, u = torch.split(sums, tree.dim, 1)
    c = i.sigmoid() * u.tanh() if carried is None else carried + i.sigmoid() * u.tanh()
    return o.sigmoid() * c.tanh(), c


def _leave(tree: TreeLSTM, U: Tensor, h: Tensor, c: Tensor) -> Tensor:
    """What nodes leave for their parents, U_{i,o,u} h and f ⊙ c: Eqs. 3, 4."""
    gates, forget = torch.split(h @ U.t(), [3 * tree.dim, tree.dim], 1)
    return torch.cat([gates, (forget + tree.b_f).sigmoid() * c], 1)


def _score_graph(model: HMLSTM, images: Tensor) -> Graph:
    with torch.no_grad():
        texts = model.encode_texts(SENTENCES)

    def score(images: Tensor, states: Tensor, words: Tensor, lengths: Tensor) -> Any:
        return model.score(images, Sequences(states, words, lengths))

    def without_sentence(texts: Sequences) -> Sequences:
        """For `merge_words`, which spares products of words that have the same vector."""
        return Sequences(texts.states, texts.words, texts.lengths - 1)

    inputs = {"images": images, "states": texts.states, "words": texts.words, "lengths": texts.lengths}
    free = {"images": ("n",), "states": ("m", "t"), "words": ("m", "t"), "lengths": ("m",), "scores": ("n", "m")}
    replaced = {
        "seesay.models.hmlstm.merge_words": without_sentence,
        "seesay.models.hmlstm.sum_of_max": stand_ins.sum_of_max,
    }
    return Graph("score", score, inputs, ["scores"], free, replaced)
