"""A larger library of real photos than the network has had time for: the rest from the feature cache.

The library that the product has made so far is copied. Photos of the collection that it does not have yet, and whose
features an earlier job has left in the cache (`eye-imagenet`: what both upper halves make of a photo), are added
through the store's own write path: vector and tags from the cached features, a thumbnail from the file, no regions.
That both ways give the same vector is measured on photos that both have.

    SEESAY_DATA=… python -m benchmarks.scale.cached PHOTOS LIBRARY TARGET
"""

import argparse
import os
import sqlite3
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import numpy as np
import torch
from PIL import Image

from benchmarks.scale.real import Floats, read_real
from benchmarks.scale.sections import write_section
from seesay.images.extraction import FeatureStore, content_key
from seesay.images.features import Features, FeatureSpec
from seesay.images.io import open_image
from seesay.library.indexing.encoding import likeliest_tags
from seesay.library.indexing.metadata import read_metadata
from seesay.library.indexing.thumbnails import SIDE, make_thumbnail
from seesay.library.stores.database import FILE
from seesay.library.stores.sqlite import SqliteStore
from seesay.library.types import Batch, Content, File
from seesay.models.eye_ear import EyeEar
from seesay.models.pretrained import load

AT_ONCE = 256


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("photos", type=Path)
    parser.add_argument("library", type=Path)
    parser.add_argument("target", type=Path)
    arguments = parser.parse_args()
    arguments.target.mkdir(exist_ok=True)
    if not (arguments.target / FILE).exists():
        with sqlite3.connect(arguments.library / FILE) as source, sqlite3.connect(arguments.target / FILE) as target:
            source.backup(target)
    encode = CachedEncoder()
    store = SqliteStore(arguments.target)
    by_product = store.counts().contents
    agreement = compare(store, arguments.target, encode)
    known = store.files(arguments.photos.resolve())
    paths = [path for path in sorted(arguments.photos.resolve().rglob("*.jpg")) if os.fsencode(path) not in known]
    for start in range(0, len(paths), AT_ONCE):
        store.write(Batch(*_batch(paths[start : start + AT_ONCE], encode, store)))
    found = store.counts()
    store.close()
    write_section("cached", photos=found.photos, contents=found.contents, by_product=by_product, agreement=agreement)


class CachedEncoder:
    """What the product's first stage makes of a photo, from its features in the cache."""

    def __init__(self) -> None:
        model = load("eye")
        assert isinstance(model, EyeEar)
        assert model.beside is not None
        self.model, self.beside = model, model.beside
        self.features = FeatureStore(FeatureSpec("eye-imagenet", size=300, crop="squash"), outputs=("pooled",))
        classifier = model.feature_spec.load_backbone().classifier
        assert classifier is not None
        self.classifier = classifier

    @torch.inference_mode()
    def __call__(self, keys: list[str]) -> tuple[Floats, Floats]:
        """Vectors (n, D) and probabilities of ImageNet's classes (n, 1000)."""
        pooled = torch.from_numpy(self.features.read("pooled", keys).astype(np.float32))
        eye, imagenet = pooled.chunk(2, 1)
        own = self.model.embed_images(eye)
        vectors = self.model.stand_beside(own, self.beside.encode_images(Features(imagenet)))
        if self.model.bank is not None:
            vectors = torch.cat([vectors, self.model.bank(vectors).unsqueeze(1) - self.model.config.hub_mean], 1)
        return vectors.numpy(), self.classifier(imagenet).softmax(1).numpy()


def compare(store: SqliteStore, place: Path, encode: CachedEncoder, n: int = 1000) -> dict[str, float]:
    """How near the cached way comes to the product's on photos that both have."""
    real = read_real(place)
    digests = dict(store._rows("SELECT id, digest FROM contents"))
    keys = [digests[content] for content in real.ids.tolist()]
    absent = set(encode.features.missing(keys))
    rows = [row for row, key in enumerate(keys) if key not in absent][:n]
    made, _ = encode([keys[row] for row in rows])
    cosines = (
        (made * real.vectors[rows]).sum(1) / np.linalg.norm(made, axis=1) / np.linalg.norm(real.vectors[rows], axis=1)
    )
    found = {
        "photos": len(rows),
        "least_cosine": round(float(cosines.min()), 5),
        "mean_cosine": round(float(cosines.mean()), 6),
    }
    print(found, flush=True)
    return found


def _batch(
    paths: list[Path], encode: CachedEncoder, store: SqliteStore
) -> tuple[list[Content], list[tuple[File, str]]]:
    keys = [content_key(path) for path in paths]
    absent, known = set(encode.features.missing(keys)), store.digests()
    photos = [
        (File.of(os.fsencode(path), path.stat()), key)
        for path, key in zip(paths, keys, strict=True)
        if key not in absent
    ]
    fresh = {key: path for path, key in zip(paths, keys, strict=True) if key not in absent and key not in known}
    contents = list(_contents(fresh, encode)) if fresh else []
    return contents, photos


def _contents(fresh: dict[str, Path], encode: CachedEncoder) -> Iterator[Content]:
    vectors, classes = encode(list(fresh))
    for (key, path), vector, shares in zip(fresh.items(), vectors, classes, strict=True):
        data = path.read_bytes()
        about = read_metadata(data)
        with Image.open(BytesIO(data)) as opened:
            small = max(opened.size) <= SIDE
        thumbnail = data if small else make_thumbnail(open_image(data, at_least=SIDE))
        yield Content(
            key, about.width, about.height, about.taken, about.camera, vector.astype(np.float16), thumbnail,
            likeliest_tags(shares),
        )  # fmt: skip


if __name__ == "__main__":
    main()
