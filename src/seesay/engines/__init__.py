"""The two engines behind one set of verbs: graphs in ONNX Runtime, and torch.

Learning and measuring have a model in torch; `TorchModel` lets it answer in NumPy as its graphs do
(`seesay.runtime.protocol.Answering`). What writes captions, grounds phrases and explains matches is the same for both.
"""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from seesay.catalogue.weights import Weights
from seesay.errors import SeesayError
from seesay.excitation.match import match_saliency
from seesay.images.arrays import Floats, ImageFeatures, Looked, Saliency
from seesay.images.features import Features, FeatureSpec
from seesay.images.regions import Boxes
from seesay.layers.dropout import without_dropout
from seesay.layers.sequences import Sequences
from seesay.models.base import Captioner, ImageLike, Matcher
from seesay.models.ensemble import match_together as match_together
from seesay.models.pretrained import load, load_kind
from seesay.runtime.matching import Model
from seesay.runtime.protocol import Answering, State, Texts
from seesay.text.tokenizer import Tokenizer
from seesay.text.trees import Tree
from seesay.text.vocabulary import Vocabulary

ENGINES = ("runtime", "torch")
_METHODS = {"regions": "encode_regions", "phrases": "encode_phrases"}


def open_model(name: str | Path, engine: str = ENGINES[0]) -> Answering:
    """Trained weights, answered by an engine.

    Raises:
        SeesayError: There is no such engine, there are no such weights, or they have no graphs.
    """
    if engine not in ENGINES:
        raise SeesayError(f"there is no engine {engine!r}", allowed=ENGINES)
    return Model(name) if engine == "runtime" else TorchModel(load(name))


def load_words(name: str | Path, lack: str) -> Captioner:
    """A captioner in torch, for its word vectors; `lack` says what other weights are without."""
    return load_kind(name, Captioner, lack)  # type: ignore[type-abstract]


class TorchModel:
    """A model in torch that answers in NumPy; it works as after training, and is left as it was."""

    def __init__(self, model: Matcher) -> None:
        self.model = model

    @property
    def name(self) -> str:
        return self.model.weights.name if self.model.weights else self.model.family

    @property
    def family(self) -> str:
        return self.model.family

    @property
    def weights(self) -> Weights | None:
        return self.model.weights

    @property
    def config(self) -> Mapping[str, Any]:
        return asdict(self.model.config)

    @property
    def tokenizer(self) -> Tokenizer:
        return self.model.tokenizer

    @property
    def vocabulary(self) -> Vocabulary:
        return self.model.vocabulary

    @property
    def outputs(self) -> tuple[str, ...]:
        return self.model.outputs

    @property
    def feature_spec(self) -> FeatureSpec:
        return self.model.feature_spec

    @property
    def caption_words(self) -> Tokenizer:
        return self.model.caption_words

    @property
    def explainers(self) -> tuple[str, ...]:
        return self.model.explainers

    @property
    def is_embedding(self) -> bool:
        return self.model.is_embedding

    @property
    def weighs_regions(self) -> bool:
        return self.model.weighs_regions

    @property
    def temperature(self) -> float:
        return self.model.temperature

    @property
    def calibration(self) -> tuple[float, float, float]:
        if not hasattr(self.model, "calibration"):
            raise SeesayError(f"{self.name} gives no probability of a match", hint="seesay models")
        temperature, offset, choice = cast(Tensor, self.model.calibration).tolist()
        return temperature, offset, choice

    def can(self, verb: str) -> bool:
        if verb == "embed":
            return self.model.is_embedding or hasattr(self.model, "embed_texts")
        if verb == "saliency":
            return verb in self.model.graph_kinds
        return hasattr(self.model, _METHODS.get(verb, verb))

    def features(self, images: Sequence[ImageLike]) -> ImageFeatures:
        return self.model.features(images).to_arrays()

    def encode_images(self, features: ImageFeatures) -> Floats:
        return cast(Floats, self._ask("encode_images", Features.of_arrays(features)))

    def encode_texts(self, sentences: Sequence[str]) -> Any:
        return self._ask("encode_texts", sentences)

    def encode_phrases(self, phrases: Sequence[str]) -> Floats:
        return cast(Floats, self._ask("encode_phrases", phrases))

    def remember(self, sentence: str, tree: Tree) -> None:
        self._ask("remember", sentence, tree)

    def encode_regions(self, features: ImageFeatures, boxes: Boxes) -> Floats:
        return cast(Floats, self._ask("encode_regions", Features.of_arrays(features), boxes))

    def score(self, images: Floats, texts: Any, **how: Any) -> Floats:
        return cast(Floats, self._ask("score", _tensor(images), _read(texts), **how))

    def score_as_stage(self, images: Floats, texts: Any) -> Floats:
        return self.score(images, texts, **self.model.stage_options)

    def embed(self, features: ImageFeatures, sentences: Sequence[str]) -> tuple[Floats, Floats]:
        if not self.model.is_embedding:
            seen = self._ask("embed_images", Features.of_arrays(features))
            return seen, self._ask("embed_texts", sentences)
        return self.encode_images(features), self.encode_texts(sentences)

    def look(self, images: Floats, texts: Texts) -> Looked[Floats]:
        looked = self._ask("look", _tensor(images), _read(texts))
        return Looked(*(part.numpy() for part in (looked.scores, looked.regions, looked.words)))

    def saliency(self, features: ImageFeatures, sentences: Sequence[str], *, contrastive: bool) -> Saliency[Floats]:
        if not self.can("saliency"):
            raise SeesayError(f"{self.name} gives no probability of a match", hint="seesay models")
        found = match_saliency(cast(Any, self.model), Features.of_arrays(features), sentences, contrastive=contrastive)
        return Saliency(*(part.numpy() for part in (found.logits, found.maps, found.words)))

    def start(self, images: Floats) -> State:
        return cast(State, self._ask("start", _tensor(images)))

    def step(self, state: State, words: NDArray[np.int64]) -> tuple[Floats, State]:
        found: tuple[Floats, State] = self._ask("step", tuple(map(_tensor, state)), _tensor(words))
        return found

    def refine(self, images: Floats) -> Floats:
        return cast(Floats, self._ask("refine", _tensor(images)))

    def _ask(self, verb: str, *given: Any, **how: Any) -> Any:
        if not hasattr(self.model, verb):
            raise SeesayError(f"{self.name} has no {verb}", hint="seesay models")
        calm = without_dropout(self.model) if self.model.training else nullcontext()
        with torch.inference_mode(), calm:
            return _arrays(getattr(self.model, verb)(*given, **how))


def answering(model: Any) -> Answering:
    """A model of either engine as one that answers in NumPy."""
    return TorchModel(model) if isinstance(model, Matcher) else cast(Answering, model)


def _tensor(array: NDArray[Any]) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(array))


def _read(texts: Any) -> Any:
    if isinstance(texts, Texts):
        return Sequences(_tensor(texts.states), _tensor(texts.words), _tensor(texts.lengths))
    return _tensor(texts) if isinstance(texts, np.ndarray) else texts


def _arrays(found: Any) -> Any:
    """What a model gave, with arrays for tensors; what is neither is left as it is."""
    if isinstance(found, Tensor):
        return found.numpy()
    if isinstance(found, Sequences):
        return Texts(*(part.numpy() for part in (found.states, found.words, found.lengths)))
    return tuple(map(_arrays, found)) if type(found) is tuple else found
