"""Every table, figure and claim of the five papers, and whether it replicates here.

The claims lie in `claims/`, one file per paper. A claim quotes the paper, says where our figures are recorded (as
published, and improved) and by which rule it replicates. Verdicts are not written down: they follow from the records.
"""

import ast
import operator
import re
import string
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from seesay.errors import SeesayError
from seesay.evaluation.replication.papers import all_rows
from seesay.evaluation.replication.records import Found, Records

PAPERS = ("mrnn", "hmlstm", "dvsa", "smlstm", "identifier")
_CLAIMS = Path(__file__).parent / "claims"
_SMALLER_IS_BETTER = ("perplexity", "median")
NOT_MEASURED = "not yet measured"
MARGINS = {"SUM": 5.0, "PERPLEXITY": 1.0, "BLEU": 0.02, "CIDER": 0.05, "POINTS": 1.0}
"""What two rows have to differ by to be called an order: points of Sum, of perplexity, of BLEU and CIDEr, and of a
percentage. Most rows are one run with one seed, whose noise was not measured; what differs by less is called equal."""


@dataclass(frozen=True)
class Claim:
    """Something a paper says.

    Attributes:
        where: The table, figure or section.
        what: What is claimed or shown.
        paper: The paper's figures: a text, or the place of a row in its tables (table, data, method).
        published: Ours as published: a text with {names} of `values`, or the path of a table of figures.
        improved: The same of what is improved or ships.
        keys: Figures that are taken from those tables, with dots where they lie deeper.
        values: Names of single figures → their paths (`seesay.evaluation.replication.records`).
        rule: When it replicates: `published` or `improved`, whose figures are then at least the paper's, or a
            comparison of `values`. A comparison of two of them has a margin, by a name of `MARGINS` or as a number.
        because: Why it cannot be measured here; empty where it can.
        missing: What has to be made before it can be measured; empty where nothing has.
        command: Measures it; several are joined by `&&`.
        data: Collections that the command needs.
        remark: What a reader has to know of the verdict.
    """

    where: str
    what: str
    paper: str | list[str] = ""
    published: str | list[str] = ""
    improved: str | list[str] = ""
    keys: list[str] = field(default_factory=list)
    values: Mapping[str, list[str]] = field(default_factory=dict)
    rule: str = ""
    because: str = ""
    missing: str = ""
    command: str = ""
    data: list[str] = field(default_factory=list)
    remark: str = ""


@dataclass(frozen=True)
class Answer:
    """A claim with the figures of both sides and what follows.

    Attributes:
        verdict: `replicates`, `does not`, `cannot be measured here`, `stale` or `not yet measured`.
        why: What the verdict rests on, or what to type.
    """

    claim: Claim
    paper: str
    published: str
    improved: str
    verdict: str
    why: str

    def to_dict(self) -> dict[str, str]:
        """As `--json` prints it."""
        return {
            "where": self.claim.where, "claim": self.claim.what, "paper": self.paper, "published": self.published,
            "improved": self.improved, "verdict": self.verdict, "why": self.why, "command": self.claim.command,
        }  # fmt: skip


def find_claims(paper: str) -> tuple[Claim, ...]:
    """The claims of a paper by its short name.

    Raises:
        SeesayError: There is no such paper; the known ones are listed.
    """
    if paper not in PAPERS:
        raise SeesayError(f"there is no paper {paper!r}", allowed=PAPERS)
    return _read_claims(paper)


def claims_at(claims: Sequence[Claim], place: str) -> tuple[Claim, ...]:
    """The claims whose table, figure or section is a place, such as `Table 2`, whatever its capital letters.

    A claim of `Tables 1, 2` is of each of them, one of `Section 7.5` of `Section 7`, too.

    Raises:
        SeesayError: There is none; the places of the paper are listed.
    """
    wanted = _places(place)

    def is_there(where: str) -> bool:
        if not wanted:
            return place.strip().lower() in where.lower()
        return any(
            (kind, number) in wanted or any(kind == k and number.startswith(f"{n}.") for k, n in wanted)
            for kind, number in _places(where)
        )

    if not (found := tuple(claim for claim in claims if is_there(claim.where))):
        raise SeesayError(
            f"the paper has no claim at {place!r}", allowed=dict.fromkeys(claim.where for claim in claims)
        )
    return found


def _places(where: str) -> set[tuple[str, str]]:
    """The numbered places in a text, in small letters and one by one.

    Example:
        >>> sorted(_places("Tables 1, 3, Section 7.5")), sorted(_places("Eqs. 2 to 4"))
        ([('section', '7.5'), ('table', '1'), ('table', '3')], [('eq', '2'), ('eq', '3'), ('eq', '4')])
    """
    found: set[tuple[str, str]] = set()
    kind, number, is_range = "", "", False
    for word in re.findall(r"[a-z]+|[0-9]+(?:\.[0-9]+)*", where.lower()):
        if word in ("to", "and"):
            is_range = word == "to"
        elif word[0].isdigit():
            between = range(int(number) + 1, int(word)) if is_range and (number + word).isdigit() else ()
            found |= {(kind, str(each)) for each in (*between, word)}
            number, is_range = word, False
        else:
            kind, number = word.removesuffix("s"), ""
    return found


@cache
def _read_claims(paper: str) -> tuple[Claim, ...]:
    path = _CLAIMS / f"{paper}.toml"
    content = tomllib.loads(path.read_text(encoding="utf-8"))
    return tuple(Claim(**table) for table in content["claim"])


def answer(paper: str, records: Records) -> list[Answer]:
    """What became of each claim of a paper."""
    return [_answer(claim, records, paper) for claim in find_claims(paper)]


def _answer(claim: Claim, records: Records, paper: str) -> Answer:
    values = {name: records.find(path) for name, path in claim.values.items()}
    printed = _printed_row(claim, paper)
    tables = {
        name: records.find(cell) if isinstance(cell, list) else None
        for name, cell in (("published", claim.published), ("improved", claim.improved))
    }
    shown = {
        "published": _show(claim.published, tables["published"], claim.keys, values),
        "improved": _show(claim.improved, tables["improved"], claim.keys, values),
    }
    theirs = claim.paper if isinstance(claim.paper, str) else _join(printed, claim.keys)
    verdict, why = _judge(claim, printed, tables, values)
    return Answer(claim, theirs, shown["published"], shown["improved"], verdict, why)


def _judge(
    claim: Claim,
    printed: Mapping[str, float],
    tables: Mapping[str, Found | None],
    values: Mapping[str, Found | None],
) -> tuple[str, str]:
    if claim.because:
        return "cannot be measured here", claim.because
    if claim.missing:
        return NOT_MEASURED, claim.missing
    how = f"`{claim.command}`" if claim.command else claim.remark
    by_table = claim.rule in ("published", "improved")
    used = [tables[claim.rule]] if by_table else list(values.values())
    if not used or any(found is None for found in used):
        return NOT_MEASURED, how
    found = [each for each in used if each is not None]
    if stale := next((each.stale for each in found if each.stale), ""):
        return "stale", f"{stale}: {how}"
    if by_table:
        ours = {key: _number(found[0].value, key) for key in claim.keys}
        if any(value is None for value in ours.values()):
            return NOT_MEASURED, how
        holds = all(_at_least(key, float(ours[key] or 0), printed[key]) for key in claim.keys if key in printed)
    else:
        holds = evaluate_rule(claim.rule, {name: float(each.value) for name, each in values.items() if each})
    return ("replicates" if holds else "does not replicate"), claim.remark


def _at_least(key: str, ours: float, theirs: float) -> bool:
    return ours <= theirs if key.split(".")[-1] in _SMALLER_IS_BETTER else ours >= theirs


def _show(cell: str | list[str], table: Found | None, keys: Sequence[str], values: Mapping[str, Found | None]) -> str:
    if isinstance(cell, list):
        if table is None:
            return NOT_MEASURED
        found = {key: _number(table.value, key) for key in keys}
        return _join({key: value for key, value in found.items() if value is not None}, keys)
    names = [name for _, name, _, _ in string.Formatter().parse(cell) if name]
    if any(values.get(name) is None for name in names):
        return NOT_MEASURED
    return cell.format(**{name: found.value for name, found in values.items() if found is not None})


def _printed_row(claim: Claim, paper: str) -> dict[str, float]:
    """The figures of the row of the paper that a claim quotes; nothing where it quotes none."""
    if isinstance(claim.paper, str):
        return {}
    where, data, method = claim.paper
    row = next((row for row in all_rows() if (row.where, row.data, row.method) == (where, data, method)), None)
    if row is None:
        raise ValueError(f"{paper}: no row {' / '.join(claim.paper)}")
    return {key: value for key in claim.keys if (value := row.figure(key)) is not None}


def _number(table: Any, key: str) -> float | None:
    for part in key.split("."):
        table = table.get(part) if isinstance(table, Mapping) else None
    return None if table is None else float(table)


def _join(figures: Mapping[str, float], keys: Sequence[str]) -> str:
    return " / ".join(format_figure(key, figures[key]) if key in figures else "–" for key in keys)


def format_figure(key: str, value: float) -> str:
    """A figure as papers write it.

    Example:
        >>> [format_figure(key, value) for key, value in (("bleu4", 0.2061), ("i2t.r1", 25.9), ("t2i.median", 6.0))]
        ['.206', '25.9', '6']
    """
    last = key.split(".")[-1]
    if last == "median":
        return f"{value:g}"
    if last == "perplexity":
        return f"{value:.2f}"
    if last.startswith(("bleu", "cider", "rouge", "novel")):
        return f"{value:.3f}".removeprefix("0")
    return f"{value:.1f}"


_OPERATIONS: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Lt: operator.lt, ast.LtE: operator.le,
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
}  # fmt: skip


def evaluate_rule(rule: str, values: Mapping[str, float]) -> bool:
    """Whether a comparison of named figures holds.

    Example:
        >>> evaluate_rule("a > b + SUM and a < 100", {"a": 20.0, "b": 10.0})
        True
    """
    return bool(_evaluate(ast.parse(rule, mode="eval").body, {**MARGINS, **values}))


def _evaluate(node: ast.AST, values: Mapping[str, float]) -> Any:
    match node:
        case ast.Constant(value=int() | float()):
            return node.value
        case ast.Name():
            return values[node.id]
        case ast.BoolOp():
            found = [_evaluate(part, values) for part in node.values]
            return all(found) if isinstance(node.op, ast.And) else any(found)
        case ast.Compare():
            sides = [_evaluate(part, values) for part in (node.left, *node.comparators)]
            return all(_OPERATIONS[type(how)](*pair) for how, pair in zip(node.ops, pairwise(sides), strict=True))
        case ast.BinOp():
            return _OPERATIONS[type(node.op)](_evaluate(node.left, values), _evaluate(node.right, values))
    raise ValueError(f"a rule compares figures, and cannot hold {ast.dump(node)}")
