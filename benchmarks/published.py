"""Folders as `transformers` writes them, with random weights: towers to be compared with, tiny ones and of real size.

Tokenizers are learned here from captions, in the layout of the published ones: CLIP's byte-level BPE, SigLIP's unigrams
and Gemma's BPE with bytes to fall back on, which SigLIP 2 reads with.
"""

import json
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
import transformers as _transformers
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from torch import Tensor

transformers: Any = _transformers  # whose types say less than its documentation
TINY = {"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 3, "num_attention_heads": 4}
BASE = {"hidden_size": 768, "intermediate_size": 3072, "num_hidden_layers": 12, "num_attention_heads": 12}
CLIP_BASE_TEXT = {"hidden_size": 512, "intermediate_size": 2048, "num_hidden_layers": 12, "num_attention_heads": 8}
CLIP_MEAN, CLIP_STD = [0.48145466, 0.4578275, 0.40821073], [0.26862954, 0.26130258, 0.27577711]
IMAGENET_MEAN, IMAGENET_STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
FAMILIES = ("clip", "siglip", "siglip2", "vit", "dinov2", "dinov2-gated", "dinov2-registers")
SIDE, PATCH = 64, 16
"""Of a tiny tower."""
MARKS = ("<pad>", "<eos>", "<bos>", "<unk>")


def write_folder(
    family: str, folder: Path, captions: Sequence[str], *, real: bool = False, side: int = 224, seed: int = 0
) -> Path:
    """Write a folder of a family with random weights.

    Args:
        captions: From which a tokenizer is learned.
        real: Whether it is as large as the base model that is published.
        side: Of the photos that one of real size is shown.
    """
    torch.manual_seed(seed)
    side = side if real else SIDE
    model = _model(family, captions, folder, real, side)
    with torch.no_grad():
        for parameter in model.parameters():  # norms of ones and biases of zeros would hide mistakes
            parameter.add_(0.02 * torch.randn_like(parameter))
    model.save_pretrained(folder)
    _write(folder / "preprocessor_config.json", _preprocessor(family, side))
    return folder


def _model(family: str, captions: Sequence[str], folder: Path, real: bool, side: int) -> Any:
    folder.mkdir(parents=True, exist_ok=True)
    if family == "clip":
        tokenizer = clip_tokenizer(captions, 49408 if real else 2000)
        tokenizer.save_pretrained(folder)
        size = {"image_size": side, "patch_size": 32 if real else PATCH}
        text = {**(CLIP_BASE_TEXT if real else TINY), "max_position_embeddings": 77 if real else 24}
        text |= {"eos_token_id": tokenizer.eos_token_id, "bos_token_id": tokenizer.bos_token_id}
        text |= {"vocab_size": 49408 if real else len(tokenizer)}
        vision = {**(BASE if real else TINY), **size}
        config = transformers.CLIPConfig(text_config=text, vision_config=vision, projection_dim=512 if real else 48)
        return transformers.CLIPModel(config)
    if family in ("siglip", "siglip2"):
        raw = (unigram_tokenizer if family == "siglip" else gemma_tokenizer)(captions, 8000 if real else 1500)
        raw.save(str(folder / "tokenizer.json"))
        pad = "</s>" if family == "siglip" else "<pad>"
        _write(folder / "tokenizer_config.json", {"pad_token": pad, "padding_side": "right", "model_max_length": 64})
        size = {"image_size": side, "patch_size": PATCH}
        rows = 32_000 if family == "siglip" else 256_000
        text = {**(BASE if real else TINY), "vocab_size": rows if real else raw.get_vocab_size()}
        text |= {"max_position_embeddings": 64, "projection_size": (BASE if real else TINY)["hidden_size"]}
        vision = {**(BASE if real else TINY), **size}
        return transformers.SiglipModel(transformers.SiglipConfig(text_config=text, vision_config=vision))
    if family == "vit":
        size = {"image_size": side, "patch_size": PATCH}
        return transformers.ViTModel(
            transformers.ViTConfig(**(BASE if real else TINY), **size), add_pooling_layer=False
        )
    shape = {key: value for key, value in (BASE if real else TINY).items() if key != "intermediate_size"}
    # Positions are learned on a larger square than photos are shown in, as the published ones are.
    shape |= {"image_size": 518, "patch_size": 14} if real else {"image_size": 112, "patch_size": PATCH}
    if family == "dinov2-registers":
        return transformers.Dinov2WithRegistersModel(transformers.Dinov2WithRegistersConfig(**shape))
    config = transformers.Dinov2Config(**shape, use_swiglu_ffn=family == "dinov2-gated")
    return transformers.Dinov2Model(config)


def _preprocessor(family: str, side: int) -> dict[str, Any]:
    common = {"do_resize": True, "do_rescale": True, "rescale_factor": 1 / 255, "do_normalize": True}
    if family == "clip":
        square = {"height": side, "width": side}
        size = {"size": {"shortest_edge": side}, "crop_size": square, "do_center_crop": True, "do_convert_rgb": True}
        return {**common, **size, "resample": 3, "image_mean": CLIP_MEAN, "image_std": CLIP_STD}
    if family.startswith("dinov2"):
        square = {"height": side, "width": side}
        size = {"size": {"shortest_edge": side * 8 // 7}, "crop_size": square, "do_center_crop": True}
        return {**common, **size, "resample": 3, "image_mean": IMAGENET_MEAN, "image_std": IMAGENET_STD}
    size = {"size": {"height": side, "width": side}, "resample": 2 if family == "vit" else 3}
    return {**common, **size, "image_mean": [0.5] * 3, "image_std": [0.5] * 3}


def clip_tokenizer(captions: Sequence[str], n: int) -> Any:
    """CLIP's: every byte is a token, and once more at the end of a word."""
    base = transformers.CLIPTokenizer().backend_tokenizer
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    letters = [*alphabet, *(f"{letter}</w>" for letter in alphabet)]
    learner = Tokenizer(models.BPE(end_of_word_suffix="</w>"))
    learner.normalizer, learner.pre_tokenizer = base.normalizer, base.pre_tokenizer
    trainer = trainers.BpeTrainer(
        vocab_size=n - len(letters) - 2, end_of_word_suffix="</w>", initial_alphabet=alphabet, show_progress=False
    )
    learner.train_from_iterator(captions, trainer)
    found = json.loads(learner.to_str())["model"]
    tokens = [*letters, *(token for token in found["vocab"] if token not in set(letters))]
    numbers = {token: place for place, token in enumerate([*tokens, "<|startoftext|>", "<|endoftext|>"])}
    return transformers.CLIPTokenizer(vocab=numbers, merges=[tuple(merge) for merge in found["merges"]])


def unigram_tokenizer(captions: Sequence[str], n: int) -> Tokenizer:
    """SigLIP's, as its tokenizer.json has it: small letters, no punctuation, unigrams, an end token."""
    made = Tokenizer(models.Unigram())
    punctuation = Regex(r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~]")
    made.normalizer = normalizers.Sequence(
        [
            normalizers.Lowercase(),
            normalizers.Replace(punctuation, ""),
            normalizers.Replace(Regex(r"\s+"), " "),
            normalizers.Strip(),
        ]
    )
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=n, special_tokens=["<unk>", "</s>"], unk_token="<unk>", show_progress=False
    )
    made.train_from_iterator(captions, trainer)
    made.post_processor = processors.TemplateProcessing(
        single="$A </s>", special_tokens=[("</s>", made.token_to_id("</s>"))]
    )
    made.decoder = decoders.Metaspace()
    return made


def gemma_tokenizer(captions: Sequence[str], n: int) -> Tokenizer:
    """Gemma's, with the bytes that it falls back on; it does not put text into small letters."""
    learner = Tokenizer(models.BPE())
    learner.normalizer = normalizers.Replace(" ", "▁")
    learner.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    trainer = trainers.BpeTrainer(vocab_size=n - 300, show_progress=False)
    learner.train_from_iterator(captions, trainer)
    found = json.loads(learner.to_str())["model"]
    bytes_ = [f"<0x{number:02X}>" for number in range(256)]
    numbers = {token: place for place, token in enumerate([*MARKS, *bytes_, *found["vocab"]])}
    merges: Any = [tuple(merge) for merge in found["merges"]]
    made = Tokenizer(models.BPE(numbers, merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    made.normalizer, made.pre_tokenizer = learner.normalizer, learner.pre_tokenizer
    made.add_special_tokens(list(MARKS))
    made.post_processor = processors.TemplateProcessing(single="$A <eos>", special_tokens=[("<eos>", numbers["<eos>"])])
    return made


def _write(path: Path, table: dict[str, Any]) -> None:
    path.write_text(json.dumps(table, indent=2) + "\n", encoding="utf-8")


def write_pair(source: Path, folder: Path) -> Path:
    """The CLIP of a folder as a pair of ONNX files, as exporters publish them, with the files that go with it."""
    (folder / "onnx").mkdir(parents=True)
    for name in ("config.json", "preprocessor_config.json", "tokenizer.json", "tokenizer_config.json"):
        (folder / name).write_bytes((source / name).read_bytes())
    model = transformers.CLIPModel.from_pretrained(source, attn_implementation="eager").eval()
    size = model.config.vision_config.image_size
    tokens = torch.ones(2, 7, dtype=torch.long)
    graphs = {
        "vision_model": (_Side(model, "image"), {"pixel_values": torch.zeros(2, 3, size, size)}, "image_embeds", 14),
        "text_model": (_Side(model, "text"), {"input_ids": tokens, "attention_mask": tokens}, "text_embeds", 18),
    }
    for name, (side, inputs, output, opset) in graphs.items():
        axes = {key: {0: "n", **({1: "t"} if name == "text_model" else {})} for key in inputs} | {output: {0: "n"}}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.onnx.export(
                side, tuple(inputs.values()), str(folder / "onnx" / f"{name}.onnx"), input_names=list(inputs),
                output_names=[output], dynamic_axes=axes, dynamo=False, opset_version=opset,
            )  # fmt: skip
    return folder


class _Side(torch.nn.Module):
    """One side of a CLIP, from what it takes to its vector."""

    def __init__(self, model: Any, side: str) -> None:
        super().__init__()
        self.model, self.side = model, side

    def forward(self, given: Tensor, mask: Tensor | None = None) -> Tensor:
        if self.side == "image":
            return vector(self.model.get_image_features(pixel_values=given))
        return vector(self.model.get_text_features(input_ids=given, attention_mask=mask))


def vector(found: Any) -> Tensor:
    """The vector that a model of `transformers` has found: by itself in some releases, in a table in others."""
    tensor: Tensor = found if isinstance(found, Tensor) else found.pooler_output
    return tensor
