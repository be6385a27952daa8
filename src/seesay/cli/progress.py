"""The one way the command line shows that something takes a while: a bar on stderr with rate and time left."""

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager


@contextmanager
def progress_bar(title: str, unit: str = "photos", *, quiet: bool = False) -> Iterator[Callable[[int, int], None]]:
    """Yield `on_progress(done, total)`; the bar appears with its first call and not at all where `quiet`."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Task as Bar
    from rich.text import Text

    class RateColumn(ProgressColumn):
        def render(self, task: Bar) -> Text:
            speed = task.finished_speed or task.speed
            return Text(f"{speed:.1f} {unit}/s" if speed else f"– {unit}/s", style="dim")

    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), RateColumn(), TimeRemainingColumn(),
    )  # fmt: skip
    with Progress(*columns, console=console, disable=quiet or not sys.stderr.isatty()) as progress:
        bar = progress.add_task(title, total=None, visible=False)
        last = (0, -1)

        def on_progress(done: int, total: int) -> None:
            nonlocal last
            if total != last[1] or done < last[0]:  # the beginning, or another thing to count
                # What an earlier run has done does not count towards the rate.
                progress.reset(bar, total=total, completed=done, visible=done < total)
            progress.update(bar, completed=done, total=total)
            last = done, total

        yield on_progress


@contextmanager
def progress_when_needed(title: str, *, quiet: bool) -> Iterator[Callable[[int, int], None]]:
    """A bar that costs nothing, not even its import, where there is nothing to do."""
    with ExitStack() as stack:
        show: Callable[[int, int], None] | None = None

        def on_progress(done: int, total: int) -> None:
            nonlocal show
            if show is None:
                show = stack.enter_context(progress_bar(title, quiet=quiet))
            show(done, total)

        yield on_progress
