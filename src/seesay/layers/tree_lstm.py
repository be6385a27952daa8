"""Tree-LSTMs over many trees at once: child-sum (Tai et al. 2015) and syntax-aware (HM-LSTM, Niu et al. 2017).

    ĥ_j = Σ_{k ∈ N(j)} h_k,  h̄_j = Σ_{l ∈ N̄(j)} h_l               noun-phrase children and the others, Eq. 2
    f̂_jk = σ(Û_f h_k + b_f),  f̄_jl = σ(Ū_f h_l + b_f)              Eqs. 3, 4
    i_j = σ(W_i x_j + Û_i ĥ_j + Ū_i h̄_j + b_i), o_j the same        Eqs. 5, 6
    u_j = tanh(W_u x_j + Û_u ĥ_j + Ū_u h̄_j + b_u)                   Eq. 7
    c_j = i_j ⊙ u_j + Σ_k f̂_jk ⊙ c_k + Σ_l f̄_jl ⊙ c_l               the second Eq. 7
    h_j = o_j ⊙ tanh(c_j)                                           Eq. 8

Only leaves have a word x_j, and leaves have no children: W_f of the print never meets anything and is left out. The
child-sum Tree-LSTM has one U for all children.

What a node contributes to its parent, Û h_k and f_k ⊙ c_k, does not depend on the parent. So each node computes it, by
one matrix product for all gates and all nodes of a height, and a parent adds up what its children left. A word has the
same state and contribution wherever it stands, so each is computed once in a batch. The backward pass is written out:
every node has one parent, gradients are picked and not scattered, and the weights' gradients are one product over all
heights.
"""

import math
from typing import Any

import torch
from torch import Tensor, nn

from seesay.layers.tree_plan import Level, Plan

_sigmoid_backward = torch.ops.aten.sigmoid_backward
_tanh_backward = torch.ops.aten.tanh_backward


class TreeLSTM(nn.Module):
    """States of all nodes of many trees.

    Args:
        word_dim: Of the inputs.
        dim: Of the states.
        syntax: Noun-phrase children have weights of their own (H-LSTM); otherwise the child-sum Tree-LSTM.

    Example:
        >>> from seesay.text.readings import Shape
        >>> from seesay.text.trees import Tree
        >>> trees = [Tree.from_json('["S", ["NP", "a", "dog"], "runs"]'), Tree.from_json('["S", "runs"]')]
        >>> plan = Plan.of([Shape.of(tree) for tree in trees], [0, 1, 2, 2])  # a, dog, runs
        >>> states = TreeLSTM(4, 8)(torch.randn(3, 4), plan)
        >>> states.shape, states[plan.roots].shape
        (torch.Size([6, 8]), torch.Size([2, 8]))
    """

    def __init__(self, word_dim: int, dim: int, *, syntax: bool = True) -> None:
        super().__init__()
        self.dim = dim
        self.W = nn.Linear(word_dim, 3 * dim)  # input gate, output gate, update; its bias is that of inner nodes too
        self.U_noun = nn.Parameter(torch.empty(4 * dim, dim)) if syntax else None  # the same, then the forget gate
        self.U_other = nn.Parameter(torch.empty(4 * dim, dim))
        self.b_f = nn.Parameter(torch.zeros(dim))
        for weight in (self.U_noun, self.U_other):
            if weight is not None:
                nn.init.uniform_(weight, -1 / math.sqrt(dim), 1 / math.sqrt(dim))

    def forward(self, x: Tensor, plan: Plan) -> Tensor:
        """The state h of every row of a plan, from its inputs: (n_inputs, word_dim) → (n_rows, dim)."""
        states: Tensor = _Levels.apply(  # type: ignore[no-untyped-call]
            self.W(x), self.U_noun, self.U_other, self.W.bias, self.b_f, plan
        )
        return states


class _Levels(torch.autograd.Function):
    """All levels forwards and backwards; rows of gates are [i, o, u]."""

    @staticmethod
    def forward(
        ctx: Any, leaves: Tensor, U_noun: Tensor | None, U_other: Tensor, b: Tensor, b_f: Tensor, plan: Plan
    ) -> Tensor:
        d = len(b_f)
        h, c, tanh_c, f = (leaves.new_empty(plan.n_rows, d) for _ in range(4))
        gates = leaves.new_empty(plan.n_rows, 3 * d)
        left = leaves.new_empty(plan.n_rows, 4 * d)  # what each row leaves for its parent: U_{i,o,u} h, f ⊙ c

        def apply_gates(rows: slice, sums: Tensor, carried: Tensor | None) -> None:
            torch.sigmoid(sums[:, : 2 * d], out=gates[rows, : 2 * d])  # Eqs. 5, 6
            torch.tanh(sums[:, 2 * d : 3 * d], out=gates[rows, 2 * d :])  # Eq. 7
            i, o, u = gates[rows].chunk(3, 1)
            if carried is None:
                torch.mul(i, u, out=c[rows])
            else:
                torch.addcmul(carried, i, u, out=c[rows])  # the second Eq. 7
            torch.tanh(c[rows], out=tanh_c[rows])
            torch.mul(o, tanh_c[rows], out=h[rows])  # Eq. 8

        def leave(start: int, end: int, U: Tensor) -> None:
            if start < end:
                rows = slice(start, end)
                torch.mm(h[rows], U.T, out=left[rows])
                torch.sigmoid(left[rows, 3 * d :].add_(b_f), out=f[rows])  # Eqs. 3, 4
                torch.mul(f[rows], c[rows], out=left[rows, 3 * d :])

        apply_gates(slice(0, plan.n_inputs), leaves, None)
        leave(0, plan.n_inputs, U_other)
        for level in plan.levels:
            sums = torch.embedding_bag(left, level.children, level.offsets)[0]  # (n, 4 d), Eq. 2
            sums[:, : 3 * d] += b
            apply_gates(slice(level.start, level.end), sums, sums[:, 3 * d :])
            for start, end, U in _groups(level, U_noun, U_other):
                leave(start, end, U)
        ctx.plan = plan
        ctx.save_for_backward(U_noun, U_other, h, c, tanh_c, f, gates)
        return h

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        U_noun, U_other, h, c, tanh_c, f, gates = ctx.saved_tensors
        plan: Plan = ctx.plan
        d, n = h.shape[1], plan.n_inputs
        dh = grad.clone()
        d_left = h.new_zeros(plan.n_rows, 4 * d)  # of U h before the forget gate is applied
        d_sums = h.new_empty(plan.n_rows - n, 4 * d)  # of what each inner node gathered

        def take(start: int, end: int) -> Tensor:
            """Turn what came down to rows, in d_left, into what it means for U h; gives what c gets of it."""
            rows = slice(start, end)
            carried = d_left[rows, 3 * d :]
            dc: Tensor = carried * f[rows]
            d_left[rows, 3 * d :] = _sigmoid_backward(carried * c[rows], f[rows])
            return dc

        def apply_gates_backward(rows: slice, dc_above: Tensor, out: Tensor) -> None:
            i, o, u = gates[rows].chunk(3, 1)
            dc = _tanh_backward(dh[rows] * o, tanh_c[rows])
            dc[: len(dc_above)] += dc_above
            out[:, :d] = _sigmoid_backward(dc * u, i)
            out[:, d : 2 * d] = _sigmoid_backward(dh[rows] * tanh_c[rows], o)
            out[:, 2 * d : 3 * d] = _tanh_backward(dc * i, u)
            if out.shape[1] == 4 * d:
                out[:, 3 * d :] = dc

        for level in reversed(plan.levels):
            rows = slice(level.start, level.others)
            torch.index_select(d_sums, 0, level.parents, out=d_left[rows])
            dc = take(level.start, level.others)
            for start, end, U in _groups(level, U_noun, U_other):
                dh[start:end].addmm_(d_left[start:end], U)
            apply_gates_backward(slice(level.start, level.end), dc, d_sums[level.start - n : level.end - n])
        if plan.levels:
            d_left[:n] = torch.embedding_bag(d_sums, plan.leaf_parents, plan.leaf_offsets)[0]
        dc = take(0, n)
        dh[:n].addmm_(d_left[:n], U_other)
        d_leaves = h.new_empty(n, 3 * d)
        apply_gates_backward(slice(0, n), dc, d_leaves)

        of_other = plan.other_rows if U_noun is not None else torch.cat([plan.other_rows, plan.noun_rows])
        d_noun = d_left[plan.noun_rows].T @ h[plan.noun_rows] if U_noun is not None else None
        d_other = d_left[of_other].T @ h[of_other]
        return d_leaves, d_noun, d_other, d_sums[:, : 3 * d].sum(0), d_left[:, 3 * d :].sum(0), None


def _groups(level: Level, U_noun: Tensor | None, U_other: Tensor) -> list[tuple[int, int, Tensor]]:
    """Rows of a level that have a parent, with the weights they share."""
    if U_noun is None:
        return [(level.start, level.others, U_other)]
    return [(level.start, level.nouns, U_noun), (level.nouns, level.others, U_other)]
