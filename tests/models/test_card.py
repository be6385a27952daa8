"""A card says in plain words what config.json says in keys."""

from pathlib import Path
from typing import Any

import pytest

from seesay.catalogue.figures import summarise
from seesay.catalogue.weights import PACKAGED, read_about
from seesay.models.card import TERMS, write_card

ABOUT: dict[str, Any] = {
    "name": "small",
    "family": "vse",
    "features": {"backbone": "efficientnet-lite2", "size": 260},
}
DATA = [
    {"name": "flickr8k", "split": "train", "n_images": 6000, "n_sentences": 30000},
    {"name": "flickr30k_entities", "split": "all", "n_images": 0, "n_sentences": 148915},
    {"name": "holidays", "split": "train", "n_images": 12, "n_sentences": 12},
]
FIGURES = {
    "flickr8k/test": {
        "i2t": {"r1": 28.2, "r5": 58.5, "r10": 72.7, "median": 4.0},
        "t2i": {"r1": 23.9, "r5": 52.5, "r10": 65.4, "median": 5.5},
        "sum": 301.2,
        "date": "2025-01-02T03:04:05+00:00",
    }
}


def test_it_says_what_was_learned_from_and_under_which_terms() -> None:
    card = write_card(ABOUT | {"data": DATA})
    assert f"| flickr8k | train | 6,000 | 30,000 | {TERMS['flickr8k']} |" in card
    assert f"| flickr30k_entities | all | none, sentences only | 148,915 | {TERMS['flickr30k_entities']} |" in card
    assert "| holidays | train | 12 | 12 | as its owner says |" in card


@pytest.mark.parametrize(
    ("name", "term"), [("flickr8k", "research use"), ("iapr", "research use"), ("coco", "CC BY 4.0")]
)
def test_the_terms_of_the_published_collections_are_known(name: str, term: str) -> None:
    assert term in TERMS[name]


def test_it_gives_the_measured_figures_and_the_command_that_measures_again() -> None:
    card = write_card(ABOUT | {"figures": FIGURES})
    assert "| flickr8k/test | 28.2 / 58.5 / 72.7 / 4 | 23.9 / 52.5 / 65.4 / 5.5 | 301.2 | 2025-01-02 |" in card
    assert "`seesay evaluate small --data DATA --split SPLIT`" in card


CAPTIONS = {
    "perplexity": 20.512, "bleu1": 0.6123, "bleu2": 0.43, "bleu3": 0.3, "bleu4": 0.2149, "cider": 0.557,
    "rouge_l": 0.4, "meteor": None, "decoding": "beam 3",
}  # fmt: skip


def test_captions_and_retrieval_have_a_table_each() -> None:
    figures = {"flickr8k/test": {**FIGURES["flickr8k/test"], "captions": CAPTIONS}}
    card = write_card(ABOUT | {"figures": figures})
    assert "| flickr8k/test | beam 3 | 20.51 | .612 / .430 / .300 / .215 | .557 | .400 | 2025-01-02 |" in card
    assert "| flickr8k/test | 28.2 / 58.5 / 72.7 / 4 | 23.9 / 52.5 / 65.4 / 5.5 | 301.2 | 2025-01-02 |" in card
    alone = write_card(ABOUT | {"figures": {"flickr8k/test": {"captions": CAPTIONS}}})
    assert "| flickr8k/test | beam 3 |" in alone
    assert "R@1" not in alone


def test_a_summary_says_what_was_measured() -> None:
    report = FIGURES["flickr8k/test"]
    assert summarise(report) == "Sum 301.2"
    assert summarise({"captions": CAPTIONS}) == "perplexity 20.5, BLEU-4 .215, CIDEr .557"
    assert summarise({**report, "captions": CAPTIONS}) == "perplexity 20.5, BLEU-4 .215, CIDEr .557, Sum 301.2"


def test_it_says_what_the_model_is_bad_at_and_how_it_was_made() -> None:
    made = {
        "recipe": {"name": "vse-small"},
        "recipe_fingerprint": "0123456789abcdef",
        "trained": "2025-01-02",
        "seed": 7,
    }
    card = write_card(ABOUT | made)
    assert "A `vse` model on efficientnet-lite2 features of 260 × 260 pixels." in card
    assert "Counting, left and right" in card
    assert "Trained on 2025-01-02 with seed 7, recipe `vse-small` (0123456789ab)." in card


def test_a_part_that_is_not_known_is_left_out() -> None:
    card = write_card(ABOUT)
    assert "## Training data" not in card
    assert "## Measured" not in card


def test_it_says_what_it_stands_on_and_what_was_taken_out() -> None:
    card = write_card({**ABOUT, "source_weights": {"vse": "12ab", "dvsa": "34cd"}, "pruned": {"min_count": 8}})
    assert "with `vse` and `dvsa`" in card
    assert "fewer than 8 times" in card
    assert "shares the parts" not in write_card(ABOUT)


@pytest.mark.parametrize("path", sorted(PACKAGED.glob("*/config.json")), ids=lambda path: path.parent.name)
def test_the_cards_that_ship_say_what_their_config_says(path: Path) -> None:
    card = path.with_name("card.md").read_text(encoding="utf-8")
    assert card == write_card(read_about(path.parent).about), "renew it: python tools/make_cards.py"
