"""A map of images and sentences: what is near in the joint space is near on paper (HM-LSTM Figure 8).

t-SNE (van der Maaten & Hinton 2008) lays vectors of many numbers out in the plane so that neighbours stay neighbours;
distances across the map mean little. Every image is joined to its own sentences by lines: short ones where the model
understood both.
"""

import base64
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageOps

from seesay.drawing.overlay import colour_of
from seesay.drawing.sheets import PAPER, _rounded
from seesay.errors import SeesayError
from seesay.system.files import replace_atomically
from seesay.system.results import check_result

Floats = NDArray[np.float64]

_SMOOTH = 2
_TURNS = 8  # of colours: images next to each other in the list have different ones


@dataclass(frozen=True)
class Map:
    """Where things are, from 0 to 1 in both directions.

    Attributes:
        images: (n, 2).
        sentences: (m, 2).
        owner: (m,) the image of each sentence.
    """

    images: Floats
    sentences: Floats
    owner: NDArray[np.int64]


def lay_out(images: Floats, sentences: Floats, owner: Sequence[int], *, seed: int = 0) -> Map:
    """Lay the vectors of images (n, D) and of their sentences (m, D) out together; the same seed gives the same map.

    Raises:
        SeesayError: There are fewer than three things, or a sentence of no image.
    """
    from sklearn.manifold import TSNE

    vectors = np.concatenate([images, sentences]).astype(np.float64)
    own = np.asarray(owner, np.int64)
    if len(vectors) < 3 or len(own) != len(sentences) or (len(own) and not 0 <= own.min() <= own.max() < len(images)):
        raise SeesayError(
            f"a map of {len(images)} images and {len(sentences)} sentences, {len(own)} of which have an image",
            allowed="three things or more, and an image for each sentence",
        )
    unit = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    perplexity = min(30.0, (len(unit) - 1) / 3)
    # Euclidean distance of unit vectors orders pairs as their cosine does.
    places = TSNE(perplexity=perplexity, init="pca", random_state=seed, n_jobs=1).fit_transform(unit)
    low, high = places.min(axis=0), places.max(axis=0)
    scaled = (places - low) / np.maximum(high - low, 1e-12)
    return Map(scaled[: len(images)], scaled[len(images) :], own)


def mean_line(found: Map) -> tuple[float, float]:
    """How long the lines of a map are on average, and how long they would be between an image and any sentence.

    Example:
        >>> found = Map(np.array([[0.0, 0.0], [1.0, 0.0]]), np.array([[0.0, 0.5], [1.0, 0.5]]), np.array([0, 1]))
        >>> own, any_ = mean_line(found)
        >>> own, round(any_, 2)
        (0.5, 0.81)
    """
    distances = np.linalg.norm(found.images[:, None] - found.sentences[None], axis=2)  # (n, m)
    return float(distances[found.owner, np.arange(len(found.owner))].mean()), float(distances.mean())


def draw_map(found: Map, photos: Sequence[Image.Image], *, width: int = 1500, thumbnail: int = 60) -> Image.Image:
    """Draw a map: a thumbnail for each image, a dot for each sentence, a line between what belongs together."""
    if len(photos) != len(found.images):
        raise SeesayError(f"{len(photos)} photos for a map of {len(found.images)}", allowed="one for each place")
    height = round(0.72 * width)
    margin = 0.75 * thumbnail
    scale = np.array([width - 2 * margin, height - 2 * margin])
    images, sentences = ((margin + places * scale) for places in (found.images, found.sentences))
    sheet = Image.new("RGB", (width * _SMOOTH, height * _SMOOTH), PAPER)
    pen = ImageDraw.Draw(sheet, "RGBA")
    for (x, y), owner in zip(sentences * _SMOOTH, found.owner, strict=True):
        end = images[owner] * _SMOOTH
        pen.line([(x, y), tuple(end)], fill=(*colour_of(int(owner) % _TURNS), 120), width=round(1.4 * _SMOOTH))
    for (x, y), owner in zip(sentences * _SMOOTH, found.owner, strict=True):
        radius = 4.2 * _SMOOTH
        pen.ellipse((x - radius, y - radius, x + radius, y + radius), fill=(*colour_of(int(owner) % _TURNS), 255))
    sheet = sheet.resize((width, height), Image.Resampling.LANCZOS)
    for number, ((x, y), photo) in enumerate(zip(images, photos, strict=True)):
        corner = (round(x - thumbnail / 2), round(y - thumbnail / 2))
        frame = (thumbnail + 6, thumbnail + 6)
        sheet.paste(colour_of(number % _TURNS), (corner[0] - 3, corner[1] - 3), _rounded(frame, 9))
        small = ImageOps.fit(photo.convert("RGB"), (thumbnail, thumbnail), Image.Resampling.LANCZOS)
        sheet.paste(small, corner, _rounded(small.size, 7))
    return sheet


def write_map(
    found: Map,
    photos: Sequence[Image.Image],
    names: Sequence[str],
    sentences: Sequence[str],
    path: Path,
    *,
    title: str,
    thumbnail: int = 160,
) -> None:
    """Write a map as one page that needs nothing else: it can be moved, zoomed, and reached with the keyboard."""
    rows = [
        {
            "name": name,
            "at": [round(float(part), 4) for part in place],
            "picture": _data_address(photo, thumbnail),
            "colour": "#{:02x}{:02x}{:02x}".format(*colour_of(number % _TURNS)),
            "sentences": [
                {"text": sentences[text], "at": [round(float(part), 4) for part in found.sentences[text]]}
                for text in np.flatnonzero(found.owner == number).tolist()
            ],
        }
        for number, (name, place, photo) in enumerate(zip(names, found.images, photos, strict=True))
    ]
    page = files("seesay.drawing").joinpath("static", "map.html").read_text(encoding="utf-8")
    about = json.dumps({"title": title, "pictures": rows}, ensure_ascii=False, separators=(",", ":"))
    about = about.replace("<", "\\u003c")  # no sentence can end the script
    check_result(path, overwrite=True)
    with replace_atomically(path) as temporary:
        temporary.write_text(page.replace("/* the map */ null", about), encoding="utf-8")


def _data_address(photo: Image.Image, side: int) -> str:
    small = photo.convert("RGB")
    small.thumbnail((side, side), Image.Resampling.LANCZOS)
    buffer = io.BytesIO()
    small.save(buffer, format="JPEG", quality=82, optimize=True)
    return "data:image/jpeg;base64," + base64.b64encode(buffer.getvalue()).decode()
