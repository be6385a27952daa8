"""`seesay plan`: what a collection of a given size will cost."""

import json
from typing import TYPE_CHECKING, Annotated

from seesay.cli import light
from seesay.cli.options import AsJson
from seesay.system import ranges

if TYPE_CHECKING:
    from seesay.library.plan import Estimate, Plan

_STORES = {"sqlite": "a folder on this machine (SQLite)", "postgres": "a PostgreSQL server with pgvector"}
_LINES = {
    "network": "computing",
    "indexing": "indexing",
    "writing": "database writes",
    "building": "search index",
    "disk": "disk",
    "memory_indexing": "memory, indexing",
    "memory_search": "memory, search",
    "servers": "servers",
    "search": "one search",
}


def plan(
    photos: Annotated[int, light.Option(metavar="N", help="How many photos there will be.")],
    machines: Annotated[int, light.Option(metavar="M", help="Machines that index at once.")] = 1,
    cores: Annotated[
        int, light.Option(min=0, max=ranges.THREADS, metavar="N", help="Cores of each; 0 means as many as here.")
    ] = 0,
    as_json: AsJson = False,
) -> None:
    """Estimate time, memory and disk for a collection of photos, and recommend a store.

    The estimate rests on recorded measurements. Each line shows the sizes that were measured; a line marked with *
    goes beyond them.

    \b
    Examples:
        seesay plan --photos 50000
        seesay plan --photos 100000000 --machines 100 --cores 16
        seesay plan --photos 50000 --json
    """
    from seesay.library.plan import make_plan

    made = make_plan(photos, machines, cores)
    light.echo(json.dumps(made.to_dict(), indent=2) if as_json else _describe(made))


def _describe(made: "Plan") -> str:
    machines = "1 machine" if made.machines == 1 else f"{made.machines:,} machines"
    each = "1 core" if made.cores == 1 else f"{made.cores:,} cores"
    lines = [
        f"{made.photos:,} photos, {machines} of {each}",
        f"{'store':<16}  {_STORES[made.store]}: {made.why}",
    ]
    named = {estimate.name: estimate for estimate in made.estimates}
    for name, label in _LINES.items():
        if name in named:
            estimate = named[name]
            star = " *" if estimate.extrapolates else ""
            least, most = estimate.measured
            measured = f"{least:,}" if least == most else f"{least:,} to {most:,}"
            lines.append(f"{label:<16}  {show_value(estimate) + star:<18}  measured at {measured} photos")
    if made.extrapolates:
        lines.append("* extrapolated: no collection of this size was measured")
    lines.append(f"measured {made.date} on {made.machine}")
    return "\n".join(lines)


def show_value(estimate: "Estimate") -> str:
    """An estimate in the unit that a person would use."""
    value, unit = estimate.value, estimate.unit
    if unit == "hours" and value < 1:
        value, unit = (60 * value, "min") if value >= 1 / 60 else (3600 * value, "s")
    elif unit == "hours" and value >= 48:
        value, unit = value / 24, "days"
    elif unit == "core hours" and value < 1:
        value, unit = 60 * value, "core minutes"
    elif unit == "GB" and value < 1:
        value, unit = 1000 * value, "MB"
    elif unit == "MB" and value >= 1000:
        value, unit = value / 1000, "GB"
    if unit == "GB" and value >= 1000:
        value, unit = value / 1000, "TB"
    return f"{value:,.1f} {unit}" if value < 10 and estimate.name != "servers" else f"{value:,.0f} {unit}"
