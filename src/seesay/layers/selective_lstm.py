"""The part of sm-LSTM that compares an image and a sentence in several attention steps.

    p_t = softmax_i f_p(m, a_i, h_{t-1}),  q_t = softmax_j f_q(n, w_j, h_{t-1})     Eq. 1
    a'_t = Σ_i p_{t,i} a_i,  w'_t = Σ_j q_{t,j} w_j                                 Eq. 3
    s_t = two-way MLP of [m, a'_t] and [n, w'_t];  h_t, c_t = LSTM(s_t, h_{t-1}, c_{t-1})     Eq. 4
    s = w_hs · σ(W_hh h_T + b_h) + b_s                                              Eq. 5

As published, s_t is made of a'_t and w'_t alone; context that only steers the attention would reach the score through
what is attended to.

Whatever depends on one side alone is computed once for each image and each sentence. To that belongs all of the first
step's attention: h_0 is nothing, so an image's first map is the same for every sentence. The rest is computed in
blocks of a few images and a few sentences of like length.
"""

from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from seesay.images.arrays import Looked
from seesay.layers.attention import ContextAttention, Side, unevenness
from seesay.layers.pair_sides import PreparedSide, Share, share_out, weighted_mean
from seesay.layers.threads import Scratch, map_in_threads
from seesay.system.progress import Progress

VARIANTS = ("full", "att", "ctx", "mean")
SIMILARITIES = ("product", "sum")
N_PAIRS = 512
"""Pairs of a block: enough for matrix products at full speed, few enough for the caches of a core."""
_N_TEXTS = 32  # of a block


class SelectiveLSTM(nn.Module):
    """Compares what it attends to on both sides, step by step, and sums up in a score.

    Args:
        dim: Of candidates and contexts, on both sides.
        hidden: Of the LSTM that aggregates.
        units: Of the attention.
        similarity_dim: Of s_t. For `product` a divisor of `dim`; half of it for `full`, where a half is the contexts'.
        n_steps: T.
        variant: `full`; `att` without context; `ctx` without attention, where the contexts themselves are compared;
            `mean` without both, where the means of the candidates are.
        form: Of the attention: `joint` or `paper`.
        similarity: `sum` is σ(a' W + w' V + b). `product` are the inner products of a' and w', of unit length, over
            groups of their dimensions, times the number of groups: their mean is the cosine. Those of a' and w' are
            weighed against those of m and n by a learned number.
        compare_contexts: Whether s_t is made of m and n, too; as published they steer the attention, and no more.
    """

    def __init__(
        self,
        dim: int,
        hidden: int,
        units: int,
        similarity_dim: int,
        n_steps: int,
        *,
        variant: str = "full",
        form: str = "joint",
        similarity: str = "product",
        compare_contexts: bool = True,
    ) -> None:
        super().__init__()
        self.n_steps, self.hidden = n_steps, hidden
        self.share: Share = share_out  # from saliences to attention; a measurement may put another in its place
        self.compares_contexts = variant == "full" and compare_contexts
        self.n_groups = similarity_dim // 2 if self.compares_contexts else similarity_dim
        self.attends, self.has_context = variant in ("full", "att"), variant in ("full", "ctx")
        if self.attends:
            make = partial(ContextAttention, dim, hidden, units, context=self.has_context, form=form)
            self.image_attention, self.text_attention = make(), make()
        self.is_product = similarity == "product"
        if self.compares_contexts and self.is_product:
            self.gain = nn.Parameter(torch.tensor(_GAIN))
        if not self.is_product:
            self.W_image = nn.Linear(dim, similarity_dim)
            self.W_text = nn.Linear(dim, similarity_dim, bias=False)
            if self.compares_contexts:
                self.W_context = nn.ModuleList(nn.Linear(dim, similarity_dim, bias=False) for _ in range(2))
        self.W_s = nn.Linear(similarity_dim, 4 * hidden)  # W_si, W_sf, W_sc, W_so with their biases
        self.W_h = nn.Linear(hidden, 4 * hidden, bias=False)  # W_hi, W_hf, W_hc, W_ho
        self.W_hh = nn.Linear(hidden, hidden)
        self.w_hs = nn.Linear(hidden, 1)
        if not self.is_product:
            self._spread_over_bends()

    @torch.no_grad()
    def _spread_over_bends(self) -> None:
        """Start the two-way layer where its score is of pairs.

        Near zero σ and tanh are lines, and the score would be what an image says plus what a sentence says: no order
        of pairs at all, and with a hinge little to learn from.
        """
        for layer in (self.W_image, self.W_text):  # what they compare has about unit length
            nn.init.normal_(layer.weight, std=_SPREAD)
        for layer in (self.W_s, self.W_hh, self.w_hs):
            nn.init.normal_(layer.weight, std=2.0 * layer.in_features**-0.5)

    @torch.no_grad()
    def initialise_as_cosine(self) -> None:
        """Let the score of the untrained layer rise with the mean of s_t, whatever else its random weights do.

        Where a' and w' come from a joint embedding, what that has learned is there from the first step of training on.
        One half of the hidden units carries the mean to the score; the other half keeps its random weights, so that the
        state says more about a pair than how alike it is, and attention has something to go by.
        """
        H, half = self.hidden, max(1, self.hidden // 2)
        for gate in range(4):
            carriers = slice(gate * H, gate * H + half)
            self.W_s.weight[carriers] *= 0.1
            self.W_h.weight[carriers] *= 0.1
        self.W_s.weight[2 * H : 2 * H + half] += 2.0 / self.n_groups
        self.W_s.bias[H : 2 * H] += 1.0  # nothing is forgotten at first
        self.W_hh.weight[:, half:] *= 0.1
        self.W_hh.weight[:, :half] += 4.0 / half
        self.w_hs.weight += 4.0 / H

    def look(self, images: Side, texts: Side) -> Looked[Tensor]:
        """All pairs at once, with everything that was looked at: for learning, and for showing a few."""
        seen: list[tuple[Tensor, Tensor]] = []
        scores = self._run(*self._prepare(images, texts), see=lambda p, q: seen.append((p, q)))
        K, L = scores.shape
        return Looked(
            scores,
            torch.stack([p.unsqueeze(1).expand(K, L, -1) if p.ndim == 2 else p for p, _ in seen]),
            torch.stack([q.unsqueeze(0).expand(K, L, -1) if q.ndim == 2 else q for _, q in seen]),
        )

    def unevenness(self, looked: Looked[Tensor], texts: Side) -> Tensor:
        """The regulariser of Eq. 7, squared, of both sides; see `seesay.layers.attention.unevenness`."""
        if not self.attends:
            return looked.scores.new_zeros(())
        return unevenness(looked.regions) + unevenness(looked.words, texts.mask)

    @torch.inference_mode()
    def score(
        self, images: Side, texts: Side, *, n_pairs: int = N_PAIRS, on_progress: Progress | None = None
    ) -> Tensor:
        """The scores of all pairs, (n_images, n_texts), by as many threads as torch may use.

        Args:
            n_pairs: How many a thread has in hand. It changes nothing in the result but the last digits.
            on_progress: Called with the pairs that are done, and with their number.
        """
        scores = images.context.new_empty(len(images), len(texts))
        if not scores.numel():
            return scores
        lengths = torch.zeros(len(texts)) if texts.mask is None else texts.mask.sum(1)
        blocks = list(torch.split(lengths.argsort(stable=True), min(_N_TEXTS, n_pairs)))
        n_images = max(1, n_pairs // len(blocks[0]))
        work = partial(self._score_texts, *self._prepare(images, texts), n_images)
        n_done = 0
        for block, found in zip(blocks, map_in_threads(work, blocks), strict=True):
            scores[:, block] = found
            n_done += found.numel()
            if on_progress:
                on_progress(n_done, scores.numel())
        return scores

    def _score_texts(self, images: PreparedSide, texts: PreparedSide, n_images: int, block: Tensor) -> Tensor:
        some = texts[block]
        starts = range(0, len(images.side), n_images)
        scratch = Scratch()
        return torch.cat([self._run(images[start : start + n_images], some, scratch=scratch) for start in starts])

    def _prepare(self, images: Side, texts: Side) -> tuple[PreparedSide, PreparedSide]:
        if not self.attends:
            return self._prepare_side(images, None), self._prepare_side(texts, None)
        return self._prepare_side(images, self.image_attention), self._prepare_side(texts, self.text_attention)

    def _prepare_side(self, side: Side, attention: ContextAttention | None) -> PreparedSide:
        if attention is None:
            chosen = side.context if self.has_context else weighted_mean(side.evenly, side.parts)
            return PreparedSide(side, side.parts, None, side.evenly, chosen)
        candidates, context = attention.prepare(side)
        first = self.share(attention(candidates, context, None), side.mask)
        return PreparedSide(side, candidates, context, first, weighted_mean(first, side.parts))  # Eq. 3

    def _run(
        self,
        images: PreparedSide,
        texts: PreparedSide,
        *,
        see: Callable[[Tensor, Tensor], None] | None = None,
        scratch: Scratch | None = None,
    ) -> Tensor:
        """The scores of a block, (K, L). `see` is told each step's p and q, without pairs where they are the same."""
        p, q = images.first, texts.first
        contexts = self._compare_contexts(images.side.context, texts.side.context) if self.compares_contexts else None
        s = self._join(contexts, self._compare_all(images.chosen, texts.chosen))  # (K, L, S)
        h: Tensor | None = None  # (K, L, H)
        c: Tensor | None = None
        for step in range(self.n_steps):
            if step and self.attends:
                assert h is not None
                p, q = self._saliency(images, texts, h, scratch)
                s = self._join(contexts, self._compare(*self._select(images.side, texts.side, p, q, scratch), scratch))
            if see:
                see(p, q)
            h, c = self._aggregate(s, h, c, scratch)
        assert h is not None
        score: Tensor = self.w_hs(self.W_hh(h).sigmoid()).squeeze(-1)  # Eq. 5
        return score

    def _saliency(
        self, images: PreparedSide, texts: PreparedSide, h: Tensor, scratch: Scratch | None
    ) -> tuple[Tensor, Tensor]:
        """p and q of Eq. 1 after the first step: (K, L, I) and (K, L, J)."""
        of_images = images.candidates.unsqueeze(1)  # (K, 1, I, A)
        context = None if images.context is None else images.context.unsqueeze(1)
        shapes = [(*h.shape[:2], *side.candidates.shape[1:]) for side in (images, texts)]
        out = [scratch.take("attention", h, *shape) if scratch else None for shape in shapes]
        p = self.share(self.image_attention(of_images, context, h, out=out[0]), images.side.mask)
        q = self.share(self.text_attention(texts.candidates, texts.context, h, out=out[1]), texts.side.mask)
        return p, q

    def _select(
        self, images: Side, texts: Side, p: Tensor, q: Tensor, scratch: Scratch | None
    ) -> tuple[Tensor, Tensor]:
        """What is compared after the first step: (K, L, D) of both."""
        K, L, D = len(images), len(texts), images.context.shape[1]
        out = scratch.take("regions", p, K, L, D) if scratch else None
        of_texts = scratch.take("words", q, L, K, D) if scratch else None
        a = torch.matmul(p, images.parts, out=out)  # Eq. 3
        w = torch.matmul(q.transpose(0, 1), texts.parts, out=of_texts)
        return a, w.transpose(0, 1)

    def _join(self, contexts: Tensor | None, instances: Tensor) -> Tensor:
        """s_t of what contexts say, which is the same at every step, and of what the instances of a step do."""
        if not self.is_product:
            return (instances if contexts is None else instances + contexts).sigmoid()
        return instances if contexts is None else torch.cat([contexts, self.gain * instances], -1)

    def _compare_contexts(self, x: Tensor, y: Tensor) -> Tensor:
        """What contexts say: (K, D), (L, D) → (K, L, ·)."""
        if self.is_product:
            return self._compare_all(x, y)
        of_images, of_texts = self.W_context
        found: Tensor = of_images(x).unsqueeze(1) + of_texts(y)
        return found

    def _compare_all(self, x: Tensor, y: Tensor) -> Tensor:
        """How alike the sides are where what one shows does not depend on the other: (K, D), (L, D) → (K, L, ·)."""
        if not self.is_product:
            inside: Tensor = self.W_image(x).unsqueeze(1) + self.W_text(y)
            return inside
        x, y = (F.normalize(side, dim=-1).view(len(side), self.n_groups, -1) for side in (x, y))
        return torch.einsum("kgd,lgd->klg", x * self.n_groups, y)

    def _compare(self, x: Tensor, y: Tensor, scratch: Scratch | None) -> Tensor:
        """The same of pairs: (K, L, D) of both sides → (K, L, ·)."""
        if not self.is_product:
            inside: Tensor = self.W_image(x) + self.W_text(y)
            return inside
        lengths: Tensor = torch.linalg.vector_norm(x, dim=-1) * torch.linalg.vector_norm(y, dim=-1)
        products = torch.mul(x, y, out=scratch.take("products", x, *x.shape) if scratch else None)
        summed = products.view(*x.shape[:2], self.n_groups, -1).sum(-1)
        return summed * (self.n_groups / lengths.clamp(min=_TINY)).unsqueeze(-1)

    def _aggregate(
        self, s: Tensor, h: Tensor | None, c: Tensor | None, scratch: Scratch | None
    ) -> tuple[Tensor, Tensor]:
        rows = s.flatten(0, 1)  # (K · L, S)
        out = scratch.take("gates", s, len(rows), 4 * self.hidden) if scratch else None
        gates = torch.addmm(self.W_s.bias, rows, self.W_s.weight.T, out=out)  # Eq. 4
        if h is not None:
            gates = torch.addmm(gates, h.flatten(0, 1), self.W_h.weight.T, out=out)
        i, f, candidate, o = gates.view(*s.shape[:2], -1).chunk(4, -1)
        change = i.sigmoid() * candidate.tanh()
        c = change if c is None else f.sigmoid() * c + change
        return o.sigmoid() * c.tanh(), c


_GAIN = 0.4  # at first: little enough that an untrained model ranks as its contexts do
_TINY = 1e-12
_SPREAD = 1.5  # deviation of the two-way layer's weights at first
