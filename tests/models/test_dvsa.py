"""Words and regions in one space: what vectors are made of, what they weigh, and that no sentence disturbs another."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from seesay.errors import SeesayError
from seesay.images.features import Features, FeatureSpec
from seesay.images.regions import fixed_regions
from seesay.layers.fragment_alignment import fragment_cost
from seesay.layers.sequences import Sequences
from seesay.models import dvsa, pretrained
from seesay.models.base import LONGEST
from seesay.models.dvsa import DVSA, DVSAConfig
from seesay.models.vse import VSE, VSEConfig
from seesay.text.edges import Edge
from seesay.text.vocabulary import END, PAD, Vocabulary

Build = Callable[..., DVSA]
SENTENCES = ["a dog runs", "a red bus", "two dogs play in the snow", "dog", "the bus is red and the dog is brown"]
VARIANTS = [
    {},
    {"magnitudes": "free"},
    {"cell": "lstm", "length_power": 0.5},
    {"cell": "rnn", "sentence": True},
    {"fragments": "edges"},
    {"fragments": "edges", "magnitudes": "free", "objective": "defrag"},
]
each_variant = pytest.mark.parametrize("config", VARIANTS, ids=lambda config: "-".join(map(str, config.values())))


@pytest.fixture(autouse=True)
def flat_parses(monkeypatch: pytest.MonkeyPatch) -> None:
    """A parser that hangs every word on the one before it."""

    def parse(sentences: list[str]) -> list[list[Edge]]:
        return [
            [Edge(max(0, token - 1), token, "det" if token else "ROOT") for token in range(len(sentence.split()))]
            for sentence in sentences
        ]

    monkeypatch.setattr(dvsa, "parse_edges", parse)


@pytest.fixture
def build(vocabulary: Vocabulary) -> Build:
    def build_model(**config: Any) -> DVSA:
        torch.manual_seed(0)
        small = {"dim": 8, "word_dim": 6, "map_dim": 10, "regions": "grid-2x2", "dropout": 0.5, "image_dropout": 0.5}
        model = DVSA(DVSAConfig(**(small | config)), vocabulary, FeatureSpec("efficientnet-lite0", 64))
        model.initialise(0)
        return model.eval()

    return build_model


def random_features(n: int = 3, dim: int = 10, seed: int = 0) -> Features:
    generator = torch.Generator().manual_seed(seed)
    return Features(torch.rand(n, dim, generator=generator), torch.rand(n, 4, 4, dim, generator=generator))


def rows(texts: Sequences) -> list[torch.Tensor]:
    return [states[:length] for states, length in zip(texts.states, texts.lengths, strict=True)]


class TestPictures:
    def test_a_free_region_is_one_layer_on_the_mean_of_the_map(self, build: Build) -> None:
        model, features = build(magnitudes="free"), random_features()
        expected = features.regions(fixed_regions("grid-2x2")) @ model.W_m.weight.T + model.W_m.bias
        torch.testing.assert_close(model.encode_images(features), expected)

    def test_balanced_regions_keep_their_ratios_and_have_unit_length_on_average(self, build: Build) -> None:
        features = random_features()
        free = build(magnitudes="free").encode_images(features)
        balanced = build().encode_images(features)
        torch.testing.assert_close(balanced.square().sum(-1).mean(1), torch.ones(3))
        torch.testing.assert_close(
            balanced.norm(dim=-1) / balanced.norm(dim=-1)[:, :1], free.norm(dim=-1) / free.norm(dim=-1)[:, :1]
        )

    def test_stored_means_and_the_map_give_the_same(self, build: Build) -> None:
        model, features = build(), random_features()
        assert model.outputs == ("pooled", "grid-2x2")
        stored = Features(features.pooled, parts=features.regions(model.boxes))
        torch.testing.assert_close(model.encode_images(stored), model.encode_images(features))

    @pytest.mark.parametrize("magnitudes", ["balanced", "free"])
    def test_any_region_can_be_asked_for_in_the_same_scale(self, build: Build, magnitudes: str) -> None:
        model, features = build(magnitudes=magnitudes), random_features()
        torch.testing.assert_close(model.encode_regions(features, model.boxes), model.encode_images(features))
        some = np.array([[0.1, 0.2, 0.5, 0.9]], np.float32)
        alone, among = model.encode_regions(features, some), model.encode_regions(features, np.r_[model.boxes, some])
        torch.testing.assert_close(alone, among[:, -1:])

    def test_the_full_frame_is_one_region(self, build: Build) -> None:
        model = build(regions="whole")
        assert model.encode_images(random_features()).shape == (3, 1, 8)

    def test_features_of_another_network_are_refused_with_both_sides_named(self, build: Build) -> None:
        with pytest.raises(SeesayError, match=r"have 12 numbers, config\.map_dim is 10"):
            build().encode_images(random_features(dim=12))


class TestSentences:
    @each_variant
    def test_a_sentence_alone_has_the_vectors_that_it_has_among_longer_ones(self, build: Build, config: dict) -> None:
        model = build(**config)
        for sentence, found in zip(SENTENCES, rows(model.encode_texts(SENTENCES)), strict=True):
            torch.testing.assert_close(found, model.encode_texts([sentence]).states[0], atol=1e-6, rtol=1e-5)

    @each_variant
    def test_there_is_a_vector_for_each_word_in_order(self, build: Build, config: dict) -> None:
        model = build(**config)
        texts = model.encode_texts(SENTENCES)
        own = texts.lengths - int(config.get("sentence", False))
        assert own.tolist() == [len(sentence.split()) for sentence in SENTENCES]
        for words, length, sentence in zip(texts.words.tolist(), own.tolist(), SENTENCES, strict=True):
            assert words[:length] == model.vocabulary.encode(sentence)

    def test_free_words_are_one_layer_on_the_states_of_both_directions(self, build: Build) -> None:
        model = build(magnitudes="free")
        x = model.embedding(torch.tensor([model.vocabulary.encode("a red bus")]))
        expected = model.W_d(model.encoder(x, torch.tensor([3])))
        torch.testing.assert_close(model.encode_texts(["a red bus"]).states, expected)

    def test_balanced_words_share_one_unit_of_length(self, build: Build) -> None:
        free, balanced = (rows(build(magnitudes=m).encode_texts(SENTENCES)) for m in ("free", "balanced"))
        for before, after in zip(free, balanced, strict=True):
            torch.testing.assert_close(after, before / before.norm(dim=1).sum(), atol=1e-6, rtol=1e-4)

    def test_length_power_divides_by_the_number_of_words(self, build: Build) -> None:
        whole = rows(build(magnitudes="free").encode_texts(SENTENCES))
        mean = rows(build(magnitudes="free", length_power=1.0).encode_texts(SENTENCES))
        for before, after in zip(whole, mean, strict=True):
            torch.testing.assert_close(after, before / len(before))

    def test_the_whole_sentence_is_one_more_fragment_as_long_as_all_words(self, build: Build) -> None:
        model = build(sentence=True)
        texts, plain = model.encode_texts(SENTENCES), build().encode_texts(SENTENCES)
        for with_whole, words, numbers in zip(rows(texts), rows(plain), texts.words, strict=True):
            torch.testing.assert_close(with_whole[:-1], words)
            torch.testing.assert_close(with_whole[-1].norm(), torch.tensor(1.0))
            assert numbers[len(words)] == END

    def test_an_edge_is_one_layer_on_head_and_word_with_a_bias_for_the_relation(self, build: Build) -> None:
        model = build(fragments="edges", magnitudes="free")
        torch.nn.init.normal_(model.b_relation.weight)
        a, red, bus = model.embedding(torch.tensor(model.vocabulary.encode("a red bus")))
        root, det = (model.b_relation.weight[dvsa.RELATIONS.index(name)] for name in ("ROOT", "det"))
        pairs = torch.stack([torch.cat([a, a]), torch.cat([a, red]), torch.cat([red, bus])])
        expected = F.relu(pairs @ model.W_edge.weight.T + torch.stack([root, det, det]))
        torch.testing.assert_close(model.encode_texts(["a red bus"]).states[0], expected)

    @each_variant
    def test_empty_and_endless_sentences_have_vectors(self, build: Build, config: dict) -> None:
        model = build(**config)
        extra = int(config.get("sentence", False))
        texts = model.encode_texts(["", "🐶", "dog " * 3000])
        assert texts.lengths.tolist() == [1 + extra, 1 + extra, LONGEST + extra]
        assert texts.states.isfinite().all()

    @each_variant
    def test_no_sentences_give_no_vectors_but_take_part_in_a_step(self, build: Build, config: dict) -> None:
        texts = build(**config).encode_texts([])
        assert (len(texts), texts.states.shape[0], texts.states.shape[2]) == (0, 0, 8)
        assert texts.states.requires_grad


class TestScores:
    def test_a_score_is_the_sum_over_words_of_the_best_region(self, build: Build) -> None:
        model = build()
        images, texts = model.encode_images(random_features()), model.encode_texts(SENTENCES)
        scores = model.score(images, texts)
        for k, picture in enumerate(images):
            for text, words in enumerate(rows(texts)):
                torch.testing.assert_close(scores[k, text], (words @ picture.T).amax(1).sum())

    @pytest.mark.parametrize("objective", ["defrag", "defrag-all"])
    def test_defrag_scores_all_pairs_of_regions_and_fragments_and_adds_the_cost_of_their_labels(
        self, build: Build, objective: str
    ) -> None:
        model = build(fragments="edges", magnitudes="free", objective=objective, fragment_weight=3.0)
        images, texts = model.encode_images(random_features()), model.encode_texts(SENTENCES[:3])
        scores, cost = model.judge(images, texts, torch.eye(3, dtype=torch.bool))
        products = images[0] @ rows(texts)[1].T  # (4, T)
        expected = products.clamp(min=0).sum() / (4 * (len(rows(texts)[1]) + 5))
        torch.testing.assert_close(scores[0, 1], expected)
        own = fragment_cost(images, texts, torch.eye(3, dtype=torch.bool), choose=objective == "defrag")
        torch.testing.assert_close(cost, 3 * own)

    def test_defrag_compares_no_sentences_with_each_other(self, build: Build) -> None:
        model = build(fragments="edges", objective="defrag")
        with pytest.raises(SeesayError, match="not of two sentences"):
            model.score(model.encode_texts(SENTENCES), model.encode_texts(SENTENCES))

    def test_only_defrag_adds_to_the_loss(self, build: Build) -> None:
        model = build()
        images, texts = model.encode_images(random_features()), model.encode_texts(SENTENCES[:3])
        scores, cost = model.judge(images, texts, torch.eye(3, dtype=torch.bool))
        assert cost is None
        torch.testing.assert_close(scores, model.score(images, texts))

    def test_the_whole_sentence_adds_its_cosine_with_the_whole_picture(self, build: Build) -> None:
        model, plain = build(sentence=True), build()
        images, texts = model.encode_images(random_features()), model.encode_texts(SENTENCES)
        wholes = torch.stack([states[-1] for states in rows(texts)])
        expected = plain.score(images, plain.encode_texts(SENTENCES)) + F.normalize(images[:, 0]) @ wholes.T
        torch.testing.assert_close(model.score(images, texts), expected)
        torch.testing.assert_close(model.score(texts, texts).diagonal(), torch.full((5,), 2.0))

    def test_sentences_find_each_other_by_their_words(self, build: Build) -> None:
        model = build()
        texts = model.encode_texts(SENTENCES)
        scores = model.score(texts, texts)
        assert scores.argmax(0).tolist() == list(range(5))
        torch.testing.assert_close(scores.diagonal(), torch.ones(5))  # every word finds itself, and they share one unit

    @each_variant
    def test_every_weight_learns(self, build: Build, config: dict) -> None:
        model = build(**config).train()
        for n_texts in range(1, 5):  # of which some are judged by their words and some as a whole
            texts = model.encode_texts(SENTENCES[:n_texts])
            model.score(model.encode_images(random_features()), texts).square().sum().backward()
        idle = [name for name, weight in model.named_parameters() if weight.grad is None or not weight.grad.any()]
        assert idle == []
        assert not model.embedding.weight.grad[PAD].any()

    def test_dropout_takes_part_in_training_only(self, build: Build) -> None:
        model, features = build(word_dropout=0.5), random_features()
        assert torch.equal(model.encode_texts(SENTENCES).states, model.encode_texts(SENTENCES).states)
        model.train()
        assert not torch.equal(model.encode_texts(SENTENCES).states, model.encode_texts(SENTENCES).states)
        assert not torch.equal(model.encode_images(features), model.encode_images(features))


def test_word_vectors_start_where_the_configuration_says(build: Build, vocabulary: Vocabulary, tmp_path: Path) -> None:
    path = tmp_path / "vectors.txt"
    path.write_text("dog 1 2 3\nbus 4 5 6\n")
    model = build(word_dim=3, word_vectors=str(path))
    found = F.normalize(model.embedding.weight[vocabulary.encode("dog bus")])
    torch.testing.assert_close(found, F.normalize(torch.tensor([[1.0, 2, 3], [4, 5, 6]])))
    assert not model.embedding.weight[PAD].any()


@pytest.mark.parametrize(
    ("key", "value", "allowed"),
    [
        ("fragments", "letters", "words, edges"),
        ("cell", "transformer", "rnn, gru, lstm"),
        ("magnitudes", "unit", "balanced, words, free"),
        ("dropout", 1.0, "0 or more, below 1"),
        ("length_power", 1.5, "0 to 1"),
        ("dim", 7, "even"),
        ("map_dim", 0, "1 or more"),
    ],
)
def test_impossible_configurations_are_refused_with_what_is_allowed(key: str, value: object, allowed: str) -> None:
    with pytest.raises(SeesayError, match=f"config.{key} is ") as caught:
        DVSAConfig(**{key: value})
    assert caught.value.allowed == allowed


def test_an_unknown_region_scheme_is_answered_with_the_known_ones() -> None:
    with pytest.raises(SeesayError, match=r"no region scheme 'circles'\n  allowed: whole, windows-N, grid-RxC"):
        DVSAConfig(regions="circles")
    with pytest.raises(SeesayError, match="edges have no sentence"):
        DVSAConfig(fragments="edges", sentence=True)


class TestMagnitudesOfWords:
    def test_regions_score_by_their_direction_and_keep_their_lengths_for_places(self, build: Build) -> None:
        model, balanced, features = build(magnitudes="words"), build(), random_features()
        images = model.encode_images(features)
        torch.testing.assert_close(images.norm(dim=-1), torch.ones(3, 5))
        regions = model.encode_regions(features, model.boxes)
        torch.testing.assert_close(regions, balanced.encode_images(features))
        torch.testing.assert_close(F.normalize(regions, dim=-1), images)
        assert balanced.weighs_regions
        assert not model.weighs_regions
        torch.testing.assert_close(model.unit_regions(features, model.boxes), images)
        torch.testing.assert_close(balanced.unit_regions(features, model.boxes), regions)

    def test_words_share_one_unit_of_length(self, build: Build) -> None:
        texts = build(magnitudes="words").encode_texts(SENTENCES)
        for states in rows(texts):
            assert states.norm(dim=-1).sum().item() == pytest.approx(1, abs=1e-5)

    def test_own_regions_need_no_map(self, build: Build) -> None:
        model, features = build(), random_features()
        means = Features(features.pooled, parts=features.regions(model.boxes))
        torch.testing.assert_close(
            model.encode_regions(means, model.boxes), model.encode_regions(features, model.boxes)
        )


class TestTraining:
    def test_a_feature_is_dropped_from_all_regions_of_a_picture(self, build: Build) -> None:
        model = build(magnitudes="free", image_dropout=0.5).train()
        model.W_m.weight.data = torch.eye(8, 10)
        model.W_m.bias.data.fill_(0)
        vectors = model.encode_images(Features(torch.ones(50, 10), torch.ones(50, 4, 4, 10)))  # (50, 5, 8)
        assert vectors.unique().tolist() == [0, 2]
        torch.testing.assert_close(vectors, vectors[:, :1].expand_as(vectors))

    def test_some_regions_are_left_out_and_never_the_whole(self, build: Build) -> None:
        model, features = build(magnitudes="free", image_dropout=0.0, region_dropout=0.5), random_features()
        everything = model.encode_images(features)
        model.train()
        kept = [model.encode_images(features) for _ in range(20)]
        assert {vectors.shape for vectors in kept} == {(3, 3, 8)}
        found = set()
        for vectors in kept:
            torch.testing.assert_close(vectors[:, 0], everything[:, 0])
            for region in range(1, 3):
                distances = (everything - vectors[:, region : region + 1]).norm(dim=-1).amax(0)
                assert distances.min() < 1e-5
                found.add(int(distances.argmin()))
        assert found == {1, 2, 3, 4}

    def test_it_can_begin_as_a_joint_embedding_of_the_same_shape(self, build: Build, tmp_path: Path) -> None:
        words = Vocabulary.build(["the snow is red", "a dog"], min_count=1)  # some of the model's, in another order
        torch.manual_seed(1)
        embedding = VSE(VSEConfig(dim=8, word_dim=6, image_dim=10), words, FeatureSpec("efficientnet-lite0", 64)).eval()
        pretrained.save(tmp_path, embedding, {"name": "tiny"})
        model, features = build(sentence=True, start_from=str(tmp_path)), random_features()
        known = ["a red dog is the snow", "snow"]
        whole = model.encode_texts(known)
        ends = whole.states[torch.arange(2), whole.lengths - 1]
        torch.testing.assert_close(ends, embedding.encode_texts(known), atol=1e-3, rtol=0)
        frames = Features(features.regions(fixed_regions("whole"))[:, 0])
        pictures = F.normalize(model.encode_images(features)[:, 0], dim=1)
        torch.testing.assert_close(pictures, embedding.encode_images(frames), atol=1e-3, rtol=0)

    def test_a_joint_embedding_of_another_shape_is_refused(self, build: Build, colours_run: Path) -> None:
        with pytest.raises(SeesayError, match=r"\S+ cannot start from that of .*, which is \(.*\); here it is \("):
            build(start_from=str(colours_run / "weights"))

    def test_only_a_joint_embedding_can_be_begun_from(self, build: Build, captioner_run: Path) -> None:
        with pytest.raises(SeesayError, match="a mrnn"):
            build(start_from=str(captioner_run / "weights"))

    def test_a_batch_is_judged_by_words_or_by_the_sentence_and_use_by_both(self, build: Build) -> None:
        model = build(sentence=True, word_weight=0.5, word_batches=0.7, dropout=0.0, image_dropout=0.0)
        images = model.encode_images(random_features())
        batches = [[" ".join(words.split()[:n]) for words in SENTENCES] for n in range(1, 9)]
        n_by_words = 0
        for batch in batches:
            texts = model.encode_texts(batch)
            whole = torch.stack(
                [states[length - 1] for states, length in zip(texts.states, texts.lengths, strict=True)]
            )
            by_sentence = F.normalize(images[:, 0], dim=1) @ whole.T
            together = model.eval().score(images, texts)
            judged = model.train().score(images, texts)
            torch.testing.assert_close(judged, model.score(images, texts))
            if not torch.allclose(judged, by_sentence):
                torch.testing.assert_close(together, 0.5 * judged + by_sentence)
                n_by_words += 1
        assert 0 < n_by_words < len(batches)
