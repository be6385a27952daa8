"""Sentences, phrases, pictures and regions in one space."""

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
from seesay.layers.tree_plan import plan_readings
from seesay.models.hmlstm import HMLSTM, HMLSTMConfig
from seesay.text import readings as _readings
from seesay.text.trees import Tree
from seesay.text.vocabulary import Vocabulary

Build = Callable[..., HMLSTM]
SENTENCES = ["a dog runs", "a red bus", "two dogs play in the snow", "dog", "the bus is red and the dog is brown"]
VARIANTS = [{}, {"sentence": "max"}, {"syntax": False, "batch_norm": False}, {"hidden": 5}]
each_variant = pytest.mark.parametrize("config", VARIANTS, ids=lambda config: "-".join(map(str, config)) or "print")


def toy_parse(sentences: list[str]) -> list[Tree]:
    """An article and the words up to the next verb or preposition are a noun phrase; everything hangs under S."""
    trees = []
    for sentence in sentences:
        parts: list[Tree] = []
        open_phrase: list[Tree] = []
        for place, word in enumerate(sentence.split()):
            leaf = Tree.leaf(place, word)
            if word in ("a", "the", "two"):
                open_phrase = [leaf]
            elif open_phrase and word not in ("runs", "is", "play", "and", "in"):
                open_phrase.append(leaf)
            else:
                parts += [Tree.join("NP", open_phrase)] if open_phrase else []
                open_phrase = []
                parts.append(leaf)
        parts += [Tree.join("NP", open_phrase)] if open_phrase else []
        trees.append(Tree.join("S", parts) if parts else Tree("S", 0, 0))
    return trees


@pytest.fixture(autouse=True)
def toy_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_readings, "parse", toy_parse)


@pytest.fixture
def build(vocabulary: Vocabulary) -> Build:
    def build_model(**config: Any) -> HMLSTM:
        torch.manual_seed(0)
        small = {"dim": 8, "hidden": 6, "word_dim": 4, "image_dim": 10, "regions": "grid-2x2"}
        small |= {"word_vectors": "", "fixed_words": False, "dropout": 0.5, "image_dropout": 0.5}
        model = HMLSTM(HMLSTMConfig(**(small | config)), vocabulary, FeatureSpec("efficientnet-lite0", 64))
        model.initialise(0)
        for branch in (model.W_t, model.W_m):
            if branch.norm is not None:  # as after some training
                torch.nn.init.uniform_(branch.norm.running_var, 0.5, 2.0)
                torch.nn.init.normal_(branch.norm.running_mean)
        return model.eval()

    return build_model


def random_features(n: int = 3, dim: int = 10, seed: int = 0) -> Features:
    maps = torch.rand(n, 4, 4, dim, generator=torch.Generator().manual_seed(seed))
    return Features(maps.mean((1, 2)), maps)


class TestPictures:
    def test_a_picture_goes_through_a_linear_layer_batch_norm_and_to_unit_length(self, build: Build) -> None:
        model, features = build(), random_features()
        branch = model.W_m
        assert branch.norm is not None
        y = features.pooled @ branch.linear.weight.T + branch.linear.bias
        assert branch.norm.running_mean is not None
        assert branch.norm.running_var is not None
        y = (y - branch.norm.running_mean) / (branch.norm.running_var + branch.norm.eps).sqrt()
        torch.testing.assert_close(model.embed_images(features), F.normalize(y * branch.norm.weight, dim=1))

    def test_the_whole_picture_as_a_region_is_the_picture(self, build: Build) -> None:
        model, features = build(), random_features()
        whole = model.encode_regions(features, fixed_regions("whole"))
        torch.testing.assert_close(whole[:, 0], model.embed_images(features))
        torch.testing.assert_close(model.encode_images(features)[:, 0], model.embed_images(features))

    def test_stored_means_and_a_map_give_the_same_regions(self, build: Build) -> None:
        model, features = build(), random_features()
        stored = Features(features.pooled, None, features.regions(model.boxes))
        torch.testing.assert_close(model.encode_images(stored), model.encode_images(features))

    def test_training_sees_pictures_and_chosen_regions_as_they_are_seen_apart(self, build: Build) -> None:
        model, features = build(), random_features()
        owner, region = torch.tensor([0, 2, 2]), torch.tensor([1, 0, 4])
        shown = torch.tensor([0, 3])
        images, regions, some = model.encode_for_training(features, owner, region, shown)
        torch.testing.assert_close(images, model.embed_images(features))
        torch.testing.assert_close(regions, model.encode_images(features)[owner, region])
        torch.testing.assert_close(some, model.encode_images(features)[:, shown])
        assert model.encode_for_training(features, owner, region, shown[:0])[2].shape == (3, 0, 8)

    def test_features_of_another_network_are_refused_with_what_to_set(self, build: Build) -> None:
        with pytest.raises(SeesayError, match="7 numbers") as error:
            build().embed_images(random_features(dim=7))
        assert error.value.hint == "--set config.image_dim=7"


class TestSentences:
    @each_variant
    def test_every_sentence_has_a_unit_vector_that_does_not_depend_on_the_others(
        self, build: Build, config: dict[str, Any]
    ) -> None:
        model = build(**config)
        together = model.embed_texts(SENTENCES)
        torch.testing.assert_close(together.norm(dim=1), torch.ones(len(SENTENCES)))
        torch.testing.assert_close(together, torch.cat([model.embed_texts([text]) for text in SENTENCES]))

    @each_variant
    def test_a_sentence_that_is_one_noun_phrase_names_it(self, build: Build, config: dict[str, Any]) -> None:
        """The phrase's own node is the same in every sentence; only a sentence has the root above it."""
        model = build(**config)
        found = model.encode_trees(["a dog runs", "a dog is in the snow", "the snow"])
        assert found.owner.tolist() == [0, 1, 1, 2]
        torch.testing.assert_close(found.phrases[0], found.phrases[1])
        torch.testing.assert_close(found.phrases[2], found.phrases[3])
        assert found.keys[0] == found.keys[1] != found.keys[2] == found.keys[3]

    def test_all_nodes_come_from_the_pass_that_gives_the_sentences(self, build: Build) -> None:
        model = build()
        torch.testing.assert_close(model.encode_trees(SENTENCES).sentences, model.embed_texts(SENTENCES))

    def test_a_phrase_alone_is_what_it_is_within_a_sentence(self, build: Build) -> None:
        model = build()
        found = model.encode_trees(["a dog is in the snow"])
        alone = model.encode_phrases(["the snow", "dog", "a dog"])
        torch.testing.assert_close(alone[[2, 0]], found.phrases)
        torch.testing.assert_close(alone[1:2], model.embed_texts(["dog"]))  # no noun phrase, but a sentence
        assert (alone[2] - model.embed_texts(["a dog"])[0]).abs().max() > 1e-3

    def test_the_largest_values_are_taken_over_the_nodes_of_the_own_tree(self, build: Build) -> None:
        model = build(sentence="max")
        (reading,) = model.read(["a dog is in the snow"])
        words, plan = plan_readings([reading])
        states = model.tree(model.embedding(torch.from_numpy(words)), plan)[plan.rows]  # S NP a dog is in NP the snow
        found = model.encode_trees(["a dog runs", "a dog is in the snow"])
        torch.testing.assert_close(found.sentences[1:], model.W_t(states.amax(0, keepdim=True)))
        torch.testing.assert_close(found.phrases[2:], model.W_t(states[6:9].amax(0, keepdim=True)))

    def test_an_empty_sentence_is_one_unknown_word_and_no_sentences_are_no_rows(self, build: Build) -> None:
        model = build()
        assert model.embed_texts([]).shape == (0, 8)
        empty = model.encode_trees(["", "a dog runs"])
        assert empty.sentences.shape == (2, 8)
        assert empty.owner.tolist() == [1]

    def test_fixed_words_learn_nothing_and_others_do(
        self, build: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("SEESAY_CACHE", str(tmp_path))
        file = tmp_path / "vectors.txt"
        file.write_text("dog 1 0 0 0\nbus 0 1 0 0\n")
        for fixed in (True, False):
            model = build(fixed_words=fixed, word_vectors=str(file))
            dog = model.embedding.weight[model.vocabulary.encode("dog")[0]]
            torch.testing.assert_close(dog.detach(), torch.tensor([1.0, 0.0, 0.0, 0.0]))
            model.embed_texts(["dog"]).sum().backward()
            assert (model.embedding.weight.grad is None) == fixed

    def test_hidden_words_and_dropout_change_sentences_in_training_only(self, build: Build) -> None:
        model = build(dropout=0.0, word_dropout=0.6, batch_norm=False)
        before = model.embed_texts(SENTENCES)
        model.train()
        torch.manual_seed(0)
        assert (model.embed_texts(SENTENCES) - before).abs().max() > 1e-3
        model.eval()
        torch.testing.assert_close(model.embed_texts(SENTENCES), before)

    def test_one_row_in_training_is_normalised_as_after_it(self, build: Build) -> None:
        model = build(dropout=0.0)
        expected = model.embed_texts(["a dog runs"])
        model.train()
        torch.testing.assert_close(model.embed_texts(["a dog runs"]), expected)


class TestBags:
    """A sentence as what it names, and a picture as its regions."""

    def test_a_word_speaks_for_the_smallest_phrase_around_it_and_others_say_nothing(
        self, build: Build, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        tree = Tree.from_json('["S", ["NP", ["NP", "a", "dog"], ["PP", "in", ["NP", "the", "snow"]]], "runs"]')
        monkeypatch.setattr(_readings, "parse", lambda sentences: [tree])
        model = build()
        found = model.encode_trees([""])  # a dog in the snow, a dog, the snow
        texts = model.encode_texts([""])
        outer, dog, snow = found.phrases
        expected = torch.stack([dog / 6, dog / 6, outer / 3, snow / 6, snow / 6, torch.zeros(8), found.sentences[0]])
        torch.testing.assert_close(texts.states[0], expected)
        assert texts.lengths.tolist() == [7]
        torch.testing.assert_close(texts.states[0, :6].sum(0), found.bags().states[0].sum(0))

    def test_a_sentence_that_names_nothing_is_a_phrase_itself(self, build: Build) -> None:
        model = build()
        texts, bags = model.encode_texts(["dog runs", "a dog"]), model.encode_trees(["dog runs", "a dog"]).bags()
        whole = model.embed_texts(["dog runs"])[0]
        torch.testing.assert_close(texts.states[0, :3], torch.stack([whole / 2, whole / 2, whole]))
        torch.testing.assert_close(bags.states[0, 0], whole)
        assert bags.lengths.tolist() == [1, 1]

    def test_phrases_that_consist_of_others_are_left_out_of_the_bag(
        self, build: Build, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        tree = Tree.from_json('["S", ["NP", ["NP", "a", "dog"], ["NP", "a", "bus"]]]')
        monkeypatch.setattr(_readings, "parse", lambda sentences: [tree])
        assert build().encode_trees([""]).shares.tolist() == [0, 0.5, 0.5]

    @pytest.mark.parametrize("bag_score", [0.0, 0.7])
    def test_the_score_adds_the_mean_over_phrases_with_their_best_regions_to_the_wholes(
        self, build: Build, bag_score: float
    ) -> None:
        model, features = build(bag_score=bag_score), random_features()
        scores = model.score(model.encode_images(features), model.encode_texts(SENTENCES))
        found, regions = model.encode_trees(SENTENCES), model.encode_images(features)
        for text in range(len(SENTENCES)):
            own = found.phrases[found.owner == text]
            own = own if len(own) else found.sentences[text : text + 1]
            for image in range(3):
                bag = (regions[image] @ own.T).amax(0).mean()
                whole = model.embed_images(features)[image] @ found.sentences[text]
                torch.testing.assert_close(scores[image, text], whole + bag_score * bag)

    def test_no_sentences_are_no_rows(self, build: Build) -> None:
        model = build()
        assert len(model.encode_texts([])) == len(model.encode_trees([]).bags()) == 0


class TestConfiguration:
    @pytest.mark.parametrize(
        ("config", "message"),
        [
            ({"sentence": "last"}, "config.sentence is 'last'"),
            ({"dropout": 1.0}, "config.dropout is 1.0"),
            ({"round_epochs": 0}, "config.round_epochs is 0"),
            ({"phrase_weight": -1.0}, "config.phrase_weight is -1.0"),
            ({"bag_score": -1.0}, "config.bag_score is -1.0"),
            ({"region_dropout": 1.0}, "config.region_dropout is 1.0"),
            ({"fixed_words": True, "word_vectors": ""}, "there are no word_vectors"),
            ({"regions": "everywhere"}, "no region scheme 'everywhere'"),
            ({"regions": "whole", "parts_only": True}, "config.regions has no parts"),
        ],
    )
    def test_what_cannot_be_is_refused_by_name(self, config: dict[str, Any], message: str) -> None:
        with pytest.raises(SeesayError, match=message):
            HMLSTMConfig(**config)

    def test_its_regions_are_kept_beside_the_vector_of_a_picture(self, build: Build) -> None:
        model = build()
        assert model.outputs == ("pooled", "grid-2x2")
        assert np.array_equal(model.boxes, fixed_regions("grid-2x2"))
