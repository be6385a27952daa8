"""A recipe describes a training run completely: the model, the data, the optimiser, the loss and when to stop.

It is a TOML file. Every section is a frozen dataclass whose fields are the valid keys, with their defaults and limits;
`[config]` and `[features]` are handed on as they are, because the model and the feature extractor own those keys.
A misspelt key, a wrong type or an impossible value is refused while reading, before anything is computed.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import tomli_w

from seesay.errors import SeesayError
from seesay.system import ranges
from seesay.system.overrides import apply_overrides
from seesay.system.reading import parse_toml, read_text
from seesay.system.tables import key, read_table


@dataclass(frozen=True, slots=True)
class SourceRecipe:
    """A collection to learn from: a name under `SEESAY_DATA` or a path.

    Args:
        images: The folder of the images where it is not the collection's own.
        weight: How many times an epoch goes through it: 0.5 shows one half in each epoch, 2 shows everything twice.
        sentences_only: Learn from the sentences of an image alone, without the image.
        without: Other collections, separated by commas, whose dev and test photos are left out of this one.
        fewest_sentences: Leave out photos with fewer.
        at_most: Photos to learn from, the first of the collection; 0 takes all.
        snippets: Weights of an alignment model: learn from noun phrases and the regions that it lays them on.
    """

    source: str = field(metadata={"filled": True})
    images: str = ""
    split: str = key("train", filled=True)
    weight: float = key(1.0, above=0, at_most=ranges.COUNT)
    sentences_only: bool = False
    without: str = ""
    snippets: str = ""
    fewest_sentences: int = key(1, at_least=1)
    at_most: int = key(0, at_least=0)


@dataclass(frozen=True, slots=True)
class DevRecipe:
    """The collection that decides when to stop and which weights are the best."""

    source: str = field(metadata={"filled": True})
    images: str = ""
    split: str = key("dev", filled=True)


@dataclass(frozen=True, slots=True)
class DataRecipe:
    """What is learned from, what is measured on, how often a word has to occur to enter the vocabulary, and
    further collections to measure on, where the mean over all of them decides.
    """

    train: tuple[SourceRecipe, ...] = field(metadata={"filled": True})
    dev: DevRecipe
    min_count: int = key(5, at_least=1)
    more_dev: tuple[DevRecipe, ...] = ()


@dataclass(frozen=True, slots=True)
class OptimiserRecipe:
    """How a gradient becomes a step. A limit, decay, warm-up or average of 0 is switched off.

    Args:
        momentum: For sgd and rmsprop; adam and adamw keep their usual averages.
        clip_norm: Longest gradient allowed, over all weights together.
        clip_value: Largest gradient allowed for any single weight.
        warmup: Steps over which the rate climbs from nothing to `rate`.
        step_every: With `schedule = "step"`, the rate is multiplied by `step_factor` after this many steps.
        cooldown: With `schedule = "trapezoid"`, the last steps, over which the rate falls from `rate` to nothing.
        ema: Decay of the exponential moving average of the weights that is evaluated and kept, e.g. 0.999.
    """

    name: str = key("adam", one_of=("sgd", "rmsprop", "adam", "adamw"))
    rate: float = key(1e-3, above=0, at_most=ranges.RATE)
    weight_decay: float = key(0.0, at_least=0)
    momentum: float = key(0.0, at_least=0, below=1)
    clip_norm: float = key(0.0, at_least=0)
    clip_value: float = key(0.0, at_least=0)
    schedule: str = key("constant", one_of=("constant", "step", "cosine", "linear", "trapezoid"))
    warmup: int = key(0, at_least=0)
    step_every: int = key(0, at_least=0)
    step_factor: float = key(0.1, above=0)
    cooldown: int = key(0, at_least=0)
    ema: float = key(0.0, at_least=0, below=1)


@dataclass(frozen=True, slots=True)
class BatchRecipe:
    """How many examples a step sees, and whether sentences of like length go together."""

    size: int = key(128, at_least=1, at_most=ranges.COUNT)
    bucket_by_length: bool = True


@dataclass(frozen=True, slots=True)
class LossRecipe:
    """Which loss: one of `seesay.training.losses` for what ranks, `cider` for a captioner that is trained already.

    Args:
        margin: For the hinges.
        temperature: For the softmax.
        samples: Captions that are drawn of each photo, for `cider`.
        draw_temperature: At which they are drawn: below 1 they are more like those that are written in the end.
        shortest: Words without which they do not end.
    """

    name: str = key("softmax", one_of=("hinge-sum", "hinge-hardest", "softmax", "cider"))
    margin: float = key(0.2, at_least=0)
    temperature: float = key(0.05, above=0)
    samples: int = key(5, at_least=2, at_most=ranges.COUNT)
    draw_temperature: float = key(1.0, above=0)
    shortest: int = key(1, at_least=1, at_most=ranges.LENGTH)


@dataclass(frozen=True, slots=True)
class StopRecipe:
    """When the run ends, and by which dev figure.

    Args:
        patience: End after this many evaluations without a better figure; 0 runs all epochs.
        metric: The figure that decides, one of those that the task's evaluation gives.
        evaluate_every: Epochs between evaluations; the last epoch is always evaluated.
        keep: The weights of the `best` evaluation, or of the `last`, where the figure does not tell what is wanted of
            the model.
    """

    epochs: int = field(metadata={"at_least": 1, "at_most": ranges.EPOCHS})
    patience: int = key(0, at_least=0)
    metric: str = key("sum", filled=True)
    mode: str = key("max", one_of=("max", "min"))
    evaluate_every: int = key(1, at_least=1)
    keep: str = key("best", one_of=("best", "last"))


@dataclass(frozen=True, slots=True)
class Recipe:
    """A whole training run.

    Attributes:
        eye: A published image tower in the place of the features' network (`seesay.images.tower`): its folder, or the
            name of an added one. What the model has to know of its size is filled in.

    Example:
        >>> recipe = Recipe.from_dict({
        ...     "name": "tiny", "model": "vse",
        ...     "data": {"train": [{"source": "flickr8k"}], "dev": {"source": "flickr8k"}},
        ...     "stop": {"epochs": 15},
        ... })
        >>> recipe.optimiser.name, recipe.stop.metric, recipe.data.train[0].split
        ('adam', 'sum', 'train')
        >>> Recipe.from_dict(recipe.to_dict() | {"sead": 1})
        Traceback (most recent call last):
        seesay.errors.SeesayError: the recipe: there is no key 'sead'; did you mean 'seed'?
          allowed: name, model, data, stop, seed, config, features, optimiser, batches, loss, eye
    """

    name: str = field(metadata={"filled": True})
    model: str = field(metadata={"filled": True})
    data: DataRecipe
    stop: StopRecipe
    seed: int = key(0, at_least=0, at_most=ranges.SEED)
    config: dict[str, Any] = field(default_factory=dict)
    features: dict[str, Any] = field(default_factory=dict)
    optimiser: OptimiserRecipe = OptimiserRecipe()
    batches: BatchRecipe = BatchRecipe()
    loss: LossRecipe = LossRecipe()
    eye: str = ""

    @classmethod
    def from_dict(cls, table: Mapping[str, Any], *, origin: str = "the recipe") -> "Recipe":
        """Check a table that came from TOML and give every section its type; `origin` is named in errors."""
        recipe: Recipe = read_table(cls, table, origin)
        _check_together(recipe.optimiser, origin)
        return recipe

    def to_dict(self) -> dict[str, Any]:
        """The recipe as plain tables with all defaults filled in; `Recipe.from_dict` gives the same recipe back."""
        table = asdict(self)
        table["data"]["train"] = [_without_defaults(source) for source in table["data"]["train"]]
        if not table["optimiser"]["cooldown"]:
            del table["optimiser"]["cooldown"]
        if self.loss.name != "cider":
            for name in ("samples", "draw_temperature", "shortest"):
                del table["loss"][name]
        if not table["data"]["more_dev"]:
            del table["data"]["more_dev"]
        if not table["eye"]:
            del table["eye"]
        return table

    def to_toml(self) -> str:
        """The recipe as the text of a TOML file, with all defaults filled in."""
        return tomli_w.dumps(self.to_dict())

    def fingerprint(self) -> str:
        """SHA-256 of what the recipe says: the same for any order of keys and whether a default is written or not."""
        return hashlib.sha256(json.dumps(self.to_dict(), sort_keys=True).encode()).hexdigest()

    def differences(self, other: "Recipe") -> list[tuple[str, Any, Any]]:
        """The keys in which two recipes differ, each with its value here and there.

        Example:
            >>> from dataclasses import replace
            >>> here = Recipe("tiny", "vse", DataRecipe((SourceRecipe("a"),), DevRecipe("a")), StopRecipe(3))
            >>> here.differences(replace(here, seed=7))
            [('seed', 0, 7)]
        """
        left, right = dict(_flatten(self.to_dict())), dict(_flatten(other.to_dict()))
        keys = list(left) + [key for key in right if key not in left]
        return [(key, left.get(key), right.get(key)) for key in keys if left.get(key) != right.get(key)]


def _without_defaults(source: dict[str, Any]) -> dict[str, Any]:
    """A source's table without keys that few recipes have, where they say nothing: others keep their fingerprints."""
    defaults = {"snippets": "", "fewest_sentences": 1, "at_most": 0}
    return {name: value for name, value in source.items() if name not in defaults or value != defaults[name]}


def read_recipe(path: Path, overrides: Iterable[str] = ()) -> Recipe:
    """Read a recipe file, with `key.path=value` overrides laid over it.

    Raises:
        SeesayError: The file cannot be read or is not TOML, or a key or value is refused.
    """
    try:
        table = parse_toml(read_text(path))
    except OSError as error:
        raise SeesayError(f"cannot read the recipe {path}: {error.strerror or error}") from error
    except ValueError as error:  # both a TOML and a UTF-8 error are ValueErrors
        raise SeesayError(f"{path} is not TOML: {error}") from error
    return Recipe.from_dict(apply_overrides(table, overrides), origin=str(path))


def _check_together(optimiser: OptimiserRecipe, origin: str) -> None:
    """Keys that need each other, or would be without effect."""
    if (optimiser.schedule == "step") != (optimiser.step_every > 0):
        raise SeesayError(
            f"{origin}: optimiser.schedule is '{optimiser.schedule}' and step_every is {optimiser.step_every}",
            allowed='schedule = "step" together with a step_every above 0, or neither',
        )
    if (optimiser.schedule == "trapezoid") != (optimiser.cooldown > 0):
        raise SeesayError(
            f"{origin}: optimiser.schedule is '{optimiser.schedule}' and cooldown is {optimiser.cooldown}",
            allowed='schedule = "trapezoid" together with a cooldown above 0, or neither',
        )
    if optimiser.momentum and optimiser.name in ("adam", "adamw"):
        raise SeesayError(f"{origin}: optimiser.momentum has no effect on {optimiser.name}", allowed="sgd, rmsprop")


def _flatten(value: Any, path: str = "") -> Iterable[tuple[str, Any]]:
    if isinstance(value, dict | list) and value:
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in items:
            yield from _flatten(item, f"{path}.{key}" if path else str(key))
    else:
        yield path, value
