"""What does an explanation cost? Excitation backprop beside a forward pass with its gradient, in the same run.

Two networks: an identifier from the last map of a picture to its match score and back to map and words, and a row of
VGG's convolutions from pixels to the last map and back. Both ways start from nothing: their forward pass counts.

    python -m benchmarks.speed.excitation [--repeats 15]
"""

import argparse
import itertools
import time
from collections.abc import Callable
from statistics import median

import torch
from torch import nn

from benchmarks.recording import parse_arguments, record
from seesay.excitation.match import MEAN, match_saliency
from seesay.excitation.rules import propagate, run
from seesay.images.features import Features, FeatureSpec
from seesay.models.identifier import Identifier, IdentifierConfig
from seesay.text.vocabulary import Vocabulary

SENTENCE = "a man in a red shirt climbs a steep rock above the blue sea"


def identifier_ways(n: int) -> dict[str, Callable[[], object]]:
    torch.manual_seed(0)
    config = IdentifierConfig(dim=256, hidden=256, word_dim=128, word_vectors="")
    model = Identifier(config, Vocabulary.build([SENTENCE], min_count=1), FeatureSpec())
    model.initialise(0)
    model.eval().requires_grad_(False)
    cells = torch.rand(n, 9, 9, config.image_dim)
    features, sentences = Features(cells.mean((1, 2)), cells), [SENTENCE] * n

    def gradient() -> object:
        probe = cells.permute(0, 3, 1, 2).requires_grad_()
        texts = model.encode_texts(sentences)
        words = texts.states.clone().requires_grad_()
        images = run([*MEAN, *model.image_layers], probe)[-1]
        last = model.lstm(torch.cat([images.unsqueeze(1), words], 1))[:, -1]
        return torch.autograd.grad(model.output(last).sum(), [probe, words])

    return {
        "forward and gradient": gradient,
        "excitation": lambda: match_saliency(model, features, sentences),
        "contrastive": lambda: match_saliency(model, features, sentences, contrastive=True),
    }


def convolution_ways(n: int) -> dict[str, Callable[[], object]]:
    torch.manual_seed(0)
    widths = (3, 64, 64, 128, 128)
    layers: list[nn.Module] = []
    for place, (before, after) in enumerate(itertools.pairwise(widths)):
        layers += [nn.Conv2d(before, after, 3, padding=1), nn.ReLU(), *([nn.MaxPool2d(2)] if place % 2 else [])]
    network = nn.Sequential(*layers).eval().requires_grad_(False)
    pixels = torch.rand(n, 3, 64, 64)
    prior = torch.rand_like(network(pixels))

    def gradient() -> object:
        probe = pixels.clone().requires_grad_()
        return torch.autograd.grad(network(probe), probe, prior)

    return {
        "forward and gradient": gradient,
        "excitation": lambda: propagate(layers, run(layers, pixels), prior),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=15)
    arguments = parse_arguments(parser, "excitation")
    torch.set_num_threads(1)
    rows = {}
    for name, ways in {
        "identifier, one pair": identifier_ways(1),
        "identifier, 16 pairs": identifier_ways(16),
        "convolutions, 2 images": convolution_ways(2),
    }.items():
        seconds: dict[str, list[float]] = {way: [] for way in ways}
        for _ in range(arguments.repeats + 1):  # the first warms up
            for way, function in ways.items():  # one after the other, so that a busy machine slows all of them
                start = time.process_time()
                function()
                seconds[way].append(time.process_time() - start)
        medians = {way: median(some[1:]) for way, some in seconds.items()}
        base = medians["forward and gradient"]
        rows[name] = {way: {"ms": round(1e3 * s, 3), "ratio": round(s / base, 2)} for way, s in medians.items()}
        print(name, {way: f"{row['ms']} ms, {row['ratio']}×" for way, row in rows[name].items()})
    record(arguments, ("torch",), threads=1, clock="CPU time", repeats=arguments.repeats, rows=rows)


if __name__ == "__main__":
    main()
