from dataclasses import replace
from pathlib import Path

import pytest

from seesay.data.collection import Collection, Item
from seesay.errors import SeesayError

DOG = Item("dog.jpg", Path("pets/dog.jpg"), ("a dog", "a brown dog"), "train")
CAT = Item("cat.jpg", None, ("a cat",), "dev")
OWL = Item("owl.jpg", Path("pets/owl.jpg"), ("an owl",))
PETS = Collection("pets", Path("pets"), "CSV or JSONL", (DOG, CAT, OWL))


def test_sentences_and_images_keep_the_order_of_the_items() -> None:
    assert PETS.sentences == ["a dog", "a brown dog", "a cat", "an owl"]
    assert PETS.images == [Path("pets/dog.jpg"), Path("pets/owl.jpg")]


def test_items_of_no_split_are_in_no_count() -> None:
    assert PETS.splits == {"train": 1, "dev": 1}


@pytest.mark.parametrize("name", ["dev", "val", "Validation"])
def test_a_split_is_found_by_any_of_its_usual_names(name: str) -> None:
    assert PETS.split(name).items == (CAT,)


@pytest.mark.parametrize("name", ["test", "tarin"])
def test_a_split_that_is_not_there_is_refused_with_those_that_are(name: str) -> None:
    with pytest.raises(SeesayError, match=f"pets has no split '{name}'\n  allowed: train, dev"):
        PETS.split(name)


def test_with_images_leaves_out_what_cannot_be_seen() -> None:
    assert PETS.with_images().items == (DOG, OWL)


def test_the_fingerprint_does_not_depend_on_place_or_order() -> None:
    moved = tuple(replace(item, image=Path("elsewhere") / item.name) for item in reversed(PETS.items))
    assert replace(PETS, root=Path("elsewhere"), items=moved).fingerprint() == PETS.fingerprint()


@pytest.mark.parametrize(
    "changed", [replace(DOG, name="god.jpg"), replace(DOG, split="test"), replace(DOG, sentences=("a dog", "a log"))]
)
def test_the_fingerprint_changes_with_names_splits_and_sentences(changed: Item) -> None:
    assert replace(PETS, items=(changed, CAT, OWL)).fingerprint() != PETS.fingerprint()
