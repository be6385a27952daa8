"""`seesay train`: run a recipe."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from seesay.training.loop import Event


def train(
    recipe: Annotated[Path, typer.Argument(help="A recipe, such as recipes/vse-flickr8k.toml.")],
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a key of the recipe; repeatable.")
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="The run's folder [runs/NAME].")] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Begin anew instead of going on from a checkpoint.")] = False,
    threads: Annotated[int, typer.Option(min=0, help="Threads of torch; 0 takes one per core.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Train a model as a recipe says. Interrupted, the same command goes on as if it had never stopped.

    The folder receives the log, the checkpoint and `weights/`, which `seesay evaluate` and `seesay match -m` take.
    """
    from seesay.training.recipe import read_recipe

    described = read_recipe(recipe, settings or [])

    import torch

    from seesay.cli.progress import progress_bar
    from seesay.training.run import run_recipe

    if threads:
        torch.set_num_threads(threads)
    run_dir = output or Path("runs") / described.name
    with progress_bar("features", quiet=as_json) as on_progress:
        shown = _Shown(quiet=as_json)
        weights = run_recipe(described, run_dir, resume=not fresh, on_event=shown, on_progress=on_progress)
    if as_json:
        typer.echo(json.dumps({"weights": str(weights.folder), "figures": weights.figures}, indent=2))
    else:
        for key, report in weights.figures.items():
            typer.echo(f"{key}: Sum {report['sum']:.1f}; the weights are in {weights.folder}")


class _Shown:
    """Live progress on stderr: the step, the loss and the time left; a line for every evaluation."""

    def __init__(self, quiet: bool) -> None:
        self.quiet = quiet
        self.first: tuple[int, float] | None = None

    def __call__(self, event: "Event") -> None:
        if self.quiet:
            return
        place = f"epoch {event.epoch}/{event.n_epochs}"
        if event.kind == "evaluation":
            figures = " ".join(f"{name} {value:.1f}" for name, value in event.figures.items())
            typer.echo(f"\r\033[K{place}: {figures}{'  (best so far)' if event.is_best else ''}", err=True)
        elif event.kind == "resumed":
            typer.echo(f"going on from step {event.step} of {event.n_steps}", err=True)
        elif event.kind == "step":
            self.first = self.first or (event.step - 1, event.seconds)
            steps, seconds = event.step - self.first[0], event.seconds - self.first[1]
            left = (event.n_steps - event.step) * seconds / steps
            typer.echo(
                f"\r\033[K{place} batch {event.batch}/{event.n_batches} loss {event.figures['loss']:.3f} "
                f"{steps / max(seconds, 1e-9):.1f} steps/s, {left / 60:.0f} min left",
                err=True,
                nl=False,
            )
