"""One collection of all the photos at hand, laid out as a person's folders are.

Photos of COCO `train2017` (118,287), IAPR TC-12 (20,000) and Flickr8K (8,091), as hard links: nothing is copied, and
the collections themselves are never written to, because a changed photo replaces its link.

    SEESAY_DATA=… python -m benchmarks.scale.collection FOLDER
"""

import argparse
import os
from collections.abc import Iterator
from pathlib import Path

from seesay.system.files import data_dir

PER_FOLDER = 5000
PARTS = {"2006 iapr": "iapr/images", "2013 flickr8k": "flickr8k/Flicker8k_Dataset", "2017 coco": "coco/train2017"}
"""Folders in the order in which the indexer takes them: the photos that have questions come first."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    print({part: lay_out(part, folder) for part in PARTS})


def lay_out(part: str, folder: Path) -> int:
    """Link the photos of one collection, a few thousand to a folder; how many there are."""
    n = 0
    for n, path in enumerate(photos_of(part), 1):
        place = folder / part / f"{(n - 1) // PER_FOLDER:03}"
        if (n - 1) % PER_FOLDER == 0:
            place.mkdir(parents=True, exist_ok=True)
        if not (link := place / path.name).exists():
            os.link(path, link)
    return n


def photos_of(part: str) -> Iterator[Path]:
    where = data_dir()
    assert where is not None, "set SEESAY_DATA"
    root = (where / PARTS[part]).resolve()
    yield from sorted(path.resolve() for path in root.rglob("*.jpg"))


if __name__ == "__main__":
    main()
