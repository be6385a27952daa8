"""NIC: the picture is read once, before START, and all ways to a probability give the same one."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from seesay.captioning.decoding import greedy
from seesay.engines import TorchModel
from seesay.errors import SeesayError
from seesay.images.features import Features, FeatureSpec
from seesay.models.nic import NIC, NICConfig
from seesay.text.vocabulary import END, START, Vocabulary

Build = Callable[..., NIC]
SENTENCES = ["a dog runs", "dog", "a red zebra"]


@pytest.fixture
def build(vocabulary: Vocabulary) -> Build:
    def build_model(**config: Any) -> NIC:
        torch.manual_seed(0)
        small = {"embedding": 4, "hidden": 5, "image_dim": 7}
        model = NIC(NICConfig(**(small | config)), vocabulary, FeatureSpec("efficientnet-lite0", 64))
        model.initialise(0)
        for weight in model.parameters():
            weight.data.normal_(0, 0.7)
        return model.eval().requires_grad_(False)

    return build_model


def images_of(model: NIC, n: int = 3) -> torch.Tensor:
    return model.encode_images(Features(torch.rand(n, 7, generator=torch.Generator().manual_seed(0))))


def test_word_by_word_and_whole_sentences_are_equally_probable(build: Build) -> None:
    model = build()
    images = images_of(model)
    found = model.log_prob(images, SENTENCES)
    for row, sentence in enumerate(SENTENCES):
        state, total = model.start(images[row : row + 1]), 0.0
        for before, word in zip(
            [START, *model.vocabulary.encode(sentence)], [*model.vocabulary.encode(sentence), END], strict=True
        ):
            log_probs, state = model.step(state, torch.tensor([before]))
            total += float(log_probs[0, word])
        assert total == pytest.approx(float(found[row]), abs=1e-4)


def test_the_picture_is_read_as_one_more_word_in_front(build: Build) -> None:
    model = build()
    images, words = images_of(model), torch.tensor([[START, 5], [START, 6], [START, 4]])
    inputs = torch.cat([images.unsqueeze(1), model.embedding(words)], 1)
    torch.testing.assert_close(model.read(images, words), model.lstm(inputs)[0][:, 1:])


def test_probabilities_of_the_next_word_sum_to_one(build: Build) -> None:
    model = build()
    log_probs, _ = model.step(model.start(images_of(model)), torch.full((3,), START))
    torch.testing.assert_close(log_probs.exp().sum(1), torch.ones(3))


def test_the_common_decoders_write_with_it(build: Build) -> None:
    model = build()
    images = images_of(model)
    answers = TorchModel(model)
    for row, hypothesis in enumerate(greedy(answers, answers.start(images.numpy()), max_length=4)):
        log_probs, _ = model.step(model.start(images[row : row + 1]), torch.tensor([START]))
        first = hypothesis.words[0] if hypothesis.words else END
        assert first == int(log_probs[0].argmax())


def test_words_begin_as_likely_as_they_are_frequent(vocabulary: Vocabulary) -> None:
    model = NIC(NICConfig(image_dim=7), vocabulary, FeatureSpec("efficientnet-lite0", 64))
    model.initialise(0)
    a, bus = vocabulary.encode("a bus")
    ratio = float((model.words.bias[a] - model.words.bias[bus]).detach().exp())
    assert ratio == pytest.approx(vocabulary.counts[a] / vocabulary.counts[bus])


def test_scores_of_all_pairs_are_refused_and_announced(build: Build) -> None:
    model = build()
    assert not model.can_score
    with pytest.raises(SeesayError, match=r"no scores of images and sentences(.|\n)*log_prob"):
        model.score(images_of(model), model.encode_texts(SENTENCES))


@pytest.mark.parametrize(("key", "value"), [("hidden", 0), ("dropout", 1.0)])
def test_impossible_configurations_are_refused(key: str, value: float) -> None:
    with pytest.raises(SeesayError, match=f"config.{key} is {value}"):
        NICConfig(**{key: value})  # type: ignore[arg-type]
