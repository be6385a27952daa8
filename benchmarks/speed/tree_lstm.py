"""How many sentences a second does the child-sum Tree-LSTM read and learn from, against `pytorch-tree-lstm`?

Both have the same weights and read the same captions of Flickr8K, parsed by `seesay.text.trees`, in the same batches:
forward, the sum of all roots, backward. Every round runs all ways on all batches, in turn; the median of the rounds'
ratios counts. What depends on a tree alone is prepared beforehand for both: our shapes, and the evaluation orders of
the peer. What depends on the batch (our plan, the peer's joining of trees) is timed. "own leaves" is our layer with an
input for each leaf in place of one for each distinct word; "H-LSTM" is the syntax-aware layer. Largest differences of
states and gradients between the first two and the peer are reported too.

    SEESAY_DATA=... python -m benchmarks.speed.tree_lstm

`pytorch-tree-lstm` comes with the development tools, or lies in a folder named by --peer.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from benchmarks.recording import parse_arguments, record
from seesay import data
from seesay.layers.tree_lstm import TreeLSTM
from seesay.layers.tree_plan import Plan
from seesay.text.readings import Shape
from seesay.text.trees import Tree, parse


def peer_input(tree: Tree, rows: dict[str, int], vectors: Tensor, orders: Callable[..., Any]) -> dict[str, Tensor]:
    shape = Shape.of(tree)
    edges = [(int(above), place) for place, above in enumerate(shape.parent) if above >= 0]
    edges.sort(key=lambda edge: edge[0])
    node_order, edge_order = orders(edges, len(shape))
    features = torch.zeros(len(shape), vectors.shape[1])
    for place, node in enumerate(tree.nodes()):
        if node.is_leaf:
            features[place] = vectors[rows[node.word]]
    return {
        "features": features,
        "node_order": torch.from_numpy(node_order),
        "edge_order": torch.from_numpy(edge_order),
        "adjacency_list": torch.tensor(edges),
    }


def copy_weights(layer: TreeLSTM, peer: Any) -> None:
    """Ours into the peer's; rows of gates are in the same order."""
    d = layer.dim
    with torch.no_grad():
        peer.W_iou.load_state_dict(layer.W.state_dict())
        peer.U_iou.weight.copy_(layer.U_other[: 3 * d])
        peer.U_f.weight.copy_(layer.U_other[3 * d :])
        peer.W_f.bias.copy_(layer.b_f)


def largest_difference(layer: TreeLSTM, peer: Any) -> float:
    """Between the gradients that the last backward passes left, as a share of the largest gradient."""
    d = layer.dim
    assert layer.U_other.grad is not None
    pairs = [
        (layer.U_other.grad[: 3 * d], peer.U_iou.weight.grad),
        (layer.U_other.grad[3 * d :], peer.U_f.weight.grad),
        (layer.W.weight.grad, peer.W_iou.weight.grad),
    ]
    return max(float((ours - theirs).abs().max() / theirs.abs().max()) for ours, theirs in pairs)


def main() -> None:
    parser = argparse.ArgumentParser(description="Sentences per second of Tree-LSTMs, forward and backward")
    parser.add_argument("--sentences", type=int, default=640)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--word-dim", type=int, default=300)
    parser.add_argument("--dim", type=int, default=512)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--peer", type=Path, help="folder that pytorch-tree-lstm was installed into")
    arguments = parse_arguments(parser, "tree_lstm")
    if arguments.peer:
        sys.path.insert(0, str(arguments.peer))
    import treelstm  # type: ignore[import-not-found]

    torch.set_num_threads(arguments.threads)
    torch.manual_seed(0)
    sentences = data.load("flickr8k").split("train").sentences[: arguments.sentences]
    trees = [tree for tree in parse(sentences) if tree.children]
    shapes = [Shape.of(tree) for tree in trees]
    words = {word: row for row, word in enumerate(sorted({word for tree in trees for word in tree.words}))}
    numbers = [np.array([words[word] for word in tree.words]) for tree in trees]
    vectors = torch.randn(len(words), arguments.word_dim)
    plain = TreeLSTM(arguments.word_dim, arguments.dim, syntax=False)
    aware = TreeLSTM(arguments.word_dim, arguments.dim, syntax=True)
    peer = treelstm.TreeLSTM(arguments.word_dim, arguments.dim)
    copy_weights(plain, peer)
    places = list(range(len(trees)))
    batches = [places[start : start + arguments.batch] for start in range(0, len(places), arguments.batch)]
    peer_inputs = [peer_input(tree, words, vectors, treelstm.calculate_evaluation_orders) for tree in trees]

    def read_ours(layer: TreeLSTM, batch: list[int], share: bool) -> Tensor:
        leaves = np.concatenate([numbers[place] for place in batch])
        distinct, inputs = np.unique(leaves, return_inverse=True)
        plan = Plan.of([shapes[place] for place in batch], inputs if share else None)
        return layer(vectors[torch.from_numpy(distinct if share else leaves)], plan)[plan.roots]

    def read_theirs(batch: list[int]) -> Tensor:
        joined = treelstm.batch_tree_input([peer_inputs[place] for place in batch])
        sizes = torch.tensor(joined.pop("tree_sizes"))
        h, _ = peer(**joined)
        return h[sizes.cumsum(0) - sizes]

    ways: dict[str, Callable[[list[int]], Tensor]] = {
        "ours": lambda batch: read_ours(plain, batch, True),
        "own leaves": lambda batch: read_ours(plain, batch, False),
        "H-LSTM": lambda batch: read_ours(aware, batch, True),
        "pytorch-tree-lstm": read_theirs,
    }
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    roots: dict[str, Tensor] = {}
    for turn in range(arguments.repeats + 1):  # the first one warms up
        for name, way in ways.items():
            start = time.perf_counter()
            for batch in batches:
                for layer in (plain, aware, peer):
                    layer.zero_grad(set_to_none=True)
                found = way(batch)
                found.sum().backward()
                roots[name] = found.detach()
            if turn:
                seconds[name].append(time.perf_counter() - start)
    difference = float((roots["ours"] - roots["pytorch-tree-lstm"]).abs().max())
    for layer in (plain, peer):
        layer.zero_grad(set_to_none=True)
    for name in ("ours", "pytorch-tree-lstm"):
        ways[name](batches[0]).sum().backward()
    gradient = largest_difference(plain, peer)

    rows = {}
    print(f"{len(trees)} captions, {arguments.batch} a batch, {arguments.dim} numbers a state")
    print(f"{'way':<18} {'sentences/s':>11} {'of peer':>8}")
    for name, taken in seconds.items():
        ratio = statistics.median(theirs / own for own, theirs in zip(taken, seconds["pytorch-tree-lstm"], strict=True))
        rows[name] = {
            "seconds": [round(value, 3) for value in taken],
            "sentences_per_second": round(len(trees) / statistics.median(taken), 1),
            "ratio_to_peer": round(ratio, 2),
        }
        print(f"{name:<18} {rows[name]['sentences_per_second']:11} {ratio:8.2f}")
    print(f"largest difference: states {difference:.1e}, gradients {gradient:.1e} of the largest")
    record(
        arguments,
        ("torch",),
        peer="pytorch-tree-lstm 0.1.3",
        n_sentences=len(trees),
        batch=arguments.batch,
        word_dim=arguments.word_dim,
        dim=arguments.dim,
        threads=arguments.threads,
        ways=rows,
        largest_difference={"states": difference, "gradients": gradient},
    )


if __name__ == "__main__":
    main()
