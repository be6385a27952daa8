"""How much faster are pairs scored in blocks than pair by pair?

sm-LSTM's score of a picture and a sentence depends on both at every step after the first. In turns run the scoring in
blocks, the same in half precision (bfloat16), one pair after the other from the same encoded pictures and sentences,
with nothing shared between pairs, and twenty pictures with one sentence, its encoding included, as search asks for
them. One thread, processor time; the ratio of each turn is taken before the median. What all 1,000 × 5,000 pairs of a
test set cost follows; `--whole` measures it, all cores, by the clock on the wall. Weights are random: the time does not
depend on them.

    python -m benchmarks.speed.pair_scoring [--hidden 128 256 1024] [--whole]
"""

import argparse
import statistics
import time
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import torch
from torch import Tensor

from benchmarks.recording import parse_arguments, record
from seesay.images.features import FeatureSpec
from seesay.layers.attention import Side
from seesay.layers.sequences import Sequences
from seesay.models.smlstm import SMLSTM, SMLSTMConfig, sides
from seesay.text.vocabulary import Vocabulary

N_CELLS, N_SHORT_LIST = 100, 20
N_IMAGES, N_TEXTS = 1000, 5000
WORDS = [f"word{number}" for number in range(1000)]


def build(hidden: int) -> SMLSTM:
    """An untrained model of the size of recipes/smlstm-flickr8k.toml, but for its hidden units."""
    torch.manual_seed(0)
    config = SMLSTMConfig(hidden=hidden, units=32, cell="gru", text_pooling="max")
    model = SMLSTM(config, Vocabulary.build(WORDS, min_count=1), FeatureSpec())
    model.initialise(0)
    return model.eval().requires_grad_(False)


def encoded(model: SMLSTM, n_images: int, n_texts: int) -> tuple[Tensor, Sequences]:
    """Pictures at random, and sentences of as many words as Flickr8K's have."""
    images = torch.randn(n_images, 1 + N_CELLS, model.config.dim)
    lengths = torch.randint(6, 18, (n_texts,), generator=torch.Generator().manual_seed(0)).tolist()
    texts = Sequences.join(
        [
            model.encode_texts([" ".join(WORDS[:length]) for length in lengths[start : start + 250]])
            for start in range(0, n_texts, 250)
        ]
    )
    return images, texts


@torch.inference_mode()
def score_each_pair(model: SMLSTM, images: Side, texts: Side) -> Tensor:
    """One picture with one sentence after the other, as the equations stand in the paper."""
    rows = [
        [model.pairs.look(images[i : i + 1], texts[t : t + 1]).scores for t in range(len(texts))]
        for i in range(len(images))
    ]
    return torch.cat([torch.cat(row, 1) for row in rows])


def timed(function: Callable[[], Any]) -> float:
    start = time.process_time()
    function()
    return time.process_time() - start


def measure(hidden: int, arguments: argparse.Namespace) -> dict[str, Any]:
    model = build(hidden)
    images, texts = encoded(model, arguments.images, arguments.texts)
    few = sides(images[:4], texts[:8])
    worst = (model.score(images[:4], texts[:8]) - score_each_pair(model, *few)).abs().max()
    half = deepcopy(model.pairs).bfloat16()
    halves = [Side(side.parts.bfloat16(), side.context.bfloat16(), side.mask) for side in sides(images, texts)]
    short_list, sentence = images[:N_SHORT_LIST], " ".join(WORDS[:10])
    turns: dict[str, tuple[Callable[[], Any], int]] = {
        "blocks": (lambda: model.score(images, texts), len(images) * len(texts)),
        "half": (lambda: half.score(*halves), len(images) * len(texts)),
        "pairs": (lambda: score_each_pair(model, *few), 32),
        "short list": (lambda: model.score(short_list, model.encode_texts([sentence])), N_SHORT_LIST),
    }
    seconds: dict[str, list[float]] = {name: [] for name in turns}
    for _ in range(arguments.turns):
        for name, (function, n) in turns.items():
            seconds[name].append(timed(function) / n)
    each = {name: statistics.median(values) for name, values in seconds.items()}
    ratios = {
        name: statistics.median(other / block for other, block in zip(seconds[name], seconds["blocks"], strict=True))
        for name in ("pairs", "half")
    }
    return {
        "hidden": hidden,
        "n_parameters": sum(weight.numel() for weight in model.pairs.parameters()),
        "microseconds": {name: round(each[name] * 1e6, 2) for name in ("blocks", "pairs")},
        "times_faster_than_pairs": round(ratios["pairs"], 2),
        "times_faster_than_half": round(ratios["half"], 2),
        "processor_minutes_of_all_pairs": {
            name: round(each[name] * N_IMAGES * N_TEXTS / 60, 1) for name in ("blocks", "pairs")
        },
        "milliseconds_of_a_short_list": round(each["short list"] * N_SHORT_LIST * 1e3, 1),
        "largest_difference": float(worst),
    }


def measure_whole(hidden: int) -> float:
    """Seconds on the wall for all pairs of a test set, with all threads."""
    model = build(hidden)
    images, texts = encoded(model, N_IMAGES, N_TEXTS)
    start = time.perf_counter()
    model.score(images, texts)
    return round(time.perf_counter() - start, 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hidden", type=int, nargs="+", default=[128, 256, 1024])
    parser.add_argument("--images", type=int, default=32)
    parser.add_argument("--texts", type=int, default=128)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--whole", action="store_true", help="also all pairs, at the first of the sizes")
    arguments = parse_arguments(parser, "pair_scoring")
    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    rows = []
    for hidden in arguments.hidden:
        rows.append(measure(hidden, arguments))
        print(rows[-1], flush=True)
    whole = None
    if arguments.whole:
        torch.set_num_threads(n_threads)
        whole = {"hidden": arguments.hidden[0], "threads": n_threads, "seconds": measure_whole(arguments.hidden[0])}
        print(whole)
    record(arguments, ("torch",), n_cells=N_CELLS, n_short_list=N_SHORT_LIST, rows=rows, whole=whole)


if __name__ == "__main__":
    main()
