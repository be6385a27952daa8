"""Published towers that can be added, by the shapes in their config.json, and how seesay compares on them."""

from collections.abc import Callable
from typing import Any

import torch

from seesay.towers.families import read_config
from seesay.towers.text import TextTower
from seesay.towers.vision import VisionTower
from tables.reading import dated, result, table

LARGE = {"hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 24, "num_attention_heads": 16}
SO400M = {"hidden_size": 1152, "intermediate_size": 4304, "num_hidden_layers": 27, "num_attention_heads": 16}
_L_TEXT = {"hidden_size": 768, "intermediate_size": 3072, "num_attention_heads": 12}
_B32: dict[str, Any] = {"model_type": "clip"}
_L14: dict[str, Any] = {"model_type": "clip", "projection_dim": 768, "text_config": _L_TEXT}
_L14["vision_config"] = {**LARGE, "patch_size": 14}
_L14_336 = {**_L14, "vision_config": {**LARGE, "patch_size": 14, "image_size": 336}}
_SIGLIP: dict[str, Any] = {"model_type": "siglip"}
_SO = {**_SIGLIP, "text_config": SO400M, "vision_config": {**SO400M, "image_size": 384, "patch_size": 14}}
PUBLISHED: dict[str, tuple[dict[str, Any], str]] = {
    "openai/clip-vit-base-patch32": (_B32, "7 × 7 patches: the fastest"),
    "openai/clip-vit-base-patch16": ({**_B32, "vision_config": {"patch_size": 16}}, "14 × 14 patches"),
    "openai/clip-vit-large-patch14": (_L14, "16 × 16 patches"),
    "openai/clip-vit-large-patch14-336": (_L14_336, "24 × 24 patches"),
    "laion/CLIP-ViT-B-32-laion2B-s34B-b79K": (_B32, "OpenCLIP, learned from open data"),
    "laion/CLIP-ViT-L-14-laion2B-s32B-b82K": (_L14, "the same, larger"),
    "google/siglip-base-patch16-224": (_SIGLIP, "14 × 14 patches"),
    "google/siglip-so400m-patch14-384": (_SO, "27 × 27 patches: slow on a CPU"),
    "google/siglip2-base-patch16-224": ({**_SIGLIP, "text_config": {"vocab_size": 256_000}}, "reads many languages"),
    "facebook/dinov2-base": ({"model_type": "dinov2", "image_size": 518}, "an eye: reads no sentences"),
}
"""Names on Hugging Face, each with what its config.json says of its shape."""


def tower_sizes() -> str:
    rows: list[list[object]] = []
    for name, (config, about) in PUBLISHED.items():
        towers = read_config(config, name)
        with torch.device("meta"):
            vision = _count(VisionTower(towers.vision))
            text = _count(TextTower(towers.text)) if towers.text else 0
        sizes = [_megabytes(vision), _megabytes(text) if text else "–", _megabytes(vision + text)]
        rows.append([f"`{name}`", f"{(vision + text) / 1e6:.0f} M", *sizes, about])
    headings = ["checkpoint", "parameters", "to index", "to search", "on disk", "what it is"]
    found = result("towers_speed")
    index, query = (found[key]["seesay_peak_megabytes"] for key in ("index", "query"))
    told = (
        f"With all that a program needs besides, indexing with a ViT-B/32 of random weights took {index:,} MB at most, "
        f"and a search {query:,} MB."
    )
    return dated(f"{table(headings, rows)}\n{told}", found, "python -m benchmarks.speed.towers")


def tower_equality() -> str:
    found = result("towers")
    names = list(dict.fromkeys(name for own in found["largest_difference"].values() for name in own))
    rows: list[list[object]] = [
        [family, *(_cell(name, own.get(name)) for name in names)] for family, own in found["largest_difference"].items()
    ]
    told = (
        f"Largest differences to `transformers` {found['versions']['transformers']}; random weights of real size, "
        "photos and captions of Flickr8K's test part, and odd texts."
    )
    return dated(f"{table(['family', *names], rows)}\n{told}", found, "python -m benchmarks.quality.towers")


def _count(module: torch.nn.Module) -> int:
    return sum(tensor.numel() for tensor in module.state_dict().values())


def _megabytes(numbers: int) -> str:
    return f"{4 * numbers / 1e6:,.0f} MB"


def _cell(name: str, number: float | None) -> str:
    if number is None or (name == "sentences" and not number):
        return "–"
    return f"{number:,.0f}" if name in ("photos", "sentences", "tokens that differ") else f"{number:.0e}"


TABLES: tuple[Callable[[], str], ...] = (tower_sizes, tower_equality)
