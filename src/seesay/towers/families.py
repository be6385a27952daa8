"""What the config.json of a published folder says, as shapes; what it leaves out has the default of `transformers`.

clip                    CLIP, and OpenCLIP in the same layout
siglip                  SigLIP, and SigLIP 2 of a fixed resolution
vit, dinov2,            image towers, which read no sentences
dinov2_with_registers
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from seesay.errors import SeesayError
from seesay.system.tables import named_in_errors, read_table
from seesay.towers.shapes import WIDEST, TextShape, VisionShape

Table = Mapping[str, Any]
OLDER_END = 2
"""The `eos_token_id` of configurations from before it was right: the token of the highest number is meant."""


@dataclass(frozen=True)
class Towers:
    """The towers of a folder.

    Attributes:
        family: The `model_type` of its config.json.
        text: None where it reads no sentences.
        renames: Patterns of its tensors' names with what they are called here.
    """

    family: str
    vision: VisionShape
    text: TextShape | None
    renames: tuple[tuple[str, str], ...] = ()

    def own_name(self, name: str) -> str:
        """What a published tensor is called here; empty for one that is not needed."""
        for pattern, own in self.renames:
            name = re.sub(pattern, own, name)
        return "" if re.search(_NOT_NEEDED, name) else name


_NOT_NEEDED = r"(^|\.)(position_ids|mask_token)$|^(classifier|pooler)\."
_VIT_LAYER = (
    (r"^(vit|dinov2|dinov2_with_registers)\.", ""),
    (r"^embeddings\.cls_token$", "vision_model.embeddings.class_embedding"),
    (r"^embeddings\.position_embeddings$", "vision_model.embeddings.position_embedding.weight"),
    (r"^embeddings\.patch_embeddings\.projection\.", "vision_model.embeddings.patch_embedding."),
    (r"^embeddings\.register_tokens$", "vision_model.embeddings.registers"),
    (r"^layernorm\.", "vision_model.post_layernorm."),
    (r"^encoder\.layer\.(\d+)\.", r"vision_model.encoder.layers.\1."),
    (r"\.attention\.attention\.query\.", ".self_attn.q_proj."),
    (r"\.attention\.attention\.key\.", ".self_attn.k_proj."),
    (r"\.attention\.attention\.value\.", ".self_attn.v_proj."),
    (r"\.attention\.output\.dense\.", ".self_attn.out_proj."),
    (r"\.(layernorm_before|norm1)\.", ".layer_norm1."),
    (r"\.(layernorm_after|norm2)\.", ".layer_norm2."),
    (r"\.intermediate\.dense\.", ".mlp.fc1."),
    (r"\.output\.dense\.", ".mlp.fc2."),
    (r"\.mlp\.weights_in\.", ".mlp.fc1."),
    (r"\.mlp\.weights_out\.", ".mlp.fc2."),
    (r"\.layer_scale([12])\.lambda1$", r".scale\1"),
)


def read_config(config: Table, origin: str) -> Towers:
    """The towers that a config.json describes.

    Raises:
        SeesayError: It is of an architecture that is not read here, or its numbers make no tower.
    """
    family = config.get("model_type")
    if family == "siglip2":
        raise SeesayError(
            f"{origin} is a SigLIP 2 that chooses a size for every photo (NaFlex)",
            allowed="a SigLIP 2 of a fixed resolution, such as siglip2-base-patch16-224",
        )
    if family is None:
        raise SeesayError(f"{origin} says no architecture: it has no model_type", allowed=_READERS)
    if not isinstance(family, str) or family not in _READERS:
        raise SeesayError(f"{origin}: there is no tower of the architecture {str(family)[:100]!r}", allowed=_READERS)
    with named_in_errors(origin):
        return _READERS[family](config)


def _layers(config: Table, defaults: Table, **more: Any) -> dict[str, Any]:
    found = {**defaults, **{name: value for name, value in config.items() if value is not None}}
    return {
        "dim": found["hidden_size"],
        "n_layers": found["num_hidden_layers"],
        "heads": found["num_attention_heads"],
        "inner": found.get("intermediate_size", 0),
        "activation": found["hidden_act"],
        "eps": found["layer_norm_eps"],
        **more,
    }


def _part(config: Table, name: str, defaults: Table) -> dict[str, Any]:
    found = config.get(name) or {}
    if not isinstance(found, Mapping):
        raise SeesayError(f"{name} is {str(found)[:80]}", allowed="a table")
    return {**defaults, **{key: value for key, value in found.items() if value is not None}}


def _grid(config: Table) -> int:
    image, patch = config["image_size"], config["patch_size"]
    if not all(isinstance(number, int) and number > 0 for number in (image, patch)) or image < patch:
        raise SeesayError(f"image_size is {image!r}, patch_size {patch!r}", allowed="whole numbers of pixels")
    if config.get("num_channels", 3) != 3:
        raise SeesayError(f"num_channels is {config['num_channels']!r}", allowed="3")
    return int(image // patch)


def _read_clip(config: Table) -> Towers:
    text, vision = _part(config, "text_config", _CLIP_TEXT), _part(config, "vision_config", _CLIP_VISION)
    # The oldest configurations say it in other tables.
    dim = config.get("projection_dim", 512)
    end = text["eos_token_id"]
    seen = {"layers": _layers(vision, {}), "patch": vision["patch_size"], "grid": _grid(vision), "out_dim": dim}
    read = {"n_subwords": text["vocab_size"], "longest": text["max_position_embeddings"], "out_dim": dim}
    return Towers(
        "clip",
        read_table(VisionShape, {**seen, "first_norm": True, "patch_bias": False}, "vision_config"),
        read_table(
            TextShape, {**read, "layers": _layers(text, {}), "end": -1 if end == OLDER_END else end}, "text_config"
        ),
    )


def _read_siglip(config: Table) -> Towers:
    text, vision = _part(config, "text_config", _SIGLIP_TEXT), _part(config, "vision_config", _SIGLIP_VISION)
    if not vision["vision_use_head"]:
        raise SeesayError("vision_use_head is false: it makes no one vector of an image", allowed="true")
    seen = {"layers": _layers(vision, {}), "patch": vision["patch_size"], "grid": _grid(vision), "pooling": "head"}
    read = {"n_subwords": text["vocab_size"], "longest": text["max_position_embeddings"], "causal": False}
    dim = text.get("projection_size", text["hidden_size"])
    read |= {"out_dim": dim, "out_bias": True, "layers": _layers(text, {})}
    if dim != vision["hidden_size"]:
        raise SeesayError(f"sentences have {dim} numbers, images {vision['hidden_size']}", allowed="as many of both")
    return Towers("siglip", read_table(VisionShape, seen, "vision_config"), read_table(TextShape, read, "text_config"))


def _read_vit(config: Table) -> Towers:
    found = {**_VIT, **{name: value for name, value in config.items() if value is not None}}
    _require_bias(found)
    seen = {"layers": _layers(found, {}), "patch": found["patch_size"], "grid": _grid(found)}
    return Towers("vit", read_table(VisionShape, seen, "config"), None, _VIT_LAYER)


def _read_dinov2(config: Table) -> Towers:
    has_registers = config["model_type"] == "dinov2_with_registers"
    found = {
        **_DINOV2,
        "patch_size": 16 if has_registers else 14,
        **{name: value for name, value in config.items() if value is not None},
    }
    _require_bias(found)
    dim, gated = found["hidden_size"], bool(found["use_swiglu_ffn"])
    ratio = found["mlp_ratio"]
    if not (isinstance(dim, int) and isinstance(ratio, int | float) and 0 < dim <= WIDEST and 0 < ratio <= 64):
        raise SeesayError(
            f"hidden_size is {dim!r}, mlp_ratio {ratio!r}", allowed=f"numbers above 0, up to {WIDEST:,} and 64"
        )
    inner = int(dim * ratio)
    if gated:
        inner = (int(inner * 2 / 3) + 7) // 8 * 8
    layers = _layers(found, {}, inner=inner, scales=True, gated=gated)
    registers = found.get("num_register_tokens", 4) if has_registers else 0
    seen = {"layers": layers, "patch": found["patch_size"], "grid": _grid(found), "registers": registers}
    return Towers(str(found["model_type"]), read_table(VisionShape, seen, "config"), None, _VIT_LAYER)


def _require_bias(config: Table) -> None:
    if not config.get("qkv_bias", True):
        raise SeesayError("qkv_bias is false", allowed="true")


_CLIP_LAYERS = {"num_hidden_layers": 12, "hidden_act": "quick_gelu", "layer_norm_eps": 1e-5}
_CLIP_TEXT = {
    **_CLIP_LAYERS, "hidden_size": 512, "intermediate_size": 2048, "num_attention_heads": 8, "vocab_size": 49408,
    "max_position_embeddings": 77, "eos_token_id": 49407,
}  # fmt: skip
_CLIP_VISION = {
    **_CLIP_LAYERS, "hidden_size": 768, "intermediate_size": 3072, "num_attention_heads": 12, "image_size": 224,
    "patch_size": 32,
}  # fmt: skip
_SIGLIP_LAYERS = {
    "hidden_size": 768, "intermediate_size": 3072, "num_hidden_layers": 12, "num_attention_heads": 12,
    "hidden_act": "gelu_pytorch_tanh", "layer_norm_eps": 1e-6,
}  # fmt: skip
_SIGLIP_TEXT = {**_SIGLIP_LAYERS, "vocab_size": 32000, "max_position_embeddings": 64}
_SIGLIP_VISION = {**_SIGLIP_LAYERS, "image_size": 224, "patch_size": 16, "vision_use_head": True}
_VIT = {
    "hidden_size": 768, "intermediate_size": 3072, "num_hidden_layers": 12, "num_attention_heads": 12,
    "hidden_act": "gelu", "layer_norm_eps": 1e-12, "image_size": 224, "patch_size": 16,
}  # fmt: skip
_DINOV2 = {
    "hidden_size": 768, "mlp_ratio": 4, "num_hidden_layers": 12, "num_attention_heads": 12, "hidden_act": "gelu",
    "layer_norm_eps": 1e-6, "image_size": 224, "use_swiglu_ffn": False,
}  # fmt: skip
_READERS: dict[str, Callable[[Table], Towers]] = {
    "clip": _read_clip,
    "siglip": _read_siglip,
    "vit": _read_vit,
    "dinov2": _read_dinov2,
    "dinov2_with_registers": _read_dinov2,
}
