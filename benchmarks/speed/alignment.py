"""How fast are all pairs of pictures and sentences scored by their best regions, and in how much memory?

Sum-of-max over regions and words (DVSA Eq. 1), as `seesay.layers.alignment_score` blocks it, against two plain ways to
write the same: the double loop over pictures and sentences, and one product of everything, which holds all inner
products at once. Vectors are random; sentences have the lengths of Flickr8K's. All ways score the same pairs in turn,
several times; the median counts. The largest difference between their scores is reported too. At the end all pairs of
the whole size are scored once in blocks. Other ways stay with the first `--sample` pictures and sentences: the whole
would take the loop an hour and the one product more memory than there is.

    python -m benchmarks.speed.alignment
"""

import argparse
import statistics
import time
from collections.abc import Callable

import torch
from torch import Tensor

from benchmarks.recording import parse_arguments, record
from seesay.layers.alignment_score import BLOCK, sum_of_max
from seesay.layers.sequences import Sequences


def by_double_loop(regions: Tensor, texts: Sequences) -> Tensor:
    sentences = [texts.states[text, :length] for text, length in enumerate(texts.lengths.tolist())]
    rows = [torch.stack([(picture @ words.T).amax(0).sum() for words in sentences]) for picture in regions]
    return torch.stack(rows)


def at_once(regions: Tensor, texts: Sequences) -> Tensor:
    products = torch.einsum("knd,ltd->knlt", regions, texts.states)  # (n_images, N, n_texts, T)
    return (products.amax(1) * texts.mask).sum(-1)


WAYS: dict[str, Callable[[Tensor, Sequences], Tensor]] = {
    "blocks": sum_of_max,
    "one product": at_once,
    "double loop": by_double_loop,
}


def made_up(n_images: int, n_regions: int, n_texts: int, dim: int, seed: int) -> tuple[Tensor, Sequences]:
    generator = torch.Generator().manual_seed(seed)
    # Mean and spread of the sentences of Flickr8K.
    lengths = (10.8 + 3.8 * torch.randn(n_texts, generator=generator)).round().clamp(2, 32).long()
    states = torch.randn(n_texts, int(lengths.max()), dim, generator=generator)
    words = torch.ones(states.shape[:2], dtype=torch.int64)
    return torch.randn(n_images, n_regions, dim, generator=generator), Sequences(states, words, lengths)


def main() -> None:
    parser = argparse.ArgumentParser(description="Speed and memory of sum-of-max scores")
    parser.add_argument("--images", type=int, default=1000)
    parser.add_argument("--texts", type=int, default=5000)
    parser.add_argument("--regions", type=int, default=20)
    parser.add_argument("--dim", type=int, default=512)
    parser.add_argument("--sample", type=int, default=60, help="pictures that all ways score, with 5 sentences each")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parse_arguments(parser, "alignment")

    regions, texts = made_up(arguments.images, arguments.regions, arguments.texts, arguments.dim, arguments.seed)
    few, some = regions[: arguments.sample], texts[: 5 * arguments.sample]
    seconds: dict[str, list[float]] = {name: [] for name in WAYS}
    scores: dict[str, Tensor] = {}
    with torch.inference_mode():
        for _ in range(arguments.repeats):
            for name, way in WAYS.items():
                start = time.perf_counter()
                scores[name] = way(few, some)
                seconds[name].append(time.perf_counter() - start)
        start = time.perf_counter()
        sum_of_max(regions, texts)
        whole = time.perf_counter() - start
    n_pairs = len(few) * len(some)
    bytes_of = {
        "blocks": BLOCK,
        "one product": 4 * n_pairs * arguments.regions * some.words.shape[1],
        "double loop": 4 * arguments.regions * some.words.shape[1],
    }
    print(f"{len(few)} pictures x {len(some)} sentences, {arguments.regions} regions, {arguments.dim} numbers")
    print(f"{'way':<12} {'seconds':>8} {'of blocks':>9} {'MB of products':>14} {'difference':>10}")
    rows = {}
    for name, taken in seconds.items():
        median = statistics.median(taken)
        rows[name] = {
            "seconds": [round(value, 4) for value in taken],
            "median": round(median, 4),
            "ratio_to_blocks": round(median / statistics.median(seconds["blocks"]), 2),
            "bytes_of_products": bytes_of[name],
            "largest_difference": float((scores[name] - scores["blocks"]).abs().max()),
        }
        print(
            f"{name:<12} {median:8.3f} {rows[name]['ratio_to_blocks']:9.1f} {bytes_of[name] / 1e6:14.1f} "
            f"{rows[name]['largest_difference']:10.1e}"
        )
    print(f"all {len(regions):,} x {len(texts):,} pairs in blocks: {whole:.1f} s")
    record(
        arguments,
        ("torch",),
        n_regions=arguments.regions,
        dim=arguments.dim,
        seed=arguments.seed,
        threads=torch.get_num_threads(),
        sample={"n_images": len(few), "n_texts": len(some), "ways": rows},
        whole={"n_images": len(regions), "n_texts": len(texts), "seconds": round(whole, 2)},
    )


if __name__ == "__main__":
    main()
