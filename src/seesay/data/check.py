"""What a collection holds, and everything that is wrong with it."""

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from seesay.data import UnreadableError, entities, load, locate
from seesay.data.collection import Collection, Item, Problem
from seesay.data.photos import is_photo_name
from seesay.errors import SeesayError
from seesay.images.io import open_image
from seesay.text.tokens import tokenize
from seesay.text.vocabulary import Vocabulary

MIN_COUNT: Final = 5
# Published collections have images that nobody described or that a split leaves out: worth saying, no fault.
HARMLESS: Final = frozenset({"image without sentences"})

_DECODED_SIDE: Final = 64  # a damaged file shows at any size, and a JPEG is decoded fastest at a small one


@dataclass(frozen=True)
class Regions:
    """Boxes and phrases, counted.

    Attributes:
        source: The folder they come from.
        images: Images that have a box, or a thing said to be the scene or to have no box.
        boxes: Boxes, one that is drawn around several things counted once.
        box_chains: Pairs of a box and a thing in it.
        phrases: Phrases in sentences of all images.
        phrases_with_boxes: Phrases in sentences of the `images` above.
        chains: Things that phrases refer to, the same thing in several sentences of an image counted once.
        scenes: Chains that are the whole scene.
        boxless: Chains without a box.
    """

    source: str
    images: int
    boxes: int
    box_chains: int
    phrases: int
    phrases_with_boxes: int
    chains: int
    scenes: int
    boxless: int


@dataclass(frozen=True)
class Words:
    """The words of the training sentences, and how much of the other splits they cover.

    Attributes:
        source: The split that is counted; "all" for a collection without training images.
        distinct: Different words.
        frequent: Different words that occur at least `min_count` times: the vocabulary a model would get.
        min_count: That threshold.
        coverage: For each other split the share of its running words that are frequent ones.
    """

    source: str
    distinct: int
    frequent: int
    min_count: int
    coverage: dict[str, float]


@dataclass(frozen=True)
class Report:
    """The result of a check; `ok` says that nothing is missing or broken.

    `images` are those that exist, `images_named` those that sentences name. Splits count what is named.
    """

    name: str
    kind: str
    root: str
    images: int = 0
    images_named: int = 0
    sentences: int = 0
    sentences_with_image: int = 0
    sentences_without_image: int = 0
    splits: dict[str, dict[str, int]] = field(default_factory=dict)
    images_without_split: int = 0
    missing_images: int = 0
    corrupt_images: int = 0
    images_without_sentences: int = 0
    empty_sentences: int = 0
    duplicated_ids: int = 0
    regions: Regions | None = None
    vocabulary: Words | None = None
    notes: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()

    @property
    def readable(self) -> bool:
        """Whether the collection could be read at all."""
        return self.vocabulary is not None

    @property
    def ok(self) -> bool:
        """Whether there are no problems but harmless ones."""
        return all(problem.kind in HARMLESS for problem in self.problems)

    def as_dict(self) -> dict[str, Any]:
        """Everything as plain values, `ok` among them."""
        return {"ok": self.ok} | asdict(self)

    def to_json(self) -> str:
        """The report as JSON."""
        return json.dumps(self.as_dict(), indent=2)


def check(
    source: str | Path, *, images: Path | None = None, on_progress: Callable[[int, int], None] | None = None
) -> Report:
    """Read a collection, open every image of it, and count.

    Where `flickr30k_entities` lies beside a folder of Flickr8K or Flickr30K, its boxes are joined and counted too.

    Args:
        source: As for `seesay.data.load`.
        images: As for `seesay.data.load`.
        on_progress: Called with the number of images opened so far and the number of all.

    Raises:
        SeesayError: There is nothing at `source`, or no known layout. A broken file is part of the report.
    """
    try:
        collection = load(source, images=images)
    except UnreadableError as error:
        root = locate(source)
        problem = Problem("unreadable file", str(error.path), error.detail)
        return Report(root.name, "unreadable", str(root), problems=(problem,))
    beside = collection.root.resolve().parent / "flickr30k_entities"
    region_source = collection.root
    if collection.kind in ("Flickr8K", "Flickr30K") and entities.recognises(beside):
        collection = entities.attach(collection, beside)
        region_source = beside

    problems = [*collection.problems, *_open_all(collection, on_progress)]
    named = {problem.thing for problem in problems if problem.kind == "image without sentences"}
    problems += [problem for problem in _undescribed(collection) if problem.thing not in named]
    kinds = Counter(problem.kind for problem in problems)
    shown = collection.with_images()
    n_sentences, n_with_image = len(collection.sentences), len(shown.sentences)
    return Report(
        name=collection.name,
        kind=collection.kind,
        root=str(collection.root),
        images=len(shown),
        images_named=len(collection),
        sentences=n_sentences,
        sentences_with_image=n_with_image,
        sentences_without_image=n_sentences - n_with_image,
        splits={
            split: {"images": n, "sentences": len(collection.split(split).sentences)}
            for split, n in collection.splits.items()
        },
        images_without_split=sum(item.split is None for item in shown.items),
        missing_images=len(collection) - len(shown) if {"missing image", "no images"} & set(kinds) else 0,
        corrupt_images=kinds["corrupt image"],
        images_without_sentences=kinds["image without sentences"],
        empty_sentences=kinds["empty sentence"],
        duplicated_ids=kinds["duplicated id"],
        regions=count_regions((shown if len(shown) else collection).items, region_source),
        vocabulary=_count_words(collection),
        notes=collection.notes,
        problems=tuple(problems),
    )


def count_regions(items: Iterable[Item], source: Path) -> Regions | None:
    """Count boxes and phrases; None where there are none."""
    listed = [item for item in items if item.boxes or item.phrases or item.scenes or item.boxless]
    boxed = [item for item in listed if item.boxes or item.scenes or item.boxless]
    if not listed:
        return None
    return Regions(
        source=str(source),
        images=len(boxed),
        boxes=sum(len({replace(box, chain="") for box in item.boxes}) for item in boxed),
        box_chains=sum(len(item.boxes) for item in boxed),
        phrases=sum(len(item.phrases) for item in listed),
        phrases_with_boxes=sum(len(item.phrases) for item in boxed),
        chains=sum(len({phrase.chain for phrase in item.phrases} - {"0"}) for item in listed),
        scenes=sum(len(item.scenes) for item in boxed),
        boxless=sum(len(item.boxless) for item in boxed),
    )


def _open_all(collection: Collection, on_progress: Callable[[int, int], None] | None) -> list[Problem]:
    """Decode every image, several at once; those that fail."""
    shown = [(item.name, item.image) for item in collection.items if item.image is not None]

    def attempt(entry: tuple[str, Path]) -> Problem | None:
        name, path = entry
        try:
            open_image(path, at_least=_DECODED_SIDE)
        except SeesayError as error:
            return Problem("corrupt image", name, error.what)
        return None

    problems = []
    pool = ThreadPoolExecutor(max_workers=min(16, os.cpu_count() or 1))
    try:
        for done, problem in enumerate(pool.map(attempt, shown), start=1):
            problems += [problem] if problem else []
            if on_progress:
                on_progress(done, len(shown))
    finally:
        pool.shutdown(cancel_futures=True)  # so that Ctrl-C does not wait for the rest
    return problems


def _undescribed(collection: Collection) -> list[Problem]:
    """Images that lie among those of the collection and that no sentence names."""
    described = set(collection.images)
    return [
        Problem("image without sentences", path.name, f"in {folder.name}; no sentence names it")
        for folder in sorted({path.parent for path in described})
        for path in sorted(folder.iterdir())
        if is_photo_name(path.name) and path not in described
    ]


def _count_words(collection: Collection) -> Words:
    splits = collection.splits
    learned = collection.split("train") if "train" in splits else collection
    counts = Counter(token for sentence in learned.sentences for token in tokenize(sentence))
    frequent = sum(count >= MIN_COUNT for count in counts.values())
    coverage = {}
    if frequent and "train" in splits:
        vocabulary = Vocabulary.build(learned.sentences, min_count=MIN_COUNT)
        coverage = {
            split: vocabulary.coverage(collection.split(split).sentences) for split in splits if split != "train"
        }
    return Words("train" if "train" in splits else "all", len(counts), frequent, MIN_COUNT, coverage)
