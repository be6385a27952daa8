"""What sentences have in common from their first word on."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from seesay.layers.sequences import Sequences


@dataclass(frozen=True)
class Prefixes:
    """The distinct beginnings of sentences, and the distinct words that follow each of them.

    Attributes:
        texts: (P,) for each beginning a sentence that has it; those that the fewest words follow come first.
        times: (P,) how many words it has: the position in that sentence at which it has been read.
        n_next: (P,) how many distinct words follow each.
        words: (N,) those words, beginning after beginning.
        steps: (n_positions,) which of the N words each word of each sentence is.
        starts: (n,) where in `steps` each sentence starts.

    Example:
        >>> words = torch.tensor([[7, 5, 2], [7, 6, 2], [7, 5, 2]])
        >>> shared = Prefixes.of(Sequences(torch.zeros(3, 3, 1), words, torch.tensor([3, 3, 3])))
        >>> shared.texts.tolist(), shared.times.tolist(), shared.n_next.tolist(), shared.words.tolist()
        ([0, 0, 1, 0], [0, 2, 2, 1], [1, 1, 1, 2], [7, 2, 2, 5, 6])
        >>> shared.words[shared.steps].tolist()
        [7, 5, 2, 7, 6, 2, 7, 5, 2]
    """

    texts: Tensor
    times: Tensor
    n_next: Tensor
    words: Tensor
    steps: Tensor
    starts: Tensor

    @staticmethod
    def of(texts: Sequences) -> "Prefixes":
        """Find them: one sort of the sentences a word, whatever their number."""
        table, lengths = texts.words.numpy(), texts.lengths.numpy()
        n_texts, longest = table.shape
        n_words = int(table.max(initial=0)) + 1
        # A step is a beginning and the word after it, and so the next beginning; step 0 has read nothing.
        step_of = np.zeros((n_texts, longest + 1), dtype=np.int64)
        parents, places = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        n_steps = 1
        for t in range(longest):
            alive = np.flatnonzero(lengths > t)
            before = step_of[alive, t]
            _, first, which = np.unique(before * n_words + table[alive, t], return_index=True, return_inverse=True)
            step_of[alive, t + 1] = n_steps + which
            parents.append(before[first])
            places.append(alive[first] * longest + t)
            n_steps += len(first)
        place = np.concatenate(places)
        # Keys are sorted by beginning and beginnings are numbered as they are met: those of one stand together.
        _, first, owner, n_next = np.unique(
            np.concatenate(parents), return_index=True, return_inverse=True, return_counts=True
        )
        by_fewest = np.argsort(n_next, kind="stable")
        order = np.argsort(n_next[owner], kind="stable")
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        read = np.arange(longest) < lengths[:, None]
        text_of, time_of = np.divmod(place[first][by_fewest], max(1, longest))
        return Prefixes(
            texts=torch.from_numpy(text_of),
            times=torch.from_numpy(time_of),
            n_next=torch.from_numpy(n_next[by_fewest]),
            words=torch.from_numpy(table.reshape(-1)[place[order]]),
            steps=torch.from_numpy(rank[step_of[:, 1:][read] - 1]),
            starts=torch.from_numpy(np.cumsum(lengths) - lengths),
        )

    def runs(self, n_prefixes: int, n_words: int) -> Iterator[tuple[slice, slice]]:
        """Runs of beginnings with equally many next words, beside those words: at most so many, but at least one."""
        first_prefix = first_word = 0
        sizes, counts = torch.unique_consecutive(self.n_next, return_counts=True)
        for n_next, n_equal in zip(sizes.tolist(), counts.tolist(), strict=True):
            longest = max(1, min(n_prefixes, n_words // n_next))
            for start in range(0, n_equal, longest):
                n = min(longest, n_equal - start)
                yield slice(first_prefix, first_prefix + n), slice(first_word, first_word + n * n_next)
                first_prefix, first_word = first_prefix + n, first_word + n * n_next
