"""Checks of what `seesay evaluate` is asked for, before anything is computed."""

from typing import Any

from seesay.errors import SeesayError

SHIPPED = "shipped"
_NOT_TOGETHER = ("task", "beam", "sample", "references", "normalise", "softmax", "entities", "page", "changes")


def what_ships(task: str | None, ensemble: str | None) -> tuple[str | None, str | None, str | None]:
    """Weights, ensemble and task that `shipped` stands for: what a library searches with, or the ensemble."""
    from seesay.library.library import DEFAULT_MODEL

    if ensemble is not None:
        raise SeesayError("'shipped' is an ensemble itself", allowed="shipped, or --ensemble NAMES")
    if task == "search":
        return DEFAULT_MODEL, None, task
    return None, SHIPPED, None if task == "retrieval" else task


def require_weights(weights: str | None) -> str:
    """Refuse to measure nothing."""
    if weights is None:
        raise SeesayError("there are no weights to measure", hint="seesay evaluate vse --data flickr8k")
    return weights


def require_data(data: str | None) -> str:
    """Refuse to measure on nothing."""
    if data is None:
        raise SeesayError("there is no data to measure on", allowed="--data with a path, or a name under SEESAY_DATA")
    return data


def read_changes(changes: list[str] | None) -> tuple[str, ...]:
    """What `--set` changes of the configuration, without its prefix."""
    for change in changes or ():
        if not change.startswith("config."):
            raise SeesayError(f"--set {change} is no value of the configuration", allowed="config.KEY=VALUE")
    return tuple(change.removeprefix("config.") for change in changes or ())


def refuse_contradictions(options: dict[str, Any]) -> None:
    """Refuse options that exclude each other, or that need another one."""
    from seesay.models.base import NORMALISATIONS

    if options["limit"] and options["protocol"] != "full":
        raise SeesayError("--limit and --protocol both say which images are measured", allowed="one of them")
    if options["sample"] and (other := next((name for name in ("beam", "references") if options[name]), "")):
        raise SeesayError(f"--sample draws captions, and --{other} searches for the best", allowed="one of them")
    if options["choose_on"] and (options["k"] or options["m"]):
        raise SeesayError("k and m are either given or chosen", allowed="--choose-on SPLIT, or --k N and --m N")
    if options["ensemble"] and (asked := [name for name in _NOT_TOGETHER if options[name]]):
        name = asked[0].replace("changes", "set")
        raise SeesayError(f"--{name} is for single weights", allowed="--ensemble with --split, --protocol, --seed")
    if options["ensemble"] and options["protocol"].startswith("shortlist-"):
        raise SeesayError("shortlists are measured of single weights", allowed="--ensemble with --protocol full")
    if options["engine"] != "torch" and (options["changes"] or options["record"] or options["ensemble"]):
        raise SeesayError("graphs are measured as they are", allowed="--engine without --set, --record and --ensemble")
    if options["changes"] and (options["record"] or options["task"] == "search"):
        what = "--record keeps figures of weights" if options["record"] else "search takes weights"
        raise SeesayError(f"{what} as they are, not with --set", allowed="one of them")
    alone = ("k", "m") if options["ensemble"] else ("choose_on", "k", "m")
    if not options["references"] and (asked := [name for name in alone if options[name]]):
        raise SeesayError(
            f"--{asked[0].replace('_', '-')} is for reranking, which needs captioned photos",
            hint="--references DATA",
        )
    if lone := [name for name in ("measure", "where", "records") if options[name]]:
        raise SeesayError(f"--{lone[0]} is for a paper", hint=f"seesay evaluate --paper mrnn --{lone[0]}")
    if options["normalise"] not in (None, *NORMALISATIONS):
        raise SeesayError(f"there is no normalisation {options['normalise']!r}", allowed=NORMALISATIONS)
