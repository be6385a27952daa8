"""`seesay data`: check a captioned collection before a model is trained on it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

from seesay.cli import light
from seesay.cli.options import AsJson, Collection, Images
from seesay.system.names import printable

if TYPE_CHECKING:
    from rich.console import Console

    from seesay.data.check import Report

_SHOWN_OF_A_KIND = 5

app = typer.Typer(help="Check captioned collections.", no_args_is_help=True)


@app.callback()
def _group() -> None:
    """Keeps `check` a command of its own; typer would make a group of one command that command."""


@app.command()
def check(
    source: Collection,
    images: Images = None,
    as_json: AsJson = False,
) -> None:
    """Report what a collection holds, and what is missing or damaged.

    Every image is opened. The exit code is 1 if something is missing or damaged. With --json every problem is listed.

    \b
    Examples:
        seesay data check flickr8k
        seesay data check captions.csv --images photos --json
    """
    from rich.console import Console

    from seesay.data.check import check as check_collection

    with _progress("opening images") as on_progress:
        report = check_collection(source, images=images, on_progress=on_progress)
    if as_json:
        light.echo(report.to_json())
    else:
        _print(report, Console())
    raise light.Exit(0 if report.ok else 1)


@contextmanager
def _progress(what: str) -> Iterator[Callable[[int, int], None] | None]:
    """A bar on stderr while the work runs; nothing where nobody is looking."""
    from rich.console import Console
    from rich.progress import MofNCompleteColumn, Progress, TimeRemainingColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    columns = (*Progress.get_default_columns()[:2], MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _print(report: "Report", console: "Console") -> None:
    from rich.table import Table
    from rich.text import Text

    if report.readable:
        table = Table(title=Text(f"{printable(report.name)}: {report.kind}"), title_justify="left", show_header=False)
        table.add_column("what")
        table.add_column("how many", justify="right")
        table.add_column("remark")
        for row in _rows(report):
            table.add_row(*map(Text, row))
        console.print(table)
    for line in _lines(report):
        console.print(Text(printable(line)), soft_wrap=True)
    verdict = "nothing is missing or broken" if report.ok else "something is missing or broken"
    console.print(Text(verdict, "green" if report.ok else "red"))


def _rows(report: "Report") -> Iterator[tuple[str, str, str]]:
    """What, how many, and a remark."""
    yield "images", f"{report.images:,}", f"{report.images_named:,} have sentences"
    yield "sentences", f"{report.sentences:,}", f"{report.sentences_with_image:,} with an image"
    for split, counts in report.splits.items():
        yield f"split {split}", f"{counts['images']:,}", f"{counts['sentences']:,} sentences"
    if report.splits and report.images_without_split:
        yield "in no split", f"{report.images_without_split:,}", ""
    if regions := report.regions:
        yield "boxes", f"{regions.boxes:,}", f"{regions.box_chains:,} pairs of a box and a thing"
        yield (
            "phrases",
            f"{regions.phrases:,}",
            f"{regions.phrases_with_boxes:,} in {regions.images:,} images with boxes",
        )
        yield "chains", f"{regions.chains:,}", f"{regions.scenes:,} scenes, {regions.boxless:,} without a box"
    if words := report.vocabulary:
        covered = ", ".join(f"{share:.1%} of {split}" for split, share in words.coverage.items())
        source = "of all sentences" if words.source == "all" else f"of {words.source}"
        yield "words", f"{words.distinct:,}", source
        yield f"words seen {words.min_count}+ times", f"{words.frequent:,}", covered and f"cover {covered}"
    faults = {
        "missing images": report.missing_images,
        "corrupt images": report.corrupt_images,
        "sentences without image": report.sentences_without_image,
        "images without sentences": report.images_without_sentences,
        "empty sentences": report.empty_sentences,
        "duplicated ids": report.duplicated_ids,
    }
    for what, count in faults.items():
        yield what, f"{count:,}", ""


def _lines(report: "Report") -> Iterator[str]:
    """Notes, and the first few problems of each kind."""
    for note in report.notes:
        yield f"note: {note}"
    if report.regions and report.regions.source != report.root:
        yield f"note: boxes and phrases are those of {report.regions.source}"
    for kind in dict.fromkeys(problem.kind for problem in report.problems):
        of_kind = [problem for problem in report.problems if problem.kind == kind]
        yield f"{kind}: {len(of_kind):,}"
        yield from (f"  {problem.thing}: {problem.detail}" for problem in of_kind[:_SHOWN_OF_A_KIND])
        if len(of_kind) > _SHOWN_OF_A_KIND:
            yield f"  and {len(of_kind) - _SHOWN_OF_A_KIND:,} more; --json lists them all"
