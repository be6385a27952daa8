"""`seesay tag`: which of a list of words a photo shows."""

import json
from typing import Annotated

from seesay.cli import light
from seesay.cli.options import AsJson, Model, Photos
from seesay.system import ranges
from seesay.system.names import printable


def tag(
    photos: Photos,
    words: Annotated[
        str, light.Option("--words", "-w", metavar="WORDS|FILE", help="Words separated by commas, or a file of lines.")
    ],
    model: Model = "eye",
    n: Annotated[
        int, light.Option("--n", "-n", min=1, max=ranges.RESULTS, metavar="N", help="Words for each photo.")
    ] = 3,
    as_json: AsJson = False,
) -> None:
    """Find the words of a list that fit each photo best (zero-shot classification).

    The shares compare the words of the list with each other, so a photo gets a best word even if none fits.

    \b
    Examples:
        seesay tag ~/Pictures/2019 --words "beach, mountain, city, forest"
        seesay tag photo.jpg -w breeds.txt -m clip -n 5
    """
    from functools import partial

    import numpy as np

    from seesay.cli.messages import warn
    from seesay.cli.progress import progress_bar
    from seesay.library.zero_shot import read_words, tag_probabilities, word_vectors
    from seesay.runtime.matching import Model as Graphs
    from seesay.verbs.features import see
    from seesay.verbs.inputs import read_usable
    from seesay.verbs.loading import load_once

    names = read_words(words)
    given, failures = read_usable(photos, skip_unusable=True)
    graphs = load_once(model, Graphs)
    vectors = word_vectors(graphs, names)
    with see(graphs, given, partial(progress_bar, quiet=as_json), keep_maps=False) as seen:
        encoded = [graphs.encode_images(features) for features in seen.batches(64)] if seen.images else []
        images = [image.name for image in seen.images]
        failures = failures | seen.failures
    seen_vectors = np.concatenate(encoded) if encoded else np.zeros((0, vectors.shape[1]), np.float32)
    shares = tag_probabilities(seen_vectors, vectors, graphs.temperature) if encoded else seen_vectors
    rows = [[(names[at], float(row[at])) for at in np.argsort(-row, kind="stable")[:n]] for row in shares]
    if as_json:
        told = [
            {"photo": name, "tags": [{"word": word, "share": round(share, 4)} for word, share in row]}
            for name, row in zip(images, rows, strict=True)
        ]
        light.echo(json.dumps({"model": model, "photos": told, "failures": failures}, indent=2, ensure_ascii=False))
    else:
        for name, row in zip(images, rows, strict=True):
            light.echo(f"{printable(name)}: {', '.join(f'{word} {100 * share:.0f} %' for word, share in row)}")
        warn(map(printable, failures.values()))
    if failures:
        raise light.Exit(1)
