"""Towers of real size, with random weights, beside `transformers`: pixels, tokens and vectors, in torch and in graphs.

    SEESAY_DATA=… python -m benchmarks.quality.towers [--photos 50] [--captions 1000] [--only clip --only dinov2]
    SEESAY_DATA=… python -m benchmarks.quality.towers --only siglip --photos 25 --captions 500 --more

With `--more` a run goes on with the photos and sentences behind those that are recorded, so that what takes long can be
done in pieces. Each figure is the largest difference of any number. Vectors of photos and sentences have unit length,
but for eyes, whose vectors are compared as they are, as a share of the largest number.
"""

import argparse
import json
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
import transformers
from PIL import Image
from torch import Tensor

from benchmarks.published import vector, write_folder
from benchmarks.recording import parse_arguments, record
from seesay import data
from seesay.images.features import FeatureSpec
from seesay.images.io import open_image
from seesay.images.tower import build_tower, find_tower, open_graph
from seesay.images.views import preprocess
from seesay.models.pretrained import load
from seesay.runtime.matching import Model
from seesay.text.pieces import Pieces
from seesay.towers.looking import look_at
from seesay.verbs.adding import add_model, remove_model

FAMILIES = ("clip", "siglip", "siglip2", "dinov2")
ODD = (
    "",
    "emoji 🐶🔥 and 👨‍👩‍👧‍👦",
    "naïve café, 東京の犬, собака",
    "a sentence that never ends " * 40,
    "CAPITALS  and\tblanks",
)
_AT_ONCE = 50


def their_pixels(family: str, folder: Path, photos: Sequence[Image.Image]) -> Tensor:
    """As the image processor of `transformers` prepares them."""
    from transformers.models.bit.image_processing_pil_bit import BitImageProcessorPil
    from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil
    from transformers.models.siglip.image_processing_pil_siglip import SiglipImageProcessorPil

    kinds: dict[str, Any] = {"clip": CLIPImageProcessorPil, "dinov2": BitImageProcessorPil}
    processor = kinds.get(family, SiglipImageProcessorPil).from_pretrained(folder)
    found: Tensor = processor(list(photos), return_tensors="pt")["pixel_values"]
    return found


def their_tokens(family: str, folder: Path, captions: list[str]) -> Tensor:
    """As the tokenizers of `transformers` read them."""
    from tokenizers import normalizers

    if family == "clip":
        own: Any = transformers.CLIPTokenizer.from_pretrained(folder)
        found: Tensor = own(captions, padding=True, truncation=True, max_length=77, return_tensors="pt")["input_ids"]
        return found
    if family == "siglip2":
        own = transformers.Siglip2Tokenizer.from_pretrained(folder)
    else:  # `SiglipTokenizer` reads no tokenizer.json; what it does to letters is done here
        own = transformers.PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"), pad_token="</s>")
        backend = own.backend_tokenizer
        backend.normalizer = normalizers.Sequence([normalizers.Lowercase(), backend.normalizer])
    own.padding_side = "right"
    rows: Tensor = own(captions, padding="max_length", truncation=True, max_length=64, return_tensors="pt")["input_ids"]
    return rows


def difference(one: Any, other: Any) -> float:
    """The largest, as a share of the largest number where that is above one."""
    one, other = np.asarray(one, np.float64), np.asarray(other, np.float64)
    return float(np.abs(one - other).max() / max(1.0, np.abs(other).max()))


@torch.inference_mode()
def measure(family: str, folder: Path, photos: Sequence[Image.Image], captions: list[str]) -> dict[str, float]:
    """All differences of one family."""
    found = look_at(folder)
    views = np.concatenate([preprocess(photo, found.view.size, found.view.crop) for photo in photos])
    pixels = their_pixels(family, folder, photos)
    scaled = ((views - np.array(found.view.mean)) / np.array(found.view.std)).transpose(0, 3, 1, 2)
    figures = {"pixels": difference(scaled, pixels)}
    theirs = transformers.AutoModel.from_pretrained(folder).eval()
    reads = found.towers.text is not None
    if reads:
        seen = F.normalize(vector(theirs.get_image_features(pixel_values=pixels)), dim=1)
    else:
        seen = theirs(pixel_values=pixels).last_hidden_state[:, 0]
    tower = build_tower(found.published, found.towers, found.view)
    own = tower(torch.from_numpy(views))[1]
    figures["images, torch"] = difference(F.normalize(own, dim=1) if reads else own, seen)
    add_model(folder, family)
    if not reads:
        graph = open_graph(FeatureSpec("tower", weights=str(find_tower(family))).graph_folder or Path())
        figures["images, graph"] = difference(graph(views)[1], seen)
        return figures
    assert found.rule is not None
    rows, _ = Pieces(found.tokenizer, found.rule).rows(captions)
    tokens = their_tokens(family, folder, captions)
    figures["tokens that differ"] = (
        float((rows != tokens.numpy()).sum()) if rows.shape == tokens.shape else float("inf")
    )
    wanted = torch.cat([
        F.normalize(vector(theirs.get_text_features(input_ids=tokens[at : at + _AT_ONCE])), dim=1)
        for at in range(0, len(tokens), _AT_ONCE)
    ])  # fmt: skip
    figures["texts, torch"] = difference(load(family).encode_texts(captions), wanted)
    graphs = Model(family)
    read = np.concatenate(
        [graphs.encode_texts(captions[at : at + _AT_ONCE]) for at in range(0, len(captions), _AT_ONCE)]
    )
    figures["texts, graph"] = difference(read, wanted)
    vectors = torch.from_numpy(graphs.network.run(views)["pooled"])
    figures["images, graph"] = difference(F.normalize(vectors, dim=1), seen)
    figures["images, graph, kept in half precision"] = difference(
        graphs.encode_images(graphs.network.features(photos)), seen
    )
    return figures


def read_others(path: Path) -> dict[str, dict[str, float]]:
    """The figures of families that were measured before."""
    found = json.loads(path.read_text()) if path.exists() else {}
    figures: dict[str, dict[str, float]] = found.get("largest_difference", {})
    return figures


def together(figures: dict[str, float], more: dict[str, float]) -> dict[str, float]:
    """The figures of two runs over different photos and sentences: counts and tokens add up, the largest remain."""
    added = ("photos", "sentences", "tokens that differ")
    return {
        name: figures.get(name, 0) + value if name in added else float(np.maximum(figures.get(name, 0.0), value))
        for name, value in more.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--photos", type=int, default=50)
    parser.add_argument("--captions", type=int, default=1000)
    parser.add_argument("--only", action="append", choices=FAMILIES)
    parser.add_argument("--more", action="store_true", help="go on behind what is recorded")
    arguments = parse_arguments(parser, "towers")
    collection = data.load("flickr8k").split("test").with_images()
    sentences = [*ODD, *collection.sentences]
    before = read_others(arguments.output) if arguments.more else {}
    figures: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as temporary:
        os.environ["SEESAY_MODELS"] = str(Path(temporary) / "models")
        for family in arguments.only or FAMILIES:
            folder = write_folder(family, Path(temporary) / family, collection.sentences, real=True)
            known = before.get(family, {})
            at, start = int(known.get("photos", 0)), int(known.get("sentences", 0))
            photos = [open_image(path) for path in collection.images[at : at + arguments.photos]]
            captions = sentences[start : start + arguments.captions + (0 if start else len(ODD))]
            found = measure(family, folder, photos, captions)
            counts = {"photos": len(photos), "sentences": len(captions) if "texts, graph" in found else 0}
            rounded = {name: float(f"{value:.1e}") for name, value in found.items()}
            figures[family] = together(known, {**counts, **rounded})
            print(family, figures[family], flush=True)
            remove_model(family)
    # What another run has recorded in the meantime stays.
    others = read_others(arguments.output) if arguments.only or arguments.more else {}
    figures = {family: {**others, **figures}[family] for family in FAMILIES if family in {*others, *figures}}
    record(
        arguments, ("torch", "transformers", "tokenizers", "onnxruntime", "pillow"), seed=0, data="flickr8k/test",
        largest_difference=figures,
    )  # fmt: skip


if __name__ == "__main__":
    main()
