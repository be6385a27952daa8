"""`seesay evaluate --paper`: the claims of a paper, and whether they replicate here."""

import json
from pathlib import Path
from typing import Any

from seesay.cli import light
from seesay.errors import SeesayError

_BESIDE = ("paper", "measure", "where", "records", "as_json", "protocol", "split", "engine")
"""Options that go with a paper, or have a value of their own."""


def show_paper(options: dict[str, Any]) -> None:
    """Print every table, figure and claim of a paper with our figures, from records or measured anew."""
    from seesay.evaluation.replication.claims import answer, claims_at, find_claims
    from seesay.evaluation.replication.measuring import Skipped, measure_claims
    from seesay.evaluation.replication.records import Records, forget, require_results
    from seesay.evaluation.replication.showing import text

    paper, folder = str(options["paper"]), options["records"]
    claims = find_claims(paper)
    if given := [name for name, value in options.items() if value and name not in _BESIDE]:
        raise SeesayError(
            f"--paper shows what is recorded, and takes no {given[0].replace('_', '-')}",
            allowed="--measure, --where PLACE, --records DIR, --json",
        )
    if options["where"]:
        claims = claims_at(claims, str(options["where"]))
    records = Records(require_results(Path(folder))) if folder else Records()
    if records.results is None:
        light.echo(
            "only figures of the weights are here: --records DIR names benchmarks/results of the source", err=True
        )
    left: list[Skipped] = []
    if options["measure"]:
        if folder:
            raise SeesayError(
                "--measure writes where the source has its results", allowed="--measure without --records"
            )
        left = measure_claims(claims, lambda command: light.echo(f"$ {command}", err=True))
        for each in left:
            light.echo(f"not measured: {each.command}\n  {each.why}", err=True)
        forget()
    answers = [each for each in answer(paper, records) if each.claim in claims]
    if options["as_json"]:
        rows = [each.to_dict() for each in answers]
        light.echo(json.dumps({"paper": paper, "claims": rows}, indent=2, ensure_ascii=False))
    else:
        light.echo(text(answers))
    if left:
        raise light.Exit(1)
