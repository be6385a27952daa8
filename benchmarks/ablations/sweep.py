"""Variants of a recipe, trained alike and measured alike: what each part of a model is worth.

    SEESAY_DATA=… python -m benchmarks.ablations.sweep benchmarks/ablations/alignment.toml [--variants words edges …]

A sweep is a TOML file: the `recipe` (of recipes/), the name of its `result` (in benchmarks/results/), `measures`, which
are tasks of `seesay evaluate`, and `variants` with what each changes (`set`). Every run has a folder of its own, where
its figures are kept, too. A run that was stopped goes on, and a finished one is neither run nor measured again: the
same command after an interruption, or after parts were run on their own, costs what is left. `--finished` records the
runs that have ended and trains none. Dev chooses; test is measured where the paper prints it.

Of a variant `group` says to which part of the sweep it belongs, and `published` which method of the paper it is. A
measure may be of some `groups` only. `[together]` adds up the standardised scores of a group's variants on a split, as
papers do whose ensembles have no weights.

`[start]` names a recipe that is trained first, once, with what it changes (`set`); its weights are what all variants
start from (`config.start_from`). Where a group's variants differ in the seed, `seeds` names a measure: the mean and the
range of its Sum, or of its perplexity where it has no Sum, are recorded for each group. A variant that `may_diverge`
is one whose point is whether it can be trained: its row then says that the loss was not finite.
"""

import argparse
import json
import re
import tomllib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

from benchmarks.ablations.phrase_perplexity import measure_phrases
from benchmarks.recording import parse_arguments, record
from benchmarks.runs import find_finished, score_once, train
from seesay import data
from seesay.errors import SeesayError
from seesay.evaluation.replication.papers import rows as published_rows
from seesay.evaluation.tasks import Request, find_task
from seesay.metrics.retrieval import retrieval_report
from seesay.models.base import Weights
from seesay.models.pretrained import find
from seesay.system.files import replace_atomically
from seesay.training.events import DivergedError
from seesay.training.recipe import Recipe, read_recipe

ROOT = Path(__file__).resolve().parents[2]
START = "start"
"""The folder of what variants start from."""
FIGURES = "figures.json"
"""In the folder of a run: what was measured of it."""


@dataclass(frozen=True)
class Measure:
    """What is measured of every variant.

    Attributes:
        name: Its key in a row of the result.
        task: One of `seesay evaluate`, or `phrase-perplexity`.
        set: Values of the configuration that are others while it is measured.
        groups: Variants that it is for; empty for all.
    """

    name: str
    task: str
    split: str
    beam: int | None = None
    set: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()

    def of(self, weights: Weights, collection: data.Collection) -> dict[str, Any]:
        """The figures of a task: its part of a report."""
        part = collection.split(self.split)
        if self.task == "phrase-perplexity":
            return measure_phrases(weights, part)
        changes = [change.removeprefix("config.") for change in self.set]
        request = Request(weights, part, self.split, beam=self.beam, changes=changes)
        figures: dict[str, Any] = {}
        for found in find_task(self.task).measure(request):
            figures |= found.to_report()
        return figures.get(self.task, figures)


@dataclass(frozen=True)
class Variant:
    """A run: its name, what it changes, the part of the sweep that it belongs to, and what the paper calls it.

    Attributes:
        may_diverge: A loss that is not finite is a result.
    """

    name: str
    set: tuple[str, ...] = ()
    group: str = ""
    published: str = ""
    may_diverge: bool = False

    @property
    def folder(self) -> str:
        return re.sub(r"[^a-z0-9.]+", "-", f"{self.group} {self.name}".lower()).strip("-")


@dataclass(frozen=True)
class Sweep:
    """A file that says what is trained and measured; see the module."""

    recipe: str
    result: str
    data: str
    measures: tuple[Measure, ...]
    variants: tuple[Variant, ...]
    together: dict[str, str] = field(default_factory=dict)
    published: dict[str, str] = field(default_factory=dict)
    start: dict[str, Any] = field(default_factory=dict)
    seeds: str = ""
    set: tuple[str, ...] = ()

    @classmethod
    def read(cls, path: Path) -> "Sweep":
        """Read a file; an unknown or missing key is named."""
        try:
            table = tomllib.loads(path.read_text(encoding="utf-8"))
            parts = {"measures": Measure, "variants": Variant}
            for key, kind in parts.items():
                rows = [{name: _frozen(value) for name, value in row.items()} for row in table.pop(key)]
                table[key] = tuple(kind(**row) for row in rows)
            return cls(**{name: _frozen(value) for name, value in table.items()})
        except (OSError, KeyError, TypeError, tomllib.TOMLDecodeError) as error:
            raise SeesayError(f"{path} is no sweep: {error}", hint="see benchmarks/ablations/*.toml") from error


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sweep", type=Path, help="a TOML file")
    parser.add_argument("--variants", nargs="+", help="names; all where none is given")
    parser.add_argument("--groups", nargs="+", help="parts of the sweep; all where none is given")
    parser.add_argument("--finished", action="store_true", help="record the runs that have ended; train none")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="as in seesay train, for all")
    parser.add_argument("--runs", type=Path, default=Path("runs"), help="folder of the runs")
    parser.add_argument("--keep", type=Path, help="folder for score matrices of [together]")
    parser.add_argument("--threads", type=int, default=0)
    arguments = parse_arguments(parser, "sweep")
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    sweep = Sweep.read(arguments.sweep)
    arguments.name = sweep.result
    if arguments.output.stem == "sweep":
        arguments.output = ROOT / f"benchmarks/results/{sweep.result}.json"
    wanted = choose_variants(sweep, arguments.variants, arguments.groups)
    folder = arguments.runs / sweep.result
    rows = run(sweep, wanted, folder, arguments.set, arguments.keep, only_finished=arguments.finished)
    base = read_recipe(ROOT / f"recipes/{sweep.recipe}.toml", [*sweep.set, *arguments.set])
    record(
        arguments,
        ("torch",),
        sweep=arguments.sweep.name,
        data=sweep.data,
        recipe=base.name,
        epochs=base.stop.epochs,
        config=base.config,
        overrides=arguments.set,
        rows=rows,
        **({"seeds": summarise_seeds(rows, sweep.seeds)} if sweep.seeds else {}),
        **({"start": {**sweep.start, "figures": find(folder / START / "weights").figures}} if sweep.start else {}),
    )


def choose_variants(sweep: Sweep, names: list[str] | None, groups: list[str] | None) -> list[Variant]:
    """Those of the names and groups that are asked for."""
    for asked, known in ((names, [v.name for v in sweep.variants]), (groups, [v.group for v in sweep.variants])):
        if unknown := [name for name in asked or () if name not in known]:
            raise SeesayError(f"{sweep.result} has no {unknown[0]!r}", allowed=dict.fromkeys(known))
    return [
        variant
        for variant in sweep.variants
        if (names is None or variant.name in names) and (groups is None or variant.group in groups)
    ]


def run(
    sweep: Sweep,
    variants: list[Variant],
    runs: Path,
    overrides: list[str],
    keep: Path | None,
    *,
    only_finished: bool = False,
) -> list[dict[str, Any]]:
    """Train and measure variants; a recipe that several of them come to is trained once.

    Args:
        only_finished: Leave out variants whose training has not ended.
    """
    collection = data.load(sweep.data)
    printed = {}
    if sweep.published:
        rows_of = published_rows(sweep.published["task"], sweep.published["data"], ablations=True)
        printed = {row.method: row.printed for row in rows_of if row.ablation}
    trained: dict[str, Weights] = {}
    rows: list[dict[str, Any]] = []
    for variant in variants:
        recipe = read_recipe(ROOT / f"recipes/{sweep.recipe}.toml", [*sweep.set, *variant.set, *overrides])
        if sweep.start:
            first = read_recipe(ROOT / f"recipes/{sweep.start['recipe']}.toml", sweep.start.get("set", ()))
            start = _train_once(first, runs / START, trained)
            recipe = replace(recipe, config={**recipe.config, "start_from": str(start.folder)})
        row: dict[str, Any] = {"variant": variant.name, "group": variant.group, "changes": list(variant.set)}
        wanted = [measure for measure in sweep.measures if not measure.groups or variant.group in measure.groups]
        kept = Kept(runs / variant.folder / FIGURES, recipe, wanted)
        if (found := kept.read()) is not None:
            rows.append({**found, **row})
            continue
        if only_finished and recipe.fingerprint() not in trained and not find_finished(recipe, runs / variant.folder):
            print(f"{variant.folder}: not finished", flush=True)
            continue
        try:
            weights = _train_once(recipe, runs / variant.folder, trained)
        except DivergedError as error:
            if not variant.may_diverge:
                raise
            rows.append({**row, "finished": 0.0, "diverged": [error.what.partition(";")[0]]})
            kept.write(rows[-1])
            continue
        for measure in wanted:
            row[measure.name] = _measured_in_training(measure, weights, sweep) or measure.of(weights, collection)
        if variant.may_diverge:
            row["finished"] = 1.0
        if variant.published:
            row["published"] = dict(printed[variant.published])
        rows.append({**row, "epoch": weights.about.get("epochs"), "weights": str(weights.folder)})
        kept.write(rows[-1])
        print(variant.name, {key: value for key, value in row.items() if key not in ("variant", "changes")}, flush=True)
    if sweep.together and any(row["group"] == sweep.together["group"] for row in rows):
        rows.append(add_up(sweep.together, rows, collection, keep))
    return [{key: value for key, value in row.items() if key != "weights"} for row in rows]


@dataclass(frozen=True)
class Kept:
    """What was measured of a run, in its folder.

    Attributes:
        recipe: Figures of another recipe are not those of the run, nor are those of other measures.
    """

    path: Path
    recipe: Recipe
    measures: Sequence[Measure]

    @property
    def of(self) -> list[Any]:
        return json.loads(json.dumps([self.recipe.fingerprint(), *map(asdict, self.measures)]))

    def read(self) -> dict[str, Any] | None:
        if not self.path.is_file():
            return None
        kept = json.loads(self.path.read_text(encoding="utf-8"))
        has_ended = "diverged" in kept["row"] or (self.path.parent / "weights/config.json").is_file()
        return kept["row"] if has_ended and kept["of"] == self.of else None

    def write(self, row: dict[str, Any]) -> None:
        if self.path.parent.is_dir():  # a recipe that several variants come to has the folder of the first
            with replace_atomically(self.path) as temporary:
                temporary.write_text(json.dumps({"of": self.of, "row": row}), encoding="utf-8")


def _train_once(recipe: Recipe, folder: Path, trained: dict[str, Weights]) -> Weights:
    mark = recipe.fingerprint()
    if mark not in trained:
        trained[mark] = train(recipe, folder)
    return trained[mark]


def _measured_in_training(measure: Measure, weights: Weights, sweep: Sweep) -> dict[str, Any] | None:
    """The figures of retrieval that a run has left with its weights, where they are what the measure asks for."""
    if measure != Measure(measure.name, "retrieval", measure.split, groups=measure.groups):
        return None
    found = weights.figures.get(f"{sweep.data}/{measure.split}", {})
    return {key: found[key] for key in ("i2t", "t2i", "sum")} if "i2t" in found else None


def summarise_seeds(rows: list[dict[str, Any]], measure: str) -> dict[str, dict[str, float]]:
    """The mean and the range of a measure's Sum, or else of its perplexity, over the variants of each group.

    Runs that diverged have no figure and are not counted; a group of which all did has the number 0 alone.

    Example:
        >>> rows = [{"group": "a", "dev": {"sum": total}} for total in (1.0, 2.0, 6.0)]
        >>> summarise_seeds(rows, "dev")
        {'a': {'n': 3, 'mean': 3.0, 'lowest': 1.0, 'highest': 6.0}}
    """
    found: dict[str, list[float]] = {}
    for row in rows:
        if measure in row:
            figures = row[measure]
            found.setdefault(row["group"], []).append(figures["sum" if "sum" in figures else "perplexity"])
        elif "diverged" in row:
            found.setdefault(row["group"], [])
    return {
        group: {"n": len(some)}
        | ({"mean": sum(some) / len(some), "lowest": min(some), "highest": max(some)} if some else {})
        for group, some in found.items()
    }


def add_up(
    together: dict[str, str], rows: list[dict[str, Any]], collection: data.Collection, keep: Path | None
) -> dict[str, Any]:
    """The row of a sum of standardised scores, of which nothing is chosen."""
    total: Any = 0.0
    image_of: Any = None
    for row in rows:
        if row["group"] == together["group"]:
            found, image_of = score_once(row["weights"], collection.split(together["split"]), "full", keep)
            total = total + (found.scores - found.scores.mean()) / found.scores.std()
    figures = retrieval_report(total, image_of)
    return {"variant": together["name"], "group": together["group"], "changes": [], together["split"]: figures}


if __name__ == "__main__":
    main()
