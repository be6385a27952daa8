"""A joint embedding: unit vectors that depend on the picture or the sentence and on nothing else."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

from seesay.errors import SeesayError
from seesay.images.features import Features, FeatureSpec
from seesay.models import pretrained
from seesay.models.base import LONGEST
from seesay.models.vse import VSE, VSEConfig
from seesay.text.vocabulary import PAD, UNKNOWN, Vocabulary

Build = Callable[..., VSE]
SENTENCES = ["a dog runs", "a red bus", "two dogs play in the snow", "dog", "the bus is red and the dog is brown"]
ENCODERS = [
    {"encoder": "mean"},
    *(
        {"encoder": encoder, "text_pooling": pooling, "bidirectional": both}
        for encoder in ("gru", "lstm")
        for pooling in ("max", "mean", "last")
        for both in (True, False)
    ),
]
each_encoder = pytest.mark.parametrize("config", ENCODERS, ids=lambda config: "-".join(map(str, config.values())))


def random_features(n: int = 3, dim: int = 1280, seed: int = 0) -> Features:
    generator = torch.Generator().manual_seed(seed)
    return Features(torch.rand(n, dim, generator=generator), torch.rand(n, 3, 3, dim, generator=generator))


class TestLearningOn:
    """`config.start_from`: from another embedding, on the same network or on one that has it beside another."""

    def test_beside_another_network_it_is_at_first_what_the_source_is(self, tmp_path: Path) -> None:
        words = Vocabulary.build(["a dog runs", "a red bus"], 1)
        torch.manual_seed(1)
        source = VSE(VSEConfig(dim=8, word_dim=6), words, FeatureSpec(size=300)).eval()
        pretrained.save(tmp_path / "source", source, {"name": "source"})
        config = VSEConfig(dim=8, word_dim=6, image_dim=2560, start_from=str(tmp_path / "source"))
        more = Vocabulary.build(["a zebra", "a dog runs", "a red bus"], 1)
        learner = VSE(config, more, FeatureSpec(backbone="eye-imagenet"))
        learner.initialise(2)
        own = torch.rand(3, 1280)
        for eye in torch.rand(2, 3, 1280):
            seen = learner.eval().encode_images(Features(torch.cat([eye, own], 1)))
            torch.testing.assert_close(seen, source.encode_images(Features(own)), atol=2e-3, rtol=2e-3)
        known = ["a red dog", "bus"]
        torch.testing.assert_close(learner.encode_texts(known), source.encode_texts(known), atol=2e-3, rtol=2e-3)


class TestSentences:
    def test_the_mean_encoder_is_one_layer_on_the_mean_of_the_words(self, build: Build) -> None:
        model = build(encoder="mean")
        words = model.embedding.weight[model.vocabulary.encode("a red bus")]
        expected = words.mean(0) @ model.encoder.weight.T + model.encoder.bias
        torch.testing.assert_close(model.encode_texts(["a red bus"])[0], expected / expected.norm())

    def test_a_recurrent_encoder_is_the_pooled_states_over_time(self, build: Build) -> None:
        model = build(encoder="gru", bidirectional=False, text_pooling="max")
        words = model.embedding.weight[model.vocabulary.encode("a red bus")]
        gru = next(module for module in model.encoder.modules() if isinstance(module, torch.nn.GRU))
        expected = gru(words.unsqueeze(0))[0].amax(1)
        torch.testing.assert_close(model.encode_texts(["a red bus"]), F.normalize(expected))

    @each_encoder
    def test_a_sentence_alone_has_the_vector_that_it_has_among_longer_ones(self, build: Build, config: dict) -> None:
        model = build(**config)
        together = model.encode_texts(SENTENCES)
        alone = torch.cat([model.encode_texts([sentence]) for sentence in SENTENCES])
        torch.testing.assert_close(together, alone, atol=1e-6, rtol=1e-5)

    @each_encoder
    def test_vectors_have_unit_length_and_keep_the_order_of_the_sentences(self, build: Build, config: dict) -> None:
        model = build(**config)
        vectors = model.encode_texts(SENTENCES)
        torch.testing.assert_close(vectors.norm(dim=1), torch.ones(5))
        torch.testing.assert_close(model.encode_texts(SENTENCES[::-1]), vectors.flip(0), atol=1e-6, rtol=1e-5)
        assert (vectors @ vectors.T - torch.eye(5)).max() < 0.9999  # and they differ

    @each_encoder
    def test_a_sentence_without_known_words_is_one_unknown_word(self, build: Build, config: dict) -> None:
        model = build(**config)
        expected = model.encode_words(torch.tensor([[UNKNOWN]]), torch.tensor([1]))
        vectors = model.encode_texts(["", "   ", "🐶🎉", "?!", "zebra", "犬"])
        torch.testing.assert_close(vectors, expected.expand(6, -1))

    def test_a_sentence_of_unknown_words_alone_is_a_row_of_them(self, build: Build) -> None:
        model = build()
        expected = model.encode_words(torch.tensor([[UNKNOWN] * 3]), torch.tensor([3]))
        torch.testing.assert_close(model.encode_texts(["der Hund läuft"]), expected)

    def test_of_a_very_long_sentence_the_first_words_are_read(self, build: Build) -> None:
        model = build()
        start = " ".join(["dog", "bus"] * (LONGEST // 2))
        torch.testing.assert_close(model.encode_texts([start + " red" * 5000]), model.encode_texts([start]))
        assert not torch.allclose(model.encode_texts([start.replace("bus", "red", 1)]), model.encode_texts([start]))

    def test_word_order_counts_for_recurrent_encoders_only(self, build: Build) -> None:
        for encoder, counts in (("mean", False), ("gru", True), ("lstm", True)):
            model = build(encoder=encoder)
            one, other = model.encode_texts(["a dog in the bus", "the bus in a dog"])
            assert torch.allclose(one, other, atol=1e-6) is not counts

    def test_no_sentences_give_no_vectors(self, build: Build) -> None:
        vectors = build().encode_texts([])
        assert vectors.shape == (0, 8)
        assert vectors.requires_grad  # a process whose share of a batch is empty still takes part in the step


class TestPictures:
    def test_a_picture_is_one_layer_on_its_vector(self, build: Build) -> None:
        model, features = build(), random_features()
        expected = F.normalize(features.pooled @ model.project.weight.T + model.project.bias)
        torch.testing.assert_close(model.encode_images(features), expected)
        assert model.outputs == ("pooled",)

    def test_attention_adds_learned_means_over_regions(self, build: Build) -> None:
        model = build(image_pooling="attention", heads=2, n_regions=5)
        assert model.outputs == ("pooled", "map")
        features = random_features()
        vectors = model.encode_images(features)
        torch.testing.assert_close(vectors.norm(dim=1), torch.ones(3))
        regions = features.regions(model.boxes)  # (3, 5, 1280)
        weights = (regions @ model.pool.queries.weight.T).softmax(1)
        attended = [(weights[:, :, head, None] * regions).sum(1) for head in (0, 1)]
        expected = model.project(torch.cat([features.pooled, *attended], 1))
        torch.testing.assert_close(vectors, F.normalize(expected))

    def test_attention_sees_what_the_vector_does_not(self, build: Build) -> None:
        model, one = build(image_pooling="attention"), random_features()
        other = Features(one.pooled, random_features(seed=1).map)
        assert not torch.allclose(model.encode_images(one), model.encode_images(other))

    def test_attention_without_a_map_is_refused(self, build: Build) -> None:
        with pytest.raises(ValueError, match="hold no map"):
            build(image_pooling="attention").encode_images(Features(torch.zeros(1, 1280)))

    def test_features_of_another_network_are_refused_with_both_sides_named(self, build: Build) -> None:
        with pytest.raises(
            SeesayError, match=r"have 4096 numbers, config\.image_dim is 1280\n.*config\.image_dim=4096"
        ):
            build().encode_images(Features(torch.zeros(1, 4096)))
        model = build(image_pooling="attention", image_dim=4096, map_dim=256)
        with pytest.raises(SeesayError, match=r"have 512 numbers, config\.map_dim is 256"):
            model.encode_images(Features(torch.zeros(1, 4096), torch.zeros(1, 2, 2, 512)))
        assert model.encode_images(Features(torch.zeros(1, 4096), torch.zeros(1, 2, 2, 256))).shape == (1, 8)


def test_the_score_is_the_cosine(build: Build) -> None:
    model = build()
    images, texts = model.encode_images(random_features()), model.encode_texts(SENTENCES)
    expected = F.cosine_similarity(images.unsqueeze(1), texts.unsqueeze(0), dim=2)
    torch.testing.assert_close(model.score(images, texts), expected)


@pytest.mark.parametrize("config", [{"encoder": "mean"}, {"encoder": "gru"}, {"image_pooling": "attention"}])
def test_every_weight_learns(build: Build, config: dict) -> None:
    model = build(**config).train()
    scores = model.score(model.encode_images(random_features()), model.encode_texts(SENTENCES))
    scores.square().sum().backward()
    assert [name for name, weight in model.named_parameters() if weight.grad is None or not weight.grad.any()] == []
    assert not model.embedding.weight.grad[PAD].any()


def test_dropout_takes_part_in_training_only(build: Build) -> None:
    model, features = build(), random_features()
    assert torch.equal(model.encode_texts(SENTENCES), model.encode_texts(SENTENCES))
    assert torch.equal(model.encode_images(features), model.encode_images(features))
    model.train()
    assert not torch.equal(model.encode_texts(SENTENCES), model.encode_texts(SENTENCES))
    assert not torch.equal(model.encode_images(features), model.encode_images(features))


def test_word_dropout_makes_words_unknown_in_training_only(build: Build) -> None:
    model = build(word_dropout=0.999999, dropout=0.0)
    measured = model.encode_texts(["a red bus"])
    torch.testing.assert_close(model.train().encode_texts(["a red bus"]), model.eval().encode_texts(["x y z"]))
    torch.testing.assert_close(model.encode_texts(["a red bus"]), measured)


def test_word_vectors_start_where_the_configuration_says(build: Build, vocabulary: Vocabulary, tmp_path: Path) -> None:
    path = tmp_path / "vectors.txt"
    path.write_text("dog 1 2 3\nbus 4 5 6\nzebra 7 8 9\n")
    model = build(word_dim=3, word_vectors=str(path))
    rows = model.embedding.weight[vocabulary.encode("dog bus")]
    torch.testing.assert_close(
        rows / rows.norm(dim=1, keepdim=True), F.normalize(torch.tensor([[1.0, 2, 3], [4, 5, 6]]))
    )
    assert not model.embedding.weight[PAD].any()


@pytest.mark.parametrize(
    ("key", "value", "allowed"),
    [
        ("encoder", "transformer", "mean, gru, lstm"),
        ("text_pooling", "first", "max, mean, last"),
        ("image_pooling", "max", "pooled, attention"),
        ("dropout", 1.0, "0 or more, below 1"),
        ("word_dropout", float("nan"), "0 or more, below 1"),
        ("image_dropout", -0.1, "0 or more, below 1"),
        ("dim", 0, "1 or more"),
        ("heads", -1, "1 or more"),
        ("dim", 7, "even"),
    ],
)
def test_impossible_configurations_are_refused_with_what_is_allowed(key: str, value: object, allowed: str) -> None:
    with pytest.raises(SeesayError, match=f"config.{key} is ") as caught:
        VSEConfig(**{key: value})
    assert caught.value.allowed == allowed


def test_a_mean_of_words_has_one_pooling() -> None:
    assert VSEConfig(encoder="mean", text_pooling="max").text_pooling == "mean"
    assert VSEConfig(dim=7, bidirectional=False).dim == 7
