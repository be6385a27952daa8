"""`seesay neighbours`: the nearest photos by features of a captioner and of its network (m-RNN Figure 3)."""

from functools import partial
from typing import TYPE_CHECKING, Annotated

from seesay.cli import light
from seesay.cli.options import AsJson, Images, Model, Output, Overwrite, PathOrAddress, Split, Within
from seesay.cli.pictures import require_drawable, save_drawing, show_result
from seesay.cli.tables import print_table
from seesay.system import ranges
from seesay.system.names import printable
from seesay.system.remote import as_path

if TYPE_CHECKING:
    from seesay.verbs.neighbours import Neighbour, Neighbours, NeighboursOfImage


def neighbours(
    photos: Annotated[
        list[PathOrAddress], light.Argument(parser=as_path, metavar="PHOTO…", help="Photos to find neighbours of.")
    ],
    within: Within,
    images: Images = None,
    split: Split = "all",
    model: Model = "mrnn",
    n: Annotated[
        int, light.Option("--n", "-n", min=1, max=ranges.RESULTS, metavar="N", help="Neighbours by each feature.")
    ] = 5,
    output: Output = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Find the nearest photos of a collection, by the captioner's features and by those of its image network.

    The captioner's feature (refined) was trained for sentences, the network's (original) for classifying objects. Both
    are compared by their cosine. The photo itself is left out.

    \b
    Examples:
        seesay neighbours photo.jpg --in flickr8k --split test
        seesay neighbours a.jpg b.jpg --in ~/Pictures -n 3 -o neighbours.png
    """
    from seesay.cli.progress import progress_bar
    from seesay.verbs.neighbours import find_neighbours

    if output is not None:
        require_drawable(output, *photos, within, images, overwrite=overwrite)
    bars = partial(progress_bar, quiet=as_json)
    found = find_neighbours(photos, within, images=images, split=split, model=model, n=n, skip_unusable=True, bars=bars)
    drawn = save_drawing(found.draw, output if found.images else None)
    show_result(found, _print_tables, drawn, as_json=as_json, failures=found.failures)


def _print_tables(found: "Neighbours") -> None:
    for row in found:
        _print_table(row)


def _print_table(row: "NeighboursOfImage") -> None:
    from rich.console import Console
    from rich.text import Text

    def cells(near: "Neighbour") -> tuple[str, str]:
        return f"{near.cosine:.3f}", printable(near.image.name)

    Console().print(Text(printable(row.image.name), style="bold"), soft_wrap=True)
    pairs = zip(row.refined, row.original, strict=True)
    print_table(
        ("refined", "photo", "original", "photo"),
        ((*cells(refined), *cells(original)) for refined, original in pairs),
        right=("refined", "original"),
    )
