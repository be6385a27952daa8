"""`seesay regions`: the regions of a whole collection that fit a phrase best."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seesay.cli.options import AsJson, Images, Model, Split, Within
from seesay.cli.pictures import find_pictures, require_drawable

if TYPE_CHECKING:
    from seesay.images.extraction import FeatureTable
    from seesay.models.aligner import Aligner


@dataclass(frozen=True, slots=True)
class _Found:
    """A region of a picture."""

    path: Path
    name: str
    box: tuple[float, float, float, float]
    score: float


def regions(
    snippets: Annotated[list[str], typer.Argument(metavar="PHRASE…", help='Phrases such as "red bus" "yellow bus".')],
    within: Within,
    images: Images = None,
    split: Split = "all",
    model: Model = "dvsa",
    n: Annotated[int, typer.Option("--n", "-n", min=1, metavar="N", help="Regions for each phrase.")] = 10,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="The contact sheet. Default: regions.png; with --json nowhere."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Find the regions of a collection that fit a phrase best, at most one in each photo.

    Features are computed once and kept; with stored features the answer takes seconds for thousands of photos.

    \b
    Examples:
        seesay regions "red bus" "yellow bus" --in flickr8k --split test
        seesay regions "a red cup" --in ~/Pictures -n 20 -o cups.png
    """
    from seesay.cli.progress import progress_bar
    from seesay.errors import SeesayError
    from seesay.images.extraction import FeatureStore, FeatureTable, extract
    from seesay.models.aligner import load_aligner

    if not all(snippet.strip() for snippet in snippets):
        raise SeesayError("a phrase has no words", allowed='a few words, such as "red bus"')
    if output is None and not as_json:
        output = Path("regions.png")
    if output is not None:
        require_drawable(output)
    bank = find_pictures(within, images, split)
    aligner = load_aligner(model)
    store = FeatureStore(aligner.feature_spec, outputs=aligner.outputs)
    with progress_bar(f"features of {within}", quiet=as_json) as on_progress:
        done = extract(list(bank), store, on_progress=on_progress)
    by_key = {key: path for path in reversed(bank) if (key := done.keys[path])}  # of equal pictures the first
    if not by_key:
        raise SeesayError(f"{within} has no pictures to look at", hint=f"seesay data check {within}")
    places = list(by_key)
    found: dict[str, list[_Found]] = {}
    for snippet, rows in _search(aligner, FeatureTable(store, places), snippets, n).items():
        found[snippet] = [
            _Found(by_key[places[place]], bank[by_key[places[place]]][0], _box(aligner, region), score)
            for place, region, score in rows
        ]
    if output is not None:
        _draw(output, found)
    if as_json:
        _print_json(model, within, found, done.failures, output)
    else:
        _print_table(found)
        typer.echo(f"drawn in {output}", err=True)
        for why in done.failures.values():
            typer.echo(f"seesay: {why}", err=True)
    if done.failures:
        raise typer.Exit(1)


def _search(
    aligner: "Aligner", table: "FeatureTable", snippets: list[str], n: int
) -> dict[str, list[tuple[int, int, float]]]:
    """For each snippet the best photos, each with its best region and the score."""
    import torch

    from seesay.text.tokens import tokenize

    for snippet in snippets:
        if not any(word in aligner.vocabulary for word in tokenize(snippet)):
            typer.echo(f"seesay: the model knows no word of {snippet!r}: its regions mean nothing", err=True)
    with torch.inference_mode():
        vectors = aligner.encode_phrases(snippets)
        scores, best = [], []
        for start in range(0, len(table), 256):
            pictures = aligner.encode_images(table.rows(range(start, min(start + 256, len(table)))))  # (b, N, D)
            score, region = (pictures @ vectors.T).max(1)  # (b, n_snippets)
            scores.append(score)
            best.append(region)
        score, region = torch.cat(scores), torch.cat(best)
    order = score.argsort(dim=0, descending=True, stable=True)[:n].T  # (n_snippets, n)
    return {
        snippet: [(place, int(region[place, row]), float(score[place, row])) for place in order[row].tolist()]
        for row, snippet in enumerate(snippets)
    }


def _box(aligner: "Aligner", region: int) -> tuple[float, float, float, float]:
    left, top, right, bottom = (float(edge) for edge in aligner.boxes[region])
    return left, top, right, bottom


def _draw(output: Path, found: dict[str, list[_Found]]) -> None:
    """One snippet: rows of regions under its words. Several: a row each."""
    from seesay.drawing.sheets import Cell, draw_sheet, save_picture
    from seesay.images.crops import cut_out
    from seesay.images.io import open_image

    cells = [Cell(cut_out(open_image(row.path), row.box), "", row.name) for rows in found.values() for row in rows]
    if len(found) == 1:
        sheet = draw_sheet(cells, min(5, len(cells)), title=f"“{next(iter(found))}”", width=220, shape=1.0, crop=True)
    else:
        columns = len(next(iter(found.values())))
        labels = [f"“{snippet}”" for snippet in found]
        sheet = draw_sheet(cells, columns, row_labels=labels, width=180, shape=1.0, crop=True)
    save_picture(sheet, output)


def _print_json(
    model: str, within: str, found: dict[str, list[_Found]], failures: dict[Path, str], output: Path | None
) -> None:
    rows = [
        {
            "snippet": snippet,
            "regions": [
                {
                    "photo": str(row.path),
                    "score": round(row.score, 4),
                    "box": [round(edge, 4) for edge in row.box],
                }
                for row in several
            ],
        }
        for snippet, several in found.items()
    ]
    report: dict[str, Any] = {"model": model, "in": within, "snippets": rows}
    report["failures"] = {str(path): why for path, why in failures.items()}
    if output is not None:
        report["picture"] = str(output)
    typer.echo(json.dumps(report, indent=2, ensure_ascii=False))


def _print_table(found: dict[str, list[_Found]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("snippet", overflow="fold")
    table.add_column("score", justify="right")
    table.add_column("picture", overflow="fold")
    table.add_column("left, top, right, bottom", justify="right")
    for snippet, several in found.items():
        for rank, row in enumerate(several):
            edges = Text("  ".join(f"{100 * edge:3.0f} %" for edge in row.box), style="dim")
            table.add_row(Text(snippet if rank == 0 else ""), Text(f"{row.score:.3f}"), Text(row.name), edges)
    Console().print(table)
