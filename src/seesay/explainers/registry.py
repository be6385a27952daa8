"""The explainers that are installed: those of this package, and those of others.

An explainer is a class that registers itself under a name:

    @register_explainer("gaze")
    class Gaze(Explainer):
        def explain(self, model, features, sentence): ...

A package brings its own through the entry point group `seesay.explainers` (`seesay.system.registry`).
"""

from typing import TYPE_CHECKING, ClassVar, Protocol

import numpy as np

from seesay.errors import SeesayError
from seesay.explainers.explanation import Explanation
from seesay.system.registry import Registry
from seesay.text.tokens import LONGEST, tokenize

if TYPE_CHECKING:
    from collections.abc import Sequence

    from PIL.Image import Image

    from seesay.catalogue.weights import Weights
    from seesay.explainers.explanation import Floats
    from seesay.images.arrays import ImageFeatures
    from seesay.runtime.protocol import Answering

DEFAULT = "alignment"
"""The explainer whose weights are explained where neither a method nor weights are named."""


class Explained(Protocol):
    """What is asked of a model before it is explained, whichever engine it runs on."""

    @property
    def family(self) -> str: ...

    @property
    def weights(self) -> "Weights | None": ...

    @property
    def explainers(self) -> tuple[str, ...]: ...


class Explainer(Protocol):
    """Explains what a match of an image and a sentence rests on.

    Attributes:
        name: Under which it is registered.
        weights: Those that it explains where none are named; empty where they have to be.
        has_steps: Whether its explanations have steps.
        needs_image: Whether it looks at the image itself (`see`) and not at features alone; its maps are of the whole
            image also where the network is shown a part of it.
    """

    name: ClassVar[str] = ""
    weights: ClassVar[str] = ""
    has_steps: ClassVar[bool] = False
    needs_image: ClassVar[bool] = False

    def explains(self, model: "Explained") -> bool:
        """Whether it can explain a model: by default those whose class lists it."""
        return self.name in model.explainers

    def prepare(self) -> None:
        """Compute what the first explanation would have to wait for; for most, nothing."""

    def see(self, model: "Answering", image: "Image") -> "ImageFeatures":
        """What it needs of an opened image; for most, the model's own features."""
        return model.features([image])

    def explain(self, model: "Answering", features: "ImageFeatures", sentence: str) -> Explanation:
        """Explain how well a sentence fits an image.

        Args:
            model: One that it explains.
            features: Of one image, with its map, as `model.features` gives them.
            sentence: Words separated by spaces, one or more. Each gets its weight, also one that a tokenizer would
                split, such as "t-shirt".
        """
        raise NotImplementedError

    def locate(self, model: "Answering", features: "ImageFeatures", phrases: "Sequence[str]") -> "Floats":
        """How much each part of an image fits phrases, each read by itself: (n, h, w)."""
        return np.stack([self.explain(model, features, phrase).map for phrase in phrases])

    def locate_words(self, model: "Answering", features: "ImageFeatures", sentence: str) -> "Floats":
        """How much each part of an image fits the tokens of a sentence, the first `LONGEST` of them: (T, h, w).

        Raises:
            SeesayError: It has no map for each word.
        """
        maps = self.explain(model, features, " ".join(tokenize(sentence)[:LONGEST])).word_maps
        if maps is None:
            raise SeesayError(f"the explainer {self.name} has one map for a whole sentence", allowed="single phrases")
        return maps


_REGISTRY: Registry[type[Explainer]] = Registry(
    "explainer", "seesay.explainers", "register_explainer", "seesay.explainers"
)

register_explainer = _REGISTRY.register
"""Makes a class an explainer, which `explain` and `--method` call by the name that is given."""


def explainer_names() -> list[str]:
    """The names of the installed explainers; nothing is imported.

    Example:
        >>> {"contrastive", "excitation", "alignment", "attention"} <= set(explainer_names())
        True
    """
    return _REGISTRY.names()


def explainers_with_steps() -> list[str]:
    """The names of the installed explainers whose explanations have steps."""
    return [name for name in explainer_names() if find_explainer(name).has_steps]


def find_explainer(name: str) -> Explainer:
    """The explainer of a name.

    Raises:
        SeesayError: There is none; the installed ones are listed.
    """
    try:
        return _REGISTRY.find(name)()
    except SeesayError as error:
        raise SeesayError(error.what, allowed=error.allowed, hint=f"--method {DEFAULT}") from error


def default_weights(name: str | None = None) -> str:
    """The weights to explain where none are named: those of the explainer of a name, or of the default one.

    Raises:
        SeesayError: There is no such explainer, or it names no weights.
    """
    weights = find_explainer(name or DEFAULT).weights
    if not weights:
        raise SeesayError(
            f"the explainer {name} names no weights that it explains", allowed="--model WEIGHTS", hint="seesay models"
        )
    return weights


def choose_explainer(model: "Explained", name: str | None = None) -> Explainer:
    """The explainer of a name, or the first that a model's class lists.

    Raises:
        SeesayError: There is no such explainer, it cannot explain the model, or nothing can.
    """
    if name is None:
        able = _own(model) or explainers_of(model)  # packages of others are imported where they are needed only
        if not able:
            if model.explainers:
                raise SeesayError(
                    f"{_model_name(model)} is explained by {', '.join(model.explainers)}, which is not installed",
                    allowed=explainer_names(),
                    hint=f"pip install the package that brings it, or --model {default_weights()}",
                )
            raise SeesayError(
                f"no installed explainer explains {_model_name(model)}",
                allowed="weights whose model lists an explainer",
                hint=f"--model {default_weights()}",
            )
        return find_explainer(able[0])
    explainer = find_explainer(name)
    if not explainer.explains(model):
        able = explainers_of(model)
        ways = [f"--method {other}" for other in able[:1]]
        ways += [f"--model {explainer.weights}"] if explainer.weights else []
        raise SeesayError(
            f"{_model_name(model)} cannot be explained by {name}",
            allowed=able or "no installed explainer",
            hint=", or ".join(ways) or None,
        )
    return explainer


def explainers_of(model: "Explained") -> list[str]:
    """The installed explainers that explain a model, its own first and in their order."""
    own = _own(model)
    return own + [name for name in explainer_names() if name not in own and _explains(name, model)]


def _own(model: "Explained") -> list[str]:
    return [name for name in model.explainers if name in _REGISTRY]


def _explains(name: str, model: "Explained") -> bool:
    try:
        return find_explainer(name).explains(model)
    except SeesayError:  # its package cannot be imported, of which the registry has warned
        return False


def _model_name(model: "Explained") -> str:
    return model.weights.name if model.weights else model.family
