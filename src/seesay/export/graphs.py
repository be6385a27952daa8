"""Which graphs the use of a model needs, by the verbs that it answers.

images       features of images → what the model keeps of them
texts        rows of word numbers and their lengths → what it keeps of sentences
score        both → (n_images, n_texts); of captioners also score-mean-image and likelihood, without normalisation,
             and score-views, by logits, for weights whose logits are nearly log-probabilities
regions      means over any regions → their vectors                    aligners
phrases      word rows → one vector for each                           aligners
start, step  the state before the first word, and a word further       captioners
refine       encoded images → vectors whose neighbours look alike    captioners
words        numbers of words → vectors, near each other where words are used alike        captioners
look         scores with what was looked at                            sm-LSTM, in place of score
upper        activations of the lower half → the eye's map and vector  the eye, for models that see through it
pooled       vectors of what sees through the eye → what `images` gives  the eye, for captions by such models
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from seesay.excitation.match import match_saliency
from seesay.export import stand_ins
from seesay.export.network import pooled_graph, upper_graph
from seesay.export.tracing import Graph
from seesay.export.trees import reads_trees, tree_graphs
from seesay.images.features import LOWER, OUTPUTS, Features
from seesay.images.regions import region_weights, windows
from seesay.layers.sequences import Sequences
from seesay.models.aligner import Aligner
from seesay.models.base import Captioner, Matcher
from seesay.models.hmlstm import HMLSTM
from seesay.models.identifier import Identifier

SENTENCES = ("a dog runs through the snow", "two men")
"""What graphs are followed with; a batch of unlike lengths, so that padding is met."""
_TEXTS = ("states", "words", "lengths")
_NORMALISED = {"score": "marginal", "score-mean-image": "mean-image", "likelihood": "none"}


@dataclass(frozen=True)
class FixedMap(Features):
    """Features whose map has the size that the network always gives: which cells make up a region is no question."""

    def regions(self, boxes: NDArray[np.float32]) -> Tensor:
        assert self.map is not None
        height, width = (int(size) for size in self.map.shape[1:3])
        return torch.from_numpy(region_weights(boxes, height, width)) @ self.map.flatten(1, 2)


@dataclass(frozen=True)
class GivenRegions(Features):
    """Features whose means over the regions that are asked for are known already: (n, N, C)."""

    means: Tensor | None = None

    def regions(self, boxes: NDArray[np.float32]) -> Tensor:
        assert self.means is not None
        return self.means


def graphs_of(model: Matcher, features: Features) -> list[Graph]:
    """The graphs of a model.

    Args:
        model: Trained, and not in training.
        features: Of one image or more, with what the model wants to know (`Matcher.outputs`).
    """
    with torch.no_grad():
        images = model.encode_images(features)
    found = [_image_graph(model, features)]
    if isinstance(model, Captioner):
        found += _captioner_graphs(model, images)
    if hasattr(model, "encode_regions"):
        found += _region_graphs(model, features)
    if isinstance(model, Identifier):
        found += _saliency_graphs(model, features)
    if hasattr(model, "feature_map"):
        found += [upper_graph(model, features), pooled_graph(model, features)]
    if isinstance(model, HMLSTM):
        found += tree_graphs(model, images)
    elif not reads_trees(model) and _has_texts(model):
        found += _text_graphs(model, images)
    return found


def missing(model: Matcher) -> dict[str, str]:
    """What has no graph, and why."""
    if reads_trees(model) and not isinstance(model, HMLSTM):
        why = "sentences are read as trees: which rows are added up differs from sentence to sentence"
        return dict.fromkeys(("texts", "score", "phrases"), why)
    if not _has_texts(model):
        return dict.fromkeys(("texts", "score"), "the image is read before the words: there is nothing to keep")
    return {}


def _has_texts(model: Matcher) -> bool:
    return model.can_score or not isinstance(model, Captioner)


def feature_inputs(model: Matcher, features: Features) -> dict[str, Tensor]:
    """The features that a model wants, by the names of a graph's inputs."""
    given = {"pooled": features.pooled, "map": features.map, "parts": features.parts, LOWER: features.lower}
    wanted = [output if output in (*OUTPUTS, LOWER) else "parts" for output in model.outputs]
    return {name: tensor.float() for name in wanted if (tensor := given[name]) is not None}


def _image_graph(model: Matcher, features: Features) -> Graph:
    inputs = feature_inputs(model, features)
    names = tuple(inputs)

    def encode(*tensors: Tensor) -> Tensor:
        given = dict(zip(names, tensors, strict=True))
        return model.encode_images(FixedMap(given.pop("pooled", tensors[0]), **given))

    return Graph("images", encode, inputs, ["images"], _rows(*names, "images"))


def _read(model: Matcher, encode: Callable[[list[str]], Any], words: Tensor, lengths: Tensor) -> Any:
    """What a model makes of rows of words, where it would have made the rows of sentences itself."""
    with patch.object(model, "word_rows", lambda sentences, longest=0: (words, lengths)):
        return encode([""])


def _word_inputs(model: Matcher) -> dict[str, Tensor]:
    words, lengths = model.word_rows(SENTENCES)
    return {"words": words, "lengths": lengths}


def _text_inputs(model: Any) -> dict[str, Tensor]:
    inputs: dict[str, Tensor] = model.text_inputs(SENTENCES) if reads_rows(model) else _word_inputs(model)
    return inputs


def reads_rows(model: Any) -> bool:
    """Whether a model has rows of its own (`text_inputs`), and not those of words and their lengths."""
    return hasattr(model, "text_inputs")


def _text_graphs(model: Any, images: Tensor) -> list[Graph]:
    inputs = _text_inputs(model)
    loops = _loops(model)
    with torch.no_grad():
        texts = model.encode_texts(SENTENCES)
    is_rows = isinstance(texts, Sequences)

    def encode(*rows: Tensor) -> Any:
        found: Any = model.encode_inputs(*rows) if reads_rows(model) else _read(model, model.encode_texts, *rows)
        return (found.states, found.words, found.lengths) if is_rows else found

    outputs = ["states", "said", "n_said"] if is_rows else ["texts"]
    free: dict[str, Sequence[str | None]] = {"subwords": ("n", "u"), "mask": ("n", "u")}
    free |= {"words": ("n", "t"), "lengths": ("n",), "states": ("n", "s"), "said": ("n", "s"), "n_said": ("n",)}
    found = [Graph("texts", encode, inputs, outputs, {**free, "texts": ("n",)}, loops)]
    both: dict[str, Tensor] = {"images": images}
    both |= dict(zip(_TEXTS, (texts.states, texts.words, texts.lengths), strict=True)) if is_rows else {"texts": texts}
    return found + _score_graphs(model, both, loops)


def _score_graphs(model: Matcher, both: Mapping[str, Tensor], loops: Mapping[str, Any]) -> list[Graph]:
    free = _rows("images") | {"texts": ("m",), "states": ("m", "t"), "words": ("m", "t"), "lengths": ("m",)}
    free |= {"scores": ("n", "m")} | ({"images": ("n", "r")} if both["images"].ndim == 3 else {})

    def scorer(compare: Callable[[Tensor, Any], Any]) -> Callable[..., Any]:
        return lambda images, *texts: compare(images, Sequences(*texts) if len(texts) > 1 else texts[0])

    if isinstance(model, Captioner):
        ways: dict[str, dict[str, str]] = {name: {"normalise": how} for name, how in _NORMALISED.items()}
        if model.self_normalise:
            ways["score-views"] = {"normalise": "mean-image", "softmax": "logits"}
        return [
            Graph(name, scorer(_unwrapped(model, how)), both, ["scores"], free, loops) for name, how in ways.items()
        ]
    answer: Any = getattr(model, "look", None) or getattr(model, "choose", None)
    if hasattr(model, "look"):
        free = {**free, "regions": (None, "n", "m"), "said": (None, "n", "m", "s")}

        def look(images: Tensor, texts: Sequences) -> Any:
            looked = answer(images, texts)
            return looked.scores, looked.regions, looked.words

        return [Graph("look", scorer(look), both, ["scores", "regions", "said"], free, loops)]
    if hasattr(model, "choose"):  # the same scores without blocks

        def choose(images: Tensor, texts: Sequences) -> Tensor:
            candidates = images.unsqueeze(0).expand(texts.lengths.shape[0], -1, -1)
            scores: Tensor = answer(candidates, texts)
            return scores.t()

        return [Graph("score", scorer(choose), both, ["scores"], free, loops)]
    return [Graph("score", scorer(model.score), both, ["scores"], free, loops)]


def _unwrapped(model: Captioner, how: Mapping[str, Any]) -> Callable[[Tensor, Any], Any]:
    """`score` without its inference mode, in which nothing can be followed."""
    score = type(model).score
    plain: Any = getattr(score, "__wrapped__", score)
    return lambda images, texts: plain(model, images, texts, **how)


def _region_graphs(model: Any, features: Features) -> list[Graph]:
    """A captioner sees regions beside the whole image, an aligner among those that it always looks at."""
    boxes = windows(3)
    beside = {"parts": features.parts if features.parts is not None else features.regions(model.boxes)} if isinstance(
        model, Aligner
    ) else {"pooled": features.pooled}  # fmt: skip
    inputs = {**beside, "means": features.regions(boxes)}
    names = tuple(inputs)

    def encode(*tensors: Tensor) -> Tensor:
        given = dict(zip(names, tensors, strict=True))
        found: Tensor = model.encode_regions(GivenRegions(**{"pooled": given["means"][:, 0], **given}), boxes)
        return found

    free: dict[str, Sequence[str | None]] = {**_rows(*beside), "means": ("n", "r"), "vectors": ("n", "r")}
    found = [Graph("regions", encode, inputs, ["vectors"], free)]
    if isinstance(model, Aligner) and not reads_trees(model):

        def read(words: Tensor, lengths: Tensor) -> Any:
            return _read(model, model.encode_phrases, words, lengths)

        rows = {"words": ("n", "t"), "lengths": ("n",), "vectors": ("n",)}
        found.append(Graph("phrases", read, _word_inputs(model), ["vectors"], rows, _loops(model)))
    return found


def _saliency_graphs(model: Identifier, features: Features) -> list[Graph]:
    """Excitation backprop, forwards and back in one graph."""
    assert features.map is not None
    inputs = {"map": features.map[:1].expand(len(SENTENCES), -1, -1, -1).clone(), **_word_inputs(model)}
    stand = {
        "seesay.excitation.match.fold_batch_norm": stand_ins.fold_batch_norm,
        "seesay.excitation.match.propagate_lstm": stand_ins.propagate_lstm,
        "seesay.layers.relu_lstm.ReLULSTM.trace": stand_ins.trace_lstm,
    }
    free: dict[str, Sequence[str | None]] = {"words": ("n", "t"), "said": ("n", "t"), **_rows("map", "lengths")}
    free |= {**_rows("logits"), "maps": ("n",)}

    def explain(contrastive: bool) -> Callable[..., Any]:
        def run(cells: Tensor, words: Tensor, lengths: Tensor) -> Any:
            seen = Features(cells.mean((1, 2)), cells)
            found = _read(
                model, lambda given: match_saliency(model, seen, given, contrastive=contrastive), words, lengths
            )
            return found.logits, found.maps, found.words

        return run

    outputs = ["logits", "maps", "said"]
    return [
        Graph(name, explain(contrastive), inputs, outputs, free, stand)
        for name, contrastive in (("saliency", False), ("saliency-contrastive", True))
    ]


def _captioner_graphs(model: Captioner, images: Tensor) -> list[Graph]:
    with torch.no_grad():
        state = model.start(images)
    names = [f"state_{place}" for place in range(len(state))]
    after = [f"next_{place}" for place in range(len(state))]
    words = torch.ones(len(images), dtype=torch.int64)

    def step(words: Tensor, *state: Tensor) -> Any:
        log_probs, found = model.step(state, words)
        return log_probs, *found

    inputs = {"words": words, **dict(zip(names, state, strict=True))}
    return [
        Graph("start", model.start, {"images": images}, names, _rows("images", *names)),
        Graph("step", step, inputs, ["log_probs", *after], _rows("words", *names, "log_probs", *after)),
        Graph("refine", model.refine, {"images": images}, ["refined"], _rows("images", "refined")),
        Graph(
            "words", lambda rows: model.word_vectors()[rows], {"words": words}, ["vectors"], _rows("words", "vectors")
        ),
    ]


def _rows(*names: str) -> dict[str, Sequence[str | None]]:
    return dict.fromkeys(names, ("n",))


def _loops(model: Matcher) -> dict[str, Any]:
    """The stand-ins that a model of this kind needs."""
    module = type(model).__module__
    own = vars(__import__(module, fromlist=["*"]))
    replaced: dict[str, Any] = {
        f"{module}.{name}": getattr(stand_ins, name) for name in ("sum_of_max", "log_likelihoods") if name in own
    }
    if hasattr(model, "_recur") and getattr(model.config, "cell", "") == "relu":
        replaced[f"{module}.{type(model).__name__}._recur"] = stand_ins.recur
    replaced["seesay.layers.relu_lstm.ReLULSTM.read"] = stand_ins.read_pushes
    replaced["seesay.layers.transformer.Block.forward"] = stand_ins.attend
    return replaced
