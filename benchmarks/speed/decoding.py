"""What one caption costs, features given, on one thread; and what batching the beam is worth.

The alternative is the same search as a plain loop: every beginning of the beam is stepped by a call of its own, and
the slots are filled from Python lists. Both have to find the same sentences. Rounds are interleaved: each photo is
captioned in every way before the next one. Times are processor time, which for one thread is the time on a machine that
does nothing else.

Sentences are as long and lengths as much in favour as the weights' own settings say.

    SEESAY_DATA=… python -m benchmarks.speed.decoding [--weights mrnn] [--images 50] [--rounds 3]

`--weights random` takes an untrained m-RNN with 8,000 words, to try the benchmark itself out.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from benchmarks.recording import parse_arguments, record
from seesay import data
from seesay.captioning.beam import beam
from seesay.captioning.decoding import greedy
from seesay.captioning.settings import Settings
from seesay.captioning.steps import Hypothesis, State, top_words
from seesay.engines import TorchModel
from seesay.images.arrays import ImageFeatures
from seesay.images.extraction import features_of
from seesay.images.features import FeatureSpec
from seesay.models.mrnn import MRNN, MRNNConfig
from seesay.models.pretrained import load_captioner
from seesay.text.vocabulary import END, START, Vocabulary


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--weights", default="mrnn", help="a name or a folder, or 'random'")
    parser.add_argument("--images", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--width", type=int, default=10)
    arguments = parse_arguments(parser, "decoding")
    torch.set_num_threads(1)
    width = arguments.width
    model = TorchModel(random_model() if arguments.weights == "random" else load_captioner(arguments.weights))
    paths = data.load("flickr8k").split("test").images[: arguments.images]
    photos = features_of(paths, model.feature_spec, model.outputs)
    rows = [photos.arrays([place]) for place in range(len(paths))]
    settings = Settings.of(model, beam=width)
    search = {"width": width, "max_length": settings.max_length, "length_power": settings.length_power}
    ways: dict[str, Callable[[ImageFeatures], list[Hypothesis]]] = {
        "greedy": lambda row: greedy(model, start(model, row), max_length=settings.max_length),
        f"beam {width}": lambda row: beam(model, start(model, row), **search)[0],
        f"beam {width}, plain loop": lambda row: plain_beam(model, start(model, row), **search),
    }
    times: dict[str, list[float]] = {way: [] for way in ways}
    found: dict[str, list[Hypothesis]] = {way: [] for way in ways}
    for round_number in range(arguments.rounds + 1):
        for row in rows if round_number else rows[:3]:  # the first few warm up
            for way, caption in ways.items():
                begin = time.process_time()
                hypotheses = caption(row)
                _ = [model.vocabulary.decode(hypothesis.words) for hypothesis in hypotheses]
                if round_number:
                    times[way].append(time.process_time() - begin)
                    found[way].append(hypotheses[0])
    together = whole_batch(model, photos.arrays(range(len(paths))), search, arguments.rounds)
    milliseconds = {way: 1000 * statistics.median(own) for way, own in times.items()}
    _, beam_way, plain_way = ways
    ratio = statistics.median(p / b for p, b in zip(times[plain_way], times[beam_way], strict=True))
    same = [a.words == b.words for a, b in zip(found[beam_way], found[plain_way], strict=True)]
    lengths = {way: statistics.mean(len(h.words) for h in own) for way, own in found.items()}
    record(
        arguments,
        ("torch",),
        data=f"{len(paths)} photos of flickr8k test",
        weights=arguments.weights,
        words=len(model.vocabulary),
        threads=1,
        clock="CPU time",
        rounds=arguments.rounds,
        settings=search,
        milliseconds_per_caption={way: round(value, 2) for way, value in milliseconds.items()},
        mean_words={way: round(value, 1) for way, value in lengths.items()},
        plain_loop_takes_times=round(ratio, 2),
        same_sentences=round(statistics.mean(same), 3),
        milliseconds_per_caption_all_photos_at_once={way: round(value, 2) for way, value in together.items()},
    )
    print("\n| way | ms per caption | all photos at once | words |")
    print("| --- | --- | --- | --- |")
    for way in ways:
        at_once = f"{together[way]:.2f}" if way in together else ""
        print(f"| {way} | {milliseconds[way]:.2f} | {at_once} | {lengths[way]:.1f} |")
    print(f"\nthe plain loop takes {ratio:.2f} times as long as the beam; {100 * statistics.mean(same):.0f} % same")


def random_model() -> MRNN:
    words = {f"w{number}": 1000 // (number + 1) + 5 for number in range(8000)}
    sentences = [" ".join([word] * count) for word, count in words.items()]
    model = MRNN(MRNNConfig(), Vocabulary.build(sentences, 5), FeatureSpec()).eval().requires_grad_(False)
    torch.manual_seed(0)
    model.initialise(0)
    model.bias.data[END] = -20.0  # else it would end after one word
    return model


def start(model: TorchModel, features: ImageFeatures) -> State:
    return model.start(model.encode_images(features))


def whole_batch(model: TorchModel, features: ImageFeatures, search: dict[str, Any], rounds: int) -> dict[str, float]:
    """Milliseconds per caption where all photos are captioned by one call."""
    calls = {
        "greedy": lambda: greedy(model, start(model, features), max_length=search["max_length"]),
        f"beam {search['width']}": lambda: beam(model, start(model, features), **search),
    }
    times: dict[str, list[float]] = {way: [] for way in calls}
    for _ in range(rounds):
        for way, call in calls.items():
            begin = time.process_time()
            call()
            times[way].append(1000 * (time.process_time() - begin) / len(features))
    return {way: statistics.median(own) for way, own in times.items()}


def plain_beam(model: TorchModel, state: State, width: int, max_length: int, length_power: float) -> list[Hypothesis]:
    """The best sentence, one beginning at a time."""
    beginnings: list[tuple[float, tuple[int, ...], State]] = [(0.0, (), state)]
    best, merit = None, -torch.inf
    for t in range(max_length):
        continuations = []  # of each beginning: total, words, state
        ends = []
        for total, words, own in beginnings:
            log_probs, after = model.step(own, np.array([words[-1] if words else START]))
            ends.append(total + float(log_probs[0, END]) if t else -torch.inf)
            values, places = top_words(log_probs, width)
            tops = zip(values[0].tolist(), places[0].tolist(), strict=True)
            continuations.append([(total + value, (*words, place), after) for value, place in tops])
        before = [words for _, words, _ in beginnings]
        beginnings = []
        for slot in range(width):
            owner = max(
                (place for place in range(min(slot + 1, len(before))) if continuations[place]),
                key=lambda place: continuations[place][0][0],
            )
            beginnings.append(continuations[owner].pop(0))
        for place, end in enumerate(ends):
            its_merit = end / max(t, 1) ** length_power
            if end >= min(total for total, _, _ in beginnings[place:]) and its_merit > merit:
                best, merit = Hypothesis(before[place], end, True), its_merit
        if merit >= max(total for total, _, _ in beginnings) / max_length**length_power:
            break
    total, words, _ = max(beginnings, key=lambda beginning: beginning[0])
    return [best or Hypothesis(words, total, False)]


if __name__ == "__main__":
    main()
