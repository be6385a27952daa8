"""What is learned from: which pictures and sentences a source holds, and how batches are drawn from several."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from seesay import data
from seesay.data import Collection, Item
from seesay.data.examples import Examples, leave_out_measured, same_photo
from seesay.errors import SeesayError
from seesay.training.recipe import DevRecipe, Recipe, SourceRecipe
from seesay.training.sources import SourceBatches, read_collection, read_source


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A collection whose names are like those of Flickr8K; the pictures are not there."""
    rows = ["image,sentence,split"]
    for number, split in ((11, "train"), (22, "train"), (33, "dev"), (44, "test")):
        rows += [f"{number}_ab.jpg,a dog,{split}"] + [f"{number}_ab.jpg,a brown dog,{split}"] * (number != 22)
    (tmp_path / "pets.csv").write_text("\n".join(rows) + "\n")
    return tmp_path / "pets.csv"


def no_features(paths: Sequence[Path]) -> Any:
    pytest.fail("no features are needed")


class TestReading:
    def test_missing_pictures_are_refused_before_features_are_computed(self, table: Path) -> None:
        with pytest.raises(SeesayError, match=r"2 of 2 images of .*pets\.csv \(train\) are missing\n.*data check"):
            read_source(SourceRecipe(str(table)), no_features)
        with pytest.raises(SeesayError, match=r"1 of 1 images of .* \(dev\) are missing"):
            read_source(DevRecipe(str(table)), no_features)

    def test_sentences_alone_need_no_pictures_and_two_sentences(self, table: Path) -> None:
        alone = read_source(SourceRecipe(str(table), sentences_only=True, weight=0.5), no_features)
        assert [item.name for item in alone.collection.items] == ["11_ab.jpg"]
        assert (alone.table, alone.weight, alone.image_of.tolist()) == (None, 0.5, [0, 0])
        assert alone.lengths.tolist() == [2]

    def test_all_splits_may_be_learned_from_together(self, table: Path) -> None:
        everything = read_source(SourceRecipe(str(table), split="all", sentences_only=True), no_features)
        assert [item.split for item in everything.collection.items] == ["train", "dev", "test"]

    def test_a_source_with_nothing_in_it_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "single.csv").write_text("image,sentence,split\na.jpg,a dog,train\n")
        with pytest.raises(SeesayError, match=r"single\.csv has nothing to learn from in 'train'"):
            read_source(SourceRecipe(str(tmp_path / "single.csv"), sentences_only=True), no_features)

    def test_an_unknown_split_is_answered_with_those_that_exist(self, table: Path) -> None:
        with pytest.raises(SeesayError, match=r"has no split 'nothing'\n  allowed: train, dev, test"):
            read_source(SourceRecipe(str(table), split="nothing"), no_features)

    def test_photos_that_another_collection_is_measured_on_are_left_out(self, table: Path, tmp_path: Path) -> None:
        rows = ["image,sentence,split"]
        for number in (11, 33, 44, 55):  # as Flickr30K and Entities name the same photos
            rows += [f"{number}.jpg,a dog,train", f"{number}.jpg,a brown dog,train"]
        (tmp_path / "more.csv").write_text("\n".join(rows) + "\n")
        recipe = SourceRecipe(str(tmp_path / "more.csv"), sentences_only=True, without=str(table))
        kept = read_source(recipe, no_features).collection
        assert [item.name for item in kept.items] == ["11.jpg", "55.jpg"]

    def test_names_without_a_number_are_compared_whole(self) -> None:
        def named(**splits: str) -> Collection:
            items = tuple(Item(f"{name}.jpg", None, ("a dog",), split) for name, split in splits.items())
            return Collection("x", Path("x"), "CSV or JSONL", items)

        measured = named(red_1="train", red_2="dev", blue="test")
        kept = leave_out_measured(named(red_1="train", red_2="train", red_3="train", blue="train"), measured)
        assert [item.name for item in kept.items] == ["red_1.jpg", "red_3.jpg"]
        assert same_photo("00/11") != same_photo("00/12")


def test_flickr30ks_sentences_without_flickr8ks_measured_photos(shared_data: Path) -> None:
    names = [path.name for path in (shared_data / "flickr30k_entities" / "Sentences").iterdir()]
    items = tuple(Item(name, None, ("a dog",)) for name in names)
    kept = leave_out_measured(Collection("flickr30k", shared_data, "text", items), data.load("flickr8k"))
    assert (len(items), len(kept)) == (31_783, 31_783 - 2_000)


class Table:
    """As many rows as a source has pictures; nothing is read from them here."""

    def __init__(self, n: int) -> None:
        self.n = n

    def __len__(self) -> int:
        return self.n


def made_up(counts: Sequence[int], *, with_pictures: bool = True, weight: float = 1.0) -> Examples:
    """As many pictures as there are counts, each with so many sentences of one to four words."""
    items = [
        Item(f"{number}.jpg", None, tuple(f"{'a ' * place}dog" for place in range(count)), "train")
        for number, count in enumerate(counts)
    ]
    collection = Collection("made up", Path("nowhere"), "CSV or JSONL", tuple(items))
    table: Any = Table(len(counts)) if with_pictures else None
    return Examples.of(collection, table, weight)


class TestExamples:
    def test_every_sentence_knows_its_picture(self) -> None:
        source = made_up([2, 1, 3])
        assert source.image_of.tolist() == [0, 0, 1, 2, 2, 2]
        assert source.first_of.tolist() == [0, 2, 3]
        assert source.sentences == ["dog", "a dog", "dog", "dog", "a dog", "a a dog"]

    def test_the_length_of_an_example_is_that_of_a_sentence_or_of_a_pictures_first(self) -> None:
        assert made_up([2, 1, 3]).lengths.tolist() == [1, 2, 1, 1, 2, 3]
        assert made_up([2, 1, 3], with_pictures=False).lengths.tolist() == [1, 1, 1]

    def test_the_first_pictures_keep_their_sentences(self) -> None:
        whole = made_up([2, 1, 3], with_pictures=False, weight=0.5)
        few = whole.first(2)
        assert few.sentences == whole.sentences[:3]
        assert few.image_of.tolist() == [0, 0, 1]
        assert (few.weight, few.table, len(few.collection)) == (0.5, None, 2)


class TestBatches:
    @pytest.fixture
    def recipe(self) -> Recipe:
        return Recipe.from_dict(
            {
                "name": "toy",
                "model": "vse",
                "seed": 3,
                "data": {"train": [{"source": "made up"}], "dev": {"source": "made up"}},
                "batches": {"size": 4},
                "stop": {"epochs": 2},
            }
        )

    def drawn(self, batches: SourceBatches, epoch: int = 0) -> list[tuple[int, list[int]]]:
        taken = [batches.take(epoch, index) for index in range(batches.count(epoch))]
        return [(place, examples.tolist()) for place, examples in taken]

    def test_an_epoch_takes_every_example_of_every_source_once_and_never_mixes_them(self, recipe: Recipe) -> None:
        sources = [made_up([2, 1, 3]), made_up([4, 5], with_pictures=False), made_up([3] * 3, weight=2.0)]
        batches = SourceBatches(sources, recipe)
        drawn = self.drawn(batches)
        for place, expected in enumerate(([*range(6)], [0, 1], sorted([*range(9)] * 2))):
            assert sorted(example for own, examples in drawn if own == place for example in examples) == expected
        assert max(len(examples) for _, examples in drawn) <= 4

    def test_they_are_a_function_of_seed_and_epoch(self, recipe: Recipe) -> None:
        sources = [made_up([2, 1, 3]), made_up([4, 5])]
        one, same = SourceBatches(sources, recipe), SourceBatches(sources, recipe)
        assert self.drawn(one, 1) == self.drawn(same, 1)
        assert self.drawn(one, 1) != self.drawn(one, 0)
        assert self.drawn(SourceBatches(sources, replace(recipe, seed=4)), 1) != self.drawn(one, 1)
        assert np.array_equal(one.take(5, 2)[1], same.take(5, 2)[1])


class TestLeavingOut:
    @pytest.fixture
    def described(self, tmp_path: Path) -> Path:
        rows = ["image,sentence,split"]
        for folder, number, n in (("00", 11, 1), ("00", 22, 3), ("01", 33, 3), ("01", 44, 3)):
            rows += [f"{folder}/{number}.jpg,sentence {place},train" for place in range(n)]
        (tmp_path / "photos.csv").write_text("\n".join(rows) + "\n")
        return tmp_path / "photos.csv"

    @pytest.mark.parametrize(
        ("key", "left"),
        [
            ({}, ["00/11.jpg", "00/22.jpg", "01/33.jpg", "01/44.jpg"]),
            ({"fewest_sentences": 2}, ["00/22.jpg", "01/33.jpg", "01/44.jpg"]),
            ({"fewest_sentences": 2, "at_most": 2}, ["00/22.jpg", "01/33.jpg"]),
        ],
    )
    def test_photos_with_few_sentences_and_those_beyond_a_number(
        self, described: Path, key: dict[str, int], left: list[str]
    ) -> None:
        found = read_collection(SourceRecipe(str(described), **key))
        assert [item.name for item in found.items] == left

    def test_photos_that_several_collections_are_measured_on_whatever_their_folders(
        self, described: Path, tmp_path: Path
    ) -> None:
        for name, number, split in (("one", 22, "val"), ("two", 33, "test"), ("three", 44, "train")):
            (tmp_path / f"{name}.csv").write_text(f"image,sentence,split\n{number}.jpg,a dog,{split}\n")
        without = ", ".join(str(tmp_path / f"{name}.csv") for name in ("one", "two", "three"))
        found = read_collection(SourceRecipe(str(described), without=without))
        assert [item.name for item in found.items] == ["00/11.jpg", "01/44.jpg"]
