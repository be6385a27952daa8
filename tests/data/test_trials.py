from collections import Counter
from pathlib import Path

import pytest

from seesay.data import Collection, Item
from seesay.data.trials import GROUPS, draw_trials
from seesay.text.tokens import tokenize

CAPTIONS = [
    ("a black dog is running on the beach", "the dog runs by the sea"),
    ("two men in red shirts are sitting", "men on a bench"),
    ("a woman rides a bicycle down the street", "a bike on a road"),
    ("three cats sleeping", "a gray cat and a white cat"),
]


def collection() -> Collection:
    items = tuple(Item(f"{n}.jpg", None, captions, "dev") for n, captions in enumerate(CAPTIONS))
    return Collection("pets", Path("pets"), "CSV", items)


@pytest.mark.parametrize("seed", range(5))
def test_a_trial_replaces_one_word_by_one_of_its_group_that_nobody_said(seed: int) -> None:
    trials = draw_trials(collection(), seed=seed)
    assert trials == draw_trials(collection(), seed=seed)
    for trial in trials:
        captions = CAPTIONS[trial.item]
        assert trial.right in captions
        ((old, new),) = [
            pair for pair in zip(tokenize(trial.right), tokenize(trial.wrong), strict=True) if pair[0] != pair[1]
        ]
        assert any({old, new} <= set(group.split()) for group in GROUPS[trial.kind])
        assert new not in {word for caption in captions for word in tokenize(caption)}


def test_what_people_call_by_other_names_is_not_taken_for_absent() -> None:
    drawn = [trial for seed in range(20) for trial in draw_trials(collection(), seed=seed)]
    assert not [trial for trial in drawn if trial.item == 2 and "motorcycle" in trial.wrong]  # a bike
    assert not [trial for trial in drawn if trial.item == 0 and "jumping" in trial.wrong]
    assert not [trial for trial in drawn if trial.item == 3 and trial.kind == "colour"]  # two colours in a sentence


def test_of_each_kind_come_as_many_as_asked_for() -> None:
    counts = Counter(trial.kind for trial in draw_trials(collection(), n=1))
    assert counts == {"colour": 1, "count": 1, "object": 1, "action": 1}
