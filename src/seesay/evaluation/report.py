"""The report of an evaluation: the figures, and everything that is needed to measure them again.

The figures stand at the top and keep their names, since other programs read them: those of retrieval as `i2t` and
`t2i`, each with `r1 r5 r10 median mean`, and `sum`; those of another task under its name, and those of reranking as
`reranking`. The rest says which weights, which data, which protocol, which program, and when.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

import torch

from seesay.data import Collection
from seesay.errors import SeesayError
from seesay.evaluation import protocols
from seesay.evaluation.replication.papers import data_name, set_named
from seesay.images.backbones import file_digest
from seesay.models.base import NORMALISATIONS, Weights
from seesay.system.files import replace_atomically
from seesay.system.reading import read_json
from seesay.system.version import VERSION

Report = dict[str, Any]

_NEEDED = {"model", "data", "protocol", "date"}
_RETRIEVAL = {"i2t", "t2i", "sum"}
_ABOUT = {*_NEEDED, "seconds", "seesay", "torch", "command", "folds"}


class Measured(Protocol):
    """What an evaluation answers, of whatever task."""

    @property
    def protocol(self) -> protocols.Protocol: ...
    @property
    def seed(self) -> int | None: ...
    @property
    def n_images(self) -> int: ...
    @property
    def n_sentences(self) -> int: ...
    @property
    def seconds(self) -> dict[str, float]: ...
    def to_report(self) -> dict[str, Any]:
        """The part of a report that it is."""


def build_report(
    evaluations: Sequence[Measured],
    weights: Weights,
    collection: Collection,
    split: str,
    *,
    how: Mapping[str, Any] | None = None,
    command: str = "",
) -> Report:
    """Put together what was measured and how.

    Args:
        evaluations: What was measured, one or several, all of the same images.
        weights: The weights that were measured.
        collection: The split that was measured on.
        split: Its name.
        how: What else there is to know of the way it was measured, such as how likelihoods were normalised.
        command: The command line that measures it again.
    """
    first = evaluations[0]
    figures = [part for evaluation in evaluations for part in evaluation.to_report().items()]
    report: Report = {
        **{name: part for name, part in figures if name != "folds"},
        "model": describe_model(weights),
        "data": {
            "name": data_name(collection) or collection.name,
            "kind": collection.kind,
            "split": split,
            "fingerprint": collection.fingerprint(),
            "n_images": len(collection),
            "n_sentences": len(collection.sentences),
        },
        "protocol": {
            "name": first.protocol.name,
            "n_folds": first.protocol.n_folds,
            "seed": first.seed,
            "n_images": first.n_images,
            "n_sentences": first.n_sentences,
            **(how or {}),
        },
        "seconds": _add_up(evaluations),
        "seesay": VERSION,
        "torch": torch.__version__,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": command,
    }
    return report | {name: part for name, part in figures if name == "folds"}


def describe_model(weights: Weights) -> dict[str, Any]:
    """What a report says about weights: enough to find the same ones again."""
    about = weights.about
    return {
        "name": weights.name,
        "family": about["family"],
        "digest": file_digest(weights.folder / "model.safetensors"),
        "features": about["features"],
        "recipe_fingerprint": about.get("recipe_fingerprint"),
        "learned_from": [set_named(row["name"]) or row["name"] for row in about.get("data", ())],
    }


def _add_up(evaluations: Sequence[Measured]) -> dict[str, float]:
    seconds: dict[str, float] = {}
    for evaluation in evaluations:
        for what, value in evaluation.seconds.items():
            seconds[what] = round(seconds.get(what, 0.0) + value, 3)
    return seconds


def figures_to_record(report: Report, recorded: Mapping[str, Report] | None = None) -> tuple[str, Report]:
    """The key and the part of a report that weights keep about themselves.

    The command line stays out, as it may name folders of this machine, and so does what the weights say anyway. What
    was recorded before under the same key and for the same data stays where the report has nothing in its place:
    captions and retrieval may be measured one after the other. Its own date is recorded then (`kept`,
    see `seesay.catalogue.figures.measured_on`).

    Example:
        >>> about = {"model": {}, "data": {"name": "coco", "split": "dev"}, "protocol": {"name": "1k"}}
        >>> key, _ = figures_to_record({"sum": 300.0, **about})
        >>> key
        'coco/dev/1k'
        >>> sorted(figures_to_record({"captions": {}, **about}, {key: {"sum": 300.0}})[1])
        ['captions', 'data', 'protocol', 'sum']
    """
    data, protocol = report["data"], report["protocol"]
    key = f"{data['name']}/{data['split']}"
    if protocol["name"] != "full":
        key += f"/{protocol['name']}"
    if protocol.get("normalise", NORMALISATIONS[0]) != NORMALISATIONS[0]:
        key += f"/normalise-{protocol['normalise']}"
    if protocol.get("beam"):
        key += f"/beam-{protocol['beam']}"
    if protocol.get("sample"):
        key += f"/sample-{protocol['sample']}"
    if protocol.get("softmax", "exact") != "exact":
        key += f"/softmax-{protocol['softmax']}"
    earlier = (recorded or {}).get(key, {})
    if earlier.get("data", data) != data:
        earlier = {}
    own = {name: part for name, part in report.items() if name not in ("model", "command", "folds", "seconds")}
    found = {**earlier, **own, "protocol": {**earlier.get("protocol", {}), **protocol}}
    dates = {**dict.fromkeys(earlier, earlier.get("date")), **earlier.get("kept", {})}
    kept = {name: date for name, date in dates.items() if date and name not in own and name != "kept"}
    return key, {**{name: part for name, part in found.items() if name != "kept"}, **({"kept": kept} if kept else {})}


def to_json(report: Report) -> str:
    """The text of a report, one line per entry."""
    return json.dumps(report, indent=2, ensure_ascii=False)


def write_report(path: Path, report: Report) -> None:
    """Write a report; a reader sees the old one or the new one and never half of one."""
    with replace_atomically(path) as temporary:
        temporary.write_text(to_json(report) + "\n", encoding="utf-8")


def read_report(path: Path) -> Report:
    """Read a report that was written before.

    Raises:
        SeesayError: The file cannot be read, is not JSON, or is not a report.
    """
    hint = f"seesay evaluate WEIGHTS --data DATA -o {path.parent}"
    report = read_json(path, hint)
    is_other = isinstance(report, dict) and bool(report.keys() - _ABOUT - _RETRIEVAL)
    needed = _NEEDED | (set() if is_other else _RETRIEVAL)
    if not isinstance(report, dict) or (missing := needed - report.keys()):
        lack = f"it has no {sorted(missing)[0]!r}" if isinstance(report, dict) else "it holds no object"
        raise SeesayError(f"{path} is not a report of seesay: {lack}", hint=hint)
    return report
