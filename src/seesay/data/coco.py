"""MS COCO captions (Chen et al. 2015): `captions_train2017.json` and the like, as published.

Only captions are read; `instances_*.json` and `person_keypoints_*.json` beside them are not. The file's name says the
split, and `val` is dev. The files of 2014 and 2017 divide the same images differently: of a folder that holds both,
the newest year is taken; name a file to read that one alone.
"""

import re
from pathlib import Path
from typing import Final

from seesay.data.collection import Collection
from seesay.data.gathering import Gathering
from seesay.data.photos import Photos
from seesay.data.sources import read_json
from seesay.data.splits import normalise_split

LAYOUT: Final = "COCO captions: captions_train2017.json, captions_val2017.json, there or in annotations/"

_NAME: Final = re.compile(r"captions_([a-z]+)(\d{4})?.*\.json", re.IGNORECASE)


def recognises(path: Path) -> bool:
    """Whether this folder holds captions files, or this is one."""
    return bool(_files(path))


def read(path: Path, *, images: Path | None = None) -> Collection:
    """Read a folder of captions files, or a single one.

    Args:
        path: The folder (with the files in it or in `annotations`), or a file.
        images: Where the images lie, where that is not below the folder.
    """
    files = _files(path) or [path]
    root = path if path.is_dir() else path.parent.parent if path.parent.name == "annotations" else path.parent
    gathered = Gathering()
    for file in files:
        _read_captions(file, gathered)
    gathered.notes.append("sentences from " + ", ".join(file.name for file in files))
    return gathered.collection(root.name, root, "COCO captions", photos=Photos(images or root))


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path] if _NAME.fullmatch(path.name) else []
    found = [
        (file, match[2] or "")
        for folder in (path, path / "annotations")
        for file in sorted(folder.glob("captions_*.json"))
        if (match := _NAME.fullmatch(file.name))
    ]
    newest = max((year for _, year in found), default="")
    return [file for file, year in found if year == newest]


def _read_captions(file: Path, gathered: Gathering) -> None:
    content = read_json(file, ("images", "annotations"))
    match = _NAME.fullmatch(file.name)
    split = match[1] if match and normalise_split(match[1]) else None
    names: dict[str, str] = {}
    for index, record in enumerate(content["images"]):
        where = f"{file.name} images[{index}]"
        if not isinstance(record, dict) or "id" not in record or not isinstance(record.get("file_name"), str):
            gathered.report("malformed record", where, 'it needs "id" and "file_name"')
            continue
        name, image_id = record["file_name"], str(record["id"])
        if image_id in names or name in gathered:
            gathered.report("duplicated id", name, f"{where} names the image {image_id} again")
        names[image_id] = name
        gathered.add_image(name)
        if split:
            gathered.add_split(name, split, where=file.name)
    seen = set()
    for index, record in enumerate(content["annotations"]):
        where = f"{file.name} annotations[{index}]"
        if not isinstance(record, dict) or "image_id" not in record or not isinstance(record.get("caption"), str):
            gathered.report("malformed record", where, 'it needs "image_id" and "caption"')
            continue
        image_id, caption_id = str(record["image_id"]), str(record.get("id", where))
        if image_id not in names:
            gathered.report("sentence for an unknown image", image_id, f"{where}; no image has this id")
        elif caption_id in seen:
            gathered.report("duplicated id", caption_id, f"{where}; the first one is kept")
        else:
            gathered.add_sentence(names[image_id], record["caption"], where=where)
        seen.add(caption_id)
