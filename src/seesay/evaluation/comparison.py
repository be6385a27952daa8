"""A report as the table that papers print, with the papers' own rows for the same data above ours."""

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from seesay.evaluation.replication.papers import TITLES, Row, rows
from seesay.evaluation.report import Report
from seesay.evaluation.tasks import EvaluationTask, find_task
from seesay.evaluation.tasks.base import Column

if TYPE_CHECKING:
    from rich.console import Console


_MARKS = "ᵃᵇᶜᵈᵉᶠᵍʰⁱʲ"
_EMPTY = "–"


@dataclass(frozen=True, slots=True)
class Line:
    """A row of the table: the text of each cell, and a mark where there is a doubt."""

    name: str
    mark: str
    cells: tuple[tuple[str, str], ...]
    stands_in: str
    ours: bool = False


@dataclass(frozen=True, slots=True)
class Comparison:
    """A table, ready to be written as text or Markdown."""

    title: str
    groups: Mapping[str, tuple[Column, ...]]
    lines: tuple[Line, ...]
    notes: tuple[str, ...]


def compare(report: Report, task: str = "retrieval") -> Comparison:
    """Put a report beside what the papers print for the same data.

    Args:
        report: As `seesay.evaluation.report` builds and reads it.
        task: One of `seesay.evaluation.tasks.TASKS` that it has the figures of.
    """
    shown = find_task(task)
    groups = shown.columns
    columns = [column for group in groups.values() for column in group]
    printed = rows(task, report["data"]["name"])
    doubts = list(dict.fromkeys(why for row in printed for why in row.doubts.values()))
    marks = {why: _MARKS[place] for place, why in enumerate(doubts)}
    several = len({row.measured_on for row in printed}) > 1
    lines = [_printed_line(row, columns, marks, several) for row in printed]
    for name, figures in shown.rows(report):
        cells = tuple((_ours(figures, column), "") for column in columns)
        lines.append(Line(name, "", cells, f"seesay {report['seesay']}", ours=True))
    notes = [f"{mark} {why}" for why, mark in marks.items()]
    notes += dict.fromkeys(f"{row.paper}: {row.note}" for row in printed if row.note)
    return Comparison(_title(report), groups, tuple(lines), (*notes, *_remarks(report, shown, printed)))


def _printed_line(row: Row, columns: Sequence[Column], marks: Mapping[str, str], several: bool) -> Line:
    def mark(key: str) -> str:
        return marks[row.doubts[key]] if key in row.doubts else ""

    cells = tuple((row.printed.get(column.key) or _EMPTY, mark(column.key)) for column in columns)
    return Line(row.method, mark(""), cells, row.stands_in + (f" ({row.measured_on})" if several else ""))


def _ours(figures: Mapping[str, Any], column: Column) -> str:
    value: Any = figures
    for key in column.key.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return _EMPTY if value is None else format(value, column.form)


def _title(report: Report) -> str:
    data, protocol = report["data"], report["protocol"]
    folds = f" in {protocol['n_folds']} folds" if protocol["n_folds"] > 1 else ""
    counts = f"{protocol['n_images']:,} images and {protocol['n_sentences']:,} sentences{folds}"
    return f"{TITLES.get(data['name'], data['name'])}, {data['split']}: {counts}"


def _remarks(report: Report, task: EvaluationTask, printed: Sequence[Row]) -> list[str]:
    """What a reader has to know before comparing."""
    model, data, protocol = report["model"], report["data"], report["protocol"]
    remarks = []
    if not printed:
        remarks.append("The five papers print nothing for this data.")
    measured_on = dict.fromkeys(row.measured_on for row in printed)
    images = f"{protocol['n_images'] // protocol['n_folds']:,} {data['split']} images"
    if len(measured_on) > 1:
        remarks.append(f"{model['name']} is measured on {images}.")
    elif measured_on and images not in measured_on:
        remarks.append(f"The papers measure on {next(iter(measured_on))}, {model['name']} is measured on {images}.")
    if protocol["seed"] is not None:
        remarks.append(f"Images were drawn with seed {protocol['seed']}.")
    learned = list(dict.fromkeys(model["learned_from"]))
    if printed and learned and learned != [data["name"]]:
        remarks.append(
            f"{model['name']} learned from {_and(learned)}; rows of the papers from this set's training images."
        )
    if changed := model.get("set"):
        remarks.append(f"{model['name']} was measured with {_and(changed)}.")
    remarks += task.remarks(report)
    if seconds := report.get("seconds"):
        remarks.append(f"Time: {', '.join(f'{what} {value:.1f} s' for what, value in seconds.items())}.")
    if command := report.get("command"):
        remarks.append(f"Measured on {report['date'][:10]} by: {command}")
    return remarks


def _and(names: Sequence[str]) -> str:
    return " and ".join(part for part in (", ".join(names[:-1]), names[-1]) if part)


def text_lines(comparison: Comparison) -> list[tuple[str, str]]:
    """The table as lines of text, each with the style of `rich` in which a terminal shows it."""
    columns = [column for group in comparison.groups.values() for column in group]
    longest = [max(len(line.cells[place][0]) for line in comparison.lines) for place in range(len(columns))]
    widths = [max(5, len(column.heading), cell + 1) for column, cell in zip(columns, longest, strict=True)]
    indented = [f"  {line.name}{line.mark}" for line in comparison.lines]
    first = max(len(name) for name in indented) + 1
    starts = {sum(len(g) for g in list(comparison.groups.values())[:n]) for n in range(1, len(comparison.groups))}

    def row(name: str, cells: Sequence[tuple[str, str]]) -> str:
        text = f"{name:<{first}}"
        for place, ((cell, mark), width) in enumerate(zip(cells, widths, strict=True)):
            text += f"{'  ' if place in starts else ''}{cell:>{width}}{mark or ' '}"
        return text.rstrip()

    heading = row("", [(column.heading, "") for column in columns])
    above, place = " " * first, 0
    for name, group in comparison.groups.items():
        width = sum(widths[place : place + len(group)]) + len(group) + (2 if place in starts else 0)
        above += f"{name + ' ':>{width}}"
        place += len(group)
    lines = [(comparison.title, "bold"), ("", "")]
    lines += [(text.rstrip(), "dim") for text in (above, heading) if text.strip()]
    paper = None
    for name, line in zip(indented, comparison.lines, strict=True):
        if line.stands_in != paper:
            lines.append((line.stands_in, "dim"))
            paper = line.stands_in
        lines.append((row(name, line.cells), "bold" if line.ours else ""))
    width = max(len(heading), 60)
    lines.append(("", ""))
    for note in comparison.notes:
        wrapped = textwrap.wrap(note, width, subsequent_indent="  ", break_on_hyphens=False)
        lines += [(part, "dim") for part in wrapped]
    return lines


def print_comparison(comparison: Comparison, console: "Console") -> None:
    """Show the table in a terminal, our row in bold."""
    from rich.text import Text

    for text, style in text_lines(comparison):
        console.print(Text(text, style), soft_wrap=True)


def to_markdown(comparison: Comparison) -> str:
    """The table for a document, our row in bold, the notes underneath."""
    headings = [
        f"{name}: {column.heading}" if name and column is group[0] else column.heading
        for name, group in comparison.groups.items()
        for column in group
    ]
    lines = [f"### {comparison.title}", "", f"| | {' | '.join(headings)} | source |"]
    lines.append(f"| --- |{' ---: |' * len(headings)} --- |")
    for line in comparison.lines:
        cells = [line.name + line.mark, *(cell + mark for cell, mark in line.cells)]
        cells = [cell.replace("|", "\\|").replace("*", "\\*") for cell in cells]
        if line.ours:
            cells = [f"**{cell}**" for cell in cells]
        lines.append(f"| {' | '.join([*cells, line.stands_in])} |")
    notes = [f"- {note}".replace("*", "\\*") for note in comparison.notes]
    return "\n".join([*lines, "", *notes, ""])
