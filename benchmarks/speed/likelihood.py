"""How near does scoring every sentence under every picture come to the machine's matrix products?

The m-RNN scores test sentences of Flickr8K under a few pictures. In turns with it run the products of the same shapes
with nothing around them, a large square product, and a loop over single pairs; the ratio of each turn is taken before
the median, so that a busy machine weighs on all. One thread, processor time. Operations are those of the products
alone: 2 · d · V for every distinct position and picture, and the projection of m-RNN-shared. Beside trained weights
stand random ones of the same shape, shared or not, with few and many words. What all pairs of the split cost follows
from the number of distinct positions; `--whole` measures it, all cores, by the clock on the wall.

    SEESAY_DATA=… python -m benchmarks.speed.likelihood [--weights mrnn-flickr8k | --random] [--whole]
"""

import argparse
import copy
import random
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import torch
from torch import Tensor

from benchmarks.recording import parse_arguments, record
from seesay import data
from seesay.images.features import FeatureSpec
from seesay.layers.prefixes import Prefixes
from seesay.layers.sequences import Sequences
from seesay.models.mrnn import MRNN, MRNNConfig, g
from seesay.models.pretrained import load
from seesay.text.vocabulary import Vocabulary

MANY_WORDS = 8000
ROWS = 512  # of the products alone: what a block of the scoring has
SQUARE = 2048


def untrained(vocabulary: Vocabulary, n_words: int, *, shared: bool) -> MRNN:
    more = tuple(f"word{i}" for i in range(n_words - len(vocabulary)))
    vocabulary = Vocabulary(vocabulary.words + more, vocabulary.counts + (1,) * len(more), vocabulary.min_count)
    model = MRNN(MRNNConfig(shared=shared), vocabulary, FeatureSpec())
    model.initialise(0)
    model.marginal_images.normal_()
    return model.eval().requires_grad_(False)


def softmax_of(model: MRNN) -> tuple[Tensor, Tensor | None]:
    """The weights (V, d), and the projection (d, M) before them."""
    weight = model.embedding.weight if model.words is None else model.words.weight
    return weight, None if model.to_embedding is None else model.to_embedding.weight


def pictures(model: MRNN, n: int) -> Tensor:
    """Training pictures as they travel with the weights, over again where there are too few."""
    return model.marginal_images[torch.arange(n) % len(model.marginal_images)]


def without_sums(model: MRNN) -> MRNN:
    """The same weights as if they had learned to do without the sum over the vocabulary, to measure its time."""
    other = copy.copy(model)
    other.config = replace(model.config, self_normalise=1.0)
    return other


def score(model: MRNN, images: Tensor, texts: Sequences, softmax: str = "exact") -> Tensor:
    return model.score(images, texts, normalise="none", softmax=softmax)


@torch.inference_mode()
def score_each_pair(model: MRNN, images: Tensor, texts: Sequences) -> Tensor:
    """One picture with one sentence after the other, the sentences' states being known."""
    scores = torch.zeros(len(images), len(texts))
    for i, image in enumerate(images):
        for j, length in enumerate(texts.lengths.tolist()):
            logits = model.predict(g(texts.states[j, :length] + image))  # (T, V)
            scores[i, j] = logits.log_softmax(-1).gather(1, texts.words[j, :length, None]).sum()
    return scores


def products(model: MRNN, n_rows: int) -> Callable[[], None]:
    """The matrix products that `n_rows` positions with a picture need, in blocks, and nothing else."""
    weight, project = softmax_of(model)
    inputs, logits = torch.randn(ROWS, weight.shape[1]), torch.empty(ROWS, len(weight))
    hidden, projected = torch.randn(ROWS, model.config.multimodal), torch.empty(ROWS, weight.shape[1])

    @torch.inference_mode()
    def multiply() -> None:
        for _ in range(n_rows // ROWS):
            if project is not None:
                torch.mm(hidden, project.t(), out=projected)
            torch.mm(inputs, weight.t(), out=logits)

    return multiply


def timed(function: Callable[[], Any]) -> float:
    start = time.process_time()
    function()
    return time.process_time() - start


def measure(model: MRNN, sentences: list[str], arguments: argparse.Namespace) -> dict[str, Any]:
    """Rates in 10⁹ operations a second, and ratios to the alternatives."""
    light = without_sums(model)
    with torch.inference_mode():
        texts = model.encode_texts(sentences)
    images = pictures(model, arguments.images)
    few_images, few_texts = images[:4], texts[:16]
    worst = (score(model, few_images, few_texts) - score_each_pair(model, few_images, few_texts)).abs().max()
    n_rows = len(Prefixes.of(texts).n_next) * len(images)
    weight, project = softmax_of(model)
    operations = 2 * (weight.numel() + (0 if project is None else project.numel()))
    square, result = torch.randn(SQUARE, SQUARE), torch.empty(SQUARE, SQUARE)
    multiply = products(model, n_rows)
    # Each alternative, and how many positions with a picture its time stands for.
    turns: dict[str, tuple[Callable[[], Any], float]] = {
        "exact": (lambda: score(model, images, texts), n_rows),
        "products": (multiply, n_rows // ROWS * ROWS),
        "square": (lambda: torch.mm(square, square, out=result), 2 * SQUARE**3 / operations),
        "logits": (lambda: score(light, images, texts, "logits"), n_rows),
        "pairs": (
            lambda: score_each_pair(model, few_images, few_texts),
            len(few_images) * len(few_texts) * n_rows / (len(images) * len(texts)),
        ),
    }
    seconds: dict[str, list[float]] = {name: [] for name in turns}
    for _ in range(arguments.turns):
        for name, (function, n) in turns.items():
            seconds[name].append(timed(function) / n)

    def ratio(name: str) -> float:
        both = zip(seconds[name], seconds["exact"], strict=True)
        return round(statistics.median(theirs / ours for theirs, ours in both), 3)

    median = {name: statistics.median(each) for name, each in seconds.items()}
    return {
        "n_words": len(weight),
        "width": weight.shape[1],
        "gflops": {name: round(operations / median[name] / 1e9, 1) for name in ("exact", "products", "square")},
        "share_of_same_products": ratio("products"),
        "share_of_square_product": ratio("square"),
        "times_faster_than_pairs": ratio("pairs"),
        "largest_difference": float(worst),
        "nanoseconds": {name: round(median[name] * 1e9, 1) for name in ("exact", "logits")},
    }


def measure_whole(model: MRNN, texts: Sequences, n_images: int) -> dict[str, float]:
    """Seconds on the wall for the whole split, with all threads."""
    images, seconds = pictures(model, n_images), {}
    for name in ("logits", "exact"):
        start = time.perf_counter()
        score(without_sums(model), images, texts, name)
        seconds[name] = round(time.perf_counter() - start, 1)
        print(f"{n_images:,} pictures × {len(texts):,} sentences, {name}: {seconds[name]} s", flush=True)
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--weights", default="mrnn-flickr8k", help="a name that `seesay models` lists, or a folder")
    parser.add_argument("--random", action="store_true", help="no trained weights, only random ones")
    parser.add_argument("--images", type=int, default=64)
    parser.add_argument("--sentences", type=int, default=60, help="of the test split, in each turn")
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--whole", action="store_true", help="score the whole split too, with all threads")
    arguments = parse_arguments(parser, "likelihood")
    threads = torch.get_num_threads()
    torch.manual_seed(0)

    collection = data.load("flickr8k")
    test = collection.split("test")
    sentences = [sentence for item in test.items for sentence in item.sentences]
    known = Vocabulary.build(sentence for item in collection.split("train").items for sentence in item.sentences)
    models = {} if arguments.random else {arguments.weights: cast(MRNN, load(arguments.weights))}
    models |= {
        f"random, {'shared' if shared else 'not shared'}, {n_words} words": untrained(known, n_words, shared=shared)
        for shared in (False, True)
        for n_words in (len(known), MANY_WORDS)
    }
    first = next(iter(models.values()))
    with torch.inference_mode():
        texts = first.encode_texts(sentences)
    n_positions, n_distinct = int(texts.lengths.sum()), len(Prefixes.of(texts).n_next)
    print(f"{n_positions} positions in {len(sentences)} sentences, {n_distinct} after distinct beginnings")

    torch.set_num_threads(1)
    print(f"{arguments.turns} turns, one thread; GF/s of the scoring, of the same products and of a square one")
    print(f"{'weights':<32} {'scoring':>8} {'same':>6} {'square':>7} {'share':>6} {'of square':>9} {'pairs':>7}")
    rows = {}
    sample = random.Random(0).sample(sentences, arguments.sentences)
    for name, model in models.items():
        row = rows[name] = measure(model, sample, arguments)
        rates, to_minutes = row["gflops"], n_distinct * len(test.items) / 60e9
        row["processor_minutes_of_all_pairs"] = {
            kind: round(nanoseconds * to_minutes, 2) for kind, nanoseconds in row["nanoseconds"].items()
        }
        print(
            f"{name:<32} {rates['exact']:8} {rates['products']:6} {rates['square']:7} "
            f"{row['share_of_same_products']:6.2f} {row['share_of_square_product']:9.2f} "
            f"{row['times_faster_than_pairs']:6.1f}x",
            flush=True,
        )
        print(f"{'':<8}all pairs, processor minutes: {row['processor_minutes_of_all_pairs']}", flush=True)
    torch.set_num_threads(threads)
    record(
        arguments,
        ("torch",),
        data=f"{len(test.items)} images and {len(sentences)} sentences of flickr8k test",
        n_images=arguments.images,
        n_sentences=arguments.sentences,
        turns=arguments.turns,
        clock="process_time, one thread",
        n_positions=n_positions,
        n_distinct_positions=n_distinct,
        share_of_positions_saved=round(1 - n_distinct / n_positions, 3),
        rows=rows,
        whole_split_seconds=measure_whole(first, texts, len(test.items)) if arguments.whole else None,
        threads_of_the_whole_split=threads,
    )


if __name__ == "__main__":
    main()
