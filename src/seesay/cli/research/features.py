"""`seesay features`: compute the features of a collection and keep them."""

import json
from pathlib import Path
from typing import Annotated

from seesay.cli import light
from seesay.cli.options import AsJson, Images, Ray, Split, Workers
from seesay.system import ranges
from seesay.system.names import printable


def features(
    source: Annotated[
        str,
        light.Argument(
            metavar="DATA", help="A captioned collection: a path, or a name in SEESAY_DATA; or a folder of photos."
        ),
    ],
    images: Images = None,
    split: Split = "all",
    backbone: Annotated[
        str, light.Option(metavar="NAME", help="The image network; an unknown name lists the known ones.")
    ] = "efficientnet-lite2",
    backbone_weights: Annotated[
        Path | None, light.Option(metavar="FILE", help="The weights of a network that comes without any: a state dict.")
    ] = None,
    size: Annotated[
        int,
        light.Option(
            min=0, max=ranges.SIDE, metavar="PIXELS", help="Side of the network's input; 0 takes the network's own."
        ),
    ] = 0,
    crop: Annotated[
        str, light.Option(metavar="NAME", help="The view of an image: squash, mirror or ten-crop.")
    ] = "squash",
    maps: Annotated[
        bool, light.Option("--maps/--no-maps", help="Keep the final feature map too, for models of regions.")
    ] = False,
    workers: Workers = 0,
    ray: Ray = None,
    as_json: AsJson = False,
) -> None:
    """Compute the features of all images of a collection, or of a folder of photos, and keep them.

    The same command continues a stopped run. Every command that needs features computes those that are missing; this
    one does it ahead of time.

    \b
    Examples:
        seesay features flickr8k
        seesay features flickr8k --split test --maps
        seesay features ~/Pictures
        seesay features flickr8k --backbone vgg19 --backbone-weights vgg19.pt --crop ten-crop
    """
    from seesay.cli.progress import progress_bar
    from seesay.images.extraction import FeatureStore, extract
    from seesay.images.features import FeatureSpec
    from seesay.system.remote import as_url

    name, paths, n_missing = _find_images(source, images, split)
    spec = FeatureSpec(backbone, size, crop, str(backbone_weights or ""))
    store = FeatureStore(spec, outputs=("pooled", "map") if maps else ("pooled",), must_keep=True)
    with progress_bar(f"features of {name}", quiet=as_json) as on_progress:
        done = extract(paths, store, workers=workers, ray=ray, on_progress=on_progress)
    summary = {
        "collection": name,
        "images": len(done.keys),
        "computed": done.n_computed,
        "failures": {str(path): why for path, why in done.failures.items()},
        "missing": n_missing,
        "store": as_url(store.shared or store.folder),
    }
    if as_json:
        light.echo(json.dumps(summary, indent=2, ensure_ascii=False))
    else:
        light.echo(
            f"{len(done.keys) - len(done.failures)} photos have features in {as_url(store.shared or store.folder)} "
            f"({done.n_computed} computed in this run)"
        )
        for path, why in done.failures.items():
            light.echo(f"  not usable: {printable(path)}: {printable(why)}", err=True)
        if n_missing:
            light.echo(f"  {n_missing} photos of the collection do not exist here", err=True)
    if done.failures or n_missing:
        raise light.Exit(1)


def _find_images(source: str, images: Path | None, split: str) -> tuple[str, list[Path], int]:
    """What the images are called, where they are, and how many of a collection's are not there."""
    from seesay import data
    from seesay.errors import SeesayError
    from seesay.verbs.inputs import find_photos

    try:
        collection = data.load(source, images=images)
    except SeesayError:
        paths, _ = find_photos([Path(source)]) if Path(source).is_dir() else ([], {})
        if not paths or split != "all":
            raise
        return Path(source).resolve().name, paths, 0
    if split != "all":
        collection = collection.split(split)
    return collection.name, collection.images, len(collection) - len(collection.images)
