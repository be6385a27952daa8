"""How an m-RNN starts, learns, is saved, and goes on from another."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from seesay.images.features import Features, FeatureSpec
from seesay.models import pretrained
from seesay.models.base import Captioner
from seesay.models.mrnn import MRNN, MRNNConfig
from seesay.text.vocabulary import END, Vocabulary
from tests.models.mrnn_toys import SENTENCES, Build, each_shape, each_wiring, random_features


@pytest.fixture
def build(build_mrnn: Build) -> Build:
    return build_mrnn


@each_wiring
def test_every_wiring_travels_with_its_weights(build: Build, tmp_path: Path, wiring: str) -> None:
    model = build(wiring=wiring)
    pretrained.save(tmp_path, model, {"name": "tiny"})
    loaded = pretrained.load_captioner(tmp_path)
    images = [captioner.encode_images(random_features()) for captioner in (model, loaded)]
    expected, found = model.log_prob(images[0], SENTENCES), loaded.log_prob(images[1], SENTENCES)
    torch.testing.assert_close(found, expected, atol=0.05, rtol=0.01)  # half precision


@each_shape
def test_every_weight_learns(build: Build, config: dict[str, Any]) -> None:
    model = build(**config).train()
    model.log_prob(model.encode_images(random_features()), SENTENCES).sum().backward()
    assert [name for name, weight in model.named_parameters() if weight.grad is None or not weight.grad.any()] == []


def test_dropout_takes_part_in_training_only(build: Build) -> None:
    for key in ("dropout", "image_dropout"):
        model, features = build(**{key: 0.5}), random_features()

        def measure(model: Captioner = model, features: Features = features) -> Tensor:
            return model.log_prob(model.encode_images(features), SENTENCES)

        assert torch.equal(measure(), measure())
        model.train()
        assert not torch.equal(measure(), measure())


def test_it_starts_with_the_frequencies_of_the_words(vocabulary: Vocabulary) -> None:
    torch.manual_seed(0)
    model = MRNN(MRNNConfig(image_dim=7), vocabulary, FeatureSpec())
    model.initialise(0)
    counts = torch.tensor(vocabulary.counts, dtype=torch.float32)
    differences = model.bias[END:].detach() - model.bias[END].detach()
    seen = counts[END:] > 0
    torch.testing.assert_close(differences[seen], (counts[END:] / counts[END]).log()[seen])
    assert (model.bias[:END] < model.bias[END:][seen].min()).all()
    product = model.recurrence.weight @ model.recurrence.weight.T
    torch.testing.assert_close(product, torch.eye(256), atol=1e-4, rtol=0)


def test_word_vectors_are_the_second_embedding_layer(build: Build) -> None:
    model = build()
    torch.testing.assert_close(model.word_vectors(), model.second(model.embedding.weight))
    assert model.word_vectors().shape == (len(model.vocabulary), 5)


class TestLearningOn:
    """`config.start_from`: from another m-RNN, on the same network or on one that has it beside another."""

    @pytest.fixture
    def source(self, tmp_path: Path) -> MRNN:
        torch.manual_seed(1)
        words = Vocabulary.build(["a dog runs", "a cat sleeps"], 1)
        made = MRNN(MRNNConfig(embedding=6, recurrent=6, multimodal=6, image_dim=1280), words, FeatureSpec(size=300))
        made.initialise(1)
        pretrained.save(tmp_path / "source", made, {"name": "source"})
        return made

    def _learner(self, tmp_path: Path, spec: FeatureSpec, dim: int) -> MRNN:
        words = Vocabulary.build(["a zebra", "a dog runs", "a cat sleeps"], 1)
        config = MRNNConfig(embedding=6, recurrent=6, multimodal=6, image_dim=dim, start_from=str(tmp_path / "source"))
        made = MRNN(config, words, spec)
        made.initialise(2)
        return made.eval()

    def test_it_says_at_first_what_the_source_says(self, source: MRNN, tmp_path: Path) -> None:
        learner = self._learner(tmp_path, FeatureSpec(size=300), 1280)
        features = Features(torch.rand(3, 1280))
        captions = ["a dog runs", "a cat", "a dog"]
        with torch.inference_mode():
            own, theirs = (
                model.word_logits(model.encode_images(features), captions)[0] for model in (learner, source.eval())
            )
        places = [learner.vocabulary.words.index(word) for word in source.vocabulary.words]
        torch.testing.assert_close(own[:, places], theirs, atol=2e-3, rtol=2e-3)  # the source is in half precision

    def test_beside_another_network_it_sees_only_its_own_half(self, source: MRNN, tmp_path: Path) -> None:
        learner = self._learner(tmp_path, FeatureSpec(backbone="eye-imagenet"), 2560)
        own = torch.rand(3, 1280)
        found = [learner.encode_images(Features(torch.cat([eye, own], 1))) for eye in torch.rand(2, 3, 1280)]
        torch.testing.assert_close(found[0], found[1])
        torch.testing.assert_close(found[0], source.eval().encode_images(Features(own)), atol=2e-3, rtol=2e-3)
