"""Whether graphs answer as the model does that they came from.

Both engines answer the same verbs, from the words of a sentence to the score, and the largest difference of each graph
is kept with it.
"""

from collections.abc import Container, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from seesay.errors import SeesayError
from seesay.excitation.match import match_saliency
from seesay.export.graphs import score_ways
from seesay.images.arrays import ImageFeatures
from seesay.images.features import Features
from seesay.images.regions import windows
from seesay.layers.sequences import Sequences
from seesay.models.base import Matcher
from seesay.runtime.matching import Model
from seesay.runtime.protocol import Texts
from seesay.text.tokens import LONGEST
from seesay.text.vocabulary import START

LIMIT = 1e-4
"""The largest difference that is let through, as a share of the largest number (of 1 where all are smaller)."""
SENTENCES = (
    "",
    "dog",
    "a brown dog runs through the grass",
    "two men in red shirts are playing football on a field",
    "xqzv wqpl",
    "a man 's hat is n't as old as the zzyzx beside it",
    "a girl in a pink dress is climbing up a set of stairs in an entry way",
    " ".join(["the old man and the sea"] * 20)[: 5 * LONGEST],
)
"""Empty, one word, captions, words that nobody knows, and more words than are read."""


class Difference:
    """The largest differences between two engines, by graph."""

    def __init__(self) -> None:
        self.largest: dict[str, float] = {}
        self._scales: dict[str, float] = {}

    def add(self, graph: str, torch_side: Tensor, graph_side: NDArray[Any]) -> None:
        """Compare what both gave; another shape, or a number that is none where torch has one, is no answer at all."""
        wanted = torch_side.detach().numpy()
        # Of a sentence of a hundred words a barely trained recurrence without bounds makes numbers that are too large.
        is_number = np.isfinite(wanted)
        if wanted.shape != graph_side.shape or not np.array_equal(np.isfinite(graph_side), is_number):
            raise SeesayError(f"the graph {graph} gives {graph_side.shape}, torch {wanted.shape}, or no finite numbers")
        wanted, graph_side = wanted[is_number], graph_side[is_number]
        if not wanted.size:
            return
        # A number near 0 may be the difference of large ones, as the numbers before it show.
        scale = self._scales[graph] = max(1.0, float(np.abs(wanted).max()), self._scales.get(graph, 0.0))
        found = float(np.abs(wanted.astype(np.float64) - graph_side).max()) / scale
        self.largest[graph] = max(found, self.largest.get(graph, 0.0))
        if found > LIMIT:
            raise SeesayError(f"the graph {graph} differs from torch by {found:.1e}", allowed=f"at most {LIMIT:.0e}")


@torch.inference_mode()
def compare(
    model: Matcher, graphs: Model, features: Features, sentences: Sequence[str] = SENTENCES, at_once: int = 1,
    without: Container[str] = (),
) -> dict[str, float]:  # fmt: skip
    """The largest difference of each graph.

    Args:
        model: The one that graphs were made of.
        graphs: The exported folder.
        features: Of images, with all that the model wants.
        sentences: Read in batches, and all together.
        at_once: Sentences of a batch.
        without: Graphs of scores that are not asked: one that sums over training images takes a tenth of a second for
            every sentence.

    Raises:
        SeesayError: A difference is larger than `LIMIT`.
    """
    difference = Difference()
    theirs = features.to_arrays()
    images = model.encode_images(features)
    seen = graphs.encode_images(theirs)
    difference.add("images", images, seen)
    difference.add("images", images[:1], graphs.encode_images(theirs.rows([0])))
    if graphs.can("texts"):
        for some in _batches(sentences, at_once):
            texts, read = model.encode_texts(some), graphs.encode_texts(some)
            _compare_texts(difference, texts, read)
            _compare_scores(difference, model, graphs, images, texts, read, without)
    if graphs.can("phrases"):
        for some in _batches(sentences, at_once):
            difference.add("phrases", model.encode_phrases(some), graphs.encode_phrases(some))  # type: ignore[operator]
    if "regions" in model.graph_kinds:
        _compare_regions(difference, model, graphs, features, theirs)
    if "saliency" in model.graph_kinds:
        _compare_saliency(difference, model, graphs, features, theirs, sentences)
    if "captions" in model.graph_kinds:
        _compare_steps(difference, model, graphs, images)
    if "upper" in model.graph_kinds:
        _compare_upper(difference, model, graphs, theirs)
    if graphs.can("texts") and "texts" not in graphs.graphs.names:  # several graphs read a tree, and give it together
        read = [difference.largest.pop(verb, 0.0) for verb in ("texts", "phrases")]
        difference.largest |= dict.fromkeys(("leaves", "level", "nodes"), max(read))
    return difference.largest


def _batches(sentences: Sequence[str], at_once: int) -> Iterator[list[str]]:
    yield from (list(sentences[start : start + at_once]) for start in range(0, len(sentences), at_once))
    if len(sentences) > at_once:
        yield list(sentences)


def _compare_texts(difference: Difference, texts: Any, read: Any) -> None:
    if not isinstance(texts, Sequences):
        difference.add("texts", texts, read)
        return
    assert isinstance(read, Texts)
    if texts.words.tolist() != read.words.tolist() or texts.lengths.tolist() != read.lengths.tolist():
        raise SeesayError("the graph texts reads other words than torch")
    mask = texts.mask
    difference.add("texts", texts.states[mask], read.states[mask.numpy()])  # behind a sentence's end anything may stand


def _compare_scores(
    difference: Difference, model: Matcher, graphs: Model, images: Tensor, texts: Any, read: Any,
    without: Container[str],
) -> None:  # fmt: skip
    for name, how in score_ways(model).items():
        if name in without:
            continue
        graph = "look" if "look" in model.graph_kinds else name
        for seen in (images, images[:1])[: len(images)]:
            difference.add(graph, model.score(seen, texts, **how), graphs._score(seen.numpy(), read, graph))


def _compare_regions(
    difference: Difference, model: Any, graphs: Model, features: Features, theirs: ImageFeatures
) -> None:  # fmt: skip
    for n in (1, 7):
        vectors = model.encode_regions(features, windows(n))
        difference.add("regions", vectors, graphs.encode_regions(theirs, windows(n)))


def _compare_saliency(
    difference: Difference, model: Any, graphs: Model, features: Features, theirs: ImageFeatures,
    sentences: Sequence[str],
) -> None:  # fmt: skip
    for graph, contrastive in (("saliency", False), ("saliency-contrastive", True)):
        for place in range(max(len(features), len(sentences))):
            photo, sentence = place % len(features), sentences[place % len(sentences)]
            seen = Features.of_arrays(theirs.rows([photo]))
            wanted = match_saliency(model, seen, [sentence], contrastive=contrastive)
            found = graphs.saliency(theirs.rows([photo]), [sentence], contrastive=contrastive)
            for name in ("logits", "maps", "words"):
                difference.add(graph, getattr(wanted, name), getattr(found, name))


def _compare_steps(difference: Difference, model: Any, graphs: Model, images: Tensor, n_words: int = 5) -> None:
    difference.add("words", model.word_vectors(), graphs.word_vectors())
    difference.add("refine", model.refine(images), graphs.refine(images.numpy()))
    for rows in (images[:1], images):
        state, own = model.start(rows), graphs.start(rows.numpy())
        words = torch.full((len(rows),), START)
        for wanted, found in zip(state, own, strict=True):
            difference.add("start", wanted, found)
        for _ in range(n_words):
            log_probs, state = model.step(state, words)
            found_probs, own = graphs.step(own, words.numpy())
            difference.add("step", log_probs, found_probs)
            words = log_probs.argmax(1)


def _compare_upper(difference: Difference, model: Any, graphs: Model, theirs: ImageFeatures) -> None:
    assert theirs.lower is not None
    for lower in (theirs.lower[:1], theirs.lower):
        found_map, found_vector = graphs.graphs.open("upper")({"lower": lower})
        feature_map = model.feature_map(torch.from_numpy(lower))
        difference.add("upper", feature_map.permute(0, 2, 3, 1), found_map)
        vectors = feature_map.mean((2, 3))
        difference.add("upper", vectors, found_vector)
        beside = [] if model.beside is None else [torch.tensor(theirs.pooled[: len(lower)]).float()]
        pooled = torch.cat([vectors, *beside], 1)
        difference.add("pooled", model.encode_pooled(pooled), graphs.encode_pooled(pooled.numpy()))
