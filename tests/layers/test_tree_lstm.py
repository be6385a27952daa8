"""Trees computed level by level give what plain recursion over each tree gives, forwards and backwards."""

from collections.abc import Iterator

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from seesay.layers.tree_lstm import TreeLSTM
from seesay.layers.tree_plan import Plan
from seesay.text.readings import Shape
from seesay.text.trees import LABELS, Tree

WORD_DIM, DIM = 3, 5
WORDS = "abcdef"

nested = st.recursive(
    st.sampled_from(WORDS),
    lambda below: st.builds(lambda label, parts: [label, *parts], st.sampled_from(LABELS), st.lists(below, min_size=1)),
    max_leaves=12,
)
trees = st.lists(nested.map(lambda parts: _tree(["S", parts])), min_size=1, max_size=5)


def _tree(nested: list[object]) -> Tree:
    import json

    return Tree.from_json(json.dumps(nested))


def recurse(layer: TreeLSTM, node: Tree, x: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    """(h, c) of a node and of all below it, in the order of `Tree.nodes`, as the equations are printed."""
    below = [list(recurse(layer, child, x)) for child in node.children]
    W, b = layer.W.weight, layer.W.bias
    nouns = [states[0] for child, states in zip(node.children, below, strict=True) if child.is_noun_phrase]
    others = [states[0] for child, states in zip(node.children, below, strict=True) if not child.is_noun_phrase]
    U_hat = layer.U_other if layer.U_noun is None else layer.U_noun
    U_bar = layer.U_other
    zero = torch.zeros(layer.dim, dtype=W.dtype)
    h_hat = sum((h for h, _ in nouns), zero)  # Eq. 2
    h_bar = sum((h for h, _ in others), zero)
    word = W @ x[WORDS.index(node.word)] if node.is_leaf else torch.zeros(3 * layer.dim, dtype=W.dtype)
    (Wi, Wo, Wu), (bi, bo, bu) = word.chunk(3), b.chunk(3)
    (Ui, Uo, Uu, Uf), (Vi, Vo, Vu, Vf) = U_hat.chunk(4), U_bar.chunk(4)
    i = torch.sigmoid(Wi + Ui @ h_hat + Vi @ h_bar + bi)  # Eq. 5
    o = torch.sigmoid(Wo + Uo @ h_hat + Vo @ h_bar + bo)  # Eq. 6
    u = torch.tanh(Wu + Uu @ h_hat + Vu @ h_bar + bu)  # Eq. 7
    c = i * u
    for h_k, c_k in nouns:
        c = c + torch.sigmoid(Uf @ h_k + layer.b_f) * c_k  # Eq. 3
    for h_l, c_l in others:
        c = c + torch.sigmoid(Vf @ h_l + layer.b_f) * c_l  # Eq. 4
    yield o * torch.tanh(c), c  # Eq. 8
    for states in below:
        yield from states


def make_layer(syntax: bool, dtype: torch.dtype = torch.float32, seed: int = 0) -> TreeLSTM:
    torch.manual_seed(seed)
    layer = TreeLSTM(WORD_DIM, DIM, syntax=syntax).to(dtype)
    torch.nn.init.normal_(layer.b_f)
    return layer


def plan_for(trees: list[Tree], *, share_words: bool = True) -> Plan:
    words = [node.word for tree in trees for node in tree.nodes() if node.is_leaf]
    inputs = [WORDS.index(word) for word in words] if share_words else None
    return Plan.of([Shape.of(tree) for tree in trees], inputs, len(WORDS) if share_words else 0)


def gradients(layer: TreeLSTM, x: Tensor, states: Tensor) -> list[Tensor]:
    """Of a function in which every state has its own weight."""
    weights = torch.randn(states.shape, dtype=states.dtype, generator=torch.Generator().manual_seed(1))
    return list(torch.autograd.grad((weights * states).sum(), [x, *layer.parameters()], materialize_grads=True))


@pytest.mark.parametrize("syntax", [True, False], ids=["H-LSTM", "child-sum"])
@settings(max_examples=40)
@given(trees=trees)
def test_states_and_gradients_are_those_of_plain_recursion(syntax: bool, trees: list[Tree]) -> None:
    layer, plan = make_layer(syntax), plan_for(trees)
    x = torch.randn(len(WORDS), WORD_DIM, requires_grad=True)
    states = layer(x, plan)[plan.rows]
    expected = torch.stack([h for tree in trees for h, _ in recurse(layer, tree, x)])
    torch.testing.assert_close(states, expected, rtol=0, atol=1e-6)
    for found, wanted in zip(gradients(layer, x, states), gradients(layer, x, expected), strict=True):
        torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-5 * max(1.0, float(wanted.abs().max())))


@settings(max_examples=20)
@given(trees=trees)
def test_in_double_precision_gradients_agree_to_the_last_digits(trees: list[Tree]) -> None:
    layer, plan = make_layer(True, torch.float64), plan_for(trees)
    x = torch.randn(len(WORDS), WORD_DIM, dtype=torch.float64, requires_grad=True)
    expected = torch.stack([h for tree in trees for h, _ in recurse(layer, tree, x)])
    found = gradients(layer, x, layer(x, plan)[plan.rows])
    for one, other in zip(found, gradients(layer, x, expected), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-11, atol=1e-11)


def test_gradients_are_those_of_finite_differences() -> None:
    layer = make_layer(True, torch.float64)
    plan = plan_for([_tree(["S", ["NP", ["NP", "a", "b"], ["PP", "c", ["NP", "a", "d"]]], "e"]), _tree(["S", "a"])])
    x = torch.randn(len(WORDS), WORD_DIM, dtype=torch.float64, requires_grad=True)
    parameters = tuple(layer.parameters())

    def run(x: Tensor, *values: Tensor) -> Tensor:
        named = dict(zip(dict(layer.named_parameters()), values, strict=True))
        return torch.func.functional_call(layer, named, (x, plan))

    assert torch.autograd.gradcheck(run, (x, *parameters))


@given(trees=trees)
@settings(max_examples=20)
def test_words_that_are_read_twice_may_share_an_input_or_have_their_own(trees: list[Tree]) -> None:
    layer, shared, apart = make_layer(True), plan_for(trees), plan_for(trees, share_words=False)
    x = torch.randn(len(WORDS), WORD_DIM)
    read = [WORDS.index(node.word) for tree in trees for node in tree.nodes() if node.is_leaf]
    states = layer(x, shared)[shared.rows]
    torch.testing.assert_close(states, layer(x[read], apart)[apart.rows], rtol=0, atol=1e-6)


@given(trees=trees)
@settings(max_examples=20)
def test_a_tree_has_the_same_states_alone_as_in_a_batch(trees: list[Tree]) -> None:
    layer, plan = make_layer(True), plan_for(trees)
    x = torch.randn(len(WORDS), WORD_DIM)
    together = layer(x, plan)[plan.roots]
    alone = torch.cat([layer(x, plan := plan_for([tree]))[plan.roots] for tree in trees])
    torch.testing.assert_close(together, alone, rtol=0, atol=1e-6)


def test_without_syntax_the_kind_of_a_child_does_not_matter_and_with_it_it_does() -> None:
    noun, other = _tree(["S", ["NP", "a"], "b"]), _tree(["S", ["VP", "a"], "b"])
    x = torch.randn(len(WORDS), WORD_DIM)
    plan = plan_for([noun, other])
    plain = make_layer(False)(x, plan)[plan.roots]
    aware = make_layer(True)(x, plan)[plan.roots]
    torch.testing.assert_close(plain[0], plain[1])
    assert (aware[0] - aware[1]).abs().max() > 1e-3


def test_a_long_chain_of_single_children_is_followed_to_its_end() -> None:
    chain: list[object] = ["NP", "a"]
    for _ in range(60):
        chain = ["NP", chain]
    tree, layer = _tree(["S", chain]), make_layer(True)
    x = torch.randn(len(WORDS), WORD_DIM)
    plan = plan_for([tree])
    assert len(plan.levels) == 62
    expected = next(recurse(layer, tree, x))[0]
    torch.testing.assert_close(layer(x, plan)[plan.roots[0]], expected, rtol=0, atol=1e-6)


def test_a_tree_that_is_one_leaf_has_the_state_of_its_word() -> None:
    layer, x = make_layer(True), torch.randn(2, WORD_DIM, requires_grad=True)
    plan = Plan.of([Shape.of(Tree.leaf(0, "a"))] * 2)
    states = layer(x, plan)[plan.roots]
    torch.testing.assert_close(states[0], next(recurse(layer, Tree.leaf(0, "a"), x))[0])
    states.sum().backward()
    assert x.grad is not None
    assert x.grad.abs().sum() > 0
