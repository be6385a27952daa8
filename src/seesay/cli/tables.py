"""Tables on the terminal: without lines, and whatever is too long for its column is folded, never cut."""

from collections.abc import Collection, Iterable, Sequence

Cell = str | tuple[str, str]
"""A text, or a text and its style, such as `dim`."""


def print_table(columns: Sequence[str], rows: Iterable[Sequence[Cell]], *, right: Collection[str] = ()) -> None:
    """Print a table to stdout.

    Args:
        columns: The heads.
        rows: One cell for each column. Texts are printed as they are: brackets in them are no markup.
        right: Columns that are set to the right, as numbers are.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in columns:
        table.add_column(column, overflow="fold", justify="right" if column in right else "left")
    for row in rows:
        table.add_row(*(Text(cell) if isinstance(cell, str) else Text(*cell) for cell in row))
    Console().print(table)


def dim(numbers: Iterable[int]) -> list[Cell]:
    """Numbers that are less important than the rest of their row."""
    return [(str(number), "dim") for number in numbers]
