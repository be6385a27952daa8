"""m-RNN: its equations by hand, its wirings one by one, and that all ways to a probability give the same one."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from seesay.errors import SeesayError
from seesay.images.features import Features, FeatureSpec
from seesay.models import pretrained
from seesay.models.base import LONGEST, NORMALISATIONS, Captioner
from seesay.models.mrnn import CELLS, MRNN, WIRINGS, MRNNConfig, g
from seesay.text.vocabulary import END, PAD, START, UNKNOWN, Vocabulary

Build = Callable[..., MRNN]
SENTENCES = ["a dog runs", "dog", "two dogs play in the snow", "a red zebra"]
SEES_AT_MULTIMODAL_ONLY = WIRINGS[:4]
each_wiring = pytest.mark.parametrize("wiring", WIRINGS)
each_cell = pytest.mark.parametrize("cell", CELLS)
each_shape = pytest.mark.parametrize(
    "config",
    [*({"wiring": wiring} for wiring in WIRINGS), {"cell": "gru"}, {"cell": "lstm"}, {"shared": True}],
    ids=lambda config: "-".join(map(str, config.values())),
)


@pytest.fixture
def build(vocabulary: Vocabulary) -> Build:
    """Build an untrained model, ready to use, from the keys of its configuration; no weight is 0."""

    def build_model(**config: Any) -> MRNN:
        small = {"embedding": 4, "recurrent": 5, "multimodal": 6, "image_dim": 7, "n_marginal": 3}
        torch.manual_seed(0)
        model = MRNN(MRNNConfig(**(small | config)), vocabulary, FeatureSpec("efficientnet-lite0", 64))
        model.initialise(0)
        for weight in model.parameters():
            weight.data.normal_(0, 0.5)
        return model.eval()

    return build_model


def random_features(n: int = 4, dim: int = 7, seed: int = 0) -> Features:
    return Features(torch.rand(n, dim, generator=torch.Generator().manual_seed(seed)))


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


class TestScores:
    @pytest.fixture(params=[{}, {"shared": True}, {"cell": "lstm"}, *({"wiring": w} for w in WIRINGS[1:4])], ids=str)
    def model(self, build: Build, request: pytest.FixtureRequest) -> MRNN:
        model = build(**request.param)
        assert model.can_score
        model.finalize(random_features(5, seed=9))
        return model

    def likelihoods(self, model: MRNN, images: Tensor) -> Tensor:
        return torch.stack([model.log_prob(row.expand(len(SENTENCES), -1), SENTENCES) for row in images])

    def test_unnormalised_they_are_log_probabilities(self, model: MRNN) -> None:
        images = model.encode_images(random_features(3))
        scores = model.score(images, model.encode_texts(SENTENCES), normalise="none")
        torch.testing.assert_close(scores, self.likelihoods(model, images), atol=1e-4, rtol=1e-5)

    def test_normalised_they_are_divided_by_the_mean_over_sampled_training_pictures(self, model: MRNN) -> None:
        images = model.encode_images(random_features(3))
        sampled = model.encode_images(Features(random_features(5, seed=9).pooled[:3]))  # n_marginal is 3
        mean = self.likelihoods(model, sampled).exp().mean(0).log()
        expected = self.likelihoods(model, images) - mean
        texts = model.encode_texts(SENTENCES)
        torch.testing.assert_close(model.score(images, texts, normalise="marginal"), expected, atol=1e-4, rtol=1e-5)
        torch.testing.assert_close(model.score(images, texts), expected, atol=1e-4, rtol=1e-5)  # the default

    def test_or_by_the_mean_training_picture(self, model: MRNN) -> None:
        images = model.encode_images(random_features(3))
        mean_picture = model.encode_images(Features(random_features(5, seed=9).pooled.mean(0, keepdim=True)))
        expected = self.likelihoods(model, images) - self.likelihoods(model, mean_picture)
        found = model.score(images, model.encode_texts(SENTENCES), normalise="mean-image")
        torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-5)

    def test_the_order_of_pictures_for_a_sentence_is_the_same_in_all_three(self, model: MRNN) -> None:
        images, texts = model.encode_images(random_features(4, seed=2)), model.encode_texts(SENTENCES)
        orders = [model.score(images, texts, normalise=way).argsort(0) for way in NORMALISATIONS]
        assert all(torch.equal(order, orders[0]) for order in orders)

    def test_what_is_done_is_told_until_all_is_done(self, model: MRNN) -> None:
        told: list[tuple[int, int]] = []
        texts = model.encode_texts(SENTENCES)
        model.score(model.encode_images(random_features(3)), texts, on_progress=lambda *done: told.append(done))
        assert told
        assert told[-1][0] == told[-1][1]

    def test_sentences_are_encoded_without_any_picture(self, model: MRNN) -> None:
        texts = model.encode_texts(SENTENCES)
        model.V_I.weight.data.normal_()
        again = model.encode_texts(SENTENCES)
        assert torch.equal(texts.states, again.states)
        assert torch.equal(texts.words, again.words)
        assert texts.lengths.tolist() == [4, 2, 7, 4]  # the end counts


class TestScoreRefusals:
    @pytest.mark.parametrize("wiring", [w for w in WIRINGS if w not in SEES_AT_MULTIMODAL_ONLY])
    def test_wirings_that_do_not_see_at_the_multimodal_layer_only(self, build: Build, wiring: str) -> None:
        model = build(wiring=wiring)
        assert not model.can_score
        with pytest.raises(SeesayError, match=f"the wiring {wiring} has no scores") as caught:
            model.score(model.encode_images(random_features()), model.encode_texts(SENTENCES))
        assert str(caught.value.allowed).endswith(", ".join(SEES_AT_MULTIMODAL_ONLY))

    def test_an_unknown_normalisation_is_answered_with_the_known_ones(self, build: Build) -> None:
        model = build()
        with pytest.raises(SeesayError, match="there is no normalisation 'mean'") as caught:
            model.score(model.encode_images(random_features()), model.encode_texts(SENTENCES), normalise="mean")
        assert caught.value.allowed == "marginal, mean-image, none"

    def test_features_of_another_network_are_refused_with_both_sides_named(self, build: Build) -> None:
        with pytest.raises(SeesayError, match=r"have 9 numbers, config\.image_dim is 7\n.*config\.image_dim=9"):
            build().encode_images(random_features(dim=9))


class TestSoftmax:
    """Weights that were trained with `self_normalise` rank by exact probabilities, unless the shortcut is asked for."""

    def test_scores_are_sums_of_exact_log_probabilities(self, build: Build) -> None:
        model = build(self_normalise=0.1, shared=True)
        images, texts = model.encode_images(random_features(2)), model.encode_texts(SENTENCES)
        expected = torch.stack([model.log_prob(row.expand(len(SENTENCES), -1), SENTENCES) for row in images])
        assert model.self_normalise == 0.1
        torch.testing.assert_close(model.score(images, texts, normalise="none"), expected, atol=1e-4, rtol=1e-5)

    def test_the_shortcut_leaves_out_the_sum_over_words(self, build: Build) -> None:
        model = build(self_normalise=0.1)
        images, texts = model.encode_images(random_features(1)), model.encode_texts(["a dog"])
        read, wanted, _ = model.predicted_rows(["a dog"])
        logits = model.predict(model.read(images, read))[0]  # (T, V)
        expected = logits.gather(1, wanted[0].unsqueeze(1)).sum()
        found = model.score(images, texts, normalise="none", softmax="logits")[0, 0]
        torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-5)

    def test_it_is_refused_to_weights_that_did_not_learn_it(self, build: Build) -> None:
        model = build()
        images, texts = model.encode_images(random_features(1)), model.encode_texts(["a dog"])
        with pytest.raises(SeesayError, match=r"trained with config\.self_normalise"):
            model.score(images, texts, softmax="logits")

    def test_an_unknown_one_is_answered_with_the_known_ones(self, build: Build) -> None:
        model = build()
        with pytest.raises(SeesayError, match="there is no softmax 'sampled'") as caught:
            model.score(model.encode_images(random_features()), model.encode_texts(SENTENCES), softmax="sampled")
        assert caught.value.allowed == "exact, logits"


class TestSettling:
    def test_pictures_are_kept_as_they_are_encoded_without_dropout(self, build: Build) -> None:
        features = random_features(5)
        model = build(image_dropout=0.5)
        expected = model.encode_images(features)
        for is_training in (True, False):
            model.train(is_training)
            model.marginal_images.zero_()
            model.mean_image.zero_()
            model.finalize(features)
            torch.testing.assert_close(model.marginal_images, expected[:3])
            torch.testing.assert_close(model.mean_image, expected.mean(0, keepdim=True))
            assert model.training is is_training

    def test_fewer_pictures_than_wanted_are_taken_again(self, build: Build) -> None:
        model, features = build(n_marginal=5), random_features(2)
        model.finalize(features)
        torch.testing.assert_close(model.marginal_images, model.encode_images(features)[[0, 1, 0, 1, 0]])

    def test_what_was_kept_travels_with_the_weights(self, build: Build, tmp_path: Path) -> None:
        model = build()
        model.finalize(random_features(5))
        pretrained.save(tmp_path, model, {"name": "tiny"})
        loaded = pretrained.load_captioner(tmp_path)
        assert isinstance(loaded, MRNN)
        torch.testing.assert_close(loaded.marginal_images, model.marginal_images, atol=1e-3, rtol=1e-3)
        torch.testing.assert_close(loaded.mean_image, model.mean_image, atol=1e-3, rtol=1e-3)
        assert loaded.config == model.config


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
