"""How an m-RNN scores pairs: by likelihoods, normalised in three ways, exactly or by logits alone."""

from pathlib import Path

import pytest
import torch
from torch import Tensor

from seesay.errors import SeesayError
from seesay.images.features import Features
from seesay.models import pretrained
from seesay.models.base import NORMALISATIONS
from seesay.models.mrnn import MRNN, WIRINGS
from tests.models.mrnn_toys import SENTENCES, Build, random_features

SEES_AT_MULTIMODAL_ONLY = WIRINGS[:4]


@pytest.fixture
def build(build_mrnn: Build) -> Build:
    return build_mrnn


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


class TestFinalizing:
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
