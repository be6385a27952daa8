"""`seesay train`: run a recipe."""

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from seesay.cli import light
from seesay.cli.options import AsJson, OverwriteFolder
from seesay.system import ranges

if TYPE_CHECKING:
    from seesay.training.loop import Event


def train(
    recipe: Annotated[Path, light.Argument(metavar="RECIPE", help="A TOML file such as recipes/vse-flickr8k.toml.")],
    settings: Annotated[
        list[str] | None, light.Option("--set", metavar="KEY=VALUE", help="Change a key of the recipe. Repeatable.")
    ] = None,
    output: Annotated[
        Path | None,
        light.Option("--output", "-o", metavar="DIR", help="The folder of the run. Default: runs/NAME."),
    ] = None,
    overwrite: OverwriteFolder = False,
    fresh: Annotated[
        bool, light.Option("--fresh", help="Start again instead of continuing from the checkpoint.")
    ] = False,
    threads: Annotated[
        int, light.Option(min=0, max=ranges.THREADS, metavar="N", help="Threads of PyTorch; 0 means one for each core.")
    ] = 0,
    as_json: AsJson = False,
) -> None:
    """Train a model from a recipe. The same command continues a stopped run.

    The run folder gets the log, the checkpoint and `weights/`, a weights folder for `seesay evaluate` and `seesay match
    -m`.

    \b
    Examples:
        seesay train recipes/vse-flickr8k.toml
        seesay train recipes/vse-flickr8k.toml --set stop.epochs=5 --set seed=2 -o runs/quick
    """
    from seesay.system.results import check_result_folder
    from seesay.training.recipe import read_recipe

    described = read_recipe(recipe, settings or [])
    run_dir = output or Path("runs") / described.name
    begins = ["run.lock", "run.pid", "run.held", "log.jsonl"]
    check_result_folder(run_dir, holds=["recipe.toml"], begins=begins, overwrite=overwrite)

    import torch

    from seesay.catalogue.figures import summarise
    from seesay.cli.progress import progress_bar
    from seesay.errors import SeesayError
    from seesay.training.distributed import leave
    from seesay.training.loop import TrainingInterruptedError
    from seesay.training.run import prepare, run_task

    if threads:
        torch.set_num_threads(threads)
    is_first = os.environ.get("RANK", "0") == "0"  # of the processes that torchrun started, the one that speaks
    with progress_bar("features", quiet=as_json or not is_first) as on_progress:
        task = prepare(described, on_progress=on_progress)
    shown = _Shown(quiet=as_json)
    try:
        weights = run_task(task, run_dir, resume=not fresh, on_event=shown)
    except SeesayError as error:
        light.echo(shown.end, err=True, nl=False)  # leave the line that follows the steps
        if not isinstance(error, TrainingInterruptedError):
            raise
        light.echo(f"seesay: {error}", err=True)
        raise light.Exit(130) from error
    if is_first and as_json:
        light.echo(json.dumps({"weights": str(weights.folder), "figures": weights.figures}, indent=2))
    elif is_first:
        for key, report in weights.figures.items():
            light.echo(f"{key}: {summarise(report)}; the weights are in {weights.folder}")
        light.echo(f"seesay: to search and caption with them: seesay export {weights.folder}", err=True)
    leave(0)


class _Shown:
    """Progress on stderr: a line for every evaluation and, where a person looks, one that follows the steps."""

    def __init__(self, quiet: bool) -> None:
        self.quiet = quiet
        self.erase, self.end = ("\r\033[K", "\n") if sys.stderr.isatty() else ("", "")
        self.first: tuple[int, float] | None = None

    def __call__(self, event: "Event") -> None:
        if self.quiet:
            return
        if event.kind == "evaluation":
            n_done = event.epoch - (event.batch < event.n_batches)
            figures = " ".join(f"{name} {value:.4g}" for name, value in event.figures.items())
            best = "  (best so far)" if event.is_best else ""
            light.echo(f"{self.erase}after epoch {n_done}/{event.n_epochs}: {figures}{best}", err=True)
        elif event.kind == "resumed":
            light.echo(f"going on from step {event.step} of {event.n_steps}", err=True)
        elif event.kind == "step" and self.erase:
            self.first = self.first or (event.step, event.seconds)
            steps, seconds = event.step - self.first[0], event.seconds - self.first[1]
            place = f"epoch {event.epoch}/{event.n_epochs} batch {event.batch}/{event.n_batches}"
            line = f"{self.erase}{place} loss {event.figures['loss']:.3f}"
            if steps and seconds:  # the first step has no pace yet
                left = (event.n_steps - event.step) * seconds / steps
                line += f" {steps / seconds:.1f} steps/s, {left / 60:.0f} min left"
            light.echo(line, err=True, nl=False)
