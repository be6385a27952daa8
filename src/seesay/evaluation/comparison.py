"""A report as the table that papers print, with the papers' own rows for the same data above ours."""

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from seesay.evaluation.papers import TITLES, Row, rows
from seesay.evaluation.report import Report

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True, slots=True)
class Column:
    """A column: the key of its figures in a report, its heading, and how our figure is written."""

    key: str
    heading: str
    form: str = ".1f"


def _direction(name: str) -> tuple[Column, ...]:
    recalls = (Column(f"{name}.r{k}", f"R@{k}") for k in (1, 5, 10))
    return (*recalls, Column(f"{name}.median", "med", "g"))


COLUMNS: Mapping[str, Mapping[str, tuple[Column, ...]]] = {
    "retrieval": {
        "sentences for an image": _direction("i2t"),
        "images for a sentence": _direction("t2i"),
        "": (Column("sum", "Sum"),),
    },
    "captions": {
        "": (
            Column("perplexity", "PPL", ".2f"),
            *(Column(f"bleu{n}", f"B-{n}", ".3f") for n in (1, 2, 3, 4)),
            Column("cider", "CIDEr", ".3f"),
            Column("rouge_l", "ROUGE-L", ".3f"),
            Column("meteor", "METEOR", ".3f"),
        ),
    },
    "grounding": {"": (Column("pointing", "pointing"), Column("iou50", "IoU ≥ 0.5"))},
}
"""Kind of rows → group of columns → columns."""

_MARKS = "ᵃᵇᶜᵈᵉᶠᵍʰⁱʲ"
_EMPTY = "–"


@dataclass(frozen=True, slots=True)
class Line:
    """A row of the table: what stands in each cell, and the mark beside it where there is a doubt."""

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


def compare(report: Report, kind: str = "retrieval") -> Comparison:
    """Put a report beside what the papers print for the same data.

    Args:
        report: As `seesay.evaluation.report` builds and reads it.
        kind: `retrieval`, `captions` or `grounding`.
    """
    groups = COLUMNS[kind]
    columns = [column for group in groups.values() for column in group]
    printed = rows(kind, report["data"]["name"])
    doubts = list(dict.fromkeys(why for row in printed for why in row.doubts.values()))
    marks = {why: _MARKS[place] for place, why in enumerate(doubts)}
    several = len({row.measured_on for row in printed}) > 1
    lines = [_printed_line(row, columns, marks, several) for row in printed]
    for name, figures in _our_rows(report, kind):
        cells = tuple((_ours(figures, column), "") for column in columns)
        lines.append(Line(name, "", cells, f"seesay {report['seesay']}", ours=True))
    notes = [f"{mark} {why}" for why, mark in marks.items()]
    notes += dict.fromkeys(f"{row.paper}: {row.note}" for row in printed if row.note)
    return Comparison(_title(report), groups, tuple(lines), (*notes, *_remarks(report, kind, printed)))


def _printed_line(row: Row, columns: Sequence[Column], marks: Mapping[str, str], several: bool) -> Line:
    def mark(key: str) -> str:
        return marks[row.doubts[key]] if key in row.doubts else ""

    cells = tuple((row.printed.get(column.key) or _EMPTY, mark(column.key)) for column in columns)
    return Line(row.method, mark(""), cells, row.stands_in + (f" ({row.measured_on})" if several else ""))


def _our_rows(report: Report, kind: str) -> list[tuple[str, Mapping[str, Any]]]:
    """The name and the figures of each row of ours."""
    name = report["model"]["name"]
    if kind == "retrieval":
        return [(name, report)]
    if kind == "grounding":
        found = report["grounding"]
        best = (f"best of {found['proposals']}", {"iou50": found["upper_bound"]})
        return [(name, found), *found["beside"].items(), best]
    plain = report["captions"]
    rows = [(f"{name}, {plain['decoding']}" if "decoding" in plain else name, plain)]
    return rows + [(f"… {row['name']}", row) for row in report.get("reranking", {}).get("rows", ())]


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


def _remarks(report: Report, kind: str, printed: Sequence[Row]) -> list[str]:
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
    remarks += _REMARKS[kind](report)
    if seconds := report.get("seconds"):
        remarks.append(f"Time: {', '.join(f'{what} {value:.1f} s' for what, value in seconds.items())}.")
    if command := report.get("command"):
        remarks.append(f"Measured on {report['date'][:10]} by: {command}")
    return remarks


def _retrieval_remarks(report: Report) -> list[str]:
    name, protocol = report["model"]["name"], report["protocol"]
    remarks = []
    if protocol["n_folds"] > 1:
        remarks.append(f"{name}: the mean over {protocol['n_folds']} folds.")
    if normalise := protocol.get("normalise"):
        remarks.append(f"{name}: likelihoods are {_NORMALISED[normalise]}.")
    means = f"{report['i2t']['mean']:.1f} for sentences and {report['t2i']['mean']:.1f} for images"
    return [*remarks, f"Mean ranks of {name}: {means}."]


_NORMALISED = {
    "marginal": "divided by the sentence's mean likelihood over training images (m-RNN Eq. 7)",
    "mean-image": "divided by the sentence's likelihood under the mean training image",
    "none": "not normalised",
}


def _caption_remarks(report: Report) -> list[str]:
    name, captions = report["model"]["name"], report["captions"]
    remarks = []
    if (novel := captions.get("novel")) is not None:
        others = [f"{row.paper} prints {row.printed['novel']} %" for row in rows("novelty", report["data"]["name"])]
        remarks.append(
            f"{100 * novel:.0f} % of {name}'s captions are not among its training sentences"
            + "".join(f"; {other}" for other in others)
            + "."
        )
    if reranking := report.get("reranking"):
        chosen = [
            f"{row['name'].removeprefix('reranked ')} the {row['m']} best captions of {row['k']} images"
            for row in reranking["rows"]
            if "k" in row
        ]
        how = f"chosen on {reranking['chosen_on']}" if reranking["chosen_on"] else "given"
        remarks.append(
            f"Reranking orders {reranking['n_hypotheses']} hypotheses by the captions of the nearest of "
            f"{reranking['n_references']:,} images of {reranking['references']}: {_and(chosen)}, {how}. The oracle "
            "orders them by the image's own captions."
        )
    return remarks


def _grounding_remarks(report: Report) -> list[str]:
    found = report["grounding"]
    return [
        f"{found['n_phrases']:,} boxed phrases of {found['n_images']:,} images, each read as a {found['reading']}; no "
        f"box was learned from. Boxes are chosen among {found['proposals']}, whose best is the upper bound; centre "
        "points at the middle and draws the whole image."
    ]


_REMARKS = {"captions": _caption_remarks, "grounding": _grounding_remarks, "retrieval": _retrieval_remarks}


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
    lines = [f"### {comparison.title}", "", f"| | {' | '.join(headings)} | stands in |"]
    lines.append(f"| --- |{' ---: |' * len(headings)} --- |")
    for line in comparison.lines:
        cells = [line.name + line.mark, *(cell + mark for cell, mark in line.cells)]
        cells = [cell.replace("|", "\\|").replace("*", "\\*") for cell in cells]
        if line.ours:
            cells = [f"**{cell}**" for cell in cells]
        lines.append(f"| {' | '.join([*cells, line.stands_in])} |")
    notes = [f"- {note}".replace("*", "\\*") for note in comparison.notes]
    return "\n".join([*lines, "", *notes, ""])
