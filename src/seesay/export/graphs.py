"""The graphs that the use of a model needs. Every model has `images`; which others, it says itself (`graph_kinds`).

images       features of images → what the model keeps of them
texts        rows of word numbers and their lengths → what it keeps of sentences
score        both → (n_images, n_texts); one graph for each way to normalise (`score`, `score-mean-image`,
             `likelihood`), and `score-views` where a stage of search scores in a way of its own
look         the same with what was looked at
choose       the same by a verb that scores each sentence with candidates of its own; the graph is called `score`
trees        the same of sentences that are read as trees: `leaves`, `level`, `nodes`, `score`
regions      means over any regions → their vectors
phrases      word rows → one vector for each
captions     `start`, `step`: the state before the first word, and a word further; `refine`: encoded images → vectors
             whose neighbours look alike; `words`: numbers of words → vectors, near where words are used alike
saliency     a map and a sentence → what the match rests on; `saliency-contrastive`, minus the evidence against it
upper        activations of the lower half → the eye's map and vector, for models that see through it
pooled       vectors of what sees through the eye → what `images` gives, for matches of what others have seen
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from seesay.errors import SeesayError
from seesay.excitation.match import match_saliency
from seesay.export import stand_ins
from seesay.export.network import pooled_graph, upper_graph
from seesay.export.tracing import Graph
from seesay.export.trees import tree_graphs
from seesay.images.features import LOWER, OUTPUTS, Features
from seesay.images.regions import region_weights, windows
from seesay.layers.sequences import Sequences
from seesay.models.base import Matcher
from seesay.runtime.matching import GRAPH_OF

SENTENCES = ("a dog runs through the snow", "two men")
"""What graphs are followed with; a batch of unlike lengths, so that padding is met."""
_TEXTS = ("states", "words", "lengths")


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
    kinds = [kind for kind in model.graph_kinds if kind not in model.without_graphs]
    if unknown := [kind for kind in kinds if kind not in KINDS]:
        raise SeesayError(f"{model.family} asks for a graph {unknown[0]!r}", allowed=KINDS)
    return [_image_graph(model, features), *(graph for kind in kinds for graph in KINDS[kind](model, features, images))]


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


def _text_graphs(model: Any, features: Features, images: Tensor) -> list[Graph]:
    with torch.no_grad():
        is_rows = isinstance(model.encode_texts(SENTENCES), Sequences)

    def encode(*rows: Tensor) -> Any:
        found: Any = model.encode_inputs(*rows) if reads_rows(model) else _read(model, model.encode_texts, *rows)
        return (found.states, found.words, found.lengths) if is_rows else found

    outputs = ["states", "said", "n_said"] if is_rows else ["texts"]
    free: dict[str, Sequence[str | None]] = {"subwords": ("n", "u"), "mask": ("n", "u"), "texts": ("n",)}
    free |= {"words": ("n", "t"), "lengths": ("n",), "states": ("n", "s"), "said": ("n", "s"), "n_said": ("n",)}
    return [Graph("texts", encode, _text_inputs(model), outputs, free, _loops(model))]


def score_ways(model: Matcher) -> dict[str, dict[str, Any]]:
    """The graphs of `score`, with what it is told for each."""
    ways: dict[str, dict[str, Any]] = {GRAPH_OF[how]: {"normalise": how} for how in model.normalisations}
    ways = ways or {"score": {}}
    return ways if model.stage_options in ways.values() else {**ways, "score-views": model.stage_options}


def _score_graphs(model: Matcher, features: Features, images: Tensor) -> list[Graph]:
    score = type(model).score
    plain: Any = getattr(score, "__wrapped__", score)  # in inference mode nothing can be followed

    def way(how: Mapping[str, Any]) -> Callable[[Tensor, Any], Any]:
        return lambda images, texts: plain(model, images, texts, **how)

    return [_pair_graph(name, way(how), model, images) for name, how in score_ways(model).items()]


def _look_graph(model: Any, features: Features, images: Tensor) -> list[Graph]:
    def look(images: Tensor, texts: Sequences) -> Any:
        looked = model.look(images, texts)
        return looked.scores, looked.regions, looked.words

    return [_pair_graph("look", look, model, images, regions=(None, "n", "m"), said=(None, "n", "m", "s"))]


def _choose_graph(model: Any, features: Features, images: Tensor) -> list[Graph]:
    """The scores without blocks."""

    def choose(images: Tensor, texts: Sequences) -> Tensor:
        candidates = images.unsqueeze(0).expand(texts.lengths.shape[0], -1, -1)
        scores: Tensor = model.choose(candidates, texts)
        return scores.t()

    return [_pair_graph("score", choose, model, images)]


def _pair_graph(
    name: str, compare: Callable[[Tensor, Any], Any], model: Matcher, images: Tensor, **beside: Sequence[str | None]
) -> Graph:
    """The graph of scores.

    Args:
        compare: What gives the scores, of encoded images and sentences.
        beside: What it gives besides, with its dimensions.
    """
    with torch.no_grad():
        texts = model.encode_texts(SENTENCES)
    rows = [texts.states, texts.words, texts.lengths] if isinstance(texts, Sequences) else [texts]
    inputs = {"images": images, **dict(zip(_TEXTS if len(rows) > 1 else ["texts"], rows, strict=True))}
    free: dict[str, Sequence[str | None]] = {"images": ("n", "r") if images.ndim == 3 else ("n",), "texts": ("m",)}
    free |= {"states": ("m", "t"), "words": ("m", "t"), "lengths": ("m",), "scores": ("n", "m"), **beside}

    def run(images: Tensor, *texts: Tensor) -> Any:
        return compare(images, Sequences(*texts) if len(texts) > 1 else texts[0])

    return Graph(name, run, inputs, ["scores", *beside], free, _loops(model))


def _region_graphs(model: Any, features: Features, images: Tensor) -> list[Graph]:
    """Any regions are seen beside the whole image, or among those that the model always looks at."""
    boxes = windows(3)
    known = feature_inputs(model, features)
    beside = "parts" if "parts" in known else "pooled"
    inputs = {beside: known[beside], "means": features.regions(boxes)}
    names = tuple(inputs)

    def encode(*tensors: Tensor) -> Tensor:
        given = dict(zip(names, tensors, strict=True))
        found: Tensor = model.encode_regions(GivenRegions(**{"pooled": given["means"][:, 0], **given}), boxes)
        return found

    free: dict[str, Sequence[str | None]] = {**_rows(*names), "means": ("n", "r"), "vectors": ("n", "r")}
    return [Graph("regions", encode, inputs, ["vectors"], free)]


def _phrase_graph(model: Any, features: Features, images: Tensor) -> list[Graph]:
    def read(words: Tensor, lengths: Tensor) -> Any:
        return _read(model, model.encode_phrases, words, lengths)

    rows = {"words": ("n", "t"), "lengths": ("n",), "vectors": ("n",)}
    return [Graph("phrases", read, _word_inputs(model), ["vectors"], rows, _loops(model))]


def _saliency_graphs(model: Any, features: Features, images: Tensor) -> list[Graph]:
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


def _captioner_graphs(model: Any, features: Features, images: Tensor) -> list[Graph]:
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
    """What replaces the loops of layers that the model's module imports."""
    module = type(model).__module__
    own = vars(__import__(module, fromlist=["*"]))
    loops = ("sum_of_max", "log_likelihoods", "relu_states")
    replaced: dict[str, Any] = {f"{module}.{name}": getattr(stand_ins, name) for name in loops if name in own}
    replaced["seesay.layers.relu_lstm.ReLULSTM.read"] = stand_ins.read_pushes
    replaced["seesay.layers.transformer.Block.forward"] = stand_ins.attend
    return replaced


KINDS: dict[str, Callable[[Any, Features, Tensor], list[Graph]]] = {
    "captions": _captioner_graphs,
    "regions": _region_graphs,
    "phrases": _phrase_graph,
    "saliency": _saliency_graphs,
    "upper": upper_graph,
    "pooled": pooled_graph,
    "trees": tree_graphs,
    "texts": _text_graphs,
    "score": _score_graphs,
    "look": _look_graph,
    "choose": _choose_graph,
}
"""Each makes graphs of a model, features of images, and what the model keeps of these."""
