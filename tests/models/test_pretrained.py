"""A folder of weights gives back the model that was saved, or says which of its files is at fault."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

import seesay
from seesay.errors import SeesayError
from seesay.models.pretrained import find, installed, load, load_captioner, record_figures, save
from seesay.models.vse import VSE
from seesay.text.vocabulary import Vocabulary

FIGURES = {
    "i2t": {"r1": 30.25, "r5": 60.0, "r10": 75.0, "median": 3.0, "mean": 12.5},
    "t2i": {"r1": 20.0, "r5": 50.0, "r10": 65.0, "median": 5.0, "mean": 21.0},
    "sum": 300.25,
    "date": "2025-01-02T03:04:05+00:00",
}


@pytest.fixture
def model(build: Callable[..., VSE]) -> VSE:
    return build()


@pytest.fixture
def folder(model: VSE, tmp_path: Path) -> Path:
    """Saved weights, to be loaded as they are or damaged first."""
    save(tmp_path / "small", model, {"name": "small"})
    return tmp_path / "small"


def edit(folder: Path, **changes: Any) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


class TestRoundTrip:
    def test_a_loaded_model_is_the_saved_one_in_half_precision(self, model: VSE, folder: Path) -> None:
        loaded = load(folder)
        assert isinstance(loaded, VSE)
        assert (loaded.config, loaded.vocabulary, loaded.feature_spec) == (
            model.config, model.vocabulary, model.feature_spec,
        )  # fmt: skip
        for name, tensor in model.state_dict().items():
            assert torch.equal(loaded.state_dict()[name], tensor.half().float()), name
        sentences = ["a dog runs", "the bus is red"]
        torch.testing.assert_close(loaded.encode_texts(sentences), model.encode_texts(sentences), atol=2e-3, rtol=0)

    def test_it_is_ready_to_use(self, folder: Path) -> None:
        loaded = load(folder)
        assert not loaded.training
        assert not any(weight.requires_grad for weight in loaded.parameters())
        assert loaded.weights is not None
        assert loaded.weights.folder == folder

    def test_the_folder_holds_tensors_text_and_nothing_else(self, folder: Path) -> None:
        assert {path.name for path in folder.iterdir()} == {
            "model.safetensors", "config.json", "vocabulary.json", "card.md",
        }  # fmt: skip
        assert {tensor.dtype for tensor in load_file(folder / "model.safetensors").values()} == {torch.float16}

    def test_it_names_everything_that_the_model_needs(self, model: VSE, folder: Path) -> None:
        about = find(folder).about
        assert about["format"] == 1
        assert about["family"] == "vse"
        assert about["config"]["dim"] == 8
        assert about["features"] == model.feature_spec.describe()
        assert about["vocabulary"] == model.vocabulary.fingerprint()
        assert str(folder.parent) not in (folder / "config.json").read_text()

    def test_saving_again_replaces_the_weights(self, build: Callable[..., VSE], folder: Path) -> None:
        save(folder, build(dim=4), {"name": "smaller"})
        assert load(folder).config.dim == 4
        assert find(folder).name == "smaller"


class TestFind:
    def test_packaged_weights_are_found_by_name(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("seesay.catalogue.weights.PACKAGED", folder.parent)
        assert [weights.name for weights in installed()] == ["small"]
        assert find("small").folder == folder
        assert isinstance(seesay.load("small"), VSE)
        assert find("small").size == (folder / "model.safetensors").stat().st_size

    def test_an_unknown_name_is_answered_with_what_is_installed(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("seesay.catalogue.weights.PACKAGED", folder.parent)
        with pytest.raises(
            SeesayError, match=r"there are no weights 'smal'\n  allowed: small, or a folder .*\n  try: seesay models"
        ):
            load("smal")

    def test_where_nothing_is_installed_the_answer_says_so(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("seesay.catalogue.weights.PACKAGED", tmp_path / "absent")
        assert installed() == []
        with pytest.raises(SeesayError, match="allowed: nothing is installed, or a folder"):
            find("vse")


def break_json(folder: Path) -> None:
    (folder / "config.json").write_text('{"format": 1, "name"')


def nest_json(folder: Path) -> None:
    (folder / "config.json").write_text("[" * 100_000)


def cut_tensors(folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-10])


def cut_header(folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:20])


def reshape(folder: Path) -> None:
    path = folder / "model.safetensors"
    save_file(load_file(path) | {"project.bias": torch.zeros(9)}, path)


def drop_tensor(folder: Path) -> None:
    path = folder / "model.safetensors"
    tensors = load_file(path)
    del tensors["project.bias"]
    save_file(tensors, path)


def add_tensor(folder: Path) -> None:
    path = folder / "model.safetensors"
    save_file(load_file(path) | {"surplus": torch.zeros(1)}, path)


def other_words(folder: Path) -> None:
    words = Vocabulary.build(["some other words", "of which there are a few more"], min_count=1)
    (folder / "vocabulary.json").write_text(words.to_json())


def swap_words(folder: Path) -> None:
    """The same number of words, so that all shapes fit."""
    path = folder / "vocabulary.json"
    path.write_text(path.read_text().replace('"bus"', '"bux"'))


DAMAGES: list[tuple[Callable[[Path], None], str, str]] = [
    (lambda folder: (folder / "model.safetensors").unlink(), "model.safetensors", "cannot read the weights"),
    (lambda folder: (folder / "vocabulary.json").unlink(), "vocabulary.json", "No such file"),
    (cut_tensors, "model.safetensors", "cannot read the weights"),
    (cut_header, "model.safetensors", "cannot read the weights"),
    (reshape, "model.safetensors", r"project\.bias is \(9,\) in the file, \(8,\) in the model"),
    (drop_tensor, "model.safetensors", r"project\.bias is absent in the file, \(8,\) in the model"),
    (add_tensor, "model.safetensors", r"surplus is \(1,\) in the file, absent in the model"),
    (break_json, "config.json", "is not JSON"),
    (nest_json, "config.json", "is not JSON"),
    (lambda folder: (folder / "config.json").write_bytes(b"\xff\xfe"), "config.json", "is not JSON"),
    (lambda folder: (folder / "config.json").write_text("[]"), "config.json", "does not describe weights of seesay"),
    (lambda folder: edit(folder, config=None), "config.json", "allowed: an object with format, name, family"),
    (lambda folder: edit(folder, features=["lite0"]), "config.json", "does not describe weights of seesay"),
    (lambda folder: edit(folder, family=["vse"]), "config.json", "does not describe weights of seesay"),
    (lambda folder: edit(folder, format=2), "config.json", "format 2, this seesay reads format 1.*\n.*pip install -U"),
    (
        lambda folder: edit(folder, family="blip"),
        "config.json",
        "no model family 'blip'\n  allowed: clip, dvsa.*\n  try: pip install",
    ),
    (lambda folder: edit(folder, config={"dims": 8}), "config.json", "no key 'dims'.*\n  allowed: dim, word_dim"),
    (lambda folder: edit(folder, config={"dim": 0}), "config.json", r"config\.dim is 0\n  allowed: 1 or more"),
    (lambda folder: edit(folder, features={"net": "x"}), "config.json", "no key 'net'.*\n  allowed: backbone, size"),
    (lambda folder: edit(folder, features={"backbone": "x"}), "config.json", "no backbone 'x'\n  allowed: alex"),
    (lambda folder: (folder / "vocabulary.json").write_text("{"), "vocabulary.json", "it is not JSON"),
    (lambda folder: (folder / "vocabulary.json").write_bytes(b"\xff"), "vocabulary.json", "is not UTF-8"),
    (other_words, "vocabulary.json", "has the words .*, its config.json was written for"),
    (swap_words, "vocabulary.json", "has the words .*, its config.json was written for"),
]


@pytest.mark.parametrize(("damage", "file", "message"), DAMAGES)
def test_a_damaged_folder_is_refused_and_the_file_named(
    folder: Path, damage: Callable[[Path], None], file: str, message: str
) -> None:
    damage(folder)
    with pytest.raises(SeesayError, match=message) as caught:
        load(folder)
    assert str(folder / file) in str(caught.value)


def test_weights_for_another_version_of_a_packaged_network_are_refused(folder: Path) -> None:
    about = find(folder).about
    edit(folder, features=about["features"] | {"digest": "0123456789abcdef"})
    installed_digest = about["features"]["digest"][:12]
    with pytest.raises(
        SeesayError, match=rf"small was trained .* 0123456789ab, installed is {installed_digest}\n.*pip"
    ):
        load(folder)


def test_the_size_of_absent_weights_names_the_file(folder: Path) -> None:
    weights = find(folder)
    (folder / "model.safetensors").unlink()
    with pytest.raises(SeesayError, match=r"cannot read the weights .*model\.safetensors"):
        _ = weights.size


class TestFigures:
    def test_figures_are_kept_with_the_weights_and_in_the_card(self, folder: Path) -> None:
        assert find(folder).figures == {}
        record_figures(folder, "flickr8k/dev", FIGURES)
        record_figures(folder, "flickr8k/test", FIGURES | {"sum": 299.0})
        assert find(folder).figures == {"flickr8k/dev": FIGURES, "flickr8k/test": FIGURES | {"sum": 299.0}}
        card = (folder / "card.md").read_text()
        assert "| flickr8k/dev | 30.2 / 60.0 / 75.0 / 3 | 20.0 / 50.0 / 65.0 / 5 | 300.2 | 2025-01-02 |" in card
        assert "| flickr8k/test |" in card
        assert load(folder).weights.figures["flickr8k/dev"]["sum"] == 300.25  # type: ignore[union-attr]

    def test_measuring_again_replaces_a_figure(self, folder: Path) -> None:
        for total in (300.0, 310.0):
            record_figures(folder, "flickr8k/dev", FIGURES | {"sum": total})
        assert find(folder).figures["flickr8k/dev"]["sum"] == 310.0
        assert (folder / "card.md").read_text().count("flickr8k/dev") == 1


def test_nothing_that_can_run_code_is_ever_loaded() -> None:
    source = {path: path.read_text() for path in Path(seesay.__file__).parent.rglob("*.py")}
    assert len(source) > 30
    pickles = re.compile(r"^\s*(import|from)\s+(c?pickle|dill|joblib|shelve|marshal)\b|allow_pickle=True", re.MULTILINE)
    assert [path for path, text in source.items() if pickles.search(text)] == []
    loads = [(path, call) for path, text in source.items() for call in re.findall(r"torch\.load\(.*", text)]
    assert loads
    assert [(path, call) for path, call in loads if "weights_only=True" not in call] == []
    unsafe = re.compile(r"np\.load\((?!.*allow_pickle=False)|weights_only=False")
    assert [path for path, text in source.items() if unsafe.search(text)] == []


def test_weights_that_only_match_are_refused_where_captions_are_asked_for(folder: Path) -> None:
    with pytest.raises(SeesayError, match="small matches images and sentences and writes no captions"):
        load_captioner(folder)


def test_weights_on_features_without_a_digest_are_refused(folder: Path) -> None:
    features = {key: value for key, value in find(folder).about["features"].items() if key != "digest"}
    edit(folder, features=features)
    with pytest.raises(SeesayError, match=r"config\.json: features\.digest is missing\n  allowed: the SHA-256 of eff"):
        load(folder)


class TestNetworksFromFiles:
    """The file of a network that comes without weights is the user's own: it is checked as soon as it is named."""

    @pytest.fixture
    def on_alexnet(self, folder: Path) -> Path:
        features = {"backbone": "alexnet", "size": 64, "crop": "squash", "weights": "", "digest": "0123456789abcdef"}
        edit(folder, features=features)
        return folder

    def test_weights_open_without_the_file_and_know_their_stored_features(self, on_alexnet: Path) -> None:
        spec = load(on_alexnet).feature_spec
        assert spec.digest == "0123456789abcdef"
        assert spec.name == "alexnet-64-squash-0123456789ab"
        with pytest.raises(SeesayError, match="alexnet comes without weights"):
            spec.load_backbone()

    def test_another_file_is_refused(self, on_alexnet: Path, tmp_path: Path) -> None:
        (tmp_path / "other.pth").write_bytes(b"other weights")
        spec = replace(load(on_alexnet).feature_spec, weights=str(tmp_path / "other.pth"))
        with pytest.raises(SeesayError, match="the weights of alexnet were 0123456789ab, installed is "):
            spec.load_backbone()
