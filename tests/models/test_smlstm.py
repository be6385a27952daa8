"""Pictures and sentences as candidates and context: what is kept of them, where it starts, and what training adds."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from safetensors.torch import load_file

from seesay.errors import SeesayError
from seesay.images.backbones import file_digest
from seesay.images.features import Features, FeatureSpec
from seesay.layers.attention import unevenness
from seesay.models import pretrained
from seesay.models.base import LONGEST
from seesay.models.dvsa import DVSA, DVSAConfig
from seesay.models.smlstm import SMLSTM, SMLSTMConfig, sides
from seesay.models.vse import VSE, VSEConfig
from seesay.text.vocabulary import END, Vocabulary

Build = Callable[..., SMLSTM]
SENTENCES = ["a dog runs", "a red bus", "two dogs play in the snow", "dog", "the bus is red and the dog is brown"]
VARIANTS = ("full", "att", "ctx", "mean")
SPEC = FeatureSpec("efficientnet-lite0", 64)
NONE = torch.zeros(3, 5, dtype=torch.bool)  # a batch whose images and sentences do not belong together


@pytest.fixture
def build(vocabulary: Vocabulary) -> Build:
    def build_model(**config: Any) -> SMLSTM:
        torch.manual_seed(0)
        small = {
            "dim": 8, "hidden": 5, "units": 4, "similarity_dim": 4, "word_dim": 6, "image_dim": 10, "map_dim": 10,
            "dropout": 0.5, "image_dropout": 0.5,
        }  # fmt: skip
        model = SMLSTM(SMLSTMConfig(**(small | config)), vocabulary, SPEC)
        model.initialise(0)
        return model.eval()

    return build_model


def random_features(n: int = 3, dim: int = 10) -> Features:
    generator = torch.Generator().manual_seed(0)
    return Features(torch.rand(n, dim, generator=generator), torch.rand(n, 4, 4, dim, generator=generator))


class TestPictures:
    def test_the_whole_comes_first_and_then_the_cells_of_the_map_row_by_row(self, build: Build) -> None:
        model, features = build(), random_features()
        encoded = model.encode_images(features)
        assert encoded.shape == (3, 1 + 16, 8)
        torch.testing.assert_close(encoded[:, 0], F.normalize(model.project_image(features.pooled), dim=1))
        cells = model.project_regions(features.map.flatten(1, 2))
        torch.testing.assert_close(F.normalize(encoded[:, 1:], dim=-1), F.normalize(cells, dim=-1))
        torch.testing.assert_close(encoded[:, 1:].square().sum(-1).mean(1), torch.ones(3))

    def test_the_map_can_be_laid_on_the_papers_grid(self, build: Build) -> None:
        assert build(grid=14).encode_images(random_features()).shape == (3, 1 + 196, 8)

    def test_contexts_alone_need_no_map(self, build: Build) -> None:
        model = build(variant="ctx")
        assert model.outputs == ("pooled",)
        assert model.encode_images(Features(torch.rand(3, 10))).shape == (3, 1, 8)

    def test_training_leaves_regions_out_and_use_does_not(self, build: Build) -> None:
        model = build(region_dropout=0.75)
        assert model.encode_images(random_features()).shape[1] == 17
        assert model.train().encode_images(random_features()).shape[1] == 5

    def test_features_of_another_network_are_refused_with_both_sides_named(self, build: Build) -> None:
        with pytest.raises(SeesayError, match=r"have 12 numbers, config\.image_dim is 10"):
            build().encode_images(random_features(dim=12))


class TestSentences:
    def test_a_sentence_alone_has_the_vectors_that_it_has_among_longer_ones(self, build: Build) -> None:
        model = build(cell="gru", text_pooling="max")
        together = model.encode_texts(SENTENCES)
        for place, sentence in enumerate(SENTENCES):
            alone = model.encode_texts([sentence])
            torch.testing.assert_close(together.states[place, : int(alone.lengths)], alone.states[0])

    def test_the_whole_stands_behind_the_last_word(self, build: Build) -> None:
        model = build()
        texts = model.encode_texts(SENTENCES)
        assert (texts.lengths - 1).tolist() == [len(sentence.split()) for sentence in SENTENCES]
        for words, length, states in zip(texts.words, texts.lengths.tolist(), texts.states, strict=True):
            assert words[length - 1] == END
            torch.testing.assert_close(states[length - 1].norm(), torch.tensor(1.0))

    def test_empty_and_endless_sentences_have_scores(self, build: Build) -> None:
        model = build()
        scores = model.score(model.encode_images(random_features()), model.encode_texts(["", "dog " * 500]))
        assert model.encode_texts(["dog " * 500]).lengths.tolist() == [LONGEST + 1]
        assert scores.isfinite().all()


class TestScores:
    @pytest.mark.parametrize("variant", VARIANTS)
    def test_many_at_once_score_as_one_picture_with_one_sentence(self, build: Build, variant: str) -> None:
        model, features = build(variant=variant), random_features()
        together = model.score(model.encode_images(features), model.encode_texts(SENTENCES))
        for row in range(3):
            alone = Features(features.pooled[row : row + 1], features.map[row : row + 1])
            for place, sentence in enumerate(SENTENCES):
                found = model.score(model.encode_images(alone), model.encode_texts([sentence]))
                torch.testing.assert_close(found[0, 0], together[row, place], rtol=1e-4, atol=1e-6)

    def test_learning_sees_the_scores_that_use_sees_and_adds_the_squared_regulariser(self, build: Build) -> None:
        model = build(stochastic=0.3)
        images, texts = model.encode_images(random_features()), model.encode_texts(SENTENCES)
        scores, own_cost = model.judge(images, texts, NONE)
        torch.testing.assert_close(scores, model.score(images, texts))
        both = sides(images, texts)
        looked, mask = model.pairs.look(*both), both[1].mask
        torch.testing.assert_close(own_cost, 0.3 * (unevenness(looked.regions) + unevenness(looked.words, mask)))
        assert build(stochastic=0.0).judge(images, texts, NONE)[1] is None

    def test_what_is_shown_of_a_look_is_attention_however_long_the_vectors_are(self, build: Build) -> None:
        model = build()
        images, texts = model.encode_images(random_features()), model.encode_texts(SENTENCES)
        shown, attended = model.look(images, texts), model.pairs.look(*sides(images, texts))
        torch.testing.assert_close(shown.words, attended.words)
        torch.testing.assert_close(shown.regions, attended.regions)
        for attention in (model.pairs.image_attention, model.pairs.text_attention):
            attention.w_p.weight.data.zero_()  # every candidate is as salient as any other
        even = model.look(images, texts).regions
        assert sides(images, texts)[0].parts.norm(dim=-1).std() > 0
        torch.testing.assert_close(even, torch.full_like(even, 1 / even.shape[-1]))

    def test_sentences_cannot_stand_in_for_pictures(self, build: Build) -> None:
        model = build()
        texts = model.encode_texts(SENTENCES)
        with pytest.raises(SeesayError, match="not with sentences"):
            model.score(texts, texts)

    def test_weights_come_back_from_disk(self, build: Build, tmp_path: Path) -> None:
        model = build(variant="att", attention="paper", similarity="sum")
        pretrained.save(tmp_path / "pairs", model, {"name": "pairs"})
        again = pretrained.load(tmp_path / "pairs")
        scores = [
            one.score(one.encode_images(random_features()), one.encode_texts(SENTENCES)) for one in (model, again)
        ]
        torch.testing.assert_close(scores[1], scores[0], atol=1e-3, rtol=1e-3)


class TestStart:
    @pytest.fixture
    def embedding(self, vocabulary: Vocabulary, tmp_path: Path) -> Path:
        torch.manual_seed(5)
        config = VSEConfig(dim=8, word_dim=6, image_dim=10, encoder="gru", text_pooling="max")
        pretrained.save(tmp_path / "start", VSE(config, vocabulary, SPEC), {"name": "start"})
        return tmp_path / "start"

    def test_contexts_begin_as_a_joint_embedding_sees_pictures_and_sentences(
        self, build: Build, embedding: Path
    ) -> None:
        model, vse = build(cell="gru", text_pooling="max", start_from=str(embedding)), pretrained.load(embedding)
        features = random_features()
        torch.testing.assert_close(model.encode_images(features)[:, 0], vse.encode_images(features))
        texts = model.encode_texts(SENTENCES)
        wholes = texts.states[torch.arange(5), texts.lengths - 1]
        torch.testing.assert_close(wholes, vse.encode_texts(SENTENCES))

    @pytest.fixture
    def fixed(self, build: Build, embedding: Path, monkeypatch: pytest.MonkeyPatch) -> SMLSTM:
        """A model on top of weights that count as installed."""
        monkeypatch.setattr("seesay.catalogue.weights.PACKAGED", embedding.parent)
        return build(cell="gru", text_pooling="max", start_from="start", fixed=True)

    def test_what_is_fixed_learns_nothing_and_the_rest_learns(self, fixed: SMLSTM) -> None:
        learned = {name.split(".")[0] for name, weight in fixed.named_parameters() if weight.requires_grad}
        assert learned == {"pairs"}

    def test_what_is_fixed_knows_the_words_of_what_it_stands_on(self, fixed: SMLSTM, vocabulary: Vocabulary) -> None:
        assert SMLSTM.tokenizer_for(fixed.config) == vocabulary
        assert SMLSTM.tokenizer_for(SMLSTMConfig()) is None

    def test_parts_shared_with_installed_weights_are_not_kept_twice(self, fixed: SMLSTM, tmp_path: Path) -> None:
        with torch.no_grad():
            fixed.pairs.w_hs.weight.mul_(1.5)
        weights = pretrained.save(tmp_path / "top", fixed, {"name": "top"})
        assert set(weights.about["source_weights"]) == {"start"}
        kept = {name.split(".")[0] for name in load_file(tmp_path / "top/model.safetensors")}
        assert kept == {"pairs"}
        scores = [
            one.score(one.encode_images(random_features()), one.encode_texts(SENTENCES))
            for one in (fixed, pretrained.load(tmp_path / "top"))
        ]
        torch.testing.assert_close(scores[1], scores[0], atol=1e-3, rtol=1e-3)

    def test_other_weights_than_it_learned_on_are_refused(
        self, fixed: SMLSTM, embedding: Path, vocabulary: Vocabulary, tmp_path: Path
    ) -> None:
        pretrained.save(tmp_path / "top", fixed, {"name": "top"})
        torch.manual_seed(6)
        other = VSE(pretrained.load(embedding).config, vocabulary, SPEC)
        pretrained.save(embedding, other, {"name": "start"})
        file_digest.cache_clear()
        with pytest.raises(SeesayError, match=r"top was trained on top of start .{12}, installed is .{12}"):
            pretrained.load(tmp_path / "top")

    @pytest.mark.parametrize("sources", [["start"], "start"])
    def test_source_weights_that_are_no_table_are_refused(self, fixed: SMLSTM, tmp_path: Path, sources: Any) -> None:
        weights = pretrained.save(tmp_path / "top", fixed, {"name": "top"})
        (tmp_path / "top/config.json").write_text(json.dumps({**weights.about, "source_weights": sources}))
        with pytest.raises(SeesayError, match=r"source_weights is .*\n  allowed: a table"):
            pretrained.load(tmp_path / "top")

    @pytest.mark.parametrize("sources", [{"top": "0"}, {"elsewhere": "0"}])
    def test_source_weights_that_make_no_sense_are_refused(self, fixed: SMLSTM, tmp_path: Path, sources: Any) -> None:
        weights = pretrained.save(tmp_path / "top", fixed, {"name": "top"})
        (tmp_path / "top/config.json").write_text(json.dumps({**weights.about, "source_weights": sources}))
        with pytest.raises(SeesayError, match=r"source_weights is .*\n  allowed: .* starts from: start"):
            pretrained.load(tmp_path / "top")

    def test_of_a_folder_of_ones_own_everything_is_kept(self, build: Build, embedding: Path, tmp_path: Path) -> None:
        model = build(cell="gru", text_pooling="max", start_from=str(embedding), fixed=True)
        assert "source_weights" not in pretrained.save(tmp_path / "whole", model, {"name": "whole"}).about
        shutil.rmtree(embedding)
        assert pretrained.load(tmp_path / "whole").encode_texts(SENTENCES).states.shape[0] == len(SENTENCES)

    def test_words_and_regions_begin_as_an_aligners(
        self, build: Build, embedding: Path, vocabulary: Vocabulary, tmp_path: Path
    ) -> None:
        torch.manual_seed(7)
        aligner = DVSA(DVSAConfig(dim=8, word_dim=6, map_dim=10, sentence=True), vocabulary, SPEC).eval()
        pretrained.save(tmp_path / "aligner", aligner, {"name": "aligner"})
        model = build(
            cell="gru", text_pooling="max", start_from=str(embedding), words_from=str(tmp_path / "aligner"), fixed=True
        )
        theirs, ours = (F.normalize(one.encode_texts(["a dog runs"]).states[0, :3], dim=1) for one in (aligner, model))
        torch.testing.assert_close(ours, theirs, atol=1e-2, rtol=1e-2)
        wholes = model.encode_texts(["a dog runs"]).states[:, 3]
        torch.testing.assert_close(wholes, pretrained.load(embedding).encode_texts(["a dog runs"]))
        with pytest.raises(SeesayError, match=r"config\.words_from is .*, a vse\n  allowed: a dvsa"):
            build(cell="gru", text_pooling="max", start_from=str(embedding), words_from=str(embedding / "."))

    def test_another_cell_than_the_embeddings_is_refused(self, build: Build, embedding: Path) -> None:
        with pytest.raises(SeesayError, match="allowed: a vse with the same"):
            build(cell="lstm", start_from=str(embedding))


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"variant": "some"}, "allowed: full, att, ctx, mean"),
        ({"attention": "hard"}, "allowed: joint, paper"),
        ({"similarity": "cosine"}, "allowed: product, sum"),
        ({"similarity_dim": 3}, "a divisor of config.dim, 8"),
        ({"fixed": True}, "there is nothing to start from"),
        ({"n_steps": 0}, r"config\.n_steps is 0"),
        ({"stochastic": -1.0}, r"config\.stochastic is -1\.0"),
        ({"dim": 7, "similarity_dim": 7}, "odd"),
    ],
)
def test_an_impossible_shape_is_refused_with_what_is_allowed(
    build: Build, config: dict[str, Any], message: str
) -> None:
    with pytest.raises(SeesayError, match=message):
        build(**config)
