"""A table of images and sentences: CSV (or TSV) with a header, or JSON Lines.

One row is one sentence, `image,sentence[,split]`; a JSON line may instead hold all sentences of an image,
`{"file": "dog.jpg", "split": "train", "sentences": ["a dog runs", "a brown dog"]}`. The usual other names of these
columns are understood, `image,caption` among them. A folder may hold one table, or one per split: `train.csv`,
`val.csv`, `test.csv`. Images are named by their path below the folder, or by their file name alone.
"""

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from seesay.data.collection import Collection
from seesay.data.gathering import Gathering
from seesay.data.photos import Photos
from seesay.data.sources import UnreadableError, choose_file, read_lines, read_text
from seesay.data.splits import normalise_split
from seesay.system.reading import parse_json

LAYOUT: Final = "a table: CSV with the columns image, sentence (and split), or JSONL with file, sentences (and split)"

IMAGE_KEYS: Final = ("image", "file", "file_name", "filename", "image_name", "image_path", "path")
SENTENCE_KEYS: Final = ("sentence", "caption", "comment", "description", "text")
LIST_KEYS: Final = ("sentences", "captions", "phrases")
SPLIT_KEYS: Final = ("split", "set", "partition")

_CSV: Final = (".csv", ".tsv")
_JSON_LINES: Final = (".jsonl", ".ndjson")


def recognises(path: Path) -> bool:
    """Whether this folder holds a table, or this is one."""
    return bool(_files(path))


def read(path: Path, *, images: Path | None = None) -> Collection:
    """Read a table, or the folder that holds it.

    Args:
        path: The file or the folder.
        images: Where the images lie, where that is not below the folder.
    """
    files = _files(path)
    if not all(normalise_split(file.stem) for file in files):
        choose_file(path, files, "tables, and their names are not those of splits")
    gathered = Gathering()
    for file in files:
        before = len(gathered.problems)
        read_rows = _read_json_lines if file.suffix.lower() in _JSON_LINES else _read_csv
        read_rows(file, gathered)
        if not gathered.names:
            found = gathered.problems[before:]
            raise UnreadableError(file, f"{found[0].thing}: {found[0].detail}" if found else "it holds no rows")
    root = path if path.is_dir() else path.parent
    name = root.name if path.is_dir() or path.stem == "captions" else path.stem
    return gathered.collection(name, root, "CSV or JSONL", photos=Photos(images or root))


def _files(path: Path) -> list[Path]:
    """The tables in a folder; `captions.txt` is how Flickr8K is often passed around, as a CSV."""
    if path.is_file():
        return [path] if _is_table_name(path) else []
    found = [file for file in sorted(path.glob("*.*")) if file.is_file() and _is_table_name(file)]
    return [file for file in found if file.stem == "captions"][:1] or found


def _is_table_name(path: Path) -> bool:
    return path.suffix.lower() in _CSV + _JSON_LINES or path.name == "captions.txt"


def _read_csv(file: Path, gathered: Gathering) -> None:
    text = read_text(file)
    delimiter = max(",\t|;", key=text.partition("\n")[0].count)
    # Tables with bars or tabs are written without quoting, and a sentence may well hold a single quote mark.
    rows = csv.reader(
        io.StringIO(text, newline=""),
        delimiter=delimiter,
        quoting=csv.QUOTE_MINIMAL if delimiter in ",;" else csv.QUOTE_NONE,
        skipinitialspace=True,
        strict=True,
    )
    first_line = 1
    try:
        columns = {name.strip().lower(): index for index, name in enumerate(next(rows, []))}
        image, sentence = _column(file, columns, IMAGE_KEYS, "image"), _column(file, columns, SENTENCE_KEYS, "sentence")
        split = next((columns[key] for key in SPLIT_KEYS if key in columns), None)
        first_line = rows.line_num + 1
        for row in rows:
            where = f"{file.name} line {first_line}"
            first_line = rows.line_num + 1
            if not row:
                continue
            if len(row) <= max(image, sentence) or not row[image].strip():
                gathered.report("malformed line", where, f"{delimiter.join(row)[:60]!r} lacks an image or a sentence")
                continue
            name = row[image].strip()
            gathered.add_sentence(name, row[sentence], where=where)
            _add_split(file, name, row[split] if split is not None and split < len(row) else "", where, gathered)
    except csv.Error as error:
        raise UnreadableError(file, f"the row that starts at line {first_line}: {error}") from error


def _column(file: Path, columns: dict[str, int], keys: tuple[str, ...], what: str) -> int:
    for key in keys:
        if key in columns:
            return columns[key]
    found = ", ".join(columns) or "nothing"
    raise UnreadableError(
        file, f"its header has no column for the {what}; it has {found}", allowed=f"one of {', '.join(keys)}"
    )


def _read_json_lines(file: Path, gathered: Gathering) -> None:
    listed = set()
    for number, line in enumerate(read_lines(file), start=1):
        if not line.strip():
            continue
        where = f"{file.name} line {number}"
        try:
            record = parse_json(line)
        except ValueError as error:
            gathered.report("malformed line", where, f"not JSON: {error}")
            continue
        name = _first(record, IMAGE_KEYS)
        if not isinstance(name, str) or not name.strip():
            gathered.report("malformed line", where, f"it names no image; allowed: one of {', '.join(IMAGE_KEYS)}")
            continue
        several = _first(record, LIST_KEYS)
        if isinstance(several, list):
            if name in listed:
                gathered.report("duplicated id", name, f"{where} lists its sentences again; they are added")
            listed.add(name)
        sentences = list(_texts(several if isinstance(several, list) else [_first(record, SENTENCE_KEYS)]))
        if None in sentences:
            keys = ", ".join(LIST_KEYS + SENTENCE_KEYS)
            gathered.report("malformed line", where, f"it says nothing about {name}; allowed: one of {keys}")
            continue
        gathered.add_image(name)
        for sentence in sentences:
            gathered.add_sentence(name, sentence or "", where=where)
        _add_split(file, name, _first(record, SPLIT_KEYS) or "", where, gathered)


def _first(record: Any, keys: tuple[str, ...]) -> Any:
    return next((record[key] for key in keys if key in record), None) if isinstance(record, dict) else None


def _texts(sentences: list[Any]) -> Iterator[str | None]:
    for sentence in sentences:
        text = sentence.get("raw") if isinstance(sentence, dict) else sentence
        if isinstance(text, list) and text:
            text = text[0]  # a phrase, before its box
        yield text if isinstance(text, str) else None


def _add_split(file: Path, name: str, split: Any, where: str, gathered: Gathering) -> None:
    chosen = str(split).strip() or (file.stem if normalise_split(file.stem) else "")
    if chosen:
        gathered.add_split(name, chosen, where=where)
