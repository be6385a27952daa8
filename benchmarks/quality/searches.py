"""Searches as people type them, over 300 photos, judged by looking: how many of the first five fit?

The queries (`benchmarks/quality/searches/NAME.tsv`) were written before anybody saw what they find: `audit` has the
kinds of queries, and as far as they are known the queries, of an audit of search before it had the eye. They are asked
of the first 300 test photos of Flickr8K by name (set `audit`), and of the first 300 of the published list of test
photos, those that the audit looked at (set `listed`). The queries of `other` are asked of photos 301 to 600 by name.

    SEESAY_DATA=… python -m benchmarks.quality.searches audit --sheets DIR     draw what was found and not judged
    SEESAY_DATA=… python -m benchmarks.quality.searches audit                  count, and write the record

What nobody judged is drawn in an order of its own, `NAME-unjudged-N.png`, each photo with its query and without its
rank or score, so that it is judged without knowing how it was found; the sheets `NAME-N.png` have the ranking.

What was seen is kept in benchmarks/results/searches/NAME.tsv, one photo and query a line, so that a later search is
only to be looked at where it finds other photos. For colours, counts, activities, typos and other languages all 300
photos were looked at, and those that fit are in the file up to five a query and more, found or not: they are what a
search could find at most. The rule, fixed before looking:

- A photo fits (1) where somebody who is shown it and the query would say that it is what was asked for; else 0.
- Everything that the query names has to be seen: the colour on the thing, the number of the things that stand in
  front, the place around. What stands far off or is hidden by half does not count, what is left open by the query does.
- A typo and another language are judged by what was meant; a name, a date and a word of no language have no photo that
  fits unless the photo shows it, and finding nothing is the right answer to them.
"""

import argparse
import csv
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.recording import parse_arguments, record
from seesay import data
from seesay.drawing.sheets import Cell, draw_sheet, save_picture
from seesay.library import Library
from seesay.verbs.searching import SearchResults, find_in, say_score

SETS = {"audit": ("audit", "by name", 0), "listed": ("audit", "by list", 0), "other": ("other", "by name", 300)}
"""For each set its queries, the order of the test photos, and the first of the photos that they are asked of."""
LIST = "Flickr8k_text/Flickr_8k.testImages.txt"
N_PHOTOS = 300
AT = 5
BINS = (0.0, 0.1, 0.3, 0.5, 0.7, 1.01)
ROWS = 10
"""Queries on a sheet."""
UNJUDGED = 30
"""Photos on a sheet of those that nobody judged."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("set", choices=SETS)
    parser.add_argument("--sheets", type=Path, metavar="DIR", help="draw what is found, and list what nobody judged")
    arguments = parse_arguments(parser, "searches")
    arguments.output = arguments.output.parent / "searches" / f"{arguments.set}.json"
    asked, order, first = SETS[arguments.set]
    place = Path(__file__).parent / "searches" / f"{asked}.tsv"
    queries = [(row["kind"], row["query"]) for row in read_rows(place)]
    judged = {(row["query"], row["photo"]): int(row["fits"]) for row in read_rows(judgements_of(arguments.output))}
    with TemporaryDirectory() as temporary:
        photos = test_photos(order)[first : first + N_PHOTOS]
        answers = search_all([query for _, query in queries], photos, Path(temporary))
    unseen = [(a.query, path.name) for a in answers for path in a.paths if (a.query, path.name) not in judged]
    if arguments.sheets:
        draw(arguments.sheets, arguments.set, answers)
        draw_unjudged(arguments.sheets, arguments.set, unseen)
    if unseen:
        for query, photo in unseen:
            print(f"{query}\t{photo}")
        raise SystemExit(f"{len(unseen)} photos are to be judged: a line each in {judgements_of(arguments.output)}")
    rows = [tell(kind, answer, judged) for (kind, _), answer in zip(queries, answers, strict=True)]
    kinds = by_kind(rows)
    for kind, found in kinds.items():
        print(f"{kind:10} {found['fit']:3} of {found['of']}")
    record(
        arguments, ("numpy",), set=arguments.set, model=answers[0].model, data="flickr8k/test",
        photos=f"{first + 1} to {first + N_PHOTOS} {order}", at=AT, by_kind=kinds, reliability=reliability(rows),
        queries=rows,
    )  # fmt: skip


def judgements_of(output: Path) -> Path:
    return output.with_suffix(".tsv")


def read_rows(path: Path) -> list[dict[str, str]]:
    if not path.is_file():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def test_photos(order: str) -> list[Path]:
    """The test photos of Flickr8K, sorted by their names or as the published list has them."""
    paths = data.load("flickr8k").split("test").images
    if order == "by name":
        return paths
    by_name = {path.name: path for path in paths}
    listed = (data.locate("flickr8k") / LIST).read_text(encoding="ascii").split()
    return [by_name[name] for name in listed]


def search_all(queries: Sequence[str], photos: Sequence[Path], temporary: Path) -> list[SearchResults]:
    """What a library of the photos finds for each query."""
    folder = temporary / "photos"
    folder.mkdir()
    for path in photos:
        (folder / path.name).symlink_to(path.resolve())
    with Library(temporary / "library") as library:
        library.index(folder)
        return [find_in(library, query, top=AT) for query in queries]


def draw(folder: Path, name: str, answers: Sequence[SearchResults]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    paths = {path.name: path for path in data.load("flickr8k").split("test").images}
    for start in range(0, len(answers), ROWS):
        some = answers[start : start + ROWS]
        cells = []
        for answer in some:
            found = [Cell(paths[r.path.name], "", say_score(r).strip()) for r in answer]
            cells += found + [Cell()] * (AT - len(found))
        sheet = draw_sheet(cells, AT, row_labels=[answer.query for answer in some], width=150)
        save_picture(sheet, folder / f"{name}-{start // ROWS}.png")


def draw_unjudged(folder: Path, name: str, unseen: Sequence[tuple[str, str]]) -> None:
    """Photos with the query that each was found for, in an order that says nothing of their rank."""
    paths = {path.name: path for path in data.load("flickr8k").split("test").images}
    order = np.random.default_rng(0).permutation(len(unseen))
    cells = [Cell(paths[photo], query, photo) for query, photo in (unseen[place] for place in order)]
    for start in range(0, len(cells), UNJUDGED):
        sheet = draw_sheet(cells[start : start + UNJUDGED], 6, width=250)
        save_picture(sheet, folder / f"{name}-unjudged-{start // UNJUDGED}.png")


def tell(kind: str, answer: SearchResults, judged: dict[tuple[str, str], int]) -> dict[str, Any]:
    """What a query found: photos with their scores and whether they fit."""
    found = [
        {"photo": r.path.name, "score": round(r.score, 3), "word": r.word, "fits": judged[answer.query, r.path.name]}
        for r in answer
    ]
    return {"kind": kind, "query": answer.query, "found": found, "notes": list(answer.warnings)}


def by_kind(rows: Sequence[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """How many of the first five fit, and how many are called likely and of these fit, by kind of query."""
    kinds: dict[str, dict[str, Any]] = {}
    for row in rows:
        own = kinds.setdefault(row["kind"], {"fit": 0, "of": 0, "likely": 0, "likely that fit": 0, "empty": 0})
        likely = [each["fits"] for each in row["found"] if each["word"] == "likely"]
        own["fit"] += sum(each["fits"] for each in row["found"])
        own["of"] += AT
        own["likely"] += len(likely)
        own["likely that fit"] += sum(likely)
        own["empty"] += not row["found"]
    return kinds


def reliability(rows: Sequence[dict[str, Any]]) -> list[dict[str, float]]:
    """What was said of the photos, and what share of them fits, over intervals of the percentage."""
    shown = [(each["score"], each["fits"]) for row in rows for each in row["found"] if each["word"]]
    found = []
    for low, high in pairwise(BINS):
        inside = [pair for pair in shown if low <= pair[0] < high]
        if inside:
            said, fit = (round(sum(column) / len(inside), 3) for column in zip(*inside, strict=True))
            found.append({"from": low, "to": min(high, 1.0), "predicted": said, "observed": fit, "photos": len(inside)})
    return found


if __name__ == "__main__":
    main()
