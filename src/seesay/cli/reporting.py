"""The output of `seesay evaluate`: files in a folder, tables on the screen."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from seesay.cli import light

if TYPE_CHECKING:
    from seesay.evaluation.report import Measured, Report
    from seesay.evaluation.tasks import EvaluationTask


def finish(
    report: "Report",
    tasks: "Sequence[EvaluationTask]",
    evaluations: "Sequence[Measured]",
    folder: Path | None,
    as_json: bool,
) -> None:
    """Write what was measured, and print it."""
    from rich.console import Console

    from seesay.evaluation.comparison import compare, print_comparison
    from seesay.evaluation.report import to_json

    if folder is not None:
        _write_files(folder, report, tasks, evaluations)
    if as_json:
        light.echo(to_json(report))
        return
    for task in tasks:
        print_comparison(compare(report, task.name), Console(highlight=False))
        light.echo()
    light.echo(f"report and plots are in {folder}", err=True)


def _write_files(
    folder: Path, report: "Report", tasks: "Sequence[EvaluationTask]", evaluations: "Sequence[Measured]"
) -> None:
    from seesay.evaluation.comparison import compare, to_markdown
    from seesay.evaluation.report import write_report
    from seesay.system.files import replace_atomically

    write_report(folder / "report.json", report)
    comparisons = [compare(report, task.name) for task in tasks]
    with replace_atomically(folder / "report.md") as temporary:
        temporary.write_text("\n".join(map(to_markdown, comparisons)), encoding="utf-8")
    title = f"{report['model']['name']} on {comparisons[0].title}"
    for task in tasks:
        task.write_files(evaluations, title, folder)
