"""Which picture was a sentence written for? The identifier, the paper's baseline and joint embeddings, asked the same.

The baseline (paper 004, section 2.1) is the cosine between the mean GloVe vectors of the query and of the caption that
a captioner writes for each picture: NIC in the paper, any by --captioners. 6,400 seeded trials of two pictures, as in
the paper, then ten and a hundred, then the nearest neighbours of the right picture by the network's own vectors.

    SEESAY_DATA=… python benchmarks/identification.py [--split dev] [--identifiers NAME…] [--plot FILE]

Weights in runs/ do not ship: `seesay train recipes/NAME.toml` makes them.
"""

import argparse
from pathlib import Path

from recording import parse_arguments, record
from seesay import data
from seesay.captioning.captions import caption_images
from seesay.captioning.settings import Settings
from seesay.data.examples import Examples
from seesay.evaluation.identification import (
    GAMES,
    answer_from,
    answer_with,
    calibration_of,
    caption_scores,
    draw_games,
    play,
    plot_reliability,
)
from seesay.images.extraction import features_of
from seesay.models.base import Matcher
from seesay.models.identifier import load_identifier
from seesay.models.pretrained import load, load_captioner
from seesay.scoring import score_all
from seesay.text.vectors import load_vectors

IDENTIFIERS = ["identifier", "runs/identifier-flickr8k/weights", "runs/identifier-paper/weights"]
PAPER = {"identifier": 93.5, "baseline": 91.1}


def source_for(model: Matcher, name: str, split: str) -> Examples:
    collection = data.load(name).split(split)
    return Examples.of(collection, features_of(collection.images, model.feature_spec, model.outputs))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default="flickr8k")
    parser.add_argument("--split", default="test")
    parser.add_argument("--identifiers", nargs="+", default=IDENTIFIERS)
    parser.add_argument("--captioners", nargs="*", default=["runs/nic-flickr8k/weights", "mrnn-flickr8k"])
    parser.add_argument("--embeddings", nargs="*", default=["runs/vse-flickr8k/weights", "vse"])
    parser.add_argument("--beam", type=int, default=3)
    parser.add_argument("--plot", type=Path, help="draw the reliability of the first identifier here")
    arguments = parse_arguments(parser, "identification")

    rows, calibration = {}, {}
    first = load_identifier(arguments.identifiers[0])
    # Look-alikes are those of one network for everybody, so that all answer the same trials.
    games = draw_games(source_for(first, arguments.data, arguments.split))
    for name in arguments.identifiers:
        model = load_identifier(name)
        source = source_for(model, arguments.data, arguments.split)
        rows[label(model, name)] = play(answer_with(model, source), games)
        reports = calibration_of(model, source)
        calibration[label(model, name)] = {key: report.to_dict() for key, report in reports.items()}
        if arguments.plot and name == arguments.identifiers[0]:
            title = f"{label(model, name)} on {arguments.data} {arguments.split}: is what it says true?"
            plot_reliability(reports, title, arguments.plot)
    for name in arguments.captioners:
        captioner = load_captioner(name)
        source = source_for(captioner, arguments.data, arguments.split)
        assert source.table is not None
        settings = Settings.of(captioner, beam=arguments.beam, candidates=arguments.beam)
        captions = [own[0].text for own in caption_images(captioner, source.table, settings=settings)]
        baseline = caption_scores(captions, source.sentences, load_vectors())
        rows[f"baseline: captions of {label(captioner, name)}"] = play(answer_from(baseline), games)
    for name in arguments.embeddings:
        matcher = load(name)
        scores = score_all(matcher, source_for(matcher, arguments.data, arguments.split))
        rows[label(matcher, name)] = play(answer_from(scores), games)
    for name, row in rows.items():
        print(f"{name:45}", "  ".join(f"{game} {accuracy:5.1f}" for game, accuracy in row.items()))
    for name, kinds in calibration.items():
        for kind, report in kinds.items():
            print(f"{name}, {kind}: calibration error {report['before']:.4f} before, {report['after']:.4f} after")
    record(
        arguments,
        ("torch", "numpy"),
        data=arguments.data,
        split=arguments.split,
        games={game.name: {"n_candidates": game.n_candidates, "n_trials": game.n_trials} for game in GAMES},
        paper=PAPER,
        rows={name: {game: round(value, 2) for game, value in row.items()} for name, row in rows.items()},
        calibration=calibration,
        beam=arguments.beam,
    )


def label(model: Matcher, name: str) -> str:
    return model.weights.name if model.weights else name


if __name__ == "__main__":
    main()
