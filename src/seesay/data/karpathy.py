"""The files in which Karpathy & Fei-Fei (2015) shared their splits: `dataset_flickr8k.json` and its like.

Sentences are the raw ones; where only tokens are there, the tokens joined. Split "val" is dev, and "restval" (COCO
validation images that papers train on) is train. Its "filepath" is not needed: names are unique, and images are found
in the folder of their year as well as in a single folder.
"""

from pathlib import Path
from typing import Any, Final

from seesay.data.collection import Collection
from seesay.data.gathering import Gathering
from seesay.data.photos import Photos
from seesay.data.sources import choose_file, read_json

LAYOUT: Final = "Karpathy's splits: dataset_flickr8k.json, dataset_flickr30k.json or dataset_coco.json"


def recognises(path: Path) -> bool:
    """Whether this folder holds such a file, or this is one."""
    return bool(_files(path))


def read(path: Path, *, images: Path | None = None) -> Collection:
    """Read a `dataset_*.json`, or the folder that holds it.

    Args:
        path: The file or the folder.
        images: Where the images lie, where that is not below the folder.
    """
    file = choose_file(path, _files(path) or [path], "such files")
    root = file.parent
    gathered = Gathering()
    for index, record in enumerate(read_json(file, ("images",))["images"]):
        _read_record(record, f"{file.name} images[{index}]", gathered)
    return gathered.collection(file.stem, root, "Karpathy split", photos=Photos(images or root))


def _files(path: Path) -> list[Path]:
    files = [path] if path.is_file() else sorted(path.glob("dataset*.json"))
    return [file for file in files if file.name.startswith("dataset") and file.suffix == ".json"]


def _read_record(record: Any, where: str, gathered: Gathering) -> None:
    if not isinstance(record, dict) or not isinstance(record.get("filename"), str):
        gathered.report("malformed record", where, 'it has no "filename"')
        return
    if not isinstance(record.get("sentences"), list):
        gathered.report("malformed record", where, f'{record["filename"]} has no list "sentences"')
        return
    name = record["filename"]
    if name in gathered:
        gathered.report("duplicated id", name, f"{where} names it again; its sentences are added")
    gathered.add_image(name)
    if isinstance(record.get("split"), str):
        gathered.add_split(name, record["split"], where=where)
    for number, sentence in enumerate(record["sentences"]):
        raw = sentence.get("raw") if isinstance(sentence, dict) else None
        tokens = sentence.get("tokens") if isinstance(sentence, dict) else None
        if isinstance(raw, str):
            gathered.add_sentence(name, raw, where=where)
        elif isinstance(tokens, list):
            gathered.add_sentence(name, " ".join(map(str, tokens)), where=where)
        else:
            gathered.report("malformed record", f"{where} sentences[{number}]", 'it has neither "raw" nor "tokens"')
