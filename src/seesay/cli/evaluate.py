"""`seesay evaluate`: measure trained weights and put them beside the papers."""

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from seesay.evaluation.protocols import Evaluation
    from seesay.evaluation.report import Report


def evaluate(
    weights: Annotated[str, typer.Argument(metavar="WEIGHTS", help="Weights by name or folder (seesay models).")],
    data: Annotated[str, typer.Option("--data", "-d", help="A collection: a path or a name under SEESAY_DATA.")],
    split: Annotated[str, typer.Option(help="train, dev, test, or all.")] = "test",
    images: Annotated[
        Path | None, typer.Option(metavar="DIR", help="The folder of the pictures, where they lie elsewhere.")
    ] = None,
    protocol: Annotated[
        str, typer.Option(help="full, 1k, 5-fold (five times 1,000 images, averaged) or 5k.")
    ] = "full",
    seed: Annotated[
        int | None, typer.Option(min=0, help="Draw the images of a protocol at random; else the first are taken.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="DIR",
            help="Where the report and the plots go: seesay-report/WEIGHTS-DATA-SPLIT, or with --json nowhere.",
        ),
    ] = None,
    record: Annotated[bool, typer.Option("--record", help="Keep the figures with the weights, in their card.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON, and nothing else.")] = False,
) -> None:  # fmt: skip
    """Measure how well weights find sentences for images and images for sentences.

    Prints the papers' own rows for the same data with ours underneath, and writes report.json, report.md, recall.png
    and ranks.png. Features are computed where they are not stored yet; with stored ones it takes seconds.
    """
    from rich.console import Console

    from seesay import data as collections
    from seesay.cli.progress import progress_bar
    from seesay.evaluation.comparison import compare, print_comparison
    from seesay.evaluation.protocols import evaluate_retrieval, find_protocol
    from seesay.evaluation.report import build_report, figures_to_record, to_json
    from seesay.models import pretrained

    find_protocol(protocol)
    about = pretrained.find(weights)
    collection = collections.load(data, images=images)
    collection = collection if split == "all" else collection.split(split)
    folder = output
    if folder is None and not as_json:
        folder = Path("seesay-report") / f"{about.name}-{collection.name}-{split}"
    if folder is not None:
        _require_writable(folder)
    model = pretrained.load(weights)
    with progress_bar(f"features of {collection.name}", quiet=as_json) as on_progress:
        evaluation = evaluate_retrieval(model, collection, protocol, seed=seed, on_progress=on_progress)
    command = _command_line(weights, data, split, images, protocol, seed)
    report = build_report(evaluation, about, collection, split, command=command)
    if folder is not None:
        _write_files(folder, report, evaluation)
    if record:
        pretrained.record_figures(about.folder, *figures_to_record(report))
    if as_json:
        typer.echo(to_json(report))
        return
    print_comparison(compare(report), Console(highlight=False))
    typer.echo(f"report and plots are in {folder}", err=True)


def _require_writable(folder: Path) -> None:
    """Refuse before anything is computed, and without leaving an empty folder behind."""
    from seesay.errors import SeesayError

    nearest = next(place for place in (folder, *folder.parents, Path()) if place.exists())
    if not nearest.is_dir() or not os.access(nearest, os.W_OK):
        why = "may not be written to" if nearest.is_dir() else "is a file"
        raise SeesayError(f"cannot write to {folder}: {nearest} {why}", hint="-o with another folder")


def _command_line(weights: str, data: str, split: str, images: Path | None, protocol: str, seed: int | None) -> str:
    """What measures the same again, whatever program called this."""
    words = ["seesay", "evaluate", weights, "--data", data, "--split", split]
    words += ["--images", str(images)] if images else []
    words += ["--protocol", protocol]
    words += ["--seed", str(seed)] if seed is not None else []
    return shlex.join(words)


def _write_files(folder: Path, report: "Report", evaluation: "Evaluation") -> None:
    from seesay.evaluation.comparison import compare, to_markdown
    from seesay.evaluation.plots import plot_ranks, plot_recall
    from seesay.evaluation.report import write_report
    from seesay.files import replace_atomically

    write_report(folder / "report.json", report)
    comparison = compare(report)
    with replace_atomically(folder / "report.md") as temporary:
        temporary.write_text(to_markdown(comparison), encoding="utf-8")
    title = f"{report['model']['name']} on {comparison.title}"
    plot_recall(evaluation, title, folder / "recall.png")
    plot_ranks(evaluation, title, folder / "ranks.png")
