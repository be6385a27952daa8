"""A static web page that shows the alignments of a test set, as DVSA's authors showed theirs.

Each image is shown with its best sentences of the whole set; hovering over a word, or reaching it with the keyboard,
highlights its region. `index.html` works from `file://`: a browser refuses to fetch JSON there, so the alignments are a
script that sets one variable.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seesay.data import Collection
from seesay.data.examples import Examples
from seesay.engines import answering
from seesay.errors import SeesayError
from seesay.explainers.registry import choose_explainer
from seesay.grounding.chains import align_words
from seesay.grounding.tuned import grounding_of
from seesay.images.arrays import ImageFeatures
from seesay.images.extraction import features_of
from seesay.images.io import open_image
from seesay.images.proposals import proposals_of
from seesay.images.regions import Boxes
from seesay.layers.dropout import without_dropout
from seesay.models.aligner import Aligner
from seesay.runtime.protocol import Answering
from seesay.scoring import score_all
from seesay.system.files import replace_atomically
from seesay.system.progress import Progress
from seesay.text.function_words import name_things
from seesay.text.tokens import LONGEST, tokenize

STATIC = ("index.html", "page.css", "page.js")
_SIDE = 560  # pixels of the longer side of an image on the page


@dataclass(frozen=True)
class Page:
    """A written page: its folder, and how many images and sentences it shows."""

    folder: Path
    n_images: int
    n_sentences: int


def write_page(
    model: Aligner,
    collection: Collection,
    folder: Path,
    *,
    title: str = "",
    n_sentences: int = 5,
    proposals: str = "search-100",
    scores: NDArray[np.float32] | None = None,
    store: Path | None = None,
    on_progress: Progress | None = None,
) -> Page:
    """Write the alignments of every image of a split with the sentences that fit it best.

    Args:
        model: Any matcher that knows regions.
        collection: The images, and the sentences to choose from.
        folder: Where to; it is made where it does not exist, and files of an earlier page are replaced.
        title: What the page is called.
        n_sentences: For each image, the best of all sentences of the split.
        proposals: Regions to choose from: `search-N`, or a scheme of `seesay.images.regions.fixed_regions`.
        scores: (n_images, n_texts) where they are known already.
        store: The folder of the feature store, where it is not the user's own.
        on_progress: Called with the images that are done, and all, for features, proposals and alignments in turn.

    Raises:
        SeesayError: An image is missing or broken, or the folder cannot be written to.
    """
    paths = collection.images
    if len(paths) < len(collection) or not paths:
        raise SeesayError(
            f"{len(collection) - len(paths)} of {len(collection)} images of {collection.name} are missing",
            hint=f"seesay data check {collection.root}",
        )
    outputs = (*model.outputs, "map")
    table = features_of(paths, model.feature_spec, outputs, root=store, on_progress=on_progress)
    regions = proposals_of(paths, proposals, root=store, on_progress=on_progress)
    if scores is None:
        scores = score_all(model, Examples.of(collection, table)).numpy()
    image_of = np.repeat(np.arange(len(collection)), [len(item.sentences) for item in collection.items])
    best = np.argsort(-scores, axis=1, kind="stable")[:, :n_sentences]
    rows = []
    with without_dropout(model):
        for place, item in enumerate(collection.items):
            sentences = [collection.sentences[text] for text in best[place]]
            parts = align_sentences(answering(model), table.arrays([place]), regions[place], sentences)
            name = f"{place:05}.jpg"
            size = _write_image(paths[place], folder / "pictures" / name)
            rows.append(
                {
                    "name": item.name,
                    "picture": f"pictures/{name}",
                    "size": size,
                    "sentences": [
                        {**part, "score": round(float(scores[place, text]), 4), "own": bool(image_of[text] == place)}
                        for part, text in zip(parts, best[place], strict=True)
                    ],
                }
            )
            if on_progress:
                on_progress(place + 1, len(collection))
    about = {"title": title or f"Alignments of {collection.name}", "pictures": rows}
    _write(folder / "alignments.js", f"window.ALIGNMENTS = {_script_json(about)};\n")
    for name in STATIC:
        _write(folder / name, files("seesay.evaluation").joinpath("static", name).read_text(encoding="utf-8"))
    return Page(folder, len(rows), sum(len(row["sentences"]) for row in rows))


def align_sentences(
    model: Answering, features: ImageFeatures, boxes: Boxes, sentences: Sequence[str]
) -> list[dict[str, Any]]:
    """For each sentence about one image, its words, and its parts with their boxes and their gain per word."""
    explainer = choose_explainer(model)
    found: list[dict[str, Any]] = []
    for sentence in sentences:
        if not (words := tokenize(sentence)[:LONGEST]):
            found.append({"words": words, "parts": []})
            continue
        heat = explainer.locate_words(model, features, sentence)
        segments = align_words(heat, boxes, grounded=name_things(words), settings=grounding_of(model))
        found.append(
            {
                "words": words,
                "parts": [
                    {
                        "first": part.first,
                        "last": part.last,
                        "gain": round(part.gain, 3),
                        "box": [round(float(edge), 4) for edge in boxes[part.region]],
                    }
                    for part in segments
                ],
            }
        )
    return found


def _write_image(path: Path, target: Path) -> tuple[int, int]:
    image = open_image(path, at_least=_SIDE)
    image.thumbnail((_SIDE, _SIDE))
    with replace_atomically(target) as temporary:
        image.save(temporary, format="JPEG", quality=85, optimize=True)
    return image.size


def _script_json(value: Any) -> str:
    """JSON that may stand in a script: no sentence can end it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("</", "<\\/")


def _write(path: Path, text: str) -> None:
    with replace_atomically(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
