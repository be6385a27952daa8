"""Flickr30k Entities (Plummer et al. 2015): phrases and the boxes that they refer to.

`Sentences/<photo>.txt` has a caption per line with its phrases marked, `[/EN#18/people A child] in ...`;
`Annotations/<photo>.xml` has boxes, and chains that are the scene or have no box; `train.txt`, `val.txt` and
`test.txt` list photos. No images belong to it.

Boxes are counted from 1 and include their last pixel, as in PASCAL VOC: the left edge of the box is `xmin - 1`, the
right one is `xmax`, in pixels of the photo as Flickr had it. They are read as fractions of the size that the XML
gives, and so fit the same photo at any other size.
"""

import math
import re
from collections.abc import Iterable
from dataclasses import replace
from difflib import SequenceMatcher
from itertools import product
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

from seesay.data.collection import Box, Collection, Item, Phrase, Problem
from seesay.data.gathering import Gathering
from seesay.data.photos import Photos, photo_id
from seesay.data.sources import UnreadableError, read_lines
from seesay.data.splits import find_lists
from seesay.errors import SeesayError
from seesay.system.reading import SETTINGS, read_regular

LAYOUT: Final = "Flickr30k Entities: Sentences/*.txt and Annotations/*.xml, with train.txt, val.txt, test.txt"

_SAME_SENTENCE: Final = 0.5  # share of words in common from which two captions are one, corrected by hand
_OPENING: Final = re.compile(r"\[/EN#\S*")
_PHRASE: Final = re.compile(r"\[/EN#([^/\s]+)/([^\s\[\]]+)\s+([^\s\[\]][^\[\]]*)\]")


def recognises(path: Path) -> bool:
    """Whether this folder holds sentences with marked phrases."""
    return any((path / "Sentences").glob("*.txt"))


def read(path: Path, *, images: Path | None = None) -> Collection:
    """Read all sentences, and the boxes of those photos that have an annotation file.

    Args:
        path: The folder that holds `Sentences`.
        images: Where Flickr30K's photos lie (`1000268201.jpg`), or Flickr8K's (`1000268201_693b08cb0e.jpg`).
    """
    gathered = Gathering()
    found = {}
    for file in sorted((path / "Sentences").glob("*.txt")):
        item = _read_item(path, file.stem, gathered.problems)
        found[item.name] = item
        gathered.add_image(item.name)
        for sentence in item.sentences:
            gathered.add_sentence(item.name, sentence, where=file.name)
    annotated = {file.stem for file in (path / "Annotations").glob("*.xml")}
    for stem in sorted(annotated):
        if f"{stem}.jpg" not in found:
            gathered.report("annotation without sentences", f"{stem}.xml", f"there is no Sentences/{stem}.txt")
    gathered.notes.append(f"{len(annotated):,} of {len(found):,} photos have an annotation file")
    gathered.add_lists(find_lists([path]), {name.removesuffix(".jpg"): name for name in found})

    inside = [folder for folder in sorted(path.iterdir()) if folder.is_dir() and "image" in folder.name.lower()]
    place = images or next(iter(inside), None)
    if place is None:
        gathered.notes.append("no images belong to it; say where Flickr30K's or Flickr8K's are (images=, --images)")
    collection = gathered.collection(
        path.name, path, "Flickr30k Entities", photos=Photos(place, flickr_ids=True) if place else None
    )
    return replace(
        collection,
        items=tuple(replace(found[item.name], image=item.image, split=item.split) for item in collection.items),
    )


def attach(collection: Collection, entities_root: Path) -> Collection:
    """Give the items of Flickr8K or Flickr30K their boxes and phrases.

    Photos are the same where their Flickr number is. The captions of Entities come in another order and with small
    corrections (grey → gray): each is matched with the sentence it corrects, and its phrases with its words. Phrases
    whose words a sentence lacks are left out; `Phrase.text` is what Entities has.

    Args:
        collection: Items whose names start with the number of a Flickr photo.
        entities_root: The folder that holds `Sentences` and `Annotations`.

    Returns:
        The collection with the same items in the same order; problems found on the way are added to its own.
    """
    if not recognises(entities_root):
        raise SeesayError(f"{entities_root} does not hold Flickr30k Entities", allowed=LAYOUT)
    problems = list(collection.problems)
    known = {file.stem for file in (entities_root / "Sentences").glob("*.txt")}
    items = []
    for item in collection.items:
        number = photo_id(item.name)
        items.append(_lay_on(item, _read_item(entities_root, number, problems)) if number in known else item)
    return replace(collection, items=tuple(items), problems=tuple(problems))


def parse_sentence(line: str, sentence: int = 0) -> tuple[str, list[Phrase]]:
    """Split a caption with marked phrases into its words and its phrases, which are given the index `sentence`.

    Raises:
        ValueError: The marks are not balanced.

    Example:
        >>> words, phrases = parse_sentence("[/EN#18/people A child] climbs [/EN#20/other the stairs] .")
        >>> words, [(phrase.text, phrase.first, phrase.last, phrase.chain, phrase.kinds) for phrase in phrases]
        ('A child climbs the stairs .', [('A child', 0, 2, '18', ('people',)), ('the stairs', 3, 5, '20', ('other',))])
    """
    marks = list(_PHRASE.finditer(line))
    brackets = line.count("["), line.count("]")
    if brackets != (len(marks), len(marks)):
        raise ValueError(f"{brackets[0]} opening and {brackets[1]} closing brackets make {len(marks)} whole phrases")
    words: list[str] = []
    phrases: list[Phrase] = []
    position = 0
    for mark in marks:
        words += line[position : mark.start()].split()
        chain, kinds, text = mark.groups()
        inner = text.split()
        first = len(words)
        words += inner
        phrases.append(Phrase(sentence, first, len(words), " ".join(inner), chain, tuple(kinds.split("/"))))
        position = mark.end()
    words += line[position:].split()
    return " ".join(words), phrases


def _read_item(root: Path, number: str, problems: list[Problem]) -> Item:
    """Everything that Entities says about one photo."""
    sentences: list[str] = []
    phrases: list[Phrase] = []
    file = root / "Sentences" / f"{number}.txt"
    try:
        lines = read_lines(file)
    except UnreadableError as error:
        problems.append(Problem("unreadable file", file.name, error.why))
        lines = []
    for line_number, line in enumerate(lines, start=1):
        if not line.strip():
            if line_number < len(lines):
                problems.append(Problem("empty sentence", f"{number}.jpg", f"{file.name} line {line_number}"))
            continue
        try:
            sentence, marked = parse_sentence(line, len(sentences))
        except ValueError as error:
            problems.append(Problem("broken phrase marks", f"{file.name} line {line_number}", str(error)))
            sentence, marked = " ".join(_OPENING.sub(" ", line).replace("[", " ").replace("]", " ").split()), []
        phrases += marked
        sentences.append(sentence)
    item = Item(f"{number}.jpg", None, tuple(sentences), phrases=tuple(phrases))
    annotation = root / "Annotations" / f"{number}.xml"
    return _read_boxes(annotation, item, problems) if annotation.exists() else item


def _read_boxes(file: Path, item: Item, problems: list[Problem]) -> Item:
    boxes: list[Box] = []
    flagged: dict[str, set[str]] = {"scene": set(), "nobndbox": set()}
    try:
        tree = ElementTree.fromstring(read_regular(file, SETTINGS))
        width, height = (_number(tree, f"size/{side}") for side in ("width", "height"))
        if width <= 0 or height <= 0:
            raise ValueError(f"the photo's size is {width:g} x {height:g}")
        for thing in tree.iter("object"):
            chains = [name.text.strip() for name in thing.findall("name") if name.text]
            for flag, chosen in flagged.items():
                if (thing.findtext(flag) or "0").strip() == "1":
                    chosen.update(chains)
            for box in thing.findall("bndbox"):
                xmin, ymin, xmax, ymax = (_number(box, edge) for edge in ("xmin", "ymin", "xmax", "ymax"))
                edges = ((xmin - 1) / width, (ymin - 1) / height, xmax / width, ymax / height)
                left, top, right, bottom = (min(max(edge, 0.0), 1.0) for edge in edges)
                usable = left < right and top < bottom
                inside = edges == (left, top, right, bottom)
                if not (inside and usable):
                    detail = f"{xmin:g},{ymin:g}–{xmax:g},{ymax:g} in a photo of {width:g} x {height:g}; "
                    detail += "cut to the photo" if usable else "left out"
                    kind = "box without area" if inside else "box outside the photo"
                    problems.append(Problem(kind, file.name, detail))
                if usable:
                    boxes += [Box(chain, left, top, right, bottom) for chain in chains]
    except (OSError, ElementTree.ParseError, ValueError) as error:
        problems.append(Problem("broken annotation", file.name, f"{error}; its boxes are left out"))
        return item
    return replace(item, boxes=tuple(boxes), scenes=frozenset(flagged["scene"]), boxless=frozenset(flagged["nobndbox"]))


def _number(node: ElementTree.Element, path: str) -> float:
    text = node.findtext(path)
    if text is None:
        raise ValueError(f"it has no {path}")
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"its {path} is {text}")
    return number


def _lay_on(item: Item, theirs: Item) -> Item:
    """Move what Entities says about a photo onto the item of another collection that has its own sentences."""
    partner = _pair_up(theirs.sentences, item.sentences)
    phrases = []
    for phrase in theirs.phrases:
        if (ours := partner.get(phrase.sentence)) is None:
            continue
        span = _move_span(theirs.sentences[phrase.sentence], item.sentences[ours], phrase.first, phrase.last)
        if span:
            phrases.append(replace(phrase, sentence=ours, first=span[0], last=span[1]))
    phrases.sort(key=lambda phrase: (phrase.sentence, phrase.first))
    return replace(item, boxes=theirs.boxes, phrases=tuple(phrases), scenes=theirs.scenes, boxless=theirs.boxless)


def _pair_up(theirs: Iterable[str], ours: Iterable[str]) -> dict[int, int]:
    """Which of our sentences each of theirs corrects: equal ones first, then the most similar."""
    left = dict(enumerate(theirs))
    right = dict(enumerate(ours))
    pairs = {}
    for i, sentence in list(left.items()):
        equal = next((j for j, candidate in right.items() if candidate == sentence), None)
        if equal is not None:
            pairs[i] = equal
            del left[i], right[equal]
    likeness = {(i, j): _alignment(left[i], right[j]).ratio() for i, j in product(left, right)}
    for i, j in sorted(likeness, key=lambda pair: -likeness[pair]):
        if likeness[i, j] >= _SAME_SENTENCE and i in left and j in right:
            pairs[i] = j
            del left[i], right[j]
    return pairs


def _alignment(theirs: str, ours: str) -> SequenceMatcher[str]:
    return SequenceMatcher(None, theirs.lower().split(), ours.lower().split(), autojunk=False)


def _move_span(theirs: str, ours: str, first: int, last: int) -> tuple[int, int] | None:
    """The words of our sentence that stand for words [first, last) of theirs; None where there are none."""
    if theirs == ours:
        return first, last
    moved: list[int] = []
    for tag, i1, i2, j1, j2 in _alignment(theirs, ours).get_opcodes():
        if max(i1, first) >= min(i2, last) or tag == "delete":
            continue
        if i2 - i1 == j2 - j1:
            moved += range(max(i1, first) - i1 + j1, min(i2, last) - i1 + j1)
        else:
            moved += range(j1, j2)  # "blond-haired" for "blonde haired": the words stand for each other as a whole
    return (min(moved), max(moved) + 1) if moved else None
