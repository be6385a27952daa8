"""The identifier: its equations on one pair, that all ways to a score agree, and its probabilities."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from seesay.errors import SeesayError
from seesay.images.features import Features, FeatureSpec
from seesay.models import pretrained
from seesay.models.identifier import Identifier, IdentifierConfig, load_identifier
from seesay.text.vocabulary import PAD, Vocabulary

Build = Callable[..., Identifier]
SENTENCES = ["a dog runs", "dog", "two dogs play in the snow", "a red zebra"]


@pytest.fixture
def build(vocabulary: Vocabulary) -> Build:
    """Build an untrained model, ready to use, from the keys of its configuration; no weight is 0."""

    def build_model(**config: Any) -> Identifier:
        small = {"dim": 6, "hidden": 5, "word_dim": 4, "image_dim": 7, "word_vectors": ""}
        torch.manual_seed(0)
        model = Identifier(IdentifierConfig(**(small | config)), vocabulary, FeatureSpec("efficientnet-lite0", 64))
        model.initialise(0)
        for weight in model.parameters():
            weight.data.normal_(0, 0.5)
        return model.eval().requires_grad_(False)

    return build_model


def random_features(n: int = 3, dim: int = 7) -> Features:
    return Features(torch.rand(n, dim, generator=torch.Generator().manual_seed(0)))


def test_the_picture_is_the_first_input_and_the_last_output_is_judged(build: Build) -> None:
    model = build()
    images, texts = model.encode_images(random_features()), model.encode_texts(SENTENCES)
    for row, length in enumerate(texts.lengths.tolist()):
        inputs = torch.cat([images[1:2], texts.states[row, :length]]).unsqueeze(0)
        wanted = model.output(model.lstm(inputs)[0, -1])
        torch.testing.assert_close(model.score(images, texts)[1, row], wanted[0])


def test_candidates_score_as_they_do_one_by_one(build: Build) -> None:
    model = build()
    images, texts = model.encode_images(random_features()), model.encode_texts(SENTENCES)
    candidates = torch.tensor([[0, 1], [2, 0], [1, 1], [2, 1]])
    scores = model.score(images, texts)  # (n_images, n_texts)
    wanted = torch.stack([scores[candidates[row], row] for row in range(4)])
    torch.testing.assert_close(model.choose(images[candidates], texts), wanted)


def test_scores_do_not_depend_on_how_many_pairs_are_read_at_once(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    model = build()
    images, texts = model.encode_images(random_features()), model.encode_texts(SENTENCES)
    at_once = model.score(images, texts)
    monkeypatch.setattr("seesay.models.identifier.PAIRS_AT_ONCE", 2)
    torch.testing.assert_close(model.score(images, texts), at_once)


def test_a_sentence_scores_the_same_beside_longer_ones(build: Build) -> None:
    model = build()
    images = model.encode_images(random_features())
    together, alone = model.encode_texts(SENTENCES), model.encode_texts(SENTENCES[1:2])
    torch.testing.assert_close(model.score(images, together)[:, 1:2], model.score(images, alone))


def test_nothing_that_the_lstm_reads_is_negative(build: Build) -> None:
    model = build()
    assert (model.encode_images(random_features()) >= 0).all()
    assert (model.encode_texts(SENTENCES).states >= 0).all()


def test_words_start_as_those_of_a_joint_embedding(build: Build) -> None:
    other = pretrained.load("vse")
    words = ["dog", "dogs", "snow"]
    theirs = other.embedding.weight[other.vocabulary.encode(words)]
    model = build()
    known = Vocabulary.build(["dog dogs snow runs"], min_count=1)
    model = Identifier(replace(model.config, words_from="vse", word_dim=300), known, model.feature_spec)
    model.initialise(0)
    ours = model.embedding.weight[known.encode(words)].detach()
    scale = (ours[0] - ours[1]).norm() / (theirs[0] - theirs[1]).norm()  # turned and scaled, no more
    torch.testing.assert_close(torch.cdist(ours, ours), scale * torch.cdist(theirs, theirs), rtol=1e-3, atol=1e-3)
    assert not model.embedding.weight[PAD].any()


def test_words_that_cannot_be_taken_are_refused(build: Build) -> None:
    model = build()
    with pytest.raises(SeesayError, match=r"words_from is 'mrnn', a mrnn(.|\n)*a vse"):
        Identifier(replace(model.config, words_from="mrnn"), model.vocabulary, model.feature_spec).initialise(0)
    wide = replace(model.config, words_from="vse", word_dim=301)
    with pytest.raises(SeesayError, match=r"the words of vse have 300 numbers(.|\n)*1 to 300"):
        Identifier(wide, model.vocabulary, model.feature_spec).initialise(0)


def test_nothing_has_no_scores(build: Build) -> None:
    model = build()
    images, texts = model.encode_images(random_features()), model.encode_texts(SENTENCES)
    assert model.score(images[:0], texts).shape == (0, 4)
    assert model.choose(images[:0].unsqueeze(0)[:0], texts[torch.arange(0)]).shape == (0, 0)


def test_a_further_layer_has_its_own_width(build: Build) -> None:
    model = build(fully_connected=9)
    widths = [layer.out_features for layer in model.image_layers if isinstance(layer, torch.nn.Linear)]
    assert widths == [9, 6]


def test_logits_become_probabilities_by_temperatures_and_an_offset(build: Build) -> None:
    model = build()
    logits = torch.tensor([2.0, 0.0])
    model.calibration.copy_(torch.tensor([2.0, 0.5, 4.0]))
    torch.testing.assert_close(model.match_probability(logits), torch.sigmoid(torch.tensor([1.5, 0.5])))
    torch.testing.assert_close(model.choice_probability(logits), torch.softmax(torch.tensor([0.5, 0.0]), 0))
    assert model.temperature == 4


def test_weights_come_back_with_their_calibration(build: Build, tmp_path: Path) -> None:
    model = build(image_dim=1280)
    model.calibration.copy_(torch.tensor([1.5, 0.25, 2.0]))
    pretrained.save(tmp_path, model, {"name": "tiny"})
    loaded = load_identifier(tmp_path)
    assert loaded.calibration.tolist() == [1.5, 0.25, 2.0]
    images, texts = random_features(dim=1280), model.encode_texts(SENTENCES)
    scores = (found.score(found.encode_images(images), texts) for found in (model, loaded))
    torch.testing.assert_close(*scores, rtol=0.02, atol=0.02)


def test_weights_of_another_family_are_refused() -> None:
    with pytest.raises(SeesayError, match=r"vse gives no probability of a match(.|\n)*seesay models"):
        load_identifier("vse")


@pytest.mark.parametrize(
    ("key", "value", "allowed"),
    [
        ("dim", 0, "1 or more"),
        ("hard", 1.5, "0 to 1"),
        ("dropout", 1.0, "below 1"),
        ("fully_connected", -1, "0 or more"),
    ],
)
def test_impossible_configurations_are_refused_with_what_is_allowed(key: str, value: float, allowed: str) -> None:
    with pytest.raises(SeesayError, match=rf"config.{key} is {value}(.|\n)*{allowed}"):
        IdentifierConfig(**{key: value})  # type: ignore[arg-type]
