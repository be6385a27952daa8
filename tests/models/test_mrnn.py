"""m-RNN: its equations by hand, its wirings one by one, and that all ways to a probability give the same one."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from seesay.errors import SeesayError
from seesay.images.features import Features, FeatureSpec
from seesay.models.base import LONGEST
from seesay.models.mrnn import MRNN, WIRINGS, MRNNConfig, g
from seesay.text.vocabulary import END, PAD, START, UNKNOWN, Vocabulary
from tests.models.mrnn_toys import SENTENCES, Build, each_cell, each_shape, each_wiring, random_features


@pytest.fixture
def build(build_mrnn: Build) -> Build:
    return build_mrnn


def g_of(x: float) -> float:
    return 1.7159 * math.tanh(2 * x / 3)


class TestEquations:
    """One unit a layer and a vocabulary of five words: a pocket calculator gives the same."""

    @pytest.fixture
    def model(self) -> MRNN:
        vocabulary = Vocabulary.build(["dog"], min_count=1)
        config = MRNNConfig(embedding=1, recurrent=1, multimodal=1, image_dim=1)
        model = MRNN(config, vocabulary, FeatureSpec())
        values = {
            "embedding.weight": [[0.0], [1.0], [0.0], [0.0], [-2.0]],  # START is 1, dog -2
            "second.weight": [[0.5]],
            "second.bias": [0.1],
            "recurrence.weight": [[0.8]],
            "V_w.weight": [[0.3]],
            "V_r.weight": [[0.7]],
            "V_r.bias": [0.2],
            "V_I.weight": [[2.0]],
            "words.weight": [[0.0], [0.0], [1.0], [0.0], [3.0]],
            "bias": [0.0, 0.0, 0.5, 0.0, 0.0],
        }
        model.load_state_dict({name: torch.tensor(value) for name, value in values.items()}, strict=False)
        assert values.keys() == dict(model.named_parameters()).keys()
        return model.eval()

    def test_a_sentence_of_one_word(self, model: MRNN) -> None:
        images = model.encode_images(Features(torch.tensor([[0.25]])))
        # Read START: w = 0.5 · 1 + 0.1, r = ReLU(0.8 · 0 + w)
        w, r = 0.6, 0.6
        m = g_of(0.3 * w + 0.7 * r + 0.2 + 2.0 * 0.25)
        z = 3 * math.exp(0) + math.exp(m + 0.5) + math.exp(3 * m)
        dog = 3 * m - math.log(z)
        # Read dog: w = 0.5 · −2 + 0.1, and 0.8 · 0.6 − 0.9 is below 0
        w, r = -0.9, 0.0
        m = g_of(0.3 * w + 0.7 * r + 0.2 + 2.0 * 0.25)
        z = 3 * math.exp(0) + math.exp(m + 0.5) + math.exp(3 * m)
        end = m + 0.5 - math.log(z)
        assert model.log_prob(images, ["dog"]).item() == pytest.approx(dog + end, abs=1e-6)

    def test_the_recurrent_layer_remembers(self, model: MRNN) -> None:
        images = model.encode_images(Features(torch.tensor([[0.25]])))
        state = model.start(images)
        _, state = model.step(state, torch.tensor([START]))
        assert state[1].item() == pytest.approx(0.6)  # Eq. 2
        _, state = model.step(state, torch.tensor([START]))
        assert state[1].item() == pytest.approx(0.8 * 0.6 + 0.6)
        _, state = model.step(state, torch.tensor([model.vocabulary.encode("dog")[0]]))
        assert state[1].item() == 0.0  # 0.8 · 1.08 − 0.9 is below 0

    def test_the_scaled_tangent_is_about_one_at_one(self) -> None:
        x = torch.linspace(-3, 3, 13)
        torch.testing.assert_close(g(x), torch.tensor([g_of(value) for value in x.tolist()]))
        assert g(torch.tensor(1.0)).item() == pytest.approx(1.0, abs=1e-4)  # why LeCun chose the two constants

    def test_the_refined_feature_is_the_pictures_part_of_the_multimodal_layer(self, model: MRNN) -> None:
        images = model.encode_images(Features(torch.tensor([[0.25]])))
        assert model.refine(images).item() == pytest.approx(g_of(0.5))


def hidden_of(model: MRNN, features: Features, words: list[int]) -> Tensor:
    """The multimodal layer after each of some words, the same words for every picture: (n, T, M)."""
    images = model.encode_images(features)
    return model.read(images, torch.tensor([words]).expand(len(images), -1))


def memory_of(model: MRNN, features: Features, words: list[int]) -> Tensor:
    """The recurrent layer after the last of some words: (n, R)."""
    state = model.start(model.encode_images(features))
    for word in words:
        _, state = model.step(state, torch.tensor([word]).expand(len(features.pooled)))
    return state[1]


class TestWirings:
    """What is connected to what, as Figure 5 draws it."""

    @each_wiring
    def test_where_the_image_enters(self, build: Build, wiring: str) -> None:
        model, features = build(wiring=wiring), random_features(2)
        words = [START, 5, 6]
        in_memory, in_hidden = memory_of(model, features, words), hidden_of(model, features, words)
        # Rows of one product may differ in their last digit.
        sees_in_memory = not torch.allclose(in_memory[0], in_memory[1], atol=1e-6)
        sees_at_all = not torch.allclose(in_hidden[0], in_hidden[1], atol=1e-6)
        assert sees_in_memory is (wiring in ("vis-in-rnn", "vis-in-rnn-both", "vis-in-rnn-both-shared"))
        assert sees_at_all is (wiring != "rnn-base")

    def test_the_original_sees_the_picture_beside_the_word_and_the_state(self, build: Build) -> None:
        model, features = build(), random_features(2)
        words = torch.tensor([[START, 5], [START, 5]])
        w = model.second(model.embedding(words))
        r1 = torch.relu(w[:, 0])
        r2 = torch.relu(r1 @ model.recurrence.weight.T + w[:, 1])
        r = torch.stack([r1, r2], 1)
        seen = features.pooled @ model.V_I.weight.T
        expected = g(w @ model.V_w.weight.T + r @ model.V_r.weight.T + model.V_r.bias + seen.unsqueeze(1))
        torch.testing.assert_close(hidden_of(model, features, [START, 5]), expected)

    def test_without_the_embedding_the_multimodal_layer_has_two_inputs(self, build: Build) -> None:
        model, features = build(wiring="no-emb-input"), random_features(2)
        r = memory_of(model, features, [START, 5])
        expected = g(model.V_r(r) + features.pooled @ model.V_I.weight.T)
        torch.testing.assert_close(hidden_of(model, features, [START, 5])[:, -1], expected)
        assert not any(name.startswith("V_w") for name, _ in model.named_parameters())

    def test_one_embedding_layer_is_as_wide_as_the_recurrent_one(self, build: Build) -> None:
        model, features = build(wiring="one-layer-emb", embedding=3), random_features(2)
        assert model.embedding.weight.shape[1] == model.config.embedding == model.config.recurrent == 5
        assert not any(name.startswith("second") for name, _ in model.named_parameters())
        w = model.embedding.weight[5]
        r = memory_of(model, features, [5])
        torch.testing.assert_close(r, torch.relu(w).expand(2, -1))
        expected = g(model.V_w(w) + model.V_r(r) + features.pooled @ model.V_I.weight.T)
        torch.testing.assert_close(hidden_of(model, features, [5])[:, 0], expected)

    def test_the_first_embedding_layer_may_take_the_place_of_the_second_at_the_multimodal_layer(
        self, build: Build
    ) -> None:
        model, features = build(wiring="emb-one-input"), random_features(2)
        first = model.embedding.weight[5]
        r = memory_of(model, features, [5])
        torch.testing.assert_close(r, torch.relu(model.second(first)).expand(2, -1))  # the state still reads the second
        expected = g(model.V_w(first) + model.V_r(r) + features.pooled @ model.V_I.weight.T)
        torch.testing.assert_close(hidden_of(model, features, [5])[:, 0], expected)

    def test_the_picture_in_the_recurrent_layer_only(self, build: Build) -> None:
        model, features = build(wiring="vis-in-rnn"), random_features(2)
        w = model.second(model.embedding.weight[5]) + features.pooled @ model.V_I.weight.T
        r = torch.relu(w)
        torch.testing.assert_close(memory_of(model, features, [5]), r)
        torch.testing.assert_close(hidden_of(model, features, [5])[:, 0], g(model.V_w(w) + model.V_r(r)))

    @pytest.mark.parametrize("shared", [False, True])
    def test_the_picture_in_both_layers_by_two_maps_or_one(self, build: Build, shared: bool) -> None:
        model = build(wiring="vis-in-rnn-both-shared" if shared else "vis-in-rnn-both")
        features = random_features(2)
        n_recurrent = model.config.recurrent
        assert n_recurrent == (6 if shared else 5)
        to_words, to_multimodal = (
            (model.V_I.weight, model.V_I.weight)
            if shared
            else (model.V_I.weight[:n_recurrent], model.V_I.weight[n_recurrent:])
        )
        assert len(to_multimodal) == 6
        w = model.second(model.embedding.weight[5]) + features.pooled @ to_words.T
        r = torch.relu(w)
        expected = g(model.V_w(w) + model.V_r(r) + features.pooled @ to_multimodal.T)
        torch.testing.assert_close(hidden_of(model, features, [5])[:, 0], expected)

    def test_the_language_model_gives_every_picture_the_same_words(self, build: Build) -> None:
        model = build(wiring="rnn-base")
        log_probs = model.log_prob(model.encode_images(random_features()), ["a dog runs"] * 4)
        assert torch.equal(log_probs, log_probs[:1].expand(4))

    def test_shared_words_are_read_off_the_embedding_through_one_map(self, build: Build) -> None:
        model = build(shared=True)
        hidden = torch.rand(3, 6)
        expected = (hidden @ model.to_embedding.weight.T) @ model.embedding.weight.T + model.bias
        torch.testing.assert_close(model.predict(hidden), expected)
        apart, together = (sum(weight.numel() for weight in build(shared=way).parameters()) for way in (False, True))
        n_words = len(model.vocabulary)
        assert apart - together == n_words * 6 - 6 * 4
        before = model.predict(hidden)
        model.embedding.weight.data[5] += 1.0
        assert (model.predict(hidden) != before).nonzero()[:, 1].unique().tolist() == [5]


class TestProbabilities:
    @each_shape
    def test_word_by_word_is_what_reading_at_once_gives(self, build: Build, config: dict[str, Any]) -> None:
        model = build(**config)
        images = model.encode_images(random_features(2))
        words = torch.tensor([[START, 5, 6, 4], [START, 4, UNKNOWN, 7]])
        at_once = model.predict(model.read(images, words)).log_softmax(-1)
        state = model.start(images)
        for place in range(4):
            log_probs, state = model.step(state, words[:, place])
            torch.testing.assert_close(log_probs, at_once[:, place])
        torch.testing.assert_close(log_probs.exp().sum(-1), torch.ones(2))

    @each_shape
    def test_a_sentence_has_the_probability_of_its_steps_and_of_its_end(
        self, build: Build, config: dict[str, Any]
    ) -> None:
        model = build(**config)
        images = model.encode_images(random_features())
        for row, sentence in enumerate(SENTENCES):
            state, total, read = model.start(images[row : row + 1]), 0.0, START
            for word in [*model.vocabulary.encode(sentence), END]:
                log_probs, state = model.step(state, torch.tensor([read]))
                total, read = total + log_probs[0, word].item(), word
            assert model.log_prob(images, SENTENCES)[row].item() == pytest.approx(total, abs=1e-4)

    @each_shape
    def test_longer_sentences_in_the_batch_change_nothing(self, build: Build, config: dict[str, Any]) -> None:
        model = build(**config)
        images = model.encode_images(random_features())
        together = model.log_prob(images, SENTENCES)
        alone = torch.cat([model.log_prob(images[row : row + 1], [text]) for row, text in enumerate(SENTENCES)])
        torch.testing.assert_close(together, alone, atol=1e-5, rtol=1e-5)

    @each_shape
    def test_rows_of_a_state_may_be_picked_and_repeated(self, build: Build, config: dict[str, Any]) -> None:
        model = build(**config)
        _, state = model.step(model.start(model.encode_images(random_features(3))), torch.tensor([START] * 3))
        rows = torch.tensor([2, 0, 0])
        picked, _ = model.step(tuple(part[rows] for part in state), torch.tensor([5, 6, 5]))
        whole, _ = model.step(state, torch.tensor([6, 4, 5]))
        torch.testing.assert_close(picked[0], whole[2])
        torch.testing.assert_close(picked[1], whole[0])
        assert not torch.allclose(picked[1], picked[2])

    def test_an_empty_sentence_is_one_unknown_word(self, build: Build) -> None:
        model = build()
        images = model.encode_images(random_features(2))
        expected = model.log_prob(images, ["zebra", "zebra"])
        torch.testing.assert_close(model.log_prob(images, ["", "?!"]), expected)

    def test_of_a_very_long_sentence_the_first_words_are_read_and_then_its_end(self, build: Build) -> None:
        model = build()
        images = model.encode_images(random_features(1))
        longest = " ".join(["dog"] * LONGEST)
        torch.testing.assert_close(model.log_prob(images, [longest + " red" * 50]), model.log_prob(images, [longest]))

    def test_what_is_read_and_what_is_to_be_predicted(self, build: Build) -> None:
        model = build()
        read, wanted, lengths = model.predicted_rows(["a dog", "zebra"])
        a, dog = model.vocabulary.encode("a dog")
        assert read.tolist() == [[START, a, dog], [START, UNKNOWN, PAD]]
        assert wanted.tolist() == [[a, dog, END], [UNKNOWN, END, PAD]]
        assert lengths.tolist() == [3, 2]

    @each_cell
    def test_no_sentences_have_no_words_and_still_take_part_in_a_step(self, build: Build, cell: str) -> None:
        model = build(cell=cell).train()
        logits, wanted, owner = model.word_logits(model.encode_images(random_features(0)), [])
        assert (logits.shape, wanted.shape, owner.shape) == ((0, len(model.vocabulary)), (0,), (0,))
        logits.sum().backward()  # as in a process whose share of a batch is nothing
        assert model.log_prob(model.encode_images(random_features(0)), []).shape == (0,)


@pytest.mark.parametrize(
    ("key", "value", "allowed"),
    [
        ("wiring", "both", ", ".join(WIRINGS)),
        ("cell", "rnn", "relu, gru, lstm"),
        ("dropout", 1.0, "0 or more, below 1"),
        ("image_dropout", float("nan"), "0 or more, below 1"),
        ("embedding", 0, "1 or more"),
        ("recurrent", -1, "1 or more"),
        ("multimodal", 0, "1 or more"),
        ("image_dim", 0, "1 or more"),
        ("n_marginal", 0, "1 or more"),
        ("self_normalise", -0.1, "0 or more"),
        ("self_normalise", float("nan"), "0 or more"),
    ],
)
def test_impossible_configurations_are_refused_with_what_is_allowed(key: str, value: object, allowed: str) -> None:
    with pytest.raises(SeesayError, match=f"config.{key} is ") as caught:
        MRNNConfig(**{key: value})
    assert caught.value.allowed == allowed
