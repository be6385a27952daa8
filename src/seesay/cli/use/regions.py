"""`seesay regions`: the regions of a whole collection that fit a phrase best."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from seesay.cli import light
from seesay.cli.messages import warn
from seesay.cli.options import AsJson, Images, Model, Overwrite, Split, Within
from seesay.cli.pictures import require_drawable, save_drawing, show_result
from seesay.cli.tables import print_table
from seesay.system import ranges
from seesay.system.names import printable

if TYPE_CHECKING:
    from seesay.verbs.regions import FoundRegions
    from seesay.verbs.results import Box


def regions(
    phrases: Annotated[list[str], light.Argument(metavar="PHRASE…", help='Phrases such as "red bus" "yellow bus".')],
    within: Within,
    images: Images = None,
    split: Split = "all",
    model: Model = "dvsa",
    n: Annotated[
        int, light.Option("--n", "-n", min=1, max=ranges.RESULTS, metavar="N", help="Regions for each phrase.")
    ] = 10,
    crops: Annotated[
        bool,
        light.Option("--crops", help="CLIP and SigLIP: encode square crops of each photo; slower and finer."),
    ] = False,
    output: Annotated[
        Path | None,
        light.Option(
            "--output", "-o", metavar="FILE", help="The contact sheet. Default: regions.png; with --json nowhere."
        ),
    ] = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Find the regions of a collection that fit a phrase best, at most one in each photo.

    Features are computed once and kept; with stored features the answer takes seconds for thousands of photos.

    \b
    Examples:
        seesay regions "red bus" "yellow bus" --in flickr8k --split test
        seesay regions "a red cup" --in ~/Pictures -n 20 -o cups.png
    """
    from seesay.cli.progress import progress_bar
    from seesay.verbs.regions import find_regions

    if output is None and not as_json:
        output = Path("regions.png")
    if output is not None:
        require_drawable(output, within, images, overwrite=overwrite)
    bars = partial(progress_bar, quiet=as_json)
    found = find_regions(phrases, within, images=images, split=split, model=model, n=n, crops=crops, bars=bars)
    warn(found.warnings)
    drawn = save_drawing(found.draw, output)
    show_result(found, _print_table, drawn, as_json=as_json, failures=found.failures)


def _print_table(found: "FoundRegions") -> None:
    columns = ("phrase", "score", "photo", "left, top, right, bottom")
    rows = (
        (phrase if rank == 0 else "", f"{row.score:.3f}", printable(row.image.name), (_edges(row.box), "dim"))
        for phrase, several in found.phrases.items()
        for rank, row in enumerate(several)
    )
    print_table(columns, rows, right=("score", columns[-1]))


def _edges(box: "Box") -> str:
    return "  ".join(f"{100 * edge:3.0f} %" for edge in box)
