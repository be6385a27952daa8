"""The report of an evaluation: the figures, and everything that is needed to measure them again.

`i2t` and `t2i`, each with `r1 r5 r10 median mean`, and `sum` stand at the top and keep their names: other programs read
them. The rest says which weights, which data, which protocol, which program, and when.
"""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import torch

import seesay
from seesay.data import Collection
from seesay.errors import SeesayError
from seesay.evaluation.papers import data_name, set_named
from seesay.evaluation.protocols import Evaluation
from seesay.files import replace_atomically
from seesay.images.backbones import file_digest
from seesay.metrics.retrieval import RetrievalReport
from seesay.models.base import Weights

Report = dict[str, Any]

_NEEDED = {"i2t", "t2i", "sum", "model", "data", "protocol", "date"}


def build_report(
    evaluation: Evaluation, weights: Weights, collection: Collection, split: str, *, command: str = ""
) -> Report:
    """Put together what was measured and how.

    Args:
        evaluation: What was measured.
        weights: The weights that were measured.
        collection: The split that was measured on.
        split: Its name.
        command: The command line that measures it again.
    """
    about, protocol = weights.about, evaluation.protocol
    report: Report = {
        **_rounded(evaluation.figures),
        "model": {
            "name": weights.name,
            "family": about["family"],
            "digest": file_digest(weights.folder / "model.safetensors"),
            "features": about["features"],
            "recipe_fingerprint": about.get("recipe_fingerprint"),
            "learned_from": [set_named(row["name"]) or row["name"] for row in about.get("data", ())],
        },
        "data": {
            "name": data_name(collection) or collection.name,
            "kind": collection.kind,
            "split": split,
            "fingerprint": collection.fingerprint(),
            "n_images": len(collection),
            "n_sentences": len(collection.sentences),
        },
        "protocol": {
            "name": protocol.name,
            "n_folds": protocol.n_folds,
            "seed": evaluation.seed,
            "n_images": evaluation.n_images,
            "n_sentences": evaluation.n_sentences,
        },
        "seconds": {what: round(seconds, 3) for what, seconds in evaluation.seconds.items()},
        "seesay": seesay.__version__,
        "torch": torch.__version__,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": command,
    }
    if protocol.n_folds > 1:
        report["folds"] = [_rounded(fold) for fold in evaluation.folds]
    return report


def _rounded(figures: RetrievalReport) -> Report:
    """Four decimals: finer than any query's weight, and without the tails of binary fractions."""
    directions = {name: cast(dict[str, float], figures[name]) for name in ("i2t", "t2i")}
    rounded = {name: {key: round(value, 4) for key, value in part.items()} for name, part in directions.items()}
    return {**rounded, "sum": round(figures["sum"], 4)}


def figures_to_record(report: Report) -> tuple[str, Report]:
    """The key and the part of a report that weights keep about themselves.

    The command line stays out, as it may name folders of this machine, and so does what the weights say anyway.

    Example:
        >>> report = {"sum": 300.0, "model": {}, "data": {"name": "coco", "split": "dev"}, "protocol": {"name": "1k"}}
        >>> figures_to_record(report)[0]
        'coco/dev/1k'
    """
    key = f"{report['data']['name']}/{report['data']['split']}"
    if report["protocol"]["name"] != "full":
        key += f"/{report['protocol']['name']}"
    return key, {name: part for name, part in report.items() if name not in ("model", "command", "folds", "seconds")}


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
    try:
        report = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SeesayError(f"cannot read {path}: {error.strerror or error}", hint=hint) from error
    except ValueError as error:
        raise SeesayError(f"{path} is not JSON: {error}", hint=hint) from error
    if not isinstance(report, dict) or (missing := _NEEDED - report.keys()):
        lack = f"it has no {sorted(missing)[0]!r}" if isinstance(report, dict) else "it holds no object"
        raise SeesayError(f"{path} is not a report of seesay: {lack}", hint=hint)
    return report
