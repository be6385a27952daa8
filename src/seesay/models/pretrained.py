"""Trained weights on disk: one folder a model, everything it needs inside, nothing that can run code.

model.safetensors  the weights, half precision
config.json        family, configuration, features, data, recipe, measured figures, its stage of search, and the
                   weights that it shares parts with, if any
vocabulary.json    the words, or tokenizer.json, the subwords
card.md            the same in plain words, written from config.json

Some models leave more beside them: phrases, n-grams, hubness (`seesay.models.hubness`).
"""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar, cast

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from safetensors.torch import save as to_bytes

from seesay.catalogue.weights import FORMAT as FORMAT
from seesay.catalogue.weights import PACKAGED as PACKAGED
from seesay.catalogue.weights import find as find
from seesay.catalogue.weights import installed as installed
from seesay.catalogue.weights import read_about as read_about
from seesay.errors import SeesayError
from seesay.images.backbones import file_digest, find_network
from seesay.images.features import FeatureSpec
from seesay.images.state_dicts import unpack_state
from seesay.models.base import Captioner, Matcher, Weights
from seesay.models.card import write_card
from seesay.models.registry import family_of
from seesay.system.files import cannot_write, replace_atomically
from seesay.system.overrides import apply_overrides
from seesay.system.reading import require_regular
from seesay.system.tables import read_table
from seesay.text.tokenizer import read_tokenizer

Kind = TypeVar("Kind", bound=Matcher)


def load(name: str | Path, *, changes: Sequence[str] = ()) -> Matcher:
    """Load trained weights, ready to use.

    Args:
        name: The name of weights that came with the package (`seesay models` lists them), or a folder.
        changes: Values of their configuration that are to be others, as in `bag_score=0.5`.

    Raises:
        SeesayError: There are no such weights, or a file of theirs is damaged or does not fit the others.

    Example:
        >>> model = load("vse")
        >>> model.encode_texts(["a dog runs"]).shape[0]
        1
    """
    weights = find(name)
    folder, about = weights.folder, weights.about
    origin = str(folder / "config.json")
    kind = family_of(weights)
    config = read_table(kind.config_type, apply_overrides(about["config"], changes), origin)
    tokenizer = read_tokenizer(folder, (kind.tokenizer_type,), about.get("vocabulary"))
    spec = _read_features(weights, origin)
    model = kind(config, tokenizer, spec)
    load_tensors(model, folder / "model.safetensors", _share_parts(model, weights))
    model.weights = weights
    return model.eval().requires_grad_(False)


def load_captioner(name: str | Path) -> Captioner:
    """Load trained weights that can write captions.

    Raises:
        SeesayError: The weights are of a model that only matches; those that can are named.
    """
    return load_kind(name, Captioner, "matches images and sentences and writes no captions")  # type: ignore[type-abstract]


def load_kind(name: str | Path, wanted: type[Kind], lack: str) -> Kind:
    """Load trained weights of one kind of models.

    Args:
        wanted: A class that the weights' own has to descend from.
        lack: What other models lack, as a sentence that begins with their name.

    Raises:
        SeesayError: The weights are of another kind; those that are of this one are named.
    """
    weights = find(name)
    kind = family_of(weights)
    if not issubclass(kind, wanted):
        able = [other.name for other in installed() if issubclass(family_of(other), wanted)]
        raise SeesayError(
            f"{weights.name} {lack}", allowed=able or "the folder of weights that were trained", hint="seesay models"
        )
    return cast(Kind, load(name))


def _read_features(weights: Weights, origin: str) -> FeatureSpec:
    """The features that weights were trained on; those of other weights of the network are refused."""
    described = dict(weights.about["features"])
    digest = str(described.pop("digest", ""))
    if (network := weights.folder / str(weights.about.get("graphs", {}).get("network") or "-")).is_dir() and (
        find_network(str(described.get("backbone", ""))).takes_graph
    ):
        described["weights"] = str(network)
    spec = read_table(FeatureSpec, {**described, "expected_digest": digest}, origin)
    if not digest:
        raise SeesayError(f"{origin}: features.digest is missing", allowed=f"the SHA-256 of {spec.backbone}'s weights")
    try:
        _ = spec.digest
    except SeesayError as error:
        what = f"{weights.name} was trained on other features: {error.what}"
        raise SeesayError(what, allowed=error.allowed, hint=error.hint) from error
    return spec


def _share_parts(model: Matcher, weights: Weights) -> list[str]:
    """Fill what a model shares with other weights, if they are still those that it was trained with; give the parts."""
    sources = weights.about.get("source_weights", {})
    packaged = {other.name for other in installed()}
    if not isinstance(sources, dict) or not set(sources) <= packaged & set(model.shared_parts):
        raise SeesayError(
            f"{weights.folder / 'config.json'}: source_weights is {str(sources)[:80]}",
            allowed=f"installed weights that its config starts from: {', '.join(model.shared_parts) or 'none'}",
        )
    parts: list[str] = []
    for source, digest in sources.items():
        found = file_digest(find(source).folder / "model.safetensors")
        if found != digest:
            raise SeesayError(
                f"{weights.name} was trained on top of {source} {str(digest)[:12]}, installed is {found[:12]}",
                hint="install both from one release of seesay, or train it again",
            )
        model.share_from(source)
        parts += model.shared_parts[source]
    return parts


def load_tensors(model: torch.nn.Module, path: Path, without: Sequence[str] = ()) -> None:
    """Fill a model from a safetensors file; a missing, foreign or misshapen tensor is named with both sides.

    Args:
        without: Parts of the model that are not in the file.
    """
    try:
        require_regular(path)
        tensors = load_file(path)
    except (OSError, SafetensorError) as error:
        raise SeesayError(f"cannot read the weights {path}: {error}") from error
    own = _tensors(model, without)
    tensors = unpack_state(tensors, own)
    wanted = {name: tuple(tensor.shape) for name, tensor in own.items()}
    found = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
    if wanted != found:
        name = min(key for key in wanted.keys() | found.keys() if wanted.get(key) != found.get(key))
        raise SeesayError(
            f"{path} does not fit its config.json: {name} is {found.get(name, 'absent')} in the file, "
            f"{wanted.get(name, 'absent')} in the model"
        )
    model.load_state_dict({name: tensor.float() for name, tensor in tensors.items()}, strict=not without)


def _tensors(model: torch.nn.Module, without: Sequence[str]) -> dict[str, torch.Tensor]:
    return {name: tensor for name, tensor in model.state_dict().items() if name.split(".")[0] not in without}


def save(folder: Path, model: Matcher, about: dict[str, Any]) -> Weights:
    """Write a weights folder.

    Args:
        about: What the model itself does not know: name, data, recipe, seed, date, figures.
    """
    features = model.feature_spec.describe()
    described = {
        "format": FORMAT,
        "family": model.family,
        "config": asdict(model.config),
        "features": features,
        "vocabulary": model.tokenizer.fingerprint(),
        "search": {"stage": model.stage, "dim": model.view_dim} if model.stage else None,
        **about,
    }
    # Parts of weights in a folder of one's own are kept: it may be gone tomorrow.
    sources = {weights.name: weights for weights in installed() if weights.name in model.shared_parts}
    without = [part for source in sources for part in model.shared_parts[source]]
    if sources:
        described["source_weights"] = {
            source: file_digest(weights.folder / "model.safetensors") for source, weights in sources.items()
        }
    tensors = {
        name: (tensor.half() if model.in_half and tensor.is_floating_point() else tensor).contiguous()
        for name, tensor in _tensors(model, without).items()
    }
    path = folder / "model.safetensors"
    with replace_atomically(path) as temporary:
        try:
            temporary.write_bytes(to_bytes(tensors))
        except SafetensorError as error:  # as of a full disk
            raise cannot_write(path, error, "make room on the disk") from error
    _write_text(folder / model.tokenizer.file_name, model.tokenizer.to_json())
    return write_about(folder, described)


def record_figures(folder: Path, key: str, figures: dict[str, Any]) -> Weights:
    """Keep a measured report with the weights, under `data/split`, and renew the card."""
    about = read_about(folder).about
    return write_about(folder, {**about, "figures": {**about.get("figures", {}), key: figures}})


def record_table(folder: Path, section: str, table: Any, tuned: dict[str, Any] | None = None) -> Weights:
    """Keep a table that was chosen after training, with the record of how, and renew the card.

    Args:
        section: Its name; `cascade.calibration` is inside of `cascade`.
        tuned: See `seesay.catalogue.weights.check_digests`.
    """
    about = read_about(folder).about
    *above, key = section.split(".")
    changed = {**about, above[0]: {**about[above[0]], key: table}} if above else {**about, key: table}
    if tuned is not None:
        changed["tuned"] = {**about.get("tuned", {}), key: tuned}
    return write_about(folder, changed)


def write_about(folder: Path, about: dict[str, Any]) -> Weights:
    """Write config.json, and the card from it."""
    _write_text(folder / "card.md", write_card(about))
    _write_text(folder / "config.json", json.dumps(about, indent=2, ensure_ascii=False) + "\n")
    return Weights(folder, about)


def _write_text(path: Path, text: str) -> None:
    with replace_atomically(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
