"""Captions of a small captioner: what decoding finds, spelled, and put in the order that people's captions suggest."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from seesay.captioning import captions as captioning
from seesay.captioning.beam import beam
from seesay.captioning.captions import caption_images, read_start
from seesay.captioning.consensus import Consensus
from seesay.captioning.reranking import FREQUENCIES, Reranker
from seesay.captioning.sentences import Caption, join_words
from seesay.captioning.settings import Sampling, Settings
from seesay.catalogue.weights import Weights
from seesay.data.collection import Collection, Item
from seesay.engines import TorchModel
from seesay.errors import SeesayError
from seesay.images.arrays import ImageFeatures
from seesay.images.features import FeatureSpec
from seesay.metrics.frequencies import DocumentFrequencies
from seesay.models.mrnn import MRNN, MRNNConfig
from seesay.text.tokens import tokenize
from seesay.text.vocabulary import Vocabulary

WORDS = "a red blue dog cat runs sleeps the man 's does n't"


@pytest.fixture
def model() -> TorchModel:
    """An untrained captioner of twelve words, with weights so large that every picture and word matters to it."""
    config = MRNNConfig(embedding=4, recurrent=6, multimodal=8, image_dim=1280)
    model = MRNN(config, Vocabulary.build([WORDS], 1), FeatureSpec("efficientnet-lite0", size=64))
    noise = torch.Generator().manual_seed(3)
    for parameter in model.parameters():
        parameter.data.normal_(0, 2 / parameter.shape[-1] ** 0.5, generator=noise)
    return TorchModel(model.eval().requires_grad_(False))


@pytest.fixture
def features() -> ImageFeatures:
    return ImageFeatures(torch.rand(7, 1280, generator=torch.Generator().manual_seed(0)).numpy())


def texts(captions: list[list[Caption]]) -> list[list[str]]:
    return [[each.text for each in own] for own in captions]


def test_captions_are_the_sentences_that_the_beam_finds(model: TorchModel, features: ImageFeatures) -> None:
    settings = Settings(beam=4, length_power=0.5, max_length=9)
    found = caption_images(model, features, n_best=3, settings=settings)
    state = model.start(model.encode_images(features))
    for own, hypotheses in zip(
        found, beam(model, state, width=4, n_best=3, max_length=9, length_power=0.5), strict=True
    ):
        assert [each.words for each in own] == [tuple(model.vocabulary.decode(h.words)) for h in hypotheses]
        assert [each.log_prob for each in own] == pytest.approx([h.log_prob for h in hypotheses], abs=1e-5)
        assert [each.finished for each in own] == [h.finished for h in hypotheses]
        assert all(each.consensus is None for each in own)


def test_pictures_get_the_same_captions_whatever_block_they_are_in(
    model: TorchModel, features: ImageFeatures, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = caption_images(model, features, n_best=2)
    monkeypatch.setattr(captioning, "AT_ONCE", 3)
    seen: list[tuple[int, int]] = []
    assert texts(caption_images(model, features, n_best=2, on_progress=lambda *at: seen.append(at))) == texts(whole)
    assert seen == [(3, 7), (6, 7), (7, 7)]


def test_drawn_captions_follow_the_seed_and_not_the_pictures_behind(
    model: TorchModel, features: ImageFeatures, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(captioning, "AT_ONCE", 2)
    all_of_them, again, other = (
        texts(caption_images(model, features, n_best=4, sampling=Sampling(seed=seed))) for seed in (1, 1, 2)
    )
    assert all_of_them == again != other
    assert len({tuple(own) for own in all_of_them}) == 7  # no two pictures share their noise
    fewer = features.rows(range(4))
    assert texts(caption_images(model, fewer, n_best=4, sampling=Sampling(seed=1))) == all_of_them[:4]


def test_the_beam_is_as_wide_as_the_captions_that_are_asked_for(model: TorchModel, features: ImageFeatures) -> None:
    found = caption_images(model, features, n_best=5, settings=Settings(beam=1))
    assert [len(own) for own in found] == [5] * 7
    assert texts(found) == texts(caption_images(model, features, n_best=5, settings=Settings(beam=5)))


def test_captions_continue_the_first_words(model: TorchModel, features: ImageFeatures) -> None:
    for own in caption_images(model, features, n_best=2, start="The man's"):
        assert all(each.text.startswith("the man's") for each in own)


def test_no_pictures_have_no_captions(model: TorchModel) -> None:
    assert caption_images(model, ImageFeatures(np.zeros((0, 1280), np.float32))) == []


def test_what_people_said_about_the_nearest_pictures_comes_first(model: TorchModel, features: ImageFeatures) -> None:
    plain = caption_images(model, features, n_best=10, settings=Settings(max_length=7))
    refined = model.refine(model.encode_images(features))
    # About picture i people said what the model holds for its fourth best.
    said = [[own[3].words] for own in plain]
    reranker = Reranker(refined, Consensus(said, "bleu"))
    found = caption_images(model, features, n_best=10, settings=Settings(k=1, max_length=7), reranker=reranker)
    for own, before in zip(found, plain, strict=True):
        assert own[0].text == before[3].text
        assert own[0].consensus == pytest.approx(1.0)
        assert sorted(each.text for each in own) == sorted(each.text for each in before)
        scores = [each.consensus or 0.0 for each in own]
        assert scores == sorted(scores, reverse=True)


def test_the_reranked_are_chosen_among_more_than_are_wanted(model: TorchModel, features: ImageFeatures) -> None:
    plain = caption_images(model, features, n_best=6, settings=Settings(beam=6, max_length=7))
    refined = model.refine(model.encode_images(features))
    reranker = Reranker(refined, Consensus([[own[5].words] for own in plain], "bleu"))
    found = caption_images(
        model, features, settings=Settings(beam=1, candidates=6, k=1, max_length=7), reranker=reranker
    )
    assert texts(found) == [[own[5].text] for own in plain]


@pytest.fixture
def painted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Collection:
    """Three pictures to learn from, one to test on, one that is damaged and one that is not there."""
    monkeypatch.setenv("SEESAY_CACHE", str(tmp_path / "cache"))
    items = []
    for colour, split in (("red", "train"), ("blue", "train"), ("green", "train"), ("black", "test")):
        Image.new("RGB", (40, 40), colour).save(tmp_path / f"{colour}.png")
        items.append(Item(f"{colour}.png", tmp_path / f"{colour}.png", (f"A {colour} dog.", "the cat"), split))
    (tmp_path / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    items.append(Item("broken.png", tmp_path / "broken.png", ("a dog",), "train"))
    items.append(Item("absent.png", None, ("a dog",), "train"))
    return Collection("painted", tmp_path, "CSV or JSONL", tuple(items))


def test_references_are_the_training_pictures_that_can_be_used(model: TorchModel, painted: Collection) -> None:
    reranker = Reranker.of(model, painted)
    assert reranker.vectors.shape == (3, 8)
    assert reranker.n_failed == 2
    colours = [item.image for item in painted.items[:3]]
    expected = model.refine(model.encode_images(model.features([path for path in colours if path])))
    np.testing.assert_allclose(reranker.vectors, expected, atol=1e-3)


def test_what_is_rare_is_said_by_the_table_that_lies_with_the_weights(
    model: TorchModel, painted: Collection, tmp_path: Path
) -> None:
    def scores(reranker: Reranker) -> list[float]:
        nearest_is_red = reranker.vectors[:1]
        sentences = (("a", "red", "dog"), ("the", "cat"))
        captions = [[Caption(" ".join(words), words, 0.0, True) for words in sentences]]
        return reranker.scores(nearest_is_red, captions, k=1, m=1)[0].tolist()

    by_red, by_cat = scores(Reranker.of(model, painted))
    assert by_red > by_cat == 0  # all three pictures have a cat
    DocumentFrequencies.build([["a red dog"], ["a red dog"]]).save(tmp_path / FREQUENCIES)
    model.model.weights = Weights(tmp_path, {})
    by_red, by_cat = scores(Reranker.of(model, painted))
    assert by_cat > by_red == 0  # and in the table both have a red dog


def test_without_splits_all_pictures_are_references(model: TorchModel, painted: Collection) -> None:
    unsplit = replace(painted, items=tuple(replace(item, split=None) for item in painted.items))
    assert len(Reranker.of(model, unsplit).vectors) == 4


def test_a_collection_without_pictures_is_refused(model: TorchModel, painted: Collection) -> None:
    bare = replace(painted, items=painted.items[-2:])
    with pytest.raises(SeesayError, match="painted has no images whose captions could be compared"):
        Reranker.of(model, bare)


def test_settings_come_from_the_weights_but_for_what_is_asked_for(model: TorchModel) -> None:
    assert Settings.of(model) == Settings()
    chosen = {"beam": 3, "metric": "bleu", "k": 40, "m": 50, "length_power": 1}
    model.model.weights = Weights(Path("weights"), {"captioning": chosen})
    assert Settings.of(model) == Settings(beam=3, metric="bleu", k=40, m=50, length_power=1)
    assert Settings.of(model, beam=None, k=7).k == 7
    assert Settings.of(model, metric="cider").m == 125  # what was chosen for BLEU says nothing about CIDEr
    assert Settings.of(model, metric="cider", m=9).m == 9
    assert Settings(metric="bleu").m == 175
    with pytest.raises(SeesayError, match="there is no setting 'width'\n  allowed: beam, "):
        Settings.of(model, width=3)
    model.model.weights = Weights(Path("weights"), {"captioning": {"width": 3}})
    with pytest.raises(SeesayError, match=r"config.json: there is no key 'captioning.width'"):
        Settings.of(model)


@pytest.mark.parametrize(
    ("setting", "message"),
    [({"metric": "meteor"}, "there is no similarity 'meteor'"), ({"beam": 0}, "beam is 0"), ({"k": 0}, "k is 0")],
)
def test_impossible_settings_are_refused(setting: dict[str, object], message: str) -> None:
    with pytest.raises(SeesayError, match=message):
        Settings(**setting)  # type: ignore[arg-type]


def test_unknown_first_words_are_named(model: TorchModel) -> None:
    assert read_start(model, " ") == []
    assert model.vocabulary.decode(read_start(model, "A red DOG")) == ["a", "red", "dog"]
    with pytest.raises(
        SeesayError, match="mrnn does not know 'zebra', 'okapi', and cannot go on from 'a zebra, okapi'"
    ):
        read_start(model, "a zebra, okapi")
    with pytest.raises(SeesayError, match="has no words"):
        read_start(model, "?!")


@pytest.mark.parametrize("sentence", ["a man's dog isn't here", "it doesn't run", "the dogs' house", "o'clock", ""])
def test_joined_words_are_the_same_words_again(sentence: str) -> None:
    assert tokenize(join_words(tokenize(sentence))) == tokenize(sentence)
    assert join_words(tokenize(sentence)) == sentence.replace("dogs'", "dogs")
