"""Folders in the layout of `transformers`, written by it, with random weights."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

SENTENCES = (
    "A dog runs through the snow.",
    "Two men in red shirts are playing football on a green field",
    "a girl in a pink dress is climbing a set of stairs in an entry way",
    "The quick brown fox's tail isn't long; it's 12 cm!",
    "a child and a cat sit on a wooden bench near the water",
)
ODD = (
    "",
    " ",
    "emoji 🐶🔥 and 👨‍👩‍👧‍👦",
    "CAPITALS and  two   blanks\tand a tab\nand a line",
    "naïve café, Straße, 東京の犬, собака",
    "a very long sentence that never ends " * 30,
    "<|endoftext|> in the middle",
)


@pytest.fixture(scope="session")
def captions(request: pytest.FixtureRequest) -> list[str]:
    """A thousand real captions where there are some, and odd texts."""
    from seesay.system.files import data_dir

    root = data_dir()
    if root is None or not (root / "flickr8k").is_dir():
        return [*SENTENCES * 20, *ODD]
    from seesay import data

    return [*data.load("flickr8k").split("dev").sentences[:1000], *ODD]


@pytest.fixture(scope="session")
def published(captions: list[str], tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a tiny tower of a family (`benchmarks.published.FAMILIES`)."""
    pytest.importorskip("transformers")
    made: dict[str, Path] = {}

    def write(family: str) -> Path:
        if family not in made:
            from benchmarks.published import write_folder

            made[family] = write_folder(family, tmp_path_factory.mktemp(family) / family, captions)
        return made[family]

    return write


@pytest.fixture(scope="session")
def photos() -> list[Image.Image]:
    """Real photos of several shapes, one of them tall."""
    from seesay.images.io import open_image

    samples = sorted((Path(__file__).parents[2] / "src" / "seesay" / "samples").glob("*.jpg"))
    opened = [open_image(path) for path in samples]
    rng = np.random.default_rng(0)
    return [
        *opened,
        opened[0].resize((333, 801)),
        opened[1].resize((301, 67)),
        Image.fromarray(rng.integers(0, 255, (50, 40, 3), np.uint8)),
    ]


@pytest.fixture
def folder(published: Callable[[str], Path], tmp_path: Path, models_folder: Path) -> Path:
    """A CLIP folder of one's own to spoil."""
    return Path(shutil.copytree(published("clip"), tmp_path / "mine"))


@pytest.fixture
def models_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where added models lie during a test."""
    folder = tmp_path / "models"
    monkeypatch.setenv("SEESAY_MODELS", str(folder))
    return folder


@pytest.fixture(scope="session")
def their_tokens() -> Callable[[Path, list[str]], Any]:
    """Rows of numbers as `transformers` makes them of a folder."""

    def read(folder: Path, texts: list[str]) -> Any:
        import transformers

        if "clip" in folder.name and "siglip" not in folder.name:
            own: Any = transformers.CLIPTokenizer.from_pretrained(folder)
            return own(texts, padding=True, truncation=True, max_length=24, return_tensors="np")["input_ids"]
        if folder.name == "siglip2":
            own = transformers.Siglip2Tokenizer.from_pretrained(folder)
        else:  # `SiglipTokenizer` reads no tokenizer.json; what it does to letters is done here
            from tokenizers import normalizers

            own = transformers.PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"), pad_token="</s>")
            backend = own.backend_tokenizer
            backend.normalizer = normalizers.Sequence([normalizers.Lowercase(), backend.normalizer])
        own.padding_side = "right"
        return own(texts, padding="max_length", truncation=True, max_length=64, return_tensors="np")["input_ids"]

    return read


@pytest.fixture(scope="session")
def _added(published: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    from seesay.verbs.adding import add_model

    folder = tmp_path_factory.mktemp("models")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("SEESAY_MODELS", str(folder))
        add_model(published("clip"), "clip")
        add_model(published("siglip"), "siglip", precision="fp16")
    return folder


@pytest.fixture
def added(_added: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The folder of two added models, `clip` and `siglip`, and a library of one's own."""
    monkeypatch.setenv("SEESAY_MODELS", str(_added))
    monkeypatch.setenv("SEESAY_LIBRARY", str(tmp_path / "library"))
    monkeypatch.setenv("SEESAY_CACHE", str(tmp_path / "cache"))
    return _added
