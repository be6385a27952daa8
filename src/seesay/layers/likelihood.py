"""The likelihood of every sentence under every image, for models that see the image after reading.

    y(t) = W · f(state(t) + I) + b
    log P(w | I) = Σ_t  y(t)[w(t)] − log Σ_v exp y(t)[v]

The sum over the vocabulary is nearly all of the work: for every position and image a product with all of W. Sentences
that begin alike share positions, and what is made of a position and an image does not leave the cache of a core.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor

from seesay.layers.prefixes import Prefixes
from seesay.layers.sequences import Sequences
from seesay.layers.threads import map_in_threads
from seesay.system.progress import Progress

CACHE = 1 << 20  # bytes of one block: the second-level cache of a core holds it beside what the product needs
MEMORY = 64 << 20
_RUN = 128  # distinct beginnings that a worker takes at a time
_LEAST_SUM = 1e-25  # exponentials below 1e-38 are lost: beside this sum, of any vocabulary, they do not show


@torch.inference_mode()
def log_likelihoods(
    images: Tensor,
    texts: Sequences,
    activation: Callable[[Tensor], Tensor],
    weight: Tensor,
    bias: Tensor,
    *,
    project: Tensor | None = None,
    normalised: bool = True,
    memory: int = MEMORY,
    on_progress: Progress | None = None,
) -> Tensor:
    """log P(sentence | image) for all pairs, by as many threads as torch may use.

    Args:
        images: (n, M) what each image adds before the activation.
        texts: The states (n, T, M) before each word, which depend on the words before it alone, and the words that are
            to be predicted.
        activation: Element by element; it may overwrite what it is given, which is faster.
        weight: (V, d) of the softmax.
        bias: (V,)
        project: (d, M) from the activations to what the softmax reads, where that is not the same.
        normalised: Divide by the sum over the vocabulary; otherwise the logits are taken for log-probabilities.
        memory: Bytes for what is kept of a few images and all positions. It changes nothing in the result.
        on_progress: Called with the pairs of a position and an image that are done, and with their number.

    Returns:
        (n_images, n_texts), natural logarithms.

    Example:
        >>> texts = Sequences(torch.zeros(1, 2, 3), torch.tensor([[1, 0]]), torch.tensor([2]))
        >>> log_likelihoods(torch.ones(1, 3), texts, torch.tanh, torch.zeros(4, 3), torch.zeros(4))  # 2 · log ¼
        tensor([[-2.7726]])
    """
    scores = images.new_zeros(len(images), len(texts))
    shared = Prefixes.of(texts)
    if not len(images) or not len(shared.words):
        return scores
    if project is not None and not normalised:
        weight, project = weight @ project, None  # few words are asked for: cheaper than projecting every vector
    n_rows = max(1, min(CACHE, memory) // (images.shape[1] * images.element_size()))
    n_columns = max(1, min(CACHE, memory) // (n_rows * images.element_size()))
    # (V, d + 1): the bias is the weight of a 1. Without the sums it is added once, and the vectors lie close together.
    words = torch.cat([weight, bias.unsqueeze(1)], 1) if normalised else weight
    scorer = _Scorer(texts, shared, activation, words, project, normalised, n_rows, n_columns)
    # Several positions make up a block, so that it is nearly full whatever the number of images.
    most = max(1, min(n_rows // 4, memory // (len(shared.words) * images.element_size())))
    parts = images.tensor_split(math.ceil(len(images) / most))
    n_done, n_total = 0, len(images) * len(shared.n_next)
    for part, rows in zip(parts, scores.tensor_split(len(parts)), strict=True):
        values = part.new_empty(len(shared.words), len(part))  # of every distinct word after every distinct beginning
        runs = list(shared.runs(max(n_rows // len(part), _RUN), n_rows))
        for n_prefixes in map_in_threads(partial(scorer.score, part, values), runs):
            n_done += n_prefixes * len(part)
            if on_progress:
                on_progress(n_done, n_total)
        if not normalised:
            values += bias[shared.words].unsqueeze(1)
        rows.copy_(F.embedding_bag(shared.steps, values, shared.starts, mode="sum").t())
    return scores


@dataclass(frozen=True)
class _Scorer:
    """What is the same for all blocks. A block has at most `n_rows` vectors and as many times `n_columns` logits."""

    texts: Sequences
    shared: Prefixes
    activation: Callable[[Tensor], Tensor]
    words: Tensor
    project: Tensor | None
    normalise: bool
    n_rows: int
    n_columns: int

    def score(self, images: Tensor, values: Tensor, run: tuple[slice, slice]) -> int:
        """Fill in the values (N, n) of the words that follow some beginnings; how many beginnings there are."""
        n, width = images.shape
        prefixes, words = run
        states = self.texts.states[self.shared.texts[prefixes], self.shared.times[prefixes]]  # (P, M)
        wanted = self.words[self.shared.words[words]].view(len(states), -1, self.words.shape[1])  # (P, k, d or d + 1)
        found = values[words].view(len(states), -1, n)  # (P, k, n)
        inputs = images.new_ones(self.n_rows, self.words.shape[1])
        hidden = inputs if self.project is None else images.new_empty(self.n_rows, width)
        logits = images.new_empty(self.n_rows * self.n_columns)
        size = max(1, self.n_rows // n)
        pieces = (torch.split(tensor, size) for tensor in (states, wanted, found))
        for few, few_wanted, few_found in zip(*pieces, strict=True):
            rows = slice(len(few) * n)
            joined = hidden[rows, :width].view(len(few), n, width)  # (p, n, M)
            torch.add(few.unsqueeze(1), images, out=joined)
            if (activations := self.activation(joined)) is not joined:
                joined.copy_(activations)
            if self.project is not None:
                torch.mm(hidden[rows, :width], self.project.t(), out=inputs[rows, : len(self.project)])
            torch.bmm(few_wanted, inputs[rows].view(len(few), n, -1).transpose(1, 2), out=few_found)
            if self.normalise:
                few_found -= self._log_sums(inputs[rows], logits).view(len(few), 1, n)
        return len(states)

    def _log_sums(self, inputs: Tensor, logits: Tensor) -> Tensor:
        """log Σ_v exp y[v] of every row, (r, d + 1) → (r,)."""
        parts = torch.split(self.words, self.n_columns)
        sums = inputs.new_empty(len(parts), len(inputs))
        for part, partial_sums in zip(parts, sums, strict=True):
            block = logits[: len(inputs) * len(part)].view(len(inputs), len(part))
            torch.mm(inputs, part.t(), out=block)
            torch.sum(block.exp_(), 1, out=partial_sums)
        total = sums.sum(0)
        # Few models have logits beyond what exponentials can hold; only those pay for finding the largest first.
        if bool(((total > _LEAST_SUM) & (total < math.inf)).all()):
            return total.log()
        return torch.stack([(inputs @ part.t()).logsumexp(1) for part in parts]).logsumexp(0)
