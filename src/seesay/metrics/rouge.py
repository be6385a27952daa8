"""ROUGE-L (Lin 2004): the longest common subsequence as precision and recall, as `pycocoevalcap` computes it."""

from collections.abc import Sequence

import numpy as np

from seesay.metrics._arrays import IntArray
from seesay.metrics.matches import Matches, count_bits, match
from seesay.metrics.sentences import References, Scores, Sentence, as_references

_BETA = 1.2  # recall weighs a little more than precision


def rouge_l(hypotheses: Sequence[Sentence], references: References | Sequence[Sequence[Sentence]]) -> Scores:
    """F-measure of the longest common subsequence: the best precision and the best recall over an image's references.

    The two may come from different references. The figure for the collection is the mean; an empty hypothesis scores 0.

    Args:
        hypotheses: One sentence per image.
        references: One sentence or more per image.

    Example:
        >>> score = rouge_l(["a dog runs on grass", "two cats"], [["a dog runs on the grass"], ["birds", "a cat"]])
        >>> score.each.round(4), round(score.corpus, 4)
        (array([0.8944, 0.    ]), 0.4472)
    """
    references = as_references(references)
    packed = references.pack_one_per_image(hypotheses)
    common = np.zeros(len(references.image_of), np.int64)
    for matches in match(packed, references.sentences, references.image_of, np.arange(len(common))):
        common[matches.pairs] = longest_common_subsequence(matches)
    per_length = common / np.maximum(packed.lengths[references.image_of], 1)
    precision = np.maximum.reduceat(per_length, references.starts)
    recall = np.maximum.reduceat(common / np.maximum(references.sentences.lengths, 1), references.starts)
    weighted = recall + _BETA**2 * precision
    each = (1 + _BETA**2) * precision * recall / np.where(weighted > 0, weighted, 1.0)
    return Scores(float(each.mean()), each)


def longest_common_subsequence(matches: Matches) -> IntArray:
    """(n_pairs,) words in the longest common subsequence of each pair.

    Hyyrö's recurrence: going through the reference word by word, a zero bit in `state` marks a position of the
    hypothesis at which the subsequence so far grows by one.
    """
    lengths = np.diff(matches.starts, append=len(matches.words)) - 1
    longest_first = np.argsort(-lengths, kind="stable")
    starts = matches.starts[longest_first]
    n_longer = np.searchsorted(-lengths[longest_first], -np.arange(lengths.max(initial=0)), side="left")
    state = ~np.zeros(len(lengths), matches.masks.dtype)
    for place, n_active in enumerate(n_longer):
        active = state[:n_active]
        hits = active & matches.masks[starts[:n_active] + place]
        state[:n_active] = (active + hits) | (active - hits)
    common = np.empty(len(lengths), np.int64)
    common[longest_first] = count_bits(~state)
    return common
