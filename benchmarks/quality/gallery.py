"""Sixty photos nobody chose: what the models say of them, judged right, half right or wrong by looking.

Which photos was settled before any was looked at: the 1st, 34th, 67th … of Flickr8K's test photos and of COCO's dev
photos, thirty of each. Of each photo there are

* a caption by the captioner that ships, with its mark where it is unsure, and one by another (`--former FOLDER`);
* the three best sentences among all captions of the same split, by `eye` and by `vse`, the joint embedding that looks
  through ImageNet's network alone.

    SEESAY_DATA=… python -m benchmarks.quality.gallery --page FILE.html     write what is said, and a page to look at it
    SEESAY_DATA=… python -m benchmarks.quality.gallery --count              count the judgements

What was seen is kept in benchmarks/results/gallery.tsv, one photo, text and verdict a line. A photo is never kept
there. A sentence that was written about the photo is right, and nobody has to judge it. The rule for all other texts,
fixed before looking:

- right: everything that the text says is to be seen. What cannot be seen either way (who somebody is to somebody, what
  the weather is indoors) counts neither way, and what the text leaves out does not either.
- half: the thing or person that the photo is of is named rightly, and what is said of it (doing, place, number, colour,
  things beside it) is right in part.
- wrong: the thing or person that the photo is of is not named, or is named as something else.

A text is inventing where it names a thing that is not there, even if the rest is right: the verdict then has a `+`, as
in `half+`.
"""

import argparse
import csv
import json
from collections import Counter
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.recording import parse_arguments, record
from seesay import data
from seesay.data import Collection
from seesay.errors import SeesayError
from seesay.runtime.matching import Model
from seesay.verbs.captions import caption

SPLITS = (("flickr8k", "test"), ("coco-all", "dev"))
EVERY = 33
N_EACH = 30
BEST = 3
MATCHERS = ("eye", "vse")
VERDICTS = ("right", "half", "half+", "wrong", "wrong+")
WRITTEN = "written about it"
UNJUDGED = "not judged"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--former", metavar="FOLDER", help="weights of another captioner")
    parser.add_argument("--captions", action="store_true", help="captions alone, without sentences")
    parser.add_argument("--page", type=Path, metavar="FILE", help="write a page with the photos, to be looked at")
    parser.add_argument("--count", action="store_true", help="count the judgements of what is recorded")
    arguments = parse_arguments(parser, "gallery")
    if arguments.count:
        found = json.loads(arguments.output.read_text(encoding="utf-8"))
        kept = {key: found[key] for key in ("captioners", "photos")}
        record(arguments, ("numpy",), **kept, counts=count(found["photos"], read_verdicts(arguments.output)))
        return
    captioners = ["mrnn", *([arguments.former] if arguments.former else [])]
    matchers = () if arguments.captions else MATCHERS
    photos = [entry for name, split in SPLITS for entry in tell(name, split, captioners, matchers)]
    record(arguments, ("numpy",), captioners=[Path(name).name for name in captioners], photos=photos)
    if arguments.page:
        arguments.page.write_text(draw(photos), encoding="utf-8")


def tell(name: str, split: str, captioners: Sequence[str], matchers: Sequence[str]) -> list[dict[str, Any]]:
    """What is said of the photos of one split."""
    collection = data.load(name).split(split)
    places = list(range(0, len(collection), EVERY))[:N_EACH]
    paths = [collection.images[place] for place in places]
    entries: list[dict[str, Any]] = [
        {"data": f"{name}/{split}", "photo": path.name, "captions": [], "sentences": {}} for path in paths
    ]
    for captioner in captioners:
        for entry, told in zip(entries, caption(paths, model=captioner).images, strict=True):
            best = told.captions[0]
            entry["captions"].append({"text": best.text, "unsure": bool(best.is_unsure)})
            print(f"{entry['photo']}\t{best.text}\t{'unsure' if best.is_unsure else ''}", flush=True)
    for matcher in matchers:
        for entry, place, order in zip(entries, places, best_sentences(matcher, paths, collection), strict=True):
            own = set(collection.items[place].sentences)
            texts = [collection.sentences[row] for row in order]
            entry["sentences"][matcher] = [{"text": text, "own": text in own} for text in texts]
    return entries


def best_sentences(matcher: str, paths: Sequence[Path], collection: Collection) -> list[list[int]]:
    """The places of the sentences of a collection that fit each photo best."""
    model = Model(matcher, threads=1)
    images = np.concatenate([model.encode_images(model.features([path])) for path in paths])
    sentences = collection.sentences
    texts = np.concatenate([model.encode_texts(sentences[at : at + 64]) for at in range(0, len(sentences), 64)])
    found: list[list[int]] = np.argsort(-(images @ texts.T), axis=1, kind="stable")[:, :BEST].tolist()
    return found


def said_of(entry: dict[str, Any], captioners: Sequence[str]) -> list[tuple[str, str, bool]]:
    """Kinds and texts of what is said of a photo, and whether it was written about it."""
    captions = [
        (f"caption, {name}", each["text"], False) for name, each in zip(captioners, entry["captions"], strict=False)
    ]
    sentences = [
        (f"sentences, {matcher}", each["text"], each["own"])
        for matcher, several in entry["sentences"].items()
        for each in several
    ]
    return captions + sentences


def read_verdicts(output: Path) -> dict[tuple[str, str], str]:
    path = output.with_suffix(".tsv")
    if not path.is_file():
        return {}
    with path.open(encoding="utf-8", newline="") as file:
        found = {(row["photo"], row["text"]): row["verdict"] for row in csv.DictReader(file, delimiter="\t")}
    if unknown := set(found.values()).difference(VERDICTS):
        raise SeesayError(f"{path.name} has the verdict {min(unknown)!r}", allowed=VERDICTS)
    return found


def count(photos: Sequence[dict[str, Any]], verdicts: dict[tuple[str, str], str]) -> dict[str, dict[str, int]]:
    """Verdicts by collection and kind of text, the captions that are not marked unsure a second time."""
    counts: dict[str, Counter[str]] = {}
    for entry in photos:
        captioners = [f"{number}" for number in range(1, len(entry["captions"]) + 1)]
        for kind, text, own in said_of(entry, captioners):
            verdict = "right" if own else verdicts.get((entry["photo"], text), UNJUDGED)
            counts.setdefault(f"{entry['data']}, {kind}", Counter())[verdict] += 1
        sure = next(iter(entry["captions"]), None)
        if sure and not sure["unsure"]:
            verdict = verdicts.get((entry["photo"], sure["text"]), UNJUDGED)
            counts.setdefault(f"{entry['data']}, caption, 1, not unsure", Counter())[verdict] += 1
    return {kind: dict(found) for kind, found in counts.items()}


def draw(photos: Sequence[dict[str, Any]]) -> str:
    """A page with the photos where they lie, to be looked at and not to be kept."""
    places = {path.name: path for name, split in SPLITS for path in data.load(name).split(split).images}
    rows = []
    for entry in photos:
        captioners = [f"{number}" for number in range(1, len(entry["captions"]) + 1)]
        said = "".join(
            f"<li>{escape(kind)}: {escape(text)}{f' ({WRITTEN})' if own else ''}</li>"
            for kind, text, own in said_of(entry, captioners)
        )
        picture = places[entry["photo"]].resolve().as_uri()
        rows.append(f'<h3>{escape(entry["photo"])}</h3><img src="{picture}" height="240"><ul>{said}</ul>')
    return f"<!doctype html><meta charset=utf-8><title>Gallery</title>{''.join(rows)}"


if __name__ == "__main__":
    main()
