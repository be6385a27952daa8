"""What do the phrases of a sentence add to the sentence as a whole, and how much should they count? (HM-LSTM, on dev.)

The same weights rank dev photos and sentences with every `bag_score`: 0 is the paper's cosine of photo and
sentence. The joint embedding that learned from the same photos is compared with them.

    SEESAY_DATA=... python -m benchmarks.ablations.bag_scores [WEIGHTS] [--beside runs/vse-flickr8k/weights]
"""

import argparse
from dataclasses import replace

from benchmarks.recording import parse_arguments, record
from seesay import data
from seesay.data.examples import Examples
from seesay.errors import SeesayError
from seesay.evaluation.protocols import EvaluationSet
from seesay.evaluation.retrieval import evaluate_retrieval
from seesay.images.extraction import features_of
from seesay.metrics.retrieval import retrieval_report
from seesay.models.hmlstm import HMLSTM
from seesay.models.pretrained import load
from seesay.scoring import score_all

BAG_SCORES = (0.0, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("weights", nargs="?", default="runs/hmlstm-flickr8k/weights")
    parser.add_argument("--beside", default="runs/vse-flickr8k/weights", help="a joint embedding of the same photos")
    parser.add_argument("--data", default="flickr8k")
    arguments = parse_arguments(parser, "bag_scores")

    collection = data.load(arguments.data).split("dev")
    model = load(arguments.weights)
    if not isinstance(model, HMLSTM):
        raise SeesayError(f"{arguments.weights} has no phrases", allowed="weights of the family hmlstm")
    chosen = model.config.bag_score
    source = Examples.of(collection, features_of(collection.images, model.feature_spec, model.outputs))
    model.config = replace(model.config, bag_score=0.0)
    cosines = score_all(model, source)
    model.config = replace(model.config, bag_score=1.0)
    bags = score_all(model, source) - cosines
    sums = {}
    for weight in BAG_SCORES:
        sums[f"{weight:g}"] = round(retrieval_report(cosines + weight * bags, source.image_of)["sum"], 2)
        print(f"bag_score {weight:g}: Sum {sums[f'{weight:g}']:.1f}", flush=True)
    beside = evaluate_retrieval(load(arguments.beside), EvaluationSet(collection)).to_report()["sum"]
    print(f"{arguments.beside}: Sum {beside:.1f}")
    record(
        arguments,
        ("torch",),
        data=arguments.data,
        split="dev",
        weights=arguments.weights,
        chosen=chosen,
        sums=sums,
        beside={"weights": arguments.beside, "sum": round(beside, 2)},
    )


if __name__ == "__main__":
    main()
