"""What the benchmarks of spelling, of short queries and of the gallery count."""

from benchmarks.quality import gallery, short_queries, spelling
from seesay.text.vocabulary import Vocabulary


def test_short_queries_are_taken_from_captions_by_their_words() -> None:
    words = ["a", "man", "in", "a", "red", "shirt", "is", "surfing", "with", "two", "dogs"]
    assert set(short_queries.phrases_of(words)) == {
        ("object", "man"),
        ("colour", "red shirt"),
        ("activity", "surfing"),
        ("count", "two dogs"),
    }
    assert short_queries.others_of("surfing") == []
    assert "blue shirt" in short_queries.others_of("red shirt")


def test_a_misspelt_word_is_read_as_meant_left_or_taken_for_another() -> None:
    known = Vocabulary.build(["a dog in the snow"], min_count=1)
    typos = [("dgo", "dog"), ("zeppelin", "zeppelin"), ("snwo", "show"), ("qqqqq", "snow")]
    assert spelling.tally(typos, known) == {"n": 4, "as meant": 50.0, "left": 25.0, "another": 25.0}


def test_the_gallery_counts_verdicts_and_what_nobody_judged() -> None:
    entry = {
        "data": "toy/dev",
        "photo": "a.jpg",
        "captions": [{"text": "a dog", "unsure": False}],
        "sentences": {"eye": [{"text": "a cat", "own": False}, {"text": "two dogs", "own": True}]},
    }
    verdicts = {("a.jpg", "a dog"): "half", ("a.jpg", "a cat"): "wrong"}
    assert gallery.count([entry], verdicts) == {
        "toy/dev, caption, 1": {"half": 1},
        "toy/dev, sentences, eye": {"wrong": 1, "right": 1},
        "toy/dev, caption, 1, not unsure": {"half": 1},
    }
    assert gallery.count([entry], {})["toy/dev, caption, 1"] == {gallery.UNJUDGED: 1}
