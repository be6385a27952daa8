"""DVSA's caption RNN: its equations by hand, the picture seen once, regions beside their full frame."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from seesay.captioning.beam import beam
from seesay.captioning.decoding import greedy
from seesay.engines import TorchModel
from seesay.errors import SeesayError
from seesay.images.features import Features, FeatureSpec
from seesay.images.regions import fixed_regions
from seesay.models import pretrained
from seesay.models.base import Captioner
from seesay.models.dvsa_captions import CELLS, GLANCES, DVSACaptions, DVSACaptionsConfig, cut_regions, load_describer
from seesay.models.registry import family_class
from seesay.text.vocabulary import END, START, Vocabulary

Build = Callable[..., DVSACaptions]
SENTENCES = ["a dog runs", "dog", "two dogs play in the snow", "a red zebra"]
each_shape = pytest.mark.parametrize(
    "config",
    [{"cell": cell, "context": context, "shared": shared, "glances": glances}
     for cell in CELLS for context in (True, False) for shared in (True, False) for glances in GLANCES],
    ids=lambda config: "-".join(map(str, config.values())),
)  # fmt: skip


@pytest.fixture
def build(vocabulary: Vocabulary) -> Build:
    """Build an untrained model, ready to use, from the keys of its configuration; no weight is 0."""

    def build_model(**config: Any) -> DVSACaptions:
        torch.manual_seed(0)
        small = {"embedding": 5, "hidden": 7, "image_dim": 3}
        model = DVSACaptions(DVSACaptionsConfig(**(small | config)), vocabulary, FeatureSpec("efficientnet-lite0", 64))
        for weight in model.parameters():
            weight.data.normal_(0, 0.5)
        return model.eval()

    return build_model


def features_with_maps(n: int = 4) -> Features:
    """Maps of 2 × 2 cells, of which the pictures' vectors are the means."""
    maps = torch.rand(n, 2, 2, 3, generator=torch.Generator().manual_seed(0))
    return Features(maps.mean((1, 2)), maps)


def test_the_equations_of_one_unit_give_what_a_pocket_calculator_gives() -> None:
    vocabulary = Vocabulary.build(["dog"], min_count=1)
    config = DVSACaptionsConfig(embedding=1, hidden=1, image_dim=1, context=False)
    model = DVSACaptions(config, vocabulary, FeatureSpec("efficientnet-lite0", 64)).eval()
    for weight in model.parameters():
        weight.data.fill_(0)
    dog = vocabulary.encode("dog")[0]
    model.W_hi.weight.data.fill_(2)  # b_v = 2 · 1.5
    model.embedding.weight.data[dog] = 1
    model.recurrence.weight_ih_l0.data.fill_(1)
    model.recurrence.weight_hh_l0.data.fill_(0.5)
    assert model.W_oh is not None
    model.W_oh.weight.data[dog] = 1
    picture = model.encode_images(Features(torch.tensor([[1.5]])))
    state = model.start(picture)
    first, state = model.step(state, torch.tensor([START]))  # h = ReLU(0 + 3)
    assert first[0, dog].item() == pytest.approx(3 - math.log(math.exp(3) + 4))
    second, _ = model.step(state, torch.tensor([dog]))  # h = ReLU(1 + 0.5 · 3), and the picture is gone
    assert second[0, END].item() == pytest.approx(-math.log(math.exp(2.5) + 4))


@each_shape
def test_reading_at_once_and_word_by_word_give_the_same_probabilities(build: Build, config: dict[str, Any]) -> None:
    model = build(**config)
    images = model.encode_images(features_with_maps())
    expected = model.log_prob(images, SENTENCES)
    for row, sentence in enumerate(SENTENCES):
        state, total = model.start(images[row : row + 1]), 0.0
        read = [START, *model.vocabulary.encode(sentence)]
        for word, following in zip(read, [*read[1:], END], strict=True):
            log_probs, state = model.step(state, torch.tensor([word]))
            total += log_probs[0, following].item()
        assert total == pytest.approx(expected[row].item(), abs=1e-5)


@each_shape
def test_the_whole_picture_is_a_region_of_itself(build: Build, config: dict[str, Any]) -> None:
    model, features = build(**config), features_with_maps(1)
    regions = model.encode_images(cut_regions(features, fixed_regions("grid-2x2")))
    assert regions.shape == (5, 5)
    torch.testing.assert_close(regions[:1], model.encode_images(features))


def test_a_picture_that_is_seen_at_every_word_is_not_forgotten(build: Build) -> None:
    pictures = features_with_maps(2)
    for glances, differs in (("first", False), ("every", True)):
        model = build(glances=glances)
        model.recurrence.weight_hh_l0.data.fill_(0)  # no memory: what it knows of the picture it sees
        state = model.start(model.encode_images(pictures))
        _, state = model.step(state, torch.tensor([START, START]))
        one, other = model.step(state, torch.tensor([5, 5]))[0]
        assert torch.allclose(one, other) != differs


def test_a_region_without_context_does_not_depend_on_the_rest(build: Build) -> None:
    features = features_with_maps(1)
    assert features.map is not None
    changed = features.map.clone()
    changed[:, 1, 1] += 1
    elsewhere = Features(changed.mean((1, 2)), changed)
    left = np.array([[0, 0, 0.5, 1]], np.float32)
    alone, beside = build(context=False), build(context=True)
    here, there = (cut_regions(picture, left) for picture in (features, elsewhere))
    torch.testing.assert_close(alone.encode_images(here), alone.encode_images(there))
    assert not torch.allclose(beside.encode_images(here), beside.encode_images(there))


def test_training_hides_some_full_frames_and_only_training(build: Build) -> None:
    model = build(hide_context=0.5)
    features = Features(torch.ones(400, 3))
    assert len(model.encode_images(features).round(decimals=4).unique(dim=0)) == 1
    model.train()
    kinds, counts = model.encode_images(features).round(decimals=4).unique(dim=0, return_counts=True)
    assert len(kinds) == 2
    assert 140 < counts[0] < 260


def test_before_it_has_learned_it_says_words_as_often_as_people(vocabulary: Vocabulary) -> None:
    config = DVSACaptionsConfig(embedding=4, hidden=6, image_dim=3)
    model = DVSACaptions(config, vocabulary, FeatureSpec("efficientnet-lite0", 64))
    model.initialise(0)
    counts = torch.tensor(vocabulary.counts).float().clamp(min=0.1)
    assert model.W_oh is not None
    model.W_oh.weight.data.fill_(0)
    log_probs, _ = model.step(model.start(torch.zeros(1, 4)), torch.tensor([START]))
    torch.testing.assert_close(log_probs[0].exp(), counts / counts.sum())


def test_regions_are_described_by_the_one_decoder(build: Build) -> None:
    model = build()
    rows = model.encode_images(cut_regions(features_with_maps(1), fixed_regions("grid-2x2"))).detach()
    answers = TorchModel(model)
    found = greedy(answers, answers.start(rows.numpy()), max_length=6)
    best = beam(answers, answers.start(rows.numpy()), width=1, max_length=6)
    assert [caption.words for caption in found] == [captions[0].words for captions in best]


def test_all_pairs_are_refused(build: Build) -> None:
    model = build()
    assert not model.can_score
    with pytest.raises(SeesayError, match="has no scores"):
        model.score(torch.zeros(1, 5), model.encode_texts(["a dog"]))


def test_weights_come_back_as_they_were(build: Build, tmp_path: Path) -> None:
    model = build(cell="lstm", shared=True)
    pretrained.save(tmp_path, model, {"name": "tiny"})
    again = pretrained.load(tmp_path)
    assert isinstance(again, Captioner)
    assert type(again) is family_class("dvsa-captions")
    images = model.encode_images(features_with_maps())
    torch.testing.assert_close(again.log_prob(images, SENTENCES), model.log_prob(images, SENTENCES), atol=0.02, rtol=0)


def test_only_weights_that_describe_regions_are_taken(colours_run: Path) -> None:
    with pytest.raises(SeesayError, match="colours describes no regions"):
        load_describer(colours_run / "weights")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("cell", "gru"),
        ("glances", "never"),
        ("hidden", 0),
        ("embedding", 0),
        ("hide_context", 1.0),
        ("dropout", -0.1),
        ("image_dim", 0),
    ],
)
def test_impossible_shapes_are_refused(key: str, value: Any) -> None:
    with pytest.raises(SeesayError, match=f"config.{key} is {value!r}"):
        DVSACaptionsConfig(**{key: value})


def test_known_words_start_as_large_as_random_ones_and_fixed_ones_learn_nothing(
    vocabulary: Vocabulary, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEESAY_CACHE", str(tmp_path))
    file = tmp_path / "vectors.txt"
    file.write_text("dog 3 4 0 0 0\nsnow 0 5 0 0 0\n")
    for fixed in (False, True):
        config = DVSACaptionsConfig(embedding=5, hidden=7, image_dim=3, word_vectors=str(file), fixed_words=fixed)
        model = DVSACaptions(config, vocabulary, FeatureSpec("efficientnet-lite0", 64))
        model.initialise(0)
        dog, snow = (model.word_vectors()[vocabulary.encode([word])[0]] for word in ("dog", "snow"))
        assert float(torch.cosine_similarity(dog, snow, dim=0)) == pytest.approx(0.8, abs=1e-5)
        assert float(model.word_vectors().std()) == pytest.approx(0.1)
        assert model.embedding.weight.requires_grad is not fixed
    with pytest.raises(SeesayError, match="there are no word_vectors"):
        DVSACaptionsConfig(fixed_words=True)
