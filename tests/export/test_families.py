"""Every family of models, small and untrained, in the forms that its configuration can take: graphs equal torch."""

import json
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from seesay.errors import SeesayError
from seesay.export.checking import LIMIT, Difference, compare
from seesay.export.exporting import _features, export_weights
from seesay.images.features import FeatureSpec
from seesay.models.base import Matcher
from seesay.models.pretrained import load, save
from seesay.models.registry import family_class
from seesay.runtime.folder import WEIGHTS
from seesay.runtime.graph_file import read_graph_file
from seesay.runtime.matching import Model
from seesay.text.trees import Tree
from seesay.text.vocabulary import Vocabulary

SPEC = FeatureSpec("efficientnet-lite0", 64)
VOCABULARY = Vocabulary.build(
    ["a brown dog runs through the grass", "two men in red shirts are playing football on a field", "the old sea"],
    min_count=1,
)
SMALL = {"dim": 12, "word_dim": 6}
ALIGNER = SMALL | {"regions": "grid-1x2"}
MATCHERS: list[tuple[str, dict[str, Any]]] = [
    ("vse", SMALL),
    ("vse", SMALL | {"encoder": "mean"}),
    ("vse", SMALL | {"encoder": "lstm", "text_pooling": "last"}),
    ("vse", SMALL | {"bidirectional": False, "text_pooling": "mean"}),
    ("vse", SMALL | {"image_pooling": "attention", "heads": 2, "n_regions": 5}),
    ("dvsa", ALIGNER),
    ("dvsa", ALIGNER | {"magnitudes": "free", "cell": "rnn"}),
    ("dvsa", ALIGNER | {"magnitudes": "words", "sentence": True, "length_power": 0.5, "cell": "lstm"}),
    ("identifier", {"dim": 6, "hidden": 8, "word_dim": 5, "word_vectors": ""}),
    ("identifier", {"dim": 6, "hidden": 8, "word_dim": 5, "word_vectors": "", "fully_connected": 7}),
    ("smlstm", SMALL | {"hidden": 8, "units": 5, "similarity_dim": 6}),
    ("smlstm", SMALL | {"hidden": 8, "units": 5, "similarity_dim": 6, "variant": "att", "similarity": "sum"}),
]
MRNN = {"embedding": 6, "recurrent": 8, "multimodal": 10, "n_marginal": 5}
CAPTIONERS: list[tuple[str, dict[str, Any]]] = [
    ("mrnn", MRNN),
    ("mrnn", MRNN | {"shared": True, "self_normalise": 0.1}),
    ("mrnn", MRNN | {"cell": "gru", "wiring": "emb-one-input"}),
    ("mrnn", MRNN | {"cell": "lstm", "wiring": "vis-in-rnn-both"}),
    ("nic", {"embedding": 6, "hidden": 8}),
    ("dvsa-captions", {"embedding": 6, "hidden": 8, "cell": "lstm", "shared": True}),
]


def untrained(folder: Path, family: str, config: dict[str, Any], name: str = "small") -> Path:
    """A weights folder of a model with random weights."""
    torch.manual_seed(0)
    kind = family_class(family)
    model = kind(kind.config_type(**config), VOCABULARY, SPEC).eval()
    save(folder / name, model, {"name": name})
    return folder / name


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where all of them go: the network is written once."""
    return tmp_path_factory.mktemp("graphs")


def check(out: Path, tmp_path: Path, family: str, config: dict[str, Any], photos: list[Path]) -> tuple[Matcher, Model]:
    folder = untrained(tmp_path, family, config, f"{family}-{crc32(str(config).encode())}")
    table = export_weights(folder, out, photos=photos, precision="fp32")
    model, graphs = load(folder), Model(out / folder.name)
    found = compare(model, graphs, _features(model, photos, SPEC.load_backbone()))
    assert found.keys() == table["files"].keys()
    assert max(found.values()) < LIMIT
    return model, graphs


@pytest.fixture(scope="module")
def photos(colours: Path) -> list[Path]:
    return sorted((colours / "images").glob("*_4.png"))[:3]


@pytest.mark.parametrize(("family", "config"), MATCHERS)
def test_the_graphs_of_a_matcher_answer_as_it_does(
    family: str, config: dict[str, Any], out: Path, tmp_path: Path, photos: list[Path]
) -> None:
    _, graphs = check(out, tmp_path, family, config, photos)
    assert {"images", "texts"} < set(graphs.graphs.names)


@pytest.mark.parametrize(("family", "config"), CAPTIONERS)
def test_the_graphs_of_a_captioner_answer_as_it_does(
    family: str, config: dict[str, Any], out: Path, tmp_path: Path, photos: list[Path]
) -> None:
    model, graphs = check(out, tmp_path, family, config, photos)
    assert {"images", "start", "step", "refine"} <= set(graphs.graphs.names)
    assert model.can_score == ("score" in graphs.graphs.names)


@pytest.mark.parametrize("sentence", ["root", "max"])
@pytest.mark.parametrize("syntax", [True, False])
def test_sentences_that_are_read_as_trees_are_read_by_graphs(
    sentence: str, syntax: bool, out: Path, tmp_path: Path, photos: list[Path]
) -> None:
    config = ALIGNER | {
        "hidden": 8, "word_vectors": "", "fixed_words": False, "sentence": sentence, "syntax": syntax, "bag_score": 0.5,
    }  # fmt: skip
    model, graphs = check(out, tmp_path, "hmlstm", config, photos)
    assert {"leaves", "level", "nodes", "score"} <= set(graphs.graphs.names)
    assert graphs.can("texts")
    assert graphs.can("phrases")
    assert len(graphs.encode_texts([])) == 0
    tree = Tree.from_json('["S", ["NP", "a", "dog"], ["VP", "sees", ["NP", "a", ["NP", "red", "bus"]]]]')
    for each in (model, graphs):
        each.remember("a dog sees a red bus", tree)
    with torch.inference_mode():
        expected = model.encode_texts(["a dog sees a red bus"])
    found = graphs.encode_texts(["a dog sees a red bus"])
    np.testing.assert_allclose(found.states, expected.states.numpy(), atol=1e-5)
    assert found.words.tolist() == expected.words.tolist()


def test_edges_of_trees_have_no_graph_of_sentences_and_say_why(out: Path, tmp_path: Path, photos: list[Path]) -> None:
    _, graphs = check(out, tmp_path, "dvsa", ALIGNER | {"fragments": "edges"}, photos)
    with pytest.raises(SeesayError, match="read as trees"):
        graphs.encode_texts(["a dog"])


@pytest.mark.parametrize("family", ["vse", "mrnn"])
def test_a_graph_holds_no_weights(family: str, out: Path, tmp_path: Path, photos: list[Path]) -> None:
    config = {"vse": {"dim": 400, "word_dim": 300}, "mrnn": {"embedding": 64, "recurrent": 128, "multimodal": 256}}
    folder = untrained(tmp_path, family, config[family], f"large-{family}")
    table = export_weights(folder, out, photos=photos, precision="fp32")
    for entry in table["files"].values():
        path = out / folder.name / entry["file"]
        stored = read_graph_file(path).stored
        assert path.stat().st_size < 25_000
        assert {place.location for name, place in stored.items() if name.endswith(".half")} <= {WEIGHTS}


@pytest.fixture(scope="module")
def word_model(out: Path, tmp_path_factory: pytest.TempPathFactory, photos: list[Path]) -> tuple[Matcher, Model]:
    config = ALIGNER | {"magnitudes": "words", "sentence": True}
    return check(out, tmp_path_factory.mktemp("words"), "dvsa", config, photos)


@settings(max_examples=40)
@given(
    sentences=st.lists(
        st.lists(st.sampled_from([*VOCABULARY.words[4:], "zzyzx"]), max_size=12).map(" ".join), max_size=5
    ),
    n_images=st.integers(1, 4),
    n_regions=st.integers(1, 6),
)
def test_graphs_take_any_batch_and_any_length(
    word_model: tuple[Matcher, Model], sentences: list[str], n_images: int, n_regions: int
) -> None:
    model, graphs = word_model
    noise = np.random.default_rng(n_images * n_regions).random((n_images, n_regions, 12), np.float32)
    texts, read = model.encode_texts(sentences), graphs.encode_texts(sentences)
    difference = Difference()
    with torch.inference_mode():
        scores = model.score(torch.from_numpy(noise), texts)
    difference.add("score", scores, graphs.score(noise, read))
    assert len(read) == len(sentences)


def test_a_smaller_network_says_what_it_costs(tmp_path: Path, photos: list[Path]) -> None:
    folder, out = untrained(tmp_path, "vse", SMALL, "vse"), tmp_path / "out"
    about: dict[str, Any] = {}
    seen = {}
    for precision in ("fp32", "fp16", "int8"):
        table = export_weights(folder, out, precision=precision, photos=photos)
        about[precision] = json.loads((out / table["network"] / "network.json").read_text())
        seen[precision] = Model(out / "vse").features(photos).pooled
    assert about["int8"]["bytes"] < 0.5 * about["fp32"]["bytes"]
    assert about["fp32"]["difference"] < 1e-3 < about["int8"]["difference"]
    unit = {precision: rows / np.linalg.norm(rows, axis=1, keepdims=True) for precision, rows in seen.items()}
    for precision in ("fp16", "int8"):
        found = (unit["fp32"] * unit[precision]).sum(1).mean()
        assert about[precision]["cosine"]["mean"] == pytest.approx(found, abs=1e-3)
    assert about["fp16"]["bytes"] < 0.55 * about["fp32"]["bytes"]
    assert about["fp16"]["cosine"]["least"] > 0.9999


def test_a_difference_beyond_the_limit_is_refused() -> None:
    difference = Difference()
    difference.add("texts", torch.ones(2), np.ones(2))
    with pytest.raises(SeesayError, match=r"differs from torch by 1\.0e-03"):
        difference.add("texts", torch.ones(2), np.array([1.0, 1.001]))
    with pytest.raises(SeesayError, match="finite"):
        difference.add("texts", torch.ones(1), np.array([np.nan]))
