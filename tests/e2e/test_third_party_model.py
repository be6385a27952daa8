"""A model of somebody else's: a toy that reads subwords and brings its own learning task, in this file alone.

It is trained from a recipe, exported, tuned, evaluated, explained, saved, loaded, matched, indexed with and searched
with, as our own are.
"""

import json
import re
import shutil
import string
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from torch import Tensor, nn

from seesay.catalogue.weights import find, tuned_table
from seesay.errors import SeesayError
from seesay.evaluation.replication.papers import rows
from seesay.export.exporting import export_weights
from seesay.images.features import Features, FeatureSpec
from seesay.layers.pooling import masked_mean
from seesay.library.library import Library
from seesay.models import registry
from seesay.models.base import Matcher
from seesay.models.pretrained import load
from seesay.models.registry import families, family_class, register_model, search_role
from seesay.text.subwords import Subwords
from seesay.text.vocabulary import Vocabulary
from seesay.training.ranking import RankingTask
from seesay.training.recipe import read_recipe
from seesay.training.run import run_recipe
from seesay.training.task import register_task

RECIPE = """
name = "toy-colours"
model = "toy"
config = { dim = 16 }
features = { backbone = "efficientnet-lite0", size = 64 }
optimiser = { rate = 0.02 }
batches = { size = 16 }
stop = { epochs = 8, metric = "right" }

[data]
train = [{ source = "COLLECTION" }]
dev = { source = "COLLECTION" }
"""


def make_subwords(*words: str) -> Subwords:
    """Some whole words, and single letters for all others."""
    special = {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3}
    pieces = [*special, *words, *string.ascii_lowercase, *(f"##{letter}" for letter in string.ascii_lowercase)]
    tokenizer = Tokenizer(models.WordPiece({piece: number for number, piece in enumerate(pieces)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    marks = [(mark, special[mark]) for mark in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=marks)
    return Subwords(tokenizer.to_str())


@dataclass(frozen=True)
class ToyConfig:
    dim: int = 8
    image_dim: int = 1280


@register_task("toy-ranking")
class ToyTask(RankingTask):
    """Ranking with a figure and a file of its own."""

    def evaluate(self) -> dict[str, float]:
        figures = super().evaluate()
        return {**figures, "right": figures["i2t_r1"]}

    def save_extras(self, folder: Path) -> None:
        super().save_extras(folder)
        (folder / "toy.json").write_text(json.dumps({"sentences": len(self.sources[0].sentences)}))


@register_model("toy")
class Toy(Matcher):
    """An image is one linear layer, a sentence the mean of its subwords."""

    config_type = ToyConfig
    tokenizer_type = Subwords
    learning_task = "toy-ranking"
    weak_points = ("Everything but colours.",)
    stage = "first"
    explainers = ("alignment",)
    is_embedding = True
    config: ToyConfig

    def __init__(self, config: ToyConfig, tokenizer: Subwords, features: FeatureSpec) -> None:
        super().__init__(config, tokenizer, features)
        self.embedding = nn.Embedding(len(tokenizer), config.dim, padding_idx=tokenizer.pad)
        self.project = nn.Linear(config.image_dim, config.dim)

    @classmethod
    def tokenizer_for(cls, config: ToyConfig) -> Subwords:
        return make_subwords("red", "green", "blue", "yellow", "pink", "brown", "black", "white", "picture", "is")

    def encode_images(self, features: Features) -> Tensor:
        self.check_features("image_dim", features.pooled)
        return F.normalize(self.project(features.pooled), dim=1)

    def encode_texts(self, sentences: Sequence[str]) -> Tensor:
        numbers, lengths = self.word_rows(sentences)
        mask = torch.arange(numbers.shape[1]) < lengths.unsqueeze(1)
        return F.normalize(masked_mean(self.embedding(numbers), mask), dim=1)

    def score(self, images: Tensor, texts: Tensor) -> Tensor:
        return images @ texts.T


@pytest.fixture(scope="module")
def weights(colours: Path, colours_cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of its trained weights, with graphs."""
    folder = tmp_path_factory.mktemp("toy")
    recipe = folder / "toy.toml"
    recipe.write_text(RECIPE.replace("COLLECTION", str(colours)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SEESAY_CACHE", str(colours_cache))
        trained = run_recipe(read_recipe(recipe), folder / "run").folder
        export_weights(trained, precision="fp32")
    return trained


def test_it_is_a_family_like_any_other() -> None:
    assert "toy" in families()
    assert Toy.family == "toy"


def test_its_own_task_has_trained_measured_and_finished_it(weights: Path) -> None:
    about = find(weights).about
    assert about["family"] == "toy"
    assert about["figures"]["colours/dev"]["sum"] > 500
    assert json.loads((weights / "toy.json").read_text()) == {"sentences": 64}
    log = [json.loads(line) for line in (weights.parent / "log.jsonl").read_text().splitlines()]
    assert [line["right"] for line in log if line["kind"] == "evaluation"][-1] > 60


def test_its_card_says_what_its_class_says(weights: Path) -> None:
    card = (weights / "card.md").read_text()
    assert "A `toy` model on efficientnet-lite0 features" in card
    assert "- Everything but colours." in card
    assert "`seesay evaluate toy-colours --data DATA --split SPLIT` measures again." in card


def test_it_comes_back_with_its_subwords(weights: Path, small_backbone: None) -> None:
    assert (weights / "tokenizer.json").is_file()
    assert not (weights / "vocabulary.json").exists()
    model = load(weights)
    assert isinstance(model, Toy)
    assert isinstance(model.tokenizer, Subwords)
    assert search_role(find(weights)) == {"stage": "first", "dim": 16}
    with pytest.raises(SeesayError, match="toy reads subwords and has no vocabulary of whole words"):
        _ = model.vocabulary


def test_a_tokenizer_of_other_weights_is_refused(weights: Path, tmp_path: Path) -> None:
    for path in filter(Path.is_file, weights.iterdir()):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / "tokenizer.json").write_text(make_subwords("purple").to_json())
    with pytest.raises(SeesayError, match=r"tokenizer\.json has the words \w+, its config\.json was written for"):
        load(tmp_path)


def test_it_is_evaluated(weights: Path, colours: Path, answer: Callable[..., Any], small_backbone: None) -> None:
    report = answer("evaluate", weights, "--data", colours, "--split", "test", "--json")
    assert report["sum"] > 500


def test_the_tables_of_its_paper_are_printed_with_its_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tables = tmp_path / "toy.toml"
    tables.write_text(
        'paper = "Toys"\n[[table]]\nwhere = "Table 1"\nkind = "retrieval"\ndata = "flickr8k"\n'
        'measured_on = "1,000 test images"\ncolumns = "i2t.r1 t2i.r1"\nrows = """\n> Toy | 12.5 | -\n"""\n'
    )
    before = rows("retrieval", "flickr8k")
    monkeypatch.setattr(Toy, "paper", tables)
    (row,) = (row for row in rows("retrieval", "flickr8k") if row not in before)
    assert (row.method, row.stands_in, row.own) == ("Toy", "Toys, Table 1", True)
    assert (row.figure("i2t.r1"), row.figure("t2i.r1")) == (12.5, None)
    broken = tmp_path / "broken.toml"
    broken.write_text("paper = ")
    monkeypatch.setattr(Toy, "paper", broken)
    with pytest.raises(SeesayError, match=r"cannot read the tables of a paper .*broken\.toml"):
        rows("retrieval")


def test_it_is_tuned_and_searched_with_what_was_chosen(
    weights: Path, colours: Path, tmp_path: Path, answer: Callable[..., Any], small_backbone: None
) -> None:
    own = shutil.copytree(weights.parent, tmp_path / "run") / "weights"  # the network of its graphs is beside it
    chosen = ("--only", "hubness", "--only", "calibration", "--centres", 4, "--data", colours, "--entities", colours)
    report = answer("tune", own, *chosen, "--json")
    assert [step["step"] for step in report["steps"]] == ["hubness", "calibration"]
    assert tuned_table(find(own), "hubness")["n_centres"] == 4
    assert (own / "hubness.safetensors").is_file()
    assert set(find(own).about["tuned"]) == {"hubness", "calibration"}
    photos = {colour: colours / "images" / f"{colour}_5.png" for colour in ("red", "blue")}
    with Library(tmp_path / "library", model=own, stages=()) as library:
        library.index(photos["red"].parent)
        (first, *_) = library.search("a blue picture", top=1)
        assert first.path.name.startswith("blue")
        assert first.word  # only a calibrated score is a probability, which has a word


def test_it_is_explained(weights: Path, colours: Path, answer: Callable[..., Any], small_backbone: None) -> None:
    photo = colours / "images" / "red_5.png"
    report = answer("explain", photo, "a red picture", "-m", weights, "--json")
    assert report["method"] == "alignment"
    assert [row["word"] for row in report["words"]] == ["a", "red", "picture"]
    maps = np.array(report["word_maps"])  # of a picture that is red all over
    assert maps[1].mean() > maps[2].mean()
    blue = np.array(answer("explain", photo, "blue", "-m", weights, "--json")["word_maps"])
    assert maps[1].mean() > blue[0].mean()


def test_it_matches(weights: Path, colours: Path, answer: Callable[..., Any], small_backbone: None) -> None:
    photo = colours / "images" / "red_5.png"
    red, blue = answer("match", photo, "a red picture", "a blue picture", "-m", weights, "--json")["matches"]
    assert red["score"] > blue["score"]
    scores = load(weights).match(photo, ["a red picture", "a blue picture"])[0].tolist()
    assert [red["score"], blue["score"]] == pytest.approx(scores, abs=1e-4)


def test_photos_are_indexed_and_found_with_it(
    weights: Path, colours: Path, tmp_path: Path, small_backbone: None
) -> None:
    photos = tmp_path / "photos"
    photos.mkdir()
    for colour in ("red", "green", "blue", "white"):
        (photos / f"{colour}.png").write_bytes((colours / "images" / f"{colour}_5.png").read_bytes())
    with Library(tmp_path / "library", model=weights, stages=()) as library:
        assert library.index(photos).n_added == 4
        for colour in ("red", "blue"):
            assert library.search(f"a {colour} picture", top=1)[0].path.name == f"{colour}.png"
        assert library.encoder.count_words("a red zebra") == {"red": 1000, "zebra": 1}


def test_the_model_of_the_docs_works(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry._REGISTRY, "_classes", dict(registry._REGISTRY._classes))  # other tests list families
    page = Path(__file__).parents[2] / "docs/how-to/own-model.md"
    code = re.search(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
    assert code is not None
    exec(code[1], {"__name__": "own_model"})
    kind = family_class("bag")
    vocabulary = Vocabulary.build(["a dog runs", "a red bus"], min_count=1)
    model = kind(kind.config_type(dim=8, image_dim=5), vocabulary, FeatureSpec("efficientnet-lite0", 64))
    images, texts = model.encode_images(Features(torch.rand(3, 5))), model.encode_texts(["a dog", ""])
    assert model.score(images, texts).shape == (3, 2)
    assert model.score(images, texts).abs().max() <= 1 + 1e-6


@pytest.fixture(scope="module")
def loaded_backbone() -> Any:
    from seesay.images.backbones import load_backbone

    return load_backbone("efficientnet-lite0", size=64)


@pytest.fixture
def small_backbone(loaded_backbone: Any, colours_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Loading the network takes longer than running it on these images."""
    monkeypatch.setattr(FeatureSpec, "load_backbone", lambda spec: loaded_backbone)
    monkeypatch.setenv("SEESAY_CACHE", str(colours_cache))
