"""The five papers' result tables as data: what was published, where it stands, and where it is doubtful.

The rows lie in `tables/`, one file per paper, in the form that they have on the page. Methods that several papers quote
stand there once per paper, because the papers do not always agree.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from seesay.data import Collection
from seesay.errors import SeesayError
from seesay.models.registry import imported

TITLES = {"flickr8k": "Flickr8K", "flickr30k": "Flickr30K", "coco": "MS COCO", "iapr": "IAPR TC-12"}
"""Sets that the papers measure on, and how they are written."""

KINDS = ("retrieval", "captions", "phrases", "identification", "novelty", "correspondences")

_NAMES = {
    "flickr8k": r"flickr[\W_]*8k",
    "flickr30k": r"flickr[\W_]*30k",
    "coco": r"(?<![a-z])(ms)?coco(?![a-z])",
    "iapr": r"iapr",
}
_TABLES = Path(__file__).parent / "tables"
_FILES = ("mrnn", "dvsa", "hmlstm", "smlstm", "identifier")  # by year


@dataclass(frozen=True, slots=True)
class Row:
    """One row of one table of one paper.

    Attributes:
        method: As the table names it; "ours" is spelt out.
        paper: Short name of the paper in which the row stands.
        where: The table's number, or the section where the figures stand in the text.
        kind: One of `KINDS`.
        data: One of `TITLES`.
        measured_on: The images that the paper measures on.
        own: Whether the paper measured the row itself; it quotes the others.
        ablation: Whether the table compares variants of one model rather than models.
        note: What the table's caption says about signs in its rows.
        printed: Figures by the keys of a report (`i2t.r1`, `bleu4`), as published; None where the cell is empty.
        doubts: Why a cell, by its key, cannot be taken at face value; the key "" stands for the whole row.
    """

    method: str
    paper: str
    where: str
    kind: str
    data: str
    measured_on: str
    own: bool = False
    ablation: bool = False
    note: str = ""
    printed: Mapping[str, str | None] = field(default_factory=dict)
    doubts: Mapping[str, str] = field(default_factory=dict)

    @property
    def stands_in(self) -> str:
        """The paper and the table."""
        return f"{self.paper}, {self.where}"

    def figure(self, key: str) -> float | None:
        """The number in a cell, None where the paper prints none."""
        text = self.printed.get(key)
        return None if text is None else float(text)


def rows(kind: str, data: str | None = None, *, ablations: bool = False) -> tuple[Row, ...]:
    """The published rows of one kind, in the order of the papers' years and of their tables.

    A model of another package brings the tables of its paper along: its class names the file (`paper`).

    Args:
        kind: One of `KINDS`.
        data: One of `TITLES`, or None for all.
        ablations: Also the tables that compare variants of one model.

    Example:
        >>> for row in rows("retrieval", "iapr"):
        ...     print(row.method, row.stands_in, row.figure("i2t.r1"), row.figure("sum"))
        m-RNN m-RNN, Table 2 20.9 None
    """
    return tuple(
        row
        for row in (*all_rows(), *_brought_rows())
        if row.kind == kind and (data is None or row.data == data) and (ablations or not row.ablation)
    )


@cache
def all_rows() -> tuple[Row, ...]:
    """Every row of the five papers."""
    doubts = _read_doubts()
    found = tuple(row for name in _FILES for row in _read_paper(_TABLES / f"{name}.toml", doubts))
    if unmatched := doubts.keys() - {_place(row) for row in found}:
        raise ValueError(f"a doubt names a row that is not there: {sorted(unmatched)[0]}")
    return found


def data_name(collection: Collection) -> str | None:
    """Which of the papers' sets a collection is; None where it is none of them.

    Example:
        >>> data_name(Collection("dataset_coco", Path("karpathy"), "Karpathy split", ()))
        'coco'
        >>> data_name(Collection("coconuts", Path("coconuts"), "CSV or JSONL", ())) is None
        True
    """
    return set_named(collection.kind) or set_named(collection.name)


def set_named(text: str) -> str | None:
    """Which of the papers' sets a name or a description means."""
    return next((name for name, pattern in _NAMES.items() if re.search(pattern, text.lower())), None)


def _brought_rows() -> tuple[Row, ...]:
    """Every row of the papers of models from other packages, as far as they are imported."""
    brought = (kind.paper for kind in imported() if isinstance(kind.paper, Path))
    return tuple(row for path in dict.fromkeys(brought) for row in _read_brought(path))


@cache
def _read_brought(path: Path) -> tuple[Row, ...]:
    try:
        return tuple(_read_paper(path, {}))
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise SeesayError(
            f"cannot read the tables of a paper {path}: {error}", allowed=f"a file like those in {_TABLES}"
        ) from error


def _read_paper(path: Path, doubts: Mapping[str, Mapping[str, str]]) -> Iterator[Row]:
    content = tomllib.loads(path.read_text(encoding="utf-8"))
    for table in content["table"]:
        for line in table["rows"].strip("\n").splitlines():
            yield _read_row(line, content["paper"], table, doubts)


def _read_row(line: str, paper: str, table: Mapping[str, Any], doubts: Mapping[str, Mapping[str, str]]) -> Row:
    own, method = line[0] == ">", line[1:].partition("|")[0].strip()
    cells = line.partition("|")[2].replace("|", " ").split()
    columns = table["columns"].split()
    if len(cells) != len(columns):
        raise ValueError(f"{paper}, {table['where']}: {len(cells)} cells in {len(columns)} columns: {line.strip()}")
    printed = {key: None if cell == "-" else cell for key, cell in zip(columns, cells, strict=True)}
    about = {key: table[key] for key in ("where", "kind", "data", "measured_on", "ablation", "note") if key in table}
    row = Row(method, paper, own=own, printed=printed, **about)
    return replace(row, doubts=doubts.get(_place(row), {}))


def _read_doubts() -> dict[str, dict[str, str]]:
    """Place → cell → why."""
    doubts: dict[str, dict[str, str]] = {}
    for doubt in tomllib.loads((_TABLES / "doubts.toml").read_text(encoding="utf-8"))["doubt"]:
        for place in doubt["places"]:
            parts = place.split(" / ")
            cells = parts[4].split() if len(parts) > 4 else [""]
            doubts.setdefault(" / ".join(parts[:4]), {}).update(dict.fromkeys(cells, doubt["why"]))
    return doubts


def _place(row: Row) -> str:
    return f"{row.paper} / {row.where} / {row.data} / {row.method}"
