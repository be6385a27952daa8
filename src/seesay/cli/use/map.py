"""`seesay map`: pictures and their sentences in the plane, near each other where a model sees the same in them."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seesay.cli.options import AsJson, Collection, Images, Model, Seed, Split

if TYPE_CHECKING:
    from PIL.Image import Image

    from seesay.data import Collection as Captioned
    from seesay.drawing.maps import Map
    from seesay.models.base import Matcher

_PAGES = (".html", ".htm")


def map(
    data: Collection,
    images: Images = None,
    split: Split = "test",
    model: Model = "vse",
    n: Annotated[int, typer.Option("--n", "-n", min=2, max=1000, metavar="N", help="Photos, chosen at random.")] = 60,
    output: Annotated[
        list[Path] | None,
        typer.Option("--output", "-o", metavar="FILE", help="A picture, or an HTML page with zoom; default: both."),
    ] = None,
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
    from seesay.cli.pictures import require_drawable
    from seesay.drawing.maps import draw_map, mean_line, write_map
    from seesay.drawing.sheets import save_picture
    from seesay.images.io import open_image

    outputs = output or ([] if as_json else [Path("map.png"), Path("map.html")])
    for path in outputs:
        if path.suffix.lower() not in _PAGES:
            require_drawable(path)
    chosen = _choose(data, images, split, n, seed)
    matcher, found = _lay_out(chosen, model, seed, quiet=as_json)
    pictures: list[Image] = []
    if outputs:
        pictures = [open_image(path, at_least=320) for path in chosen.images]
    name = matcher.weights.name if matcher.weights else model
    for path in outputs:
        if path.suffix.lower() in _PAGES:
            title = f"{len(chosen)} pictures of {chosen.name} and their sentences, as {name} sees them"
            names = [item.name for item in chosen.items]
            write_map(found, pictures, names, chosen.sentences, path, title=title)
        else:
            save_picture(draw_map(found, pictures), path)
    own, any_ = mean_line(found)
    if as_json:
        _print_json(chosen, found, model, [own, any_], outputs)
        return
    typer.echo(f"{len(chosen)} pictures, {len(chosen.sentences)} sentences")
    typer.echo(f"a picture and its own sentence are {own:.2f} apart on average, a picture and any sentence {any_:.2f}")
    for path in outputs:
        typer.echo(f"drawn in {path}", err=True)


def _choose(name: str, images: Path | None, split: str, n: int, seed: int) -> "Captioned":
    """Some pictures of a collection, in its order."""
    from dataclasses import replace

    import numpy as np

    from seesay import data
    from seesay.errors import SeesayError

    collection = data.load(name, images=images)
    collection = collection if split == "all" else collection.split(split)
    with_picture = [item for item in collection.items if item.image]
    if len(with_picture) < 2:
        raise SeesayError(f"{name} has {len(with_picture)} pictures here", hint=f"seesay data check {name}")
    drawn = np.random.default_rng(seed).permutation(len(with_picture))[:n]
    return replace(collection, items=tuple(with_picture[place] for place in sorted(drawn)))


def _lay_out(chosen: "Captioned", model: str, seed: int, *, quiet: bool) -> tuple["Matcher", "Map"]:
    import numpy as np
    import torch

    from seesay.cli.progress import progress_bar
    from seesay.drawing.maps import lay_out
    from seesay.errors import SeesayError
    from seesay.images.extraction import features_of
    from seesay.models.aligner import GlobalEmbedding
    from seesay.models.pretrained import load

    matcher = load(model)
    with progress_bar(f"features of {chosen.name}", quiet=quiet) as on_progress:
        table = features_of(chosen.images, matcher.feature_spec, matcher.outputs, on_progress=on_progress)
    with torch.inference_mode():
        if isinstance(matcher, GlobalEmbedding):
            pictures = matcher.embed_images(table.rows(range(len(table))))
            texts = matcher.embed_texts(chosen.sentences)
        else:
            pictures = matcher.encode_images(table.rows(range(len(table))))
            texts = matcher.encode_texts(chosen.sentences)
    if not isinstance(texts, torch.Tensor) or pictures.ndim != 2 or texts.shape[1:] != pictures.shape[1:]:
        raise SeesayError(
            f"{model} has no one vector for a picture and a sentence", allowed="a joint embedding", hint="seesay models"
        )
    owner = np.repeat(np.arange(len(chosen)), [len(item.sentences) for item in chosen.items])
    return matcher, lay_out(pictures.double().numpy(), texts.double().numpy(), owner.tolist(), seed=seed)


def _print_json(chosen: "Captioned", found: "Map", model: str, lines: list[float], outputs: list[Path]) -> None:
    rows = [
        {
            "picture": item.name,
            "at": [round(float(part), 4) for part in found.images[place]],
            "sentences": [
                {"text": chosen.sentences[text], "at": [round(float(part), 4) for part in found.sentences[text]]}
                for text in (found.owner == place).nonzero()[0]
            ],
        }
        for place, item in enumerate(chosen.items)
    ]
    report = {
        "model": model,
        "data": chosen.name,
        "mean_line": {"own": round(lines[0], 4), "any": round(lines[1], 4)},
        "pictures": rows,
        "files": [str(path) for path in outputs],
    }
    typer.echo(json.dumps(report, indent=2, ensure_ascii=False))
