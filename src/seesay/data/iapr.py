"""IAPR TC-12 (Grubinger et al. 2006): photos described part by part.

`annotations_complete_eng/00/112.eng` is a latin-1 file with tags; its DESCRIPTION is a list of parts separated by
semicolons, each of which is a sentence here. `images/00/112.jpg` is its photo. Lists of lines like `00/112`
(`iapr_train_list.txt`, 17,665 images; `iapr_test_list.txt`, 1,962) lie in the folder, in one inside it or beside it.

The published split has no dev images. `read` sets `dev` images of the training list aside: those whose names have the
smallest SHA-256 digests, so that the choice is the same on every machine and does not depend on which files are there.
"""

import hashlib
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from seesay.data.collection import Collection
from seesay.data.gathering import Gathering
from seesay.data.photos import Photos
from seesay.data.splits import find_lists, read_list, split_of_file
from seesay.errors import SeesayError
from seesay.system.reading import SETTINGS, read_regular

LAYOUT: Final = "IAPR TC-12: annotations_complete_eng/*/*.eng and images/*/*.jpg, with iapr_train_list.txt"

# The `annotations` of the full archive have mostly empty descriptions, so they are the second choice.
_FOLDERS: Final = ("annotations_complete_eng", "annotations")
_DESCRIPTION: Final = re.compile(r"<DESCRIPTION>(.*?)</DESCRIPTION>", re.DOTALL)


def recognises(path: Path) -> bool:
    """Whether this folder, or one inside it, holds `.eng` files."""
    return _annotations_of(path) is not None


def read(path: Path, *, images: Path | None = None, dev: int = 1000) -> Collection:
    """Read the English descriptions.

    Args:
        path: The folder that holds `annotations_complete_eng`, or the one above it.
        images: Where the photos lie, where that is not `images` beside the annotations.
        dev: How many images of the published training list become the dev split, at most half of them. With 0 the
            splits are the published ones.
    """
    if dev < 0:
        raise SeesayError(f"dev is {dev}", allowed="a number of training images to set aside, from 0 on")
    annotations = _annotations_of(path)
    if annotations is None:
        raise SeesayError(f"{path} does not hold IAPR TC-12", allowed=LAYOUT)
    gathered = Gathering()
    for file in sorted(annotations.glob("*/*.eng")):
        _read_description(file, gathered)

    lists = find_lists(_list_folders(path, annotations.parent))
    gathered.add_lists(lists, {name.removesuffix(".jpg"): name for name in gathered.names})
    if not lists:
        gathered.notes.append("no splits: iapr_train_list.txt and iapr_test_list.txt are not here")
    _set_dev_aside(lists, dev, gathered)
    beside = annotations.parent / "images"
    photos = Photos(images or (beside if beside.is_dir() else annotations.parent))
    return gathered.collection(path.name, path, "IAPR TC-12", photos=photos)


def choose_dev(names: Iterable[str], n: int) -> set[str]:
    """The `n` names with the smallest SHA-256 digests.

    Example:
        >>> sorted(choose_dev(["00/25", "00/28", "00/32", "00/33"], 2)) == sorted(choose_dev(
        ...     ["00/33", "00/32", "00/28", "00/25"], 2))
        True
    """
    return set(sorted(names, key=lambda name: hashlib.sha256(name.encode()).digest())[:n])


def _annotations_of(path: Path) -> Path | None:
    if not path.is_dir():
        return None
    places = [path, *(child for child in sorted(path.iterdir()) if child.is_dir())]
    candidates = [place / name for name in _FOLDERS for place in places]
    return next((folder for folder in candidates if any(folder.glob("*/*.eng"))), None)


def _list_folders(path: Path, base: Path) -> list[Path]:
    """Where lists may lie: in the folder given, inside it, beside the annotations' folder, inside one beside it."""
    own = [path, base, *sorted(child for child in path.iterdir() if child.is_dir())]
    above = base.parent
    beside = [above, *sorted(child for child in above.iterdir() if child.is_dir())]
    return own + [folder for folder in beside if any(folder.glob("iapr*list.txt"))]


def _read_description(file: Path, gathered: Gathering) -> None:
    name = f"{file.parent.name}/{file.stem}.jpg"
    thing = f"{file.parent.name}/{file.name}"
    try:
        text = read_regular(file, SETTINGS).decode("latin-1")
    except OSError as error:
        gathered.report("unreadable file", thing, (error.strerror or str(error)).lower())
        return
    found = _DESCRIPTION.search(text)
    if found is None:
        reason = "is not closed" if "<DESCRIPTION>" in text else "is missing"
        gathered.report("broken annotation", thing, f"its DESCRIPTION {reason}")
        return
    sentences = [part for part in found[1].split(";") if part.strip()]
    if not sentences:
        gathered.report("broken annotation", thing, "its DESCRIPTION is empty")
    for sentence in sentences:
        gathered.add_sentence(name, sentence, where=thing)


def _set_dev_aside(lists: list[Path], dev: int, gathered: Gathering) -> None:
    if "dev" in map(split_of_file, lists):
        return
    published = {name for path in lists if split_of_file(path) == "train" for name in read_list(path)}
    chosen = choose_dev(published, min(dev, len(published) // 2))
    if chosen:
        gathered.resplit((f"{name}.jpg" for name in chosen), "train", "dev")
        silent = sum(f"{name}.jpg" not in gathered for name in published)
        lacking = f" ({silent:,} of them without a sentence here)" if silent else ""
        gathered.notes.append(
            f"train and dev together are the published training list of {len(published):,} images{lacking}; it has no "
            f"dev images, so {len(chosen):,} of them are set aside by a hash of their names"
        )
