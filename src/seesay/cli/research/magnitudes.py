"""`seesay magnitudes`: the words with the longest vectors and the most salient regions (DVSA, Table 1, Figure 1)."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from seesay.cli import light
from seesay.cli.options import AsJson, Data, Images, Model, Overwrite, Split
from seesay.cli.pictures import require_drawable
from seesay.cli.tables import print_table
from seesay.system import ranges

if TYPE_CHECKING:
    from seesay.data import Collection
    from seesay.grounding.magnitudes import WordMagnitude
    from seesay.models.aligner import Aligner


def magnitudes(
    data: Data,
    split: Split = "test",
    images: Images = None,
    model: Model = "dvsa",
    n: Annotated[
        int, light.Option("--n", "-n", min=1, max=ranges.RESULTS, metavar="N", help="How many words of each kind.")
    ] = 20,
    min_count: Annotated[
        int, light.Option(min=1, max=ranges.COUNT, metavar="N", help="List only words that occur N times or more.")
    ] = 5,
    output: Annotated[
        Path | None, light.Option("--output", "-o", metavar="FILE", help="Draw the most and least salient regions.")
    ] = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """List the words with the longest and the shortest vectors, and draw the most and the least salient regions.

    The length of a word is relative to the average word of its sentence, unless the weights were trained as the paper
    describes (magnitudes = "free"). Words for visible things should be long and function words short. The rank
    correlation of length and inverse document frequency (idf) is printed too. The salience of a region is the length of
    its vector or, for weights that learned only the directions of regions, the score of its best word.

    \b
    Examples:
        seesay magnitudes -d flickr8k
        seesay magnitudes -d flickr8k --split dev -n 40 -o regions.png
    """
    from seesay import data as collections
    from seesay.engines import answering
    from seesay.errors import SeesayError
    from seesay.grounding.magnitudes import has_free_lengths, spearman, word_magnitudes
    from seesay.models.aligner import load_aligner

    if output is not None:
        require_drawable(output, data, images, overwrite=overwrite)
    collection = collections.load(data, images=images)
    collection = collection if split == "all" else collection.split(split)
    aligner = load_aligner(model)
    reader = answering(aligner)
    relative = not has_free_lengths(reader)
    rows = word_magnitudes(reader, collection.sentences, min_count=min_count, relative=relative)
    if len(rows) < 2:
        raise SeesayError(
            f"{len(rows)} words of {collection.name} are known and occur {min_count} times", hint="--min-count 1"
        )
    correlation = spearman([row.magnitude for row in rows], [row.idf for row in rows])
    if output is not None:
        _draw(output, aligner, collection, n, quiet=as_json)
    if as_json:
        _print_json(model, collection.name, split, rows, n, correlation, output)
        return
    _print_table(rows, n)
    light.echo(f"rank correlation with the idf of {len(rows):,} words: {correlation:.2f}")
    if output is not None:
        light.echo(f"drawn in {output}", err=True)


def _draw(output: Path, aligner: "Aligner", collection: "Collection", n: int, *, quiet: bool) -> None:
    """The most salient regions in the upper rows, the least in the lower ones, at most one of a photo in each."""
    import numpy as np

    from seesay.cli.progress import progress_bar
    from seesay.drawing.sheets import Cell, draw_sheet, save_picture
    from seesay.engines import answering
    from seesay.grounding.heat import region_saliences
    from seesay.images.crops import cut_out
    from seesay.images.extraction import features_of
    from seesay.images.io import open_image

    paths = collection.images
    with progress_bar(f"features of {collection.name}", quiet=quiet) as on_progress:
        table = features_of(paths, aligner.feature_spec, aligner.outputs, on_progress=on_progress)
    parts = [table.arrays(range(start, min(start + 256, len(table)))) for start in range(0, len(table), 256)]
    saliences = np.concatenate([region_saliences(answering(aligner), part, aligner.boxes) for part in parts])  # (n, N)
    columns = min(10, n, len(paths))
    cells, labels = [], []
    for name, sign in (("most salient", 1), ("least salient", -1)):
        best, region = (sign * saliences).max(1), (sign * saliences).argmax(1)
        order = np.argsort(-best, kind="stable")[: columns * max(1, n // columns)].tolist()
        crops = [cut_out(open_image(paths[place]), aligner.boxes[region[place]]) for place in order]
        notes = [f"{float(saliences[place, region[place]]):.2f}" for place in order]
        cells += [Cell(crop, "", note) for crop, note in zip(crops, notes, strict=True)]
        labels += [name, *[""] * (len(order) // columns - 1)]
    sheet = draw_sheet(cells, columns, row_labels=labels, width=140, shape=1.0, crop=True)
    save_picture(sheet, output)


def _print_json(
    model: str, data: str, split: str, rows: list["WordMagnitude"], n: int, correlation: float, output: Path | None
) -> None:
    def table(some: list["WordMagnitude"]) -> list[dict[str, Any]]:
        return [
            {"word": row.word, "magnitude": round(row.magnitude, 4), "count": row.count, "idf": round(row.idf, 4)}
            for row in some
        ]

    report: dict[str, Any] = {"model": model, "data": data, "split": split, "words": len(rows)}
    report |= {"spearman_idf": round(correlation, 4), "longest": table(rows[:n]), "shortest": table(rows[::-1][:n])}
    if output is not None:
        report["picture"] = str(output)
    light.echo(json.dumps(report, indent=2, ensure_ascii=False))


def _print_table(rows: list["WordMagnitude"], n: int) -> None:
    pairs = zip(rows[::-1][:n], rows[:n], strict=True)
    print_table(
        ("length", "shortest words", "length", "longest words"),
        ((f"{short.magnitude:.2f}", short.word, f"{long.magnitude:.2f}", long.word) for short, long in pairs),
        right=("length",),
    )
