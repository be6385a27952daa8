"""Shipped weights: graphs answer as torch does on real photos and real captions."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from typer.testing import CliRunner

from seesay import data
from seesay.cli.commands import app
from seesay.errors import SeesayError
from seesay.export.checking import Difference
from seesay.export.exporting import SAMPLES, export_weights
from seesay.export.network import export_network
from seesay.images.io import open_image
from seesay.layers.sequences import Sequences
from seesay.models.card import write_card
from seesay.models.pretrained import installed, load
from seesay.runtime.matching import Model
from seesay.runtime.network import Network
from seesay.text.tokens import LONGEST

PHOTOS = sorted(SAMPLES.glob("*.jpg"))
NETWORK = "efficientnet-lite2-300-squash-9656183eaeaf-fp16"


@pytest.mark.parametrize("name", ["vse", "dvsa", "mrnn"])
def test_a_picture_is_seen_and_scored_as_by_torch(name: str, exported: Path) -> None:
    model, graphs = load(name), Model(exported / name)
    sentences = ["a cat", "a man in a space suit", ""]
    with torch.inference_mode():
        features = model.features(PHOTOS[:4])
        images = model.encode_images(features)
        scores = model.score(images, model.encode_texts(sentences)).numpy()
    seen = graphs.features(PHOTOS[:4])
    # The network's weights are stored in half precision, which turns its vectors by a fraction of a degree.
    assert alike(seen.pooled, features.pooled.numpy()).min() > 0.9999
    found = graphs.score(graphs.encode_images(seen), graphs.encode_texts(sentences))
    assert np.abs(found - scores).max() < 4e-3 * max(1.0, np.abs(scores).max())


def alike(a: NDArray[np.float32], b: NDArray[np.float32]) -> NDArray[np.float32]:
    """The cosines of rows."""
    found: NDArray[np.float32] = (a * b).sum(1) / (np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1))
    return found


@pytest.mark.parametrize("name", ["vse", "dvsa", "mrnn"])
def test_captions_of_people_are_read_as_by_torch(name: str, exported: Path, shared_data: Path) -> None:
    sentences = data.load("flickr8k").split("dev").sentences[:300]
    assert len(sentences) == 300
    model, graphs = load(name), Model(exported / name)
    difference = Difference()
    with torch.inference_mode():
        for start in range(0, 300, 60):
            texts, read = (
                model.encode_texts(sentences[start : start + 60]),
                graphs.encode_texts(sentences[start : start + 60]),
            )
            if isinstance(texts, Sequences):
                assert texts.words.tolist() == read.words.tolist()
                mask = texts.mask
                difference.add("texts", texts.states[mask], read.states[mask.numpy()])
            else:
                difference.add("texts", texts, read)
    assert difference.largest["texts"] < 1e-5


def test_words_behind_the_longest_sentence_are_not_read(exported: Path) -> None:
    graphs = Model(exported / "vse")
    long = " ".join(["dog"] * LONGEST)
    assert np.array_equal(graphs.encode_texts([long]), graphs.encode_texts([f"{long} cat cat"]))
    assert load("vse").word_rows([f"{long} cat"])[0].shape[1] == LONGEST


def test_the_network_gives_map_vector_and_classes(tmp_path: Path) -> None:
    model = load("vse")
    backbone = model.feature_spec.load_backbone()
    about = export_network(model.feature_spec, backbone, tmp_path, PHOTOS[:1], "fp32")
    assert about["difference"] < 1e-3
    network = Network(tmp_path / NETWORK.removesuffix("-fp16"))
    image = open_image(SAMPLES / "cat.jpg")
    found = network.features([image])
    pixels = np.asarray(image.resize((300, 300), 3))[None]
    maps, vectors = backbone(torch.from_numpy(pixels))
    assert backbone.classifier is not None
    own = network.run(pixels)
    assert np.abs(own["map"] - maps.numpy()).max() < 1e-3
    assert np.abs(own["pooled"] - vectors.numpy()).max() < 1e-3
    assert np.abs(own["classes"] - backbone.classifier(vectors).detach().numpy()).max() < 1e-3
    assert found.map is not None
    assert found.map.shape == (1, 10, 10, 1280)
    assert 281 <= int(found.classes.argmax()) <= 285  # type: ignore[union-attr]  # ImageNet's kinds of cats


def test_what_is_exported_says_how_exact_it_is(exported: Path) -> None:
    about = json.loads((exported / "vse" / "config.json").read_text())
    table = about["graphs"]
    assert (table["opset"], table["precision"], table["network"]) == (17, "fp16", NETWORK)
    assert all(0 <= entry["difference"] < 1e-4 for entry in table["files"].values())
    card = (exported / "vse" / "card.md").read_text()
    assert card == write_card(about)
    assert "operator set 17" in card
    assert "half precision" in card
    assert json.loads((exported / NETWORK / "network.json").read_text())["cosine"]["least"] > 0.9999


def test_every_weights_folder_that_ships_has_graphs() -> None:
    assert [weights.name for weights in installed() if "images" not in Model(weights.folder).graphs.names] == []


def test_shared_parts_are_read_from_the_source_weights(exported: Path) -> None:
    shared = Model("smlstm").graphs.table["files"]["texts"]["shared"]
    assert {place.partition(":")[0] for place in shared.values()} == {"vse"}
    with torch.inference_mode():
        model = load("smlstm")
        wanted = model.encode_texts(["a dog in the snow"]).states.numpy()
    assert np.abs(Model(exported / "smlstm").encode_texts(["a dog in the snow"]).states - wanted).max() < 1e-5


def test_the_command_writes_graphs_and_says_what_it_wrote(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["export", "identifier", "-o", str(tmp_path), "--json"])
    assert done.exit_code == 0, done.output
    table = json.loads(done.stdout)["identifier"]
    assert set(table["files"]) == {"images", "texts", "score", "saliency", "saliency-contrastive"}
    assert {path.name for path in tmp_path.iterdir()} == {"identifier"}, "the network came with the package"
    assert (
        load(tmp_path / "identifier")
        .encode_texts(["a dog"])
        .states.equal(load("identifier").encode_texts(["a dog"]).states)
    )


def test_an_unknown_precision_is_answered_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(SeesayError, match="fp32"):
        export_weights("vse", tmp_path, precision="fp8")
