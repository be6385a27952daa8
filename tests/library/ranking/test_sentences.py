"""The encoder without torch gives what the one with torch gives."""

from pathlib import Path

import numpy as np
import pytest
import torch

from seesay.errors import SeesayError
from seesay.images.features import FeatureSpec
from seesay.library.ranking.sentences import LONGEST, LikelihoodScorer, SentenceEncoder, WordScorer
from seesay.models import base, pretrained
from seesay.models.aligner import Aligner
from seesay.models.base import Captioner
from seesay.models.dvsa import DVSA, DVSAConfig
from seesay.models.mrnn import MRNN, MRNNConfig
from seesay.models.vse import VSE, VSEConfig
from seesay.text.vocabulary import Vocabulary

SENTENCES = ["a dog runs", "two dogs play in the snow", "a zebra", "", "🐶", "snow", "the " * 150]


@pytest.fixture
def vocabulary() -> Vocabulary:
    return Vocabulary.build(["a dog runs", "two dogs play in the snow", "the snow is white"], min_count=1)


def save(folder: Path, vocabulary: Vocabulary, **config: object) -> VSE:
    torch.manual_seed(0)
    small = {"dim": 8, "word_dim": 6, "image_dim": 1280}
    model = VSE(VSEConfig(**{**small, **config}), vocabulary, FeatureSpec("efficientnet-lite0", 64))  # type: ignore[arg-type]
    pretrained.save(folder, model, {"name": "toy"})
    return model


@pytest.mark.parametrize(
    "config",
    [
        {"encoder": "gru", "text_pooling": "max"},
        {"encoder": "gru", "text_pooling": "mean", "bidirectional": False},
        {"encoder": "gru", "text_pooling": "last"},
        {"encoder": "lstm", "text_pooling": "max"},
        {"encoder": "lstm", "text_pooling": "last", "bidirectional": False},
        {"encoder": "mean"},
    ],
)
def test_it_equals_torch(tmp_path: Path, vocabulary: Vocabulary, config: dict[str, object]) -> None:
    save(tmp_path, vocabulary, **config)
    with torch.inference_mode():
        expected = pretrained.load(tmp_path).encode_texts(SENTENCES).numpy()
    about = pretrained.read_about(tmp_path).about
    assert SentenceEncoder.knows(about)
    encoder = SentenceEncoder(tmp_path, about, vocabulary)
    np.testing.assert_allclose([encoder(sentence) for sentence in SENTENCES], expected, atol=1e-5)


def test_it_equals_torch_with_the_weights_that_ship() -> None:
    weights = pretrained.find("vse")
    model = pretrained.load("vse")
    encoder = SentenceEncoder(weights.folder, weights.about, model.vocabulary)
    with torch.inference_mode():
        expected = model.encode_texts(SENTENCES).numpy()
    np.testing.assert_allclose([encoder(sentence) for sentence in SENTENCES], expected, atol=1e-5)


@pytest.mark.parametrize(
    "config",
    [
        {"cell": "gru", "magnitudes": "words", "sentence": True, "word_weight": 0.3},
        {"cell": "gru", "magnitudes": "balanced", "length_power": 0.5},
        {"cell": "lstm", "magnitudes": "free"},
    ],
)
def test_words_score_regions_as_torch_does(tmp_path: Path, vocabulary: Vocabulary, config: dict[str, object]) -> None:
    torch.manual_seed(0)
    small = {"dim": 8, "word_dim": 6, "regions": "windows-5"}
    model = DVSA(DVSAConfig(**{**small, **config}), vocabulary, FeatureSpec("efficientnet-lite0", 64))  # type: ignore[arg-type]
    pretrained.save(tmp_path, model, {"name": "toy"})
    agree_on_regions(tmp_path, torch.randn(3, 5, 8))


def test_words_score_regions_as_torch_does_with_the_weights_that_ship() -> None:
    agree_on_regions(pretrained.find("dvsa").folder, torch.randn(3, 20, 768) / 30)


def agree_on_regions(folder: Path, regions: torch.Tensor) -> None:
    """Both ways score photos alike, and find the same region for a phrase."""
    model, about = pretrained.load(folder), pretrained.read_about(folder).about
    assert isinstance(model, Aligner)
    assert WordScorer.knows(about)
    scorer = WordScorer(folder, about, model.vocabulary)
    with torch.inference_mode():
        expected = model.score(regions, model.encode_texts(SENTENCES)).T.numpy()
        phrases = [model.encode_texts([sentence]).states[0].sum(0) for sentence in SENTENCES]
        phrases = [phrase / phrase.norm() for phrase in phrases]
    for row, sentence in enumerate(SENTENCES):
        np.testing.assert_allclose(scorer(regions.numpy(), sentence), expected[row], rtol=1e-4, atol=1e-5)
        scores, best = scorer.point(regions.numpy(), sentence)
        products = (regions @ phrases[row]).numpy()  # (n, N)
        np.testing.assert_allclose(scores, products.max(1), rtol=1e-4, atol=1e-5)
        assert best.tolist() == products.argmax(1).tolist()


def test_likelihoods_are_those_of_torch(tmp_path: Path, vocabulary: Vocabulary) -> None:
    torch.manual_seed(0)
    config = MRNNConfig(embedding=6, recurrent=7, multimodal=8, shared=True, self_normalise=0.1)
    model = MRNN(config, vocabulary, FeatureSpec("efficientnet-lite0", 64))
    model.mean_image.normal_()
    pretrained.save(tmp_path, model, {"name": "toy"})
    agree_on_likelihoods(tmp_path, torch.randn(5, 8))


def test_likelihoods_are_those_of_torch_with_the_weights_that_ship() -> None:
    agree_on_likelihoods(pretrained.find("mrnn").folder, torch.randn(5, 512))


def agree_on_likelihoods(folder: Path, images: torch.Tensor) -> None:
    """Both ways say of photos how much likelier a sentence is for them than for the mean picture."""
    model, about = pretrained.load(folder), pretrained.read_about(folder).about
    assert isinstance(model, Captioner)
    assert LikelihoodScorer.knows(about)
    scorer = LikelihoodScorer(folder, about, model.vocabulary)
    expected = model.score(images, model.encode_texts(SENTENCES), normalise="mean-image").T.numpy()
    for row, sentence in enumerate(SENTENCES):
        np.testing.assert_allclose(scorer(images.numpy(), sentence), expected[row], rtol=1e-4, atol=1e-3)


def test_it_reads_as_many_words_as_the_model() -> None:
    assert LONGEST == base.LONGEST


def test_another_family_is_left_to_torch() -> None:
    about = {"family": "vse", "config": {"encoder": "gru", "text_pooling": "max"}}
    assert SentenceEncoder.knows(about)
    assert not SentenceEncoder.knows(about | {"family": "hmlstm"})
    assert not SentenceEncoder.knows({"family": "vse", "config": {"encoder": "transformer", "text_pooling": "max"}})
    words = {"family": "dvsa", "config": {"fragments": "words", "cell": "gru"}}
    assert WordScorer.knows(words)
    assert not WordScorer.knows(about)
    assert not WordScorer.knows({"family": "dvsa", "config": {"fragments": "edges", "cell": "gru"}})
    told = {"wiring": "m-rnn", "cell": "relu", "shared": True, "self_normalise": 0.1}
    assert LikelihoodScorer.knows({"family": "mrnn", "config": told})
    assert not LikelihoodScorer.knows({"family": "mrnn", "config": told | {"self_normalise": 0.0}})
    assert not LikelihoodScorer.knows({"family": "mrnn", "config": told | {"cell": "gru"}})


def test_weights_that_cannot_be_read_are_named(tmp_path: Path, vocabulary: Vocabulary) -> None:
    save(tmp_path, vocabulary)
    about = pretrained.read_about(tmp_path).about
    (tmp_path / "model.safetensors").write_bytes(b"nonsense")
    with pytest.raises(SeesayError, match=r"cannot read the weights .*model\.safetensors"):
        SentenceEncoder(tmp_path, about, vocabulary)
