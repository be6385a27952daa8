"""`seesay map`: photos and their sentences in the plane, by t-SNE of their vectors."""

import json
from functools import partial
from pathlib import Path
from typing import Annotated

from seesay.cli import light
from seesay.cli.options import AsJson, Collection, Images, Model, Overwrite, Seed, Split
from seesay.cli.pictures import require_drawable, require_free
from seesay.system.names import printable

_PAGES = (".html", ".htm")


def map(
    data: Collection,
    images: Images = None,
    split: Split = "test",
    model: Model = "eye",
    n: Annotated[int, light.Option("--n", "-n", min=2, max=1000, metavar="N", help="Photos, chosen at random.")] = 60,
    output: Annotated[
        list[Path] | None,
        light.Option("--output", "-o", metavar="FILE", help="A picture, or an HTML page with zoom; default: both."),
    ] = None,
    overwrite: Overwrite = False,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Draw photos and their sentences on a map, by t-SNE of their vectors in a joint embedding.

    A line joins each photo to its own sentences; short lines mean that the model brings both together. Distances across
    the map mean little.

    \b
    Examples:
        seesay map flickr8k
        seesay map flickr8k -n 200 --split dev -o map.html
    """
    from seesay.cli.progress import progress_bar
    from seesay.drawing.sheets import save_picture
    from seesay.verbs.maps import map_collection

    outputs = output or ([] if as_json else [Path("map.png"), Path("map.html")])
    for path in outputs:
        check = require_free if path.suffix.lower() in _PAGES else require_drawable
        check(path, data, images, overwrite=overwrite)
    bars = partial(progress_bar, quiet=as_json)
    found = map_collection(data, images=images, split=split, model=model, n=n, seed=seed, bars=bars)
    for path in outputs:
        if path.suffix.lower() in _PAGES:
            found.write_page(path)
        else:
            save_picture(found.draw(), path)
    if as_json:
        files = {"files": [str(path) for path in outputs]}
        light.echo(json.dumps(found.to_dict() | files, indent=2, ensure_ascii=False))
        return
    light.echo(repr(found))
    for path in outputs:
        light.echo(f"drawn in {printable(path)}", err=True)
