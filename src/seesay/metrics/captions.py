"""How good generated captions are: every caption metric in one report.

Sentences come tokenised: strings that are split on whitespace, or lists of tokens. BLEU, ROUGE-L, METEOR and the share
of novel sentences lie between 0 and 1; CIDEr between 0 and 10.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, TypedDict

import numpy as np

from seesay.errors import SeesayError
from seesay.metrics._arrays import as_array
from seesay.metrics.bleu import bleu
from seesay.metrics.cider import cider_d
from seesay.metrics.meteor import meteor as meteor_score
from seesay.metrics.meteor import why_no_meteor
from seesay.metrics.rouge import rouge_l
from seesay.metrics.sentences import References, Sentence, as_text

if TYPE_CHECKING:
    from seesay.metrics._arrays import ArrayLike


class CaptionReport(TypedDict):
    """The figures of a captioner; None where one could not be measured."""

    perplexity: float | None
    bleu1: float
    bleu2: float
    bleu3: float
    bleu4: float
    cider: float
    rouge_l: float
    meteor: float | None
    novel: float | None


def caption_report(
    hypotheses: Sequence[Sentence],
    references: Sequence[Sequence[Sentence]],
    *,
    training: Iterable[Sentence] | None = None,
    perplexity: float | None = None,
    meteor: bool | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> CaptionReport:
    """All figures for one generated caption per image.

    `cider` is CIDEr-D, which is what captioning papers and `pycocoevalcap` call CIDEr.

    Args:
        hypotheses: One sentence per image.
        references: One sentence or more per image.
        training: The sentences that the captioner learned from; `novel` is None without them.
        perplexity: What `perplexity` gave for the references; passed through.
        meteor: False leaves METEOR out, True insists on it, None takes it where `why_no_meteor` finds nothing missing.
        on_progress: Called by METEOR, which is slow, with the number of images done and the number of all images.

    Example:
        >>> hypotheses, references = ["a dog runs on grass", "cats"], [["a dog runs on the grass"], ["two cats"]]
        >>> report = caption_report(hypotheses, references, training=["two dogs", "cats"], meteor=False)
        >>> {name: round(value, 3) for name, value in report.items() if value is not None}
        {'bleu1': 0.717, 'bleu2': 0.621, 'bleu3': 0.569, 'bleu4': 0.507, 'cider': 4.039, 'rouge_l': 0.762, 'novel': 0.5}
    """
    packed = References(references)
    scores = bleu(hypotheses, packed).corpus
    with_meteor = why_no_meteor() is None if meteor is None else meteor
    return {
        "perplexity": perplexity,
        "bleu1": float(scores[0]),
        "bleu2": float(scores[1]),
        "bleu3": float(scores[2]),
        "bleu4": float(scores[3]),
        "cider": cider_d(hypotheses, packed).corpus,
        "rouge_l": rouge_l(hypotheses, packed).corpus,
        "meteor": meteor_score(hypotheses, references, on_progress=on_progress).corpus if with_meteor else None,
        "novel": None if training is None else novelty(hypotheses, training),
    }


def perplexity(log_probs: ArrayLike, n_words: ArrayLike, *, base: float = 2.0) -> float:
    """Perplexity of a model on a collection: 2 to the mean number of bits per word (m-RNN Eq. 5, over all sentences).

    Args:
        log_probs: (n_sentences,) log probability of each sentence, summed over its words.
        n_words: (n_sentences,) number of probabilities in each sum: where the end sign is predicted, it counts.
        base: Base of the logarithm: 2, or `math.e` for natural ones.

    Raises:
        SeesayError: A log probability is NaN or above 0, or there are no words.

    Example:
        >>> perplexity([-2.0, -6.0], [1, 3])
        4.0
    """
    logs = as_array(log_probs, "log_probs", "(n_sentences,)").astype(np.float64)
    counts = as_array(n_words, "n_words", "(n_sentences,)")
    if base <= 1:
        raise SeesayError(f"logarithms to the base {base}", allowed="2, math.e, or any base above 1")
    if logs.shape != counts.shape:
        raise SeesayError(
            f"{len(logs)} log probabilities and {len(counts)} word counts", allowed="one of each per sentence"
        )
    if not (logs <= 1e-6).all():  # rounding may lift a certain word a little above 0
        wrong = int(np.flatnonzero(~(logs <= 1e-6))[0])
        raise SeesayError(f"the log probability of sentence {wrong} is {logs[wrong]}", allowed="0 or below")
    if (counts < 0).any() or counts.sum() == 0:
        raise SeesayError(f"{len(counts)} sentences of {counts.sum()} words in all", allowed="one word or more")
    with np.errstate(over="ignore"):
        return float(np.power(base, -logs.sum() / counts.sum()))


def novelty(hypotheses: Sequence[Sentence], training: Iterable[Sentence]) -> float:
    """Share of the hypotheses that are not, word for word, among the training sentences.

    Example:
        >>> novelty(["a dog runs", "a dog  sits"], ["a dog sits", "two cats"])
        0.5
    """
    if isinstance(hypotheses, str) or not len(hypotheses):
        raise SeesayError("there are no hypotheses", allowed="a list of one sentence or more")
    known = {as_text(sentence) for sentence in training}
    return sum(as_text(sentence) not in known for sentence in hypotheses) / len(hypotheses)
