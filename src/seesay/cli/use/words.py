"""`seesay words`: the nearest words by a model's word vectors."""

import json
from typing import TYPE_CHECKING, Annotated

from seesay.cli import light
from seesay.cli.messages import warn
from seesay.cli.options import AsJson, Model
from seesay.system import ranges

if TYPE_CHECKING:
    from seesay.verbs.words import NearestWords


def words(
    asked: Annotated[list[str], light.Argument(metavar="WORD…", help="One word or more.")],
    model: Model = "mrnn",
    n: Annotated[
        int, light.Option("--n", "-n", min=1, max=ranges.RESULTS, metavar="N", help="How many nearest words.")
    ] = 10,
    as_json: AsJson = False,
) -> None:
    """List the words whose vectors are nearest to a word's, by Euclidean distance.

    The vectors were learned from captions: words that are used in the same places are near each other. For a word that
    the model does not know, similar spellings are listed.

    \b
    Examples:
        seesay words dog camera
        seesay words dog -n 5 -m mrnn-flickr8k --json
    """
    from seesay.verbs.words import nearest_words

    found = nearest_words(asked, model=model, n=n)
    if as_json:
        light.echo(json.dumps(found.to_dict(), indent=2, ensure_ascii=False))
    else:
        _print_table(found)
        warn(found.warnings)
    if found.warnings:
        raise light.Exit(1)


def _print_table(found: "NearestWords") -> None:
    """A line for each known word, broken where the terminal ends."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for row in found:
        # A word and its distance stay on one line: no-break spaces.
        each = [Text.assemble(other, (f"\u00a0{far:.2f}", "dim")) for other, far in row.nearest]
        if row.known:
            table.add_row(Text(row.word), Text("  ").join(each))
    if table.row_count:
        Console().print(table)
