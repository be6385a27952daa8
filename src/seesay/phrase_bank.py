"""Describing a region by what people have said: phrases of a captioned collection, in a model's joint space.

A bank holds every distinct noun phrase of some sentences, nested ones included, so that "a man" stands in it and "a man
in a red shirt with a dog" too (HM-LSTM, Figure 6). The best phrases for a region say nearly the same; of a few that are
shown each should add something. So they are chosen one after the other by what they say beyond those before them
(maximal marginal relevance, Carbonell & Goldstein 1998):

    argmax_p  (1 − d) · s(v, h_p)  −  d · max_{q chosen} s(h_q, h_p)
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from seesay.errors import SeesayError
from seesay.models.base import without_dropout
from seesay.models.hmlstm import HMLSTM
from seesay.text.tokens import tokenize

DIVERSITY = 0.3
N_CONSIDERED = 200  # of the best phrases, among which those that differ are looked for


@dataclass(frozen=True)
class PhraseBank:
    """Phrases and their vectors.

    Attributes:
        texts: Distinct phrases, in lower case and without marks.
        counts: How often each was written.
        vectors: (n, D) of unit length.
    """

    texts: tuple[str, ...]
    counts: tuple[int, ...]
    vectors: Tensor

    def __len__(self) -> int:
        return len(self.texts)


@dataclass(frozen=True, slots=True)
class FoundPhrase:
    """A phrase for a region, and how well it fits."""

    text: str
    score: float


@torch.inference_mode()
def build_bank(
    model: HMLSTM,
    sentences: Sequence[str],
    *,
    min_words: int = 2,
    max_words: int = 12,
    batch: int = 256,
    on_progress: Callable[[int, int], None] | None = None,
) -> PhraseBank:
    """Gather the noun phrases of sentences.

    Args:
        min_words: Shorter phrases ("it", "water") describe too little.
        max_words: Longer ones are whole scenes.
        on_progress: Called with the sentences that were read, and all.

    Raises:
        SeesayError: No sentence has such a phrase.
    """
    counts: Counter[str] = Counter()
    vectors: dict[str, Tensor] = {}
    with without_dropout(model):
        for start in range(0, len(sentences), batch):
            some = sentences[start : start + batch]
            found = model.encode_trees(some)
            tokens = [tokenize(sentence) for sentence in some]
            spans = [(row, *span) for row, reading in enumerate(model.read(some)) for span in reading.spans.tolist()]
            for place, (row, first, last) in enumerate(spans):
                if min_words <= last - first <= max_words:
                    text = " ".join(tokens[row][first:last])
                    counts[text] += 1
                    vectors.setdefault(text, found.phrases[place].clone())  # a view would keep the whole batch
            if on_progress:
                on_progress(min(start + batch, len(sentences)), len(sentences))
    if not counts:
        raise SeesayError(
            f"{len(sentences)} sentences hold no noun phrase of {min_words} to {max_words} words",
            allowed="sentences that name something",
        )
    return PhraseBank(tuple(vectors), tuple(counts[text] for text in vectors), torch.stack(list(vectors.values())))


@torch.inference_mode()
def describe_regions(
    bank: PhraseBank, regions: Tensor, n: int = 5, *, diversity: float = DIVERSITY
) -> list[list[FoundPhrase]]:
    """The phrases that describe regions best, each adding something to those before it.

    Args:
        regions: (n_regions, D) of unit length, of the model that the bank was built with.
        n: Phrases a region.
        diversity: d, from 0 (the best ones, however alike) to 1 (as unlike each other as can be).

    Example:
        >>> bank = PhraseBank(("a dog", "a brown dog", "a ball"), (3, 1, 1), torch.eye(3)[[0, 0, 1]])
        >>> (found,) = describe_regions(bank, torch.tensor([[0.8, 0.6, 0.0]]), 2)
        >>> [phrase.text for phrase in found]
        ['a dog', 'a ball']
    """
    if n < 1 or not 0 <= diversity <= 1:
        raise SeesayError(f"{n} phrases at a diversity of {diversity:g}", allowed="one or more, at 0 to 1")
    described = []
    for scores in regions @ bank.vectors.T:  # (n_phrases,)
        best = scores.topk(min(max(n, N_CONSIDERED), len(bank)))
        vectors = bank.vectors[best.indices]
        likeness = torch.full_like(best.values, -1.0)  # to the nearest of those that were chosen
        free = torch.ones_like(best.values, dtype=torch.bool)
        found: list[FoundPhrase] = []
        while len(found) < min(n, len(best.values)):
            worth = (1 - diversity) * best.values - (diversity * likeness if found else 0)
            place = int(worth.masked_fill(~free, float("-inf")).argmax())
            free[place] = False
            likeness = torch.maximum(likeness, vectors @ vectors[place])
            found.append(FoundPhrase(bank.texts[int(best.indices[place])], float(best.values[place])))
        described.append(found)
    return described
