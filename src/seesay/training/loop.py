"""The training loop: steps, evaluations, the log, checkpoints, and going on after an interruption.

What is learned is the task's business (see `Trainable`), how is the recipe's. A run lives in one folder:

    recipe.toml             what is run, all defaults filled in
    log.jsonl               a line for every few steps and one for every evaluation
    checkpoint.safetensors  the latest state; training goes on from it as if it had never stopped
    best.safetensors        the weights of the best evaluation

All decisions are functions of the recipe, the step and the restored state, so a resumed run makes the same steps and
writes the same lines, but for the seconds, as one that ran through.
"""

import math
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import torch

from seesay.errors import SeesayError
from seesay.system.files import PARTIAL, remove_abandoned, replace_atomically
from seesay.training.checkpoint import (
    Progress,
    load_checkpoint,
    random_state,
    save_checkpoint,
    save_weights,
    seed_everything,
)
from seesay.training.distributed import copy_from_first, gather_json, process_group, sum_gradients
from seesay.training.events import DivergedError, Event, EventKind, Result, TrainingInterruptedError
from seesay.training.optimisation import WeightAverage, build_optimiser, clip_gradients, rate_at
from seesay.training.recipe import Recipe
from seesay.training.run_log import RunLog
from seesay.training.signals import stop_signals
from seesay.training.task import Loss, Trainable

__all__ = ["Event", "Loss", "Result", "Trainable", "TrainingInterruptedError", "train"]


def train(
    task: Trainable,
    recipe: Recipe,
    run_dir: Path,
    *,
    resume: bool = True,
    on_event: Callable[[Event], None] | None = None,
    save_minutes: float = 5.0,
    save_steps: int = 0,
    log_steps: int = 50,
) -> Result:
    """Train a task's model as a recipe says, and leave the best weights in `run_dir`.

    The untrained model is evaluated first: a broken evaluation or a misspelt `stop.metric` shows before the first step.
    Under `torchrun` the gradients of all processes are summed, and the first one logs and saves.

    Args:
        resume: Go on from the checkpoint in `run_dir` if there is one; otherwise the folder's earlier run is removed.
        on_event: Called in the first process after every step, evaluation and save.
        save_minutes: Time between checkpoints; there is also one at the end of every epoch.
        save_steps: Steps between checkpoints, in addition; 0 for none.
        log_steps: Steps that one line of the log sums up.

    Raises:
        TrainingInterruptedError: SIGINT or SIGTERM came; the state after the current step is saved.
        DivergedError: The loss, the gradient or the dev figure is not finite.
        SeesayError: The checkpoint does not fit, or the folder is in use.
    """
    recipe = Recipe.from_dict(recipe.to_dict())  # one put together in Python has not been checked yet
    with process_group() as (rank, world), RunLog(run_dir, is_open=rank == 0) as log, stop_signals() as signals:
        run = _Run(task, recipe, run_dir, rank, world, log, on_event)
        run.start(resume)
        progress = run.progress
        if not progress.is_measured:
            run.evaluate()
            progress.is_measured = True
            run.save()
        while not progress.finished:
            while progress.batch < run.counts[progress.epoch]:
                is_due = rank == 0 and time.monotonic() - run.last_save > 60 * save_minutes
                must_stop, is_due = run.step([bool(signals), is_due])
                if progress.step % log_steps == 0:
                    run.write_steps()
                if must_stop or is_due or (save_steps and progress.step % save_steps == 0):
                    run.save()
                if must_stop:
                    raise TrainingInterruptedError(
                        f"training stopped on request in epoch {progress.epoch + 1}, after step {progress.step} of "
                        f"{run.n_steps}; its state is saved in {run.checkpoint}",
                        hint="run the same command again: it goes on from there",
                    )
            run.finish_epoch()
        return run.finish()


class _Run:
    """The state of a run and what can be done with it."""

    def __init__(
        self,
        task: Trainable,
        recipe: Recipe,
        run_dir: Path,
        rank: int,
        world: int,
        log: RunLog,
        on_event: Callable[[Event], None] | None,
    ) -> None:
        self.task, self.recipe, self.run_dir = task, recipe, run_dir
        self.rank, self.world = rank, world
        self.log, self.on_event = log, on_event
        self.checkpoint, self.best = run_dir / "checkpoint.safetensors", run_dir / "best.safetensors"
        self.counts = [task.n_batches(epoch) for epoch in range(recipe.stop.epochs)]
        if 0 in self.counts:
            raise SeesayError(
                f"epoch {self.counts.index(0) + 1} of the recipe '{recipe.name}' has no batches to learn from"
            )
        self.n_steps = sum(self.counts)
        copy_from_first([*task.model.parameters(), *task.model.buffers()], world)
        self.parameters = [weight for weight in task.model.parameters() if weight.requires_grad]
        self.optimiser = build_optimiser(task.model, recipe.optimiser)
        self.average = WeightAverage(task.model, recipe.optimiser.ema) if recipe.optimiser.ema else None
        self.progress = Progress()
        self.last_save = self._started = time.monotonic()

    def start(self, resume: bool) -> None:
        """Take up the checkpoint, or begin."""
        if self.rank == 0:
            for pattern in (f".*{PARTIAL}", ".tmp*"):  # the second is what earlier versions left
                remove_abandoned(self.run_dir, pattern, after=0.0)
        if resume and self.checkpoint.exists():
            self.progress = load_checkpoint(
                self.checkpoint, self.recipe, self.task.model, self.optimiser, self.average, self.rank, self.world
            )
            self.log.cut(self.progress.log_bytes)
            self._started = time.monotonic() - self.progress.seconds
            self.tell("resumed", self.progress.best)
        else:
            seed_everything(self.recipe.seed, self.rank)
            if self.rank == 0:
                self.checkpoint.unlink(missing_ok=True)
                self.best.unlink(missing_ok=True)
                self.log.cut(0)
                with replace_atomically(self.run_dir / "recipe.toml") as temporary:
                    temporary.write_text(self.recipe.to_toml(), encoding="utf-8")
        self.task.model.train()

    def step(self, flags: list[bool]) -> list[bool]:
        """Learn from the next batch; `flags` are settled between the processes on the way."""
        now = self.progress
        rate = rate_at(self.recipe.optimiser, now.step, self.n_steps)
        for group in self.optimiser.param_groups:
            group["lr"] = rate * group["rate_scale"]
        self.optimiser.zero_grad(set_to_none=True)
        loss = self.task.loss(self.task.batch(now.epoch, now.batch), self.rank, self.world)
        self._check_finite("loss", loss.logs["loss"], rate)
        loss.total.backward()  # type: ignore[no-untyped-call]
        flags = sum_gradients(self.parameters, flags, self.world)
        norm = clip_gradients(self.parameters, self.recipe.optimiser)
        self._check_finite("gradient", norm, rate)
        self.optimiser.step()
        if self.average is not None:
            self.average.update(self.task.model, now.step)
        # Running statistics see the own share of a batch only: those of the first process count everywhere.
        copy_from_first(list(self.task.model.buffers()), self.world)
        figures = {**loss.logs, "gradient": norm, "rate": rate}
        for name, value in figures.items():
            so_far = now.sums.setdefault(name, [0.0, 0.0])
            so_far[0] += value
            so_far[1] += 1
        now.step, now.batch = now.step + 1, now.batch + 1
        self.tell("step", figures)
        return flags

    def finish_epoch(self) -> None:
        """Evaluate where the recipe asks for it, decide whether to go on, and save."""
        now, stop = self.progress, self.recipe.stop
        self.write_steps()
        now.epoch, now.batch = now.epoch + 1, 0
        is_last = now.epoch >= stop.epochs
        if is_last or now.epoch % stop.evaluate_every == 0:
            self.evaluate()
        if stop.patience and now.n_worse >= stop.patience:
            now.finished = "patience"
        elif is_last:
            now.finished = "epochs"
        self.save()

    def evaluate(self) -> None:
        """Measure the model, or the average of its weights, on dev; keep it where it is the best so far."""
        now, stop = self.progress, self.recipe.stop
        figures: dict[str, float] | None = None
        with self.average.in_place_of(self.task.model) if self.average else nullcontext():
            # A task that shares its evaluation out needs all processes; any other is measured by the first alone.
            if self.rank == 0 or self.task.evaluates_together:
                self.task.model.eval()
                with torch.no_grad():
                    figures = {name: float(value) for name, value in self.task.evaluate().items()}
                self.task.model.train()
            figures = gather_json(figures, self.world)[0]
            assert figures is not None
            if stop.metric not in figures:
                raise SeesayError(f"stop.metric is '{stop.metric}', which evaluation does not give", allowed=figures)
            value, sign = figures[stop.metric], 1 if stop.mode == "max" else -1
            if math.isnan(value):
                raise DivergedError(f"the dev figure '{stop.metric}' is not a number after step {now.step}")
            is_best = stop.keep == "last" or not now.best or sign * value > sign * now.best[stop.metric]
            if is_best:
                now.best, now.best_step, now.best_epoch, now.n_worse = figures, now.step, now.epoch, 0
                if self.rank == 0:
                    about = {"figures": figures, "step": now.step, "epoch": now.epoch, "recipe": self.recipe.to_dict()}
                    save_weights(self.best, self.task.model, about)
            else:
                now.n_worse += 1
        now.seconds = time.monotonic() - self._started
        line = {"kind": "evaluation", "epoch": now.epoch, "step": now.step, "best": is_best}
        self.log.write({**line, **figures, "seconds": round(now.seconds, 3)})
        self.tell("evaluation", figures, is_best)

    def write_steps(self) -> None:
        """Sum up the steps since the last line of the log."""
        now = self.progress
        if now.sums:
            means = {name: total / count for name, (total, count) in now.sums.items()}
            now.sums, now.seconds = {}, time.monotonic() - self._started
            line = {"kind": "steps", "epoch": now.epoch + 1, "batch": now.batch, "step": now.step}
            self.log.write({**line, **means, "seconds": round(now.seconds, 3)})

    def save(self) -> None:
        """Write the checkpoint."""
        states = gather_json(random_state(), self.world)
        self.progress.seconds = time.monotonic() - self._started
        self.progress.log_bytes = self.log.n_bytes
        if self.rank == 0:
            save_checkpoint(
                self.checkpoint, self.recipe, self.progress, self.task.model, self.optimiser, self.average, states
            )
        self.last_save = time.monotonic()
        self.tell("saved", {})

    def finish(self) -> Result:
        """Tell that the run is over, and how it went."""
        now = self.progress
        self.tell("finished", now.best)
        return Result(
            best=now.best,
            best_step=now.best_step,
            best_epoch=now.best_epoch,
            steps=now.step,
            epochs=now.epoch,
            seconds=now.seconds,
            weights=self.best,
            stopped_early=now.finished == "patience",
        )

    def tell(self, kind: EventKind, figures: dict[str, float], is_best: bool = False) -> None:
        if self.on_event is None or self.rank != 0:
            return
        now, n_epochs = self.progress, self.recipe.stop.epochs
        epoch = min(now.epoch, n_epochs - 1)
        n_batches = self.counts[epoch]
        batch = now.batch if now.epoch == epoch else n_batches
        seconds = time.monotonic() - self._started
        self.on_event(
            Event(kind, epoch + 1, n_epochs, batch, n_batches, now.step, self.n_steps, seconds, dict(figures), is_best)
        )

    def _check_finite(self, what: str, value: float, rate: float) -> None:
        if not math.isfinite(value):
            now = self.progress
            raise DivergedError(
                f"the {what} became {value} in epoch {now.epoch + 1}, batch {now.batch + 1} (step {now.step + 1}, "
                f"rate {rate:.3g}); {self.checkpoint} still has the last good state",
                hint="--set optimiser.rate with a lower rate, or --set optimiser.clip_norm=1.0",
            )
