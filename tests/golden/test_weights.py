"""Every shipped weights folder on photos of Flickr8K's test split, against the figures that it had before."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import seesay as package

CAPTIONERS = ("mrnn", "mrnn-flickr8k", "mrnn-iapr", "dvsa-captions")
# A hundred photos, or as many as those that compare every pair for themselves look at in a few seconds.
RETRIEVAL = {"eye": 100, "vse": 100, "dvsa": 100, "hmlstm": 100, "smlstm": 30, "identifier": 30}
FIGURES = ("captions", "i2t", "t2i", "sum", "grounding", "identification", "protocol")


@pytest.fixture
def measure(shared_data: Path, seesay: Callable[..., Any], golden: Callable[[str, str], None]) -> Callable[..., None]:
    """Evaluate weights on the first test photos, and compare their figures with the golden file of a name."""

    def compare(name: str, *arguments: object) -> None:
        finished = seesay("evaluate", *arguments, "--data", shared_data / "flickr8k", "--split", "test", "--json")
        assert finished.code == 0, finished.err
        report = json.loads(finished.out)
        golden(f"weights-{name}", json.dumps({key: report[key] for key in FIGURES if key in report}, indent=2))

    return compare


def test_all_shipped_weights_are_measured() -> None:
    shipped = {path.parent.name for path in (Path(package.__file__).parent / "weights").glob("*/config.json")}
    assert shipped == {*CAPTIONERS, *RETRIEVAL, "ensemble"}  # whose scores the golden file of match --ensemble holds


@pytest.mark.parametrize("name", RETRIEVAL)
def test_matchers_find_as_much(name: str, measure: Callable[..., None]) -> None:
    measure(name, name, "--limit", RETRIEVAL[name])


@pytest.mark.parametrize("name", CAPTIONERS)
def test_captioners_say_the_same(name: str, measure: Callable[..., None]) -> None:
    measure(f"{name}-captions", name, "--task", "captions", "--beam", 1, "--limit", 20)


def test_a_captioner_finds_as_much(measure: Callable[..., None]) -> None:
    measure("mrnn", "mrnn", "--task", "retrieval", "--limit", 20)


@pytest.mark.parametrize("name", ["dvsa", "hmlstm"])
def test_phrases_are_found_in_the_same_places(name: str, measure: Callable[..., None], shared_data: Path) -> None:
    entities = shared_data / "flickr30k_entities"
    measure(f"{name}-grounding", name, "--task", "grounding", "--entities", entities, "--limit", 10)
