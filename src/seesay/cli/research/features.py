"""`seesay features`: compute the features of a collection and keep them."""

import json
from pathlib import Path
from typing import Annotated

import typer


def features(
    source: Annotated[str, typer.Argument(metavar="DATA", help="A collection: a path or a name under SEESAY_DATA.")],
    images: Annotated[
        Path | None, typer.Option(metavar="DIR", help="The folder of the pictures, where they lie elsewhere.")
    ] = None,
    split: Annotated[str, typer.Option(help="train, dev, test, or all.")] = "all",
    backbone: Annotated[
        str, typer.Option(metavar="NAME", help="The network; an unknown name lists the known ones.")
    ] = "efficientnet-lite2",
    backbone_weights: Annotated[
        Path | None, typer.Option(metavar="FILE", help="State dict of a network that comes without weights.")
    ] = None,
    size: Annotated[
        int, typer.Option(min=0, metavar="PIXELS", help="Side of the network's input; 0 takes the network's own.")
    ] = 0,
    crop: Annotated[str, typer.Option(help="squash, mirror or ten-crop.")] = "squash",
    maps: Annotated[bool, typer.Option("--maps/--no-maps", help="Keep the final map too, for regions.")] = False,
    workers: Annotated[int, typer.Option(min=0, metavar="N", help="Threads; 0 takes one per core.")] = 0,
    ray: Annotated[
        str | None,
        typer.Option(metavar="local|auto", help="Compute on a Ray cluster: one on this machine, or the one there is."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a sentence.")] = False,
) -> None:
    """Compute the features of every picture of a collection, once. Interrupted, it goes on where it was."""
    from seesay import data
    from seesay.cli.progress import progress_bar
    from seesay.images.extraction import FeatureStore, extract
    from seesay.images.features import FeatureSpec
    from seesay.system.remote import as_url

    collection = data.load(source, images=images)
    if split != "all":
        collection = collection.split(split)
    spec = FeatureSpec(backbone, size, crop, str(backbone_weights or ""))
    store = FeatureStore(spec, outputs=("pooled", "map") if maps else ("pooled",))
    with progress_bar(f"features of {collection.name}", quiet=as_json) as on_progress:
        done = extract(collection.images, store, workers=workers, ray=ray, on_progress=on_progress)
    n_missing = len(collection) - len(collection.images)
    summary = {
        "collection": collection.name,
        "pictures": len(done.keys),
        "computed": done.n_computed,
        "failures": {str(path): why for path, why in done.failures.items()},
        "missing": n_missing,
        "store": as_url(store.shared or store.folder),
    }
    if as_json:
        typer.echo(json.dumps(summary, indent=2, ensure_ascii=False))
    else:
        typer.echo(
            f"{len(done.keys) - len(done.failures)} pictures have features in {as_url(store.shared or store.folder)} "
            f"({done.n_computed} computed in this run)"
        )
        for path, why in done.failures.items():
            typer.echo(f"  not usable: {path}: {why}", err=True)
        if n_missing:
            typer.echo(f"  {n_missing} pictures of the collection do not exist here", err=True)
    if done.failures or n_missing:
        raise typer.Exit(1)
