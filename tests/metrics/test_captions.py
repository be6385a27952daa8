import math

import numpy as np
import pytest
import torch

from seesay.errors import SeesayError
from seesay.metrics import captions
from seesay.metrics.bleu import bleu
from seesay.metrics.captions import caption_report, novelty, perplexity
from seesay.metrics.cider import cider_d
from seesay.metrics.rouge import rouge_l


def test_real_captions_score_as_pycocoevalcap_scores_them(flickr8k) -> None:
    from pycocoevalcap.bleu.bleu import Bleu
    from pycocoevalcap.cider.cider import Cider
    from pycocoevalcap.rouge.rouge import Rouge

    hypotheses, references = flickr8k.hypotheses, flickr8k.references
    assert len(hypotheses) + sum(map(len, references)) > 2500
    theirs = dict(enumerate(references)), {i: [hypothesis] for i, hypothesis in enumerate(hypotheses)}

    corpus, each = Bleu(4).compute_score(*theirs, verbose=0)
    ours = bleu(hypotheses, references)
    np.testing.assert_allclose(ours.corpus, corpus, rtol=0, atol=1e-9)
    np.testing.assert_allclose(ours.each.T, each, rtol=0, atol=1e-9)

    for metric, scorer in ((rouge_l, Rouge()), (cider_d, Cider())):
        mean, scores = scorer.compute_score(*theirs)
        score = metric(hypotheses, references)
        assert score.corpus == pytest.approx(mean, abs=1e-9)
        np.testing.assert_allclose(score.each, scores, rtol=0, atol=1e-9)


def test_report_has_the_stable_keys_in_the_order_of_the_table() -> None:
    report = caption_report(["a dog", "cats"], [["a dog"], ["two cats"]], meteor=False, perplexity=7.5)
    assert list(report) == ["perplexity", "bleu1", "bleu2", "bleu3", "bleu4", "cider", "rouge_l", "meteor", "novel"]
    assert (report["perplexity"], report["meteor"], report["novel"]) == (7.5, None, None)


def test_report_leaves_meteor_out_where_it_cannot_run_and_insists_where_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert captions.why_no_meteor() is not None
    assert caption_report(["a dog"], [["a dog"]])["meteor"] is None
    with pytest.raises(SeesayError, match="METEOR needs"):
        caption_report(["a dog"], [["a dog"]], meteor=True)


def test_perplexity_weighs_every_word_the_same() -> None:
    # one word at 1/2 and three at 1/8 each: (1 + 9) bits over 4 words
    assert perplexity([-1.0, -9.0], [1, 3]) == pytest.approx(2**2.5)


def test_natural_logarithms_give_the_same_perplexity() -> None:
    bits = np.array([-12.5, -30.25])
    natural = torch.tensor(bits * math.log(2), requires_grad=True)
    assert perplexity(natural, torch.tensor([4, 9]), base=math.e) == pytest.approx(perplexity(bits, [4, 9]))


def test_an_impossible_sentence_has_infinite_perplexity() -> None:
    assert perplexity([-np.inf, -1.0], [2, 1]) == math.inf
    assert perplexity([-1e9], [1]) == math.inf


@pytest.mark.parametrize(
    ("log_probs", "n_words", "base", "message"),
    [
        ([np.nan], [1], 2, "sentence 0 is nan"),
        ([-1.0, 0.5], [1, 1], 2, "sentence 1 is 0.5"),
        ([-1.0], [0], 2, "0 words"),
        ([], [], 2, "0 words"),
        ([-1.0, -2.0], [1], 2, "2 log probabilities and 1 word counts"),
        ([-1.0], [1], 1, "base 1"),
    ],
)
def test_impossible_probabilities_are_refused(log_probs: list, n_words: list, base: float, message: str) -> None:
    with pytest.raises(SeesayError, match=message):
        perplexity(log_probs, n_words, base=base)


def test_novel_is_what_no_training_sentence_says_word_for_word() -> None:
    training = ["a dog runs", ["two", "cats"]]
    assert novelty(["a dog runs", "two cats", "two  cats", "two cats sit"], training) == 0.25
    assert caption_report(["a dog"], [["a dog"]], training=iter(training), meteor=False)["novel"] == 1.0
    with pytest.raises(SeesayError, match="no hypotheses"):
        novelty([], training)
