from collections.abc import Callable
from pathlib import Path

import pytest

from seesay.data import entities, flickr
from seesay.data.check import count_regions
from seesay.data.collection import Box, Collection
from seesay.data.entities import parse_sentence
from seesay.errors import SeesayError


def covered(collection: Collection, item: int) -> list[str]:
    """The words that the phrases of an item lie on, in its own sentences."""
    sentences = collection.items[item].sentences
    return [
        " ".join(sentences[phrase.sentence].split()[phrase.first : phrase.last])
        for phrase in collection.items[item].phrases
    ]


def test_a_folder_without_photos_is_a_collection_too(flickr30k_entities: Path) -> None:
    collection = entities.read(flickr30k_entities)
    assert [(item.name, item.image, item.split) for item in collection.items] == [
        ("11.jpg", None, "train"),
        ("22.jpg", None, "dev"),
    ]
    assert collection.items[0].sentences == ("The dog is gray .", "A dog runs .")
    assert collection.problems == ()


def test_phrases_carry_their_words_chain_and_kinds(flickr30k_entities: Path) -> None:
    collection = entities.read(flickr30k_entities)
    first = collection.items[0].phrases
    assert [(phrase.sentence, phrase.text, phrase.chain) for phrase in first] == [
        (0, "The dog", "5"),
        (0, "gray", "0"),
        (1, "A dog", "5"),
    ]
    assert collection.items[1].phrases[0].kinds == ("animals", "other")
    assert covered(collection, 0) == ["The dog", "gray", "A dog"]


def test_boxes_are_fractions_counted_from_pixel_one_to_the_last_pixel(flickr30k_entities: Path) -> None:
    """Pixels 1..100 of 200 are the left half; the box drawn around two chains is there for each."""
    items = entities.read(flickr30k_entities).items
    assert items[0].boxes == (Box("5", 0.0, 0.1, 0.5, 0.6), Box("6", 0.0, 0.1, 0.5, 0.6))
    assert items[1].boxes == (Box("7", 0.5, 0.0, 1.0, 1.0),)
    assert (items[0].scenes, items[0].boxless) == ({"8"}, {"8"})


def test_photos_are_found_under_the_names_of_either_flickr_collection(
    flickr30k_entities: Path, flickr8k: Path, tmp_path: Path, paint: Callable[..., Path]
) -> None:
    with_8k = entities.read(flickr30k_entities, images=flickr8k)
    assert [item.image and item.image.name for item in with_8k.items] == ["11_aa.jpg", "22_bb.jpg"]
    paint(tmp_path / "30k" / "11.jpg")
    with_30k = entities.read(flickr30k_entities, images=tmp_path / "30k")
    assert [item.image and item.image.name for item in with_30k.items] == ["11.jpg", None]
    assert [(problem.kind, problem.thing) for problem in with_30k.problems] == [("missing image", "22.jpg")]


def test_attach_lays_phrases_on_reordered_and_respelt_sentences(flickr8k: Path, flickr30k_entities: Path) -> None:
    collection = entities.attach(flickr.read(flickr8k), flickr30k_entities)
    assert collection.items[0].sentences == ("A dog runs .", "The dog is grey .")
    assert [phrase.sentence for phrase in collection.items[0].phrases] == [0, 1, 1]
    assert covered(collection, 0) == ["A dog", "The dog", "grey"]
    assert [phrase.text for phrase in collection.items[0].phrases] == ["A dog", "The dog", "gray"]
    assert collection.items[0].boxes == (Box("5", 0.0, 0.1, 0.5, 0.6), Box("6", 0.0, 0.1, 0.5, 0.6))
    assert collection.items[2].boxes == collection.items[2].phrases == ()


@pytest.mark.parametrize(
    ("theirs", "ours", "expected"),
    [
        ("[/EN#5/people A blond-haired girl] runs .", "A blonde haired girl runs .", ["A blonde haired girl"]),
        ("[/EN#5/people A girl] plays on [/EN#6/scene the beach] .", "A girl plays on the", ["A girl", "the"]),
        ("[/EN#5/people A young boy] rides", "A young rides", ["A young"]),
        ("a man with [/EN#6/other a hat] sits on a bench", "a man sits on a bench", []),
        ("[/EN#5/people Two women] talk", "a", []),
    ],
)
def test_phrases_move_to_the_words_that_stand_for_them(
    tmp_path: Path, write: Callable[..., Path], theirs: str, ours: str, expected: list[str]
) -> None:
    write(tmp_path / "30k" / "Sentences" / "1.txt", theirs + "\n")
    write(tmp_path / "8k" / "Flickr8k.token.txt", f"1_a.jpg#0\t{ours}\n")
    collection = entities.attach(flickr.read(tmp_path / "8k"), tmp_path / "30k")
    assert covered(collection, 0) == expected


def test_attach_refuses_a_folder_that_is_not_entities(flickr8k: Path) -> None:
    with pytest.raises(SeesayError, match=r"does not hold Flickr30k Entities\n  allowed: .*Sentences"):
        entities.attach(flickr.read(flickr8k), flickr8k)


@pytest.mark.parametrize(
    "line",
    [
        "[/EN#5/people A dog runs .",
        "A dog] runs .",
        "[/EN#5/people A [/EN#6/people dog] runs] .",
        "[/EN#5/people ] runs",
        "[/EN#5 A dog] runs",
    ],
)
def test_unbalanced_marks_are_refused(line: str) -> None:
    with pytest.raises(ValueError, match=r"brackets make \d whole phrases"):
        parse_sentence(line)


def test_a_sentence_with_broken_marks_keeps_its_words(
    flickr30k_entities: Path, rewrite: Callable[[Path, str, str], None]
) -> None:
    rewrite(flickr30k_entities / "Sentences" / "11.txt", "The dog]", "The dog")
    collection = entities.read(flickr30k_entities)
    assert collection.items[0].sentences == ("The dog is gray .", "A dog runs .")
    assert [phrase.text for phrase in collection.items[0].phrases] == ["A dog"]
    assert [(problem.kind, problem.thing) for problem in collection.problems] == [
        ("broken phrase marks", "11.txt line 1")
    ]


def test_a_box_that_sticks_out_is_cut_to_the_picture(
    flickr30k_entities: Path, rewrite: Callable[[Path, str, str], None]
) -> None:
    rewrite(flickr30k_entities / "Annotations" / "22.xml", "<xmax>200<", "<xmax>260<")
    collection = entities.read(flickr30k_entities)
    assert collection.items[1].boxes == (Box("7", 0.5, 0.0, 1.0, 1.0),)
    assert collection.problems[0].detail == "101,1–260,100 in a photo of 200 x 100; cut to the photo"


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("<xmin>101<", "<xmin>300<", "box outside the photo"),
        ("<xmax>200<", "<xmax>50<", "box without area"),
        ("<xmax>200<", "<xmax>nan<", "broken annotation"),
        ("<xmax>200</xmax>", "", "broken annotation"),
        ("<width>200<", "<width>0<", "broken annotation"),
        ("<width>200<", "<width>wide<", "broken annotation"),
        ("</annotation>", "", "broken annotation"),
    ],
)
def test_an_impossible_box_is_left_out_and_named(
    flickr30k_entities: Path, rewrite: Callable[[Path, str, str], None], old: str, new: str, kind: str
) -> None:
    rewrite(flickr30k_entities / "Annotations" / "22.xml", old, new)
    collection = entities.read(flickr30k_entities)
    assert collection.items[1].boxes == ()
    assert [(problem.kind, problem.thing) for problem in collection.problems] == [(kind, "22.xml")]


def test_real_entities_are_counted_as_published(shared_data: Path) -> None:
    root = shared_data / "flickr30k_entities"
    collection = entities.read(root)
    assert len(collection) == 31783
    assert len(collection.sentences) == 158915
    assert collection.splits == {"train": 29783, "dev": 1000, "test": 1000}
    assert collection.problems == ()
    regions = count_regions(collection.items, root)
    assert regions is not None
    assert (regions.images, regions.boxes, regions.box_chains) == (8091, 52311, 58023)
    assert (regions.phrases, regions.phrases_with_boxes, regions.chains) == (559767, 125930, 243891)
    assert (regions.scenes, regions.boxless) == (1138, 8214)
