"""People's judgements: who was shown a photo and a sentence, and said yes, it fits, or no.

A table with tabs and the columns `image`, `caption` (a sentence of the collection, as `name#number`), `yes` and `no`
(votes), and `part`. Parts share neither photos nor sentences, so that what is fitted to one can be measured on another.
CrowdFlower's judgements of Flickr8K's test photos (Hodosh et al. 2013) come in this shape.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from seesay.data.collection import Collection
from seesay.data.sources import UnreadableError, read_lines
from seesay.errors import SeesayError

COLUMNS = ("image", "caption", "yes", "no", "part")


@dataclass(frozen=True, slots=True)
class Judgement:
    """What people said of a photo and a sentence.

    Attributes:
        item: The photo, as a place in the collection.
        sentence: The sentence, in the order of the collection's sentences.
        yes: The share of people who said that it fits.
    """

    item: int
    sentence: int
    yes: float


def read_judgements(path: Path, collection: Collection, part: str) -> list[Judgement]:
    """The judgements of one part.

    Args:
        path: The table, or the folder that holds it alone.
        collection: The photos and sentences that it speaks of.

    Raises:
        SeesayError: There is no table, it has other columns or rows, it speaks of other photos or sentences, or it has
            no such part.
    """
    items = {item.name: place for place, item in enumerate(collection.items)}
    names = (f"{item.name}#{number}" for item in collection.items for number in range(len(item.sentences)))
    sentences = {name: place for place, name in enumerate(names)}
    found: list[Judgement] = []
    parts: set[str] = set()
    file = _table_of(path)
    for line, (image, caption, yes, no, own) in _rows(file):
        parts.add(own)
        if own != part:
            continue
        for name, known in ((image, items), (caption, sentences)):
            if name not in known:
                raise UnreadableError(file, f"line {line}: {collection.name} has no {name!r}")
        if not (_are_votes(yes, no) and int(yes) + int(no)):
            raise UnreadableError(file, f"line {line}: {yes!r} and {no!r} are no votes", allowed="numbers, not both 0")
        found.append(Judgement(items[image], sentences[caption], int(yes) / (int(yes) + int(no))))
    if not found:
        raise SeesayError(f"{file} has no judgements of the part {part!r}", allowed=sorted(parts) or None)
    return found


def _are_votes(*cells: str) -> bool:
    """Whether cells are numbers of people; there are ten billion of them and no more."""
    return all(cell.isascii() and cell.isdecimal() and len(cell) <= 10 for cell in cells)


def _table_of(path: Path) -> Path:
    if path.is_file():
        return path
    tables = sorted(path.glob("*.tsv"))
    if len(tables) != 1:
        names = [table.name for table in tables]
        raise SeesayError(f"{path} holds {len(names) or 'no'} tables of judgements", allowed=names or "one .tsv file")
    return tables[0]


def _rows(file: Path) -> Iterator[tuple[int, tuple[str, str, str, str, str]]]:
    header, *lines = read_lines(file)
    columns = header.split("\t")
    if missing := [name for name in COLUMNS if name not in columns]:
        raise UnreadableError(file, f"it has no column {missing[0]!r}", allowed=f"the columns {', '.join(COLUMNS)}")
    places = [columns.index(name) for name in COLUMNS]
    for number, line in enumerate(lines, 2):
        if not line:
            continue
        cells = line.split("\t")
        if len(cells) != len(columns):
            raise UnreadableError(file, f"line {number} has {len(cells)} cells, the header {len(columns)}")
        image, caption, yes, no, part = (cells[place] for place in places)
        yield number, (image, caption, yes, no, part)
