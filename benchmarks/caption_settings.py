"""Choose on dev how a captioner writes: beam, length, and the neighbours that reranking listens to.

    python benchmarks/caption_settings.py mrnn --data flickr8k --references flickr8k --keep

Of the beams that with the highest mean of BLEU-1 to 4 is chosen, which is what m-RNN's tables show; then, likewise, how
many words may not be said twice; then, among the sentences of a beam of ten, the similarity, k and m with the highest
CIDEr + BLEU-4. `--keep` writes the choice into the config.json of the weights, from which `seesay caption` and `seesay
evaluate` take it.
"""

import argparse
import json
from itertools import product

import torch

from recording import parse_arguments, record
from seesay import data
from seesay.captioning.captions import caption_images
from seesay.captioning.consensus import Consensus, rerank
from seesay.captioning.reranking import refine_pictures
from seesay.captioning.settings import Settings
from seesay.evaluation.captions import features_in, references_of
from seesay.evaluation.protocols import find_protocol, read_measured
from seesay.evaluation.reranking import read_bank, write_hypotheses
from seesay.metrics.captions import caption_report
from seesay.metrics.neighbours import nearest
from seesay.models import pretrained

BEAMS = (1, 3, 5, 10)
POWERS = (0.5, 0.7, 1.0)
LEAST = (1, 8, 12)
NO_REPEATS = (0, 2, 3)
KS = (10, 20, 40, 60, 100)
MS = (25, 50, 100, 125, 150, 175)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("weights")
    parser.add_argument("--data", default="flickr8k")
    parser.add_argument("--references", default="flickr8k")
    parser.add_argument("--max-length", type=int, default=20)
    parser.add_argument("--keep", action="store_true", help="write the choice into config.json")
    arguments = parse_arguments(parser, "caption_settings")
    model = pretrained.load_captioner(arguments.weights)
    dev = read_measured(model, data.load(arguments.data).split("dev"), find_protocol("full"))
    references = references_of(dev)

    rows = []

    def measure(how: dict) -> dict:
        captions = caption_images(model, features_in(dev), settings=Settings(**how))
        rows.append({**how, **_figures([own[0].words for own in captions], references)})
        print(json.dumps(rows[-1]), flush=True)
        return rows[-1]

    def best(several: list[dict]) -> dict:
        row = max(several, key=lambda row: sum(row[f"bleu{n}"] for n in (1, 2, 3, 4)))
        return {key: value for key, value in row.items() if key in Settings.__dataclass_fields__}

    beams = [
        {"beam": width, "length_power": power, "min_length": least, "max_length": arguments.max_length, "no_repeat": 0}
        for width, power, least in product(BEAMS, POWERS, LEAST)
        if width > 1 or power == POWERS[0]  # the best next word does not depend on it
    ]
    how = best([measure(beam) for beam in beams])
    how = best([measure({**how, "no_repeat": n}) for n in NO_REPEATS])
    chosen = Settings(**how)

    bank = read_bank(model, data.load(arguments.references)).without(dev)
    hypotheses = write_hypotheses(model, dev, chosen)
    near = nearest(refine_pictures(model, features_in(dev)), bank.vectors, max(KS))
    reranked = []
    for metric in ("cider", "bleu"):
        similarities = Consensus(bank.captions, metric).similarities(hypotheses, near)
        for k, m in product(KS, MS):
            scores = similarities.scores(m, k)
            first = [several[0] for several in rerank(hypotheses, scores)]
            reranked.append({"metric": metric, "k": k, "m": m, **_figures(first, references)})
        print(json.dumps(max((row for row in reranked if row["metric"] == metric), key=_worth)), flush=True)
    best_reranked = max(reranked, key=_worth)
    captioning = {**how, "candidates": 10, **{key: best_reranked[key] for key in ("metric", "k", "m")}}
    print(json.dumps(captioning))
    if arguments.keep:
        assert model.weights
        pretrained.record_settings(model.weights.folder, captioning)
    record(
        arguments,
        ("torch",),
        weights=model.weights.name if model.weights else arguments.weights,
        data=f"{arguments.data} dev",
        references=f"{arguments.references} train",
        threads=torch.get_num_threads(),
        chosen=captioning,
        rows=rows,
        reranked=reranked,
    )


def _figures(sentences: list, references: list) -> dict[str, float]:
    report = caption_report(sentences, references, meteor=False)
    return {name: round(report[name], 4) for name in ("bleu1", "bleu2", "bleu3", "bleu4", "cider", "rouge_l")}


def _worth(row: dict) -> float:
    return row["cider"] + row["bleu4"]


if __name__ == "__main__":
    main()
