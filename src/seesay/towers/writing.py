"""The JSON files of a CLIP in the layout of `transformers`."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from seesay.towers.folder import CONFIG, PREPROCESSOR, TOKENIZER, TOKENIZER_CONFIG
from seesay.towers.shapes import LayersShape, TextShape, VisionShape


def write_clip(
    folder: Path, vision: VisionShape, text: TextShape, size: int, tokenizer: str, marks: Mapping[str, tuple[str, int]]
) -> None:
    """Write all that a CLIP has besides its tensors.

    Args:
        size: Side of the square that it is shown, to which a photo is resized as a whole.
        tokenizer: The text of its tokenizer.json.
        marks: `bos_token` and `eos_token`, each with its number.
    """
    seen = _layers(vision.layers) | {"image_size": size, "patch_size": vision.patch}
    read = _layers(text.layers) | {"vocab_size": text.n_subwords, "max_position_embeddings": text.longest}
    read |= {f"{mark}_id": number for mark, (_, number) in marks.items()}
    common = {"model_type": "clip", "architectures": ["CLIPModel"], "projection_dim": text.out_dim}
    _write(folder / CONFIG, {**common, "text_config": read, "vision_config": seen})
    square = {"height": size, "width": size}
    scale = {"do_rescale": True, "rescale_factor": 1 / 255, "do_normalize": True}
    colours = {"image_mean": [0.5] * 3, "image_std": [0.5] * 3}
    crop = {"do_resize": True, "size": square, "resample": 3, "do_center_crop": False}
    _write(folder / PREPROCESSOR, {"image_processor_type": "CLIPImageProcessor", **crop, **scale, **colours})
    (folder / TOKENIZER).write_text(tokenizer, encoding="utf-8")
    names = {mark: token for mark, (token, _) in marks.items()}
    words = {"tokenizer_class": "CLIPTokenizer", "pad_token": names["eos_token"], "unk_token": names["eos_token"]}
    _write(folder / TOKENIZER_CONFIG, {**words, **names, "model_max_length": text.longest})


def _layers(shape: LayersShape) -> dict[str, Any]:
    return {
        "hidden_size": shape.dim, "intermediate_size": shape.inner, "num_hidden_layers": shape.n_layers,
        "num_attention_heads": shape.heads, "hidden_act": shape.activation, "layer_norm_eps": shape.eps,
    }  # fmt: skip


def _write(path: Path, table: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(table, indent=2) + "\n", encoding="utf-8")
