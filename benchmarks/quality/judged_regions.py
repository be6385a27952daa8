"""Two hundred phrases and the regions that HM-LSTM found for them, judged by looking (section 5.3.2 of the paper).

The paper had ten people judge 2,000 random correspondences of its training photos, and calls 82 % correct. Here one
reader judges 200: of 200 training photos drawn at random, a noun phrase drawn at random, with three regions. One is
chosen by `cosine`, as in the paper, one by `heat`, as the shipped weights do, and one at `random`; all three among the
parts of the photo, without the whole. The regions are called A, B and C in an order that is drawn for every phrase, so
that the reader does not know which is which.

    SEESAY_DATA=… python -m benchmarks.quality.judged_regions --sheets DIR    draw phrases, and sheets to look at
    python -m benchmarks.quality.judged_regions --judged FILE                 take up lines `17 right half wrong`
    python -m benchmarks.quality.judged_regions --count                       count the judgements

Judgements are kept in benchmarks/results/judged_regions.tsv, a line for each region. No photo is kept there. The rule
was fixed before looking. What the phrase names is its noun with what the phrase itself says of it: for "a dog with a
ball" it is the dog, and the ball may be missing.

- right: the larger part of what the phrase names lies in the box, and the box shows nothing larger: a person who is
  shown the box alone and asked what it is of could answer with the phrase. Of several things ("two dogs") most of them
  have to be there. Of what has no edges (sand, water, a street) the box has to show more than of anything else.
- half: what the phrase names is there, but only the smaller part of it, or as a minor thing in a box that is of
  something else or of the whole scene.
- wrong: what the phrase names is not in the box, or only an edge of it; or it is nowhere in the photo.
"""

import argparse
import csv
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.recording import parse_arguments, record
from seesay import data
from seesay.drawing.overlay import Mark, draw_boxes, fit
from seesay.drawing.sheets import Cell, draw_sheet, save_picture
from seesay.errors import SeesayError
from seesay.images.extraction import features_of
from seesay.images.io import open_image
from seesay.metrics.bootstrap import estimate
from seesay.models.hmlstm import HMLSTM
from seesay.models.pretrained import load
from seesay.scoring import choose_regions
from seesay.text.tokens import tokenize

N_PHRASES = 200
SEED = 20
RULES = ("cosine", "heat", "random")
LETTERS = "ABC"
COLOURS = ((230, 30, 30), (30, 90, 255), (255, 200, 0))
VERDICTS = ("right", "half", "wrong")
PAPER = 82.0
"""Percent of the paper's correspondences that were judged correct."""
ON_A_SHEET = 12


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--weights", default="hmlstm")
    parser.add_argument("--sheets", type=Path, metavar="DIR", help="draw phrases and regions, and sheets to look at")
    parser.add_argument("--judged", type=Path, metavar="FILE", help="number of a phrase and verdicts of A, B and C")
    parser.add_argument("--count", action="store_true", help="count the judgements")
    arguments = parse_arguments(parser, "judged_regions")
    kept = arguments.output.with_suffix(".tsv")
    if arguments.sheets:
        rows = draw_phrases(arguments.weights)
        write(kept, rows)
        draw(rows, arguments.sheets)
    if arguments.judged:
        write(kept, judge(read(kept), arguments.judged.read_text(encoding="utf-8")))
    if arguments.count:
        rows = read(kept)
        figures = {rule: count([row["verdict"] for row in rows if row["rule"] == rule]) for rule in RULES}
        record(
            arguments, ("numpy",), weights=arguments.weights, data="flickr8k", split="train", readers=1,
            n_phrases=len({row["number"] for row in rows}), paper=PAPER, rows=figures,
        )  # fmt: skip


@torch.inference_mode()
def draw_phrases(weights: str) -> list[dict[str, str]]:
    """The regions of phrases drawn at random, those of a phrase in an order drawn at random."""
    model = load(weights)
    if not isinstance(model, HMLSTM):
        raise SeesayError(f"{weights} finds no correspondences", allowed="weights of the family hmlstm")
    collection = data.load("flickr8k").split("train")
    generator = np.random.default_rng(SEED)
    rows: list[dict[str, str]] = []
    for place in generator.permutation(len(collection)):
        if len(rows) == len(LETTERS) * N_PHRASES:
            break
        item = collection.items[place]
        sentence = item.sentences[generator.integers(len(item.sentences))]
        (reading,) = model.read([sentence])
        if item.image is None or not len(reading.spans):
            continue
        drawn = int(generator.integers(len(reading.spans)))
        features = features_of([item.image], model.feature_spec, ("pooled", "map")).rows([0])
        regions, phrases = model.encode_images(features), model.encode_trees([sentence]).phrases[drawn : drawn + 1]
        owner = torch.zeros(1, dtype=torch.int64)
        chosen = [
            int(choose_regions(model, regions, phrases, owner, maps, parts_only=True)[0]) for maps in (None, features)
        ]
        chosen.append(int(generator.integers(1, len(model.boxes))))
        first, last = reading.spans[drawn]
        said = {"number": str(len(rows) // len(LETTERS) + 1), "photo": item.image.name}
        said["phrase"] = " ".join(tokenize(sentence)[first:last])
        for letter, rule in zip(LETTERS, generator.permutation(len(RULES)), strict=True):
            box = " ".join(f"{edge:.3f}" for edge in model.boxes[chosen[rule]])
            rows.append({**said, "box": letter, "rule": RULES[rule], "place": box, "verdict": ""})
    return rows


def draw(rows: Sequence[dict[str, str]], folder: Path) -> None:
    """Sheets of photos with the boxes of a phrase, without the rules that chose them."""
    folder.mkdir(parents=True, exist_ok=True)
    places = {path.name: path for path in data.load("flickr8k").split("train").images}
    cells = []
    for start in range(0, len(rows), len(LETTERS)):
        own = rows[start : start + len(LETTERS)]
        marks = []
        for number, (row, colour) in enumerate(zip(own, COLOURS, strict=True)):
            left, top, right, bottom = (float(edge) for edge in row["place"].split())
            inset = 0.008 * number  # equal boxes are all to be seen
            marks.append(Mark((left + inset, top + inset, right - inset, bottom - inset), row["box"], colour))
        picture = draw_boxes(fit(open_image(places[own[0]["photo"]]), 420), marks)
        cells.append(Cell(picture, f"{own[0]['number']}: {own[0]['phrase']}"))
    for start in range(0, len(cells), ON_A_SHEET):
        sheet = draw_sheet(cells[start : start + ON_A_SHEET], 4, width=380, n_lines=3)
        save_picture(sheet, folder / f"{start // ON_A_SHEET + 1:02}.png")


def judge(rows: Sequence[dict[str, str]], text: str) -> list[dict[str, str]]:
    """The rows with the verdicts of a text.

    Raises:
        SeesayError: A line has no verdict for each box, an unknown one, or one of a phrase that was not drawn.
    """
    found: dict[tuple[str, str], str] = {}
    for line in filter(None, (line.strip() for line in text.splitlines())):
        number, *verdicts = line.split()
        if len(verdicts) != len(LETTERS) or set(verdicts) - set(VERDICTS):
            raise SeesayError(f"no judgement: {line}", allowed=f"a number and three of {', '.join(VERDICTS)}")
        found |= {(number, letter): verdict for letter, verdict in zip(LETTERS, verdicts, strict=True)}
    if unknown := set(found) - {(row["number"], row["box"]) for row in rows}:
        raise SeesayError(f"there is no phrase {min(unknown)[0]}", allowed=f"1 to {len(rows) // len(LETTERS)}")
    return [{**row, "verdict": found.get((row["number"], row["box"]), row["verdict"])} for row in rows]


def count(verdicts: Sequence[str]) -> dict[str, Any]:
    """How many verdicts of each kind, and the shares that are right and at least half right, in percent.

    Example:
        >>> found = count(["right", "half", "wrong", "wrong"])
        >>> found["half"], found["percent_right"]["mean"], found["percent_right_or_half"]["mean"]
        (1, 25.0, 50.0)
    """
    found = Counter(verdict or "not judged" for verdict in verdicts)
    judged = [verdict for verdict in verdicts if verdict]
    shares = {"percent_right": ("right",), "percent_right_or_half": ("right", "half")}
    return {
        **{verdict: found[verdict] for verdict in (*VERDICTS, "not judged")},
        **{
            name: asdict(estimate(np.array([100.0 * (one in good) for one in judged]), np.arange(len(judged))))
            for name, good in shares.items()
        },
    }


def read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def write(path: Path, rows: Sequence[dict[str, str]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter="\t", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
