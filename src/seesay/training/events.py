"""Events of a run, for progress and logs, and its result."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from seesay.errors import SeesayError

EventKind = Literal["resumed", "step", "evaluation", "saved", "finished"]


@dataclass(frozen=True, slots=True)
class Event:
    """Something to show a person who waits. Epochs and batches are counted from 1, as people do."""

    kind: EventKind
    epoch: int
    n_epochs: int
    batch: int
    n_batches: int
    step: int
    n_steps: int
    seconds: float
    figures: dict[str, float] = field(default_factory=dict)
    is_best: bool = False


@dataclass(frozen=True, slots=True)
class Result:
    """How a run ended."""

    best: dict[str, float]
    best_step: int
    best_epoch: int
    steps: int
    epochs: int
    seconds: float
    weights: Path
    stopped_early: bool


class TrainingInterruptedError(SeesayError):
    """Training was asked to stop, and has saved where it stands."""


class DivergedError(SeesayError):
    """The loss, the gradient or the dev figure is not finite: nothing is learned from here on."""
