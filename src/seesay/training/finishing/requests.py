"""What a step of `seesay tune` is asked for, and what it proposes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from seesay import data
from seesay.catalogue.weights import Weights
from seesay.data import Collection
from seesay.errors import SeesayError
from seesay.settings.tags import TagSettings
from seesay.training.finishing.hubness import N_CENTRES

DEFAULT = ("flickr8k",)
ENTITIES = "flickr30k_entities"
JOINED = " + "
"""Between the names of the collections that a table was chosen on."""
JUDGEMENTS = "judgements"
NONE = "none"
Tags = Sequence[tuple[int, float]]
"""Classes of a photo with their probabilities."""


class Clue(Protocol):
    """What a word of a query says about tags."""

    def worth(self, tags: Any) -> float:
        """What is added to the score of a photo with these tags."""


@dataclass(frozen=True)
class QueryWords:
    """What search knows of words and photos, which this room does not import.

    Attributes:
        content_words: The words of a query that say what is to be seen.
        classes_named: The ImageNet classes that a word names.
        likeliest_tags: The tags that a library keeps of a classifier's probabilities.
        find_clues: What the words of a query, with how often each was seen in training, say about tags.
    """

    content_words: Callable[[str], list[str]]
    classes_named: Callable[[str], Mapping[int, float]]
    likeliest_tags: Callable[[NDArray[np.float32]], Tags]
    find_clues: Callable[[Mapping[str, int], TagSettings], Sequence[Clue]]


@dataclass(frozen=True)
class Request:
    """What the person has asked for; what is empty is as each step has it by default.

    Attributes:
        data: Collections whose dev splits choose.
        images: Where the images of a collection lie that has none beside it.
        entities: Flickr30k Entities, for noun phrases and boxes.
        judgements: People's judgements of photos and sentences, or "none", where the describers are to stand for them;
            by default those of Flickr8K, and none for other collections.
        after: The weights of the stages of search before this one.
        members: The members of an ensemble.
        n_centres: Of hubness, on each side.
        tell: Told how far a long step has come.
    """

    words: QueryWords
    data: tuple[str, ...] = ()
    images: Path | None = None
    entities: str = ENTITIES
    judgements: str = ""
    after: tuple[str, ...] = ()
    members: tuple[str, ...] = ()
    n_centres: int = N_CENTRES
    tell: Callable[[str], None] = lambda line: None

    def collections(self, weights: Weights, section: str, default: Sequence[str] = DEFAULT) -> list[Collection]:
        """The collections that a table is chosen on, all of which have images here.

        Args:
            section: The table's name in config.json.
            default: Collections for a table that has not been chosen before.
        """
        return [self._load(name) for name in self.data or usual_data(weights, section, default)]

    def _load(self, name: str) -> Collection:
        try:
            collection = data.load(name)
        except SeesayError as error:
            if self.data:
                raise
            hint = "--data with the path of this collection"
            raise SeesayError(error.what, allowed=error.allowed, hint=hint) from error
        if not collection.images and self.images is not None:
            collection = data.load(name, images=self.images)
        if not collection.images:
            raise SeesayError(
                f"{collection.name} has no images here", hint="--images DIR, or --data with another collection"
            )
        return collection

    @property
    def has_entities(self) -> bool:
        """Whether there are boxes and noun phrases of people; somebody else's data may have none."""
        try:
            return bool(data.locate(self.entities))
        except SeesayError:
            if self.entities != ENTITIES:  # asked for by name
                raise
            return False

    def judgements_file(self, collection: Collection) -> Path | None:
        """Where people's judgements of a collection are; None where the describers are to stand for people.

        Raises:
            SeesayError: They are not where they were said to be.
        """
        named = self.judgements or (NONE if self.data or collection.name not in DEFAULT else JUDGEMENTS)
        if named == NONE:
            return None
        try:
            return data.locate(named)
        except SeesayError as error:
            raise SeesayError(
                f"there are no judgements of people at {named!r}: {error.what}",
                hint="--judgements FILE, or --judgements none, so that those who described the photos stand for people",
            ) from error

    def collection(self, weights: Weights, section: str) -> Collection:
        """The one collection that a table is chosen on."""
        if len(self.data) > 1:
            raise SeesayError(f"the table {section!r} is chosen on one collection, not on {', '.join(self.data)}")
        # Judgements of people stand before the collection whose photos they are of.
        return self._load((self.data or usual_data(weights, section))[-1])


def usual_data(weights: Weights, section: str, default: Sequence[str] = DEFAULT) -> Sequence[str]:
    """Where a table is chosen if nobody says otherwise: on the data it was chosen on before, which gives it again.

    A table that has not been chosen before is chosen on `default`. Weights that learned from none of these are tuned on
    the dev collection of their recipe, or on the first collection that they learned from.
    """
    recorded = weights.about.get("tuned", {}).get(section.split(".")[-1], {}).get("data")
    if recorded:
        return str(recorded).split(JOINED)
    learned = [str(row["name"]) for row in weights.about.get("data", ()) if row.get("n_images")]
    if not learned or set(default) & set(learned):
        return default
    source = weights.about.get("recipe", {}).get("data", {}).get("dev", {}).get("source")
    return [str(source)] if source else learned[:1]


@dataclass(frozen=True)
class Proposal:
    """A table that dev prefers.

    Attributes:
        section: Where it stands in config.json.
        data: The collections it was chosen on.
        beside: Other weights that took part.
        figures: What was reached on dev.
        save: Writes what does not fit into a table.
        split: The part of the data it was chosen on.
    """

    section: str
    table: Any
    data: str
    beside: tuple[str, ...] = ()
    figures: Mapping[str, Any] | None = None
    save: Callable[[Path], None] | None = None
    split: str = "dev"
