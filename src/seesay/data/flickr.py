"""Flickr8K (Hodosh et al. 2013) and Flickr30K (Young et al. 2014) as published.

A token file has one sentence per line, `image.jpg#number<TAB>sentence`: `Flickr8k.token.txt` in `Flickr8k_text`,
`results_20130124.token` or `flickr30k.token.txt` for Flickr30K. Splits are lists of image names beside it, with or
without `.jpg`: `Flickr_8k.trainImages.txt`, or the `train.txt`, `val.txt`, `test.txt` that Flickr30k Entities brings.
Flickr30K itself is published without lists and then has no splits.
"""

from pathlib import Path
from typing import Final

from seesay.data.collection import Collection
from seesay.data.gathering import Gathering
from seesay.data.photos import Photos
from seesay.data.sources import UnreadableError, choose_file, read_lines
from seesay.data.splits import find_lists

LAYOUT: Final = "Flickr8K or Flickr30K: Flickr8k_text/Flickr8k.token.txt or results_20130124.token, with split lists"

_FOLDER_WORDS: Final = ("text", "token", "caption", "annotation")


def recognises(path: Path) -> bool:
    """Whether there is a token file in this folder, or this is one."""
    return bool(_token_files(path))


def read(path: Path, *, images: Path | None = None) -> Collection:
    """Read a folder with a token file, or the token file itself.

    Args:
        path: The folder or the file.
        images: Where the images lie, where that is not beside the sentences.
    """
    file = choose_file(path, _token_files(path), "token files")
    root = path if path.is_dir() else _root_of(file)
    gathered = Gathering()
    _read_tokens(file, gathered)
    if not gathered.names:
        raise UnreadableError(file, "no line of it is of the form image.jpg#0<TAB>sentence")

    spellings = {Path(name).stem: name for name in gathered.names} | {name: name for name in gathered.names}
    folders = [folder for folder in sorted(root.iterdir()) if folder.is_dir()]
    gathered.add_lists(find_lists([file.parent, root, *folders]), spellings)
    kind = "Flickr30K" if "30k" in file.name.lower() or file.name.startswith("results") else "Flickr8K"
    return gathered.collection(root.name, root, kind, photos=Photos(images or root))


def _token_files(path: Path) -> list[Path]:
    if path.is_file():
        return [path] if _is_token_name(path.name) else []
    if not path.is_dir():
        return []
    folders = [path, *(child for child in sorted(path.iterdir()) if _may_hold_text(child))]
    return [file for folder in folders for file in sorted(folder.glob("*.token*")) if _is_token_name(file.name)]


def _is_token_name(name: str) -> bool:
    # Flickr8k.lemma.token.txt is the same sentences with their words reduced to stems.
    return name.endswith((".token", ".token.txt")) and ".lemma." not in name


def _may_hold_text(folder: Path) -> bool:
    return folder.is_dir() and any(word in folder.name.lower() for word in _FOLDER_WORDS)


def _root_of(file: Path) -> Path:
    return file.parent.parent if _may_hold_text(file.parent) else file.parent


def _read_tokens(file: Path, gathered: Gathering) -> None:
    seen = set()
    for number, line in enumerate(read_lines(file), start=1):
        if not line.strip():
            continue
        where = f"{file.name} line {number}"
        key, tab, sentence = line.partition("\t")
        name, hash_sign, index = key.rpartition("#")
        if not (tab and hash_sign and name and index.isdigit()):
            gathered.report("malformed line", where, f"{line[:60]!r} is not image.jpg#0<TAB>sentence")
        elif key in seen:
            gathered.report("duplicated id", key, f"{where}; the first one is kept")
        else:
            seen.add(key)
            gathered.add_sentence(name, sentence, where=where)
