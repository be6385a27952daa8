"""Several matchers together: one scale, a folder of their own, and members that are the right ones."""

import json
from pathlib import Path

import numpy as np
import pytest

from seesay.catalogue.ensembles import Ensemble, Member, Scored, is_ensemble, read_ensemble
from seesay.catalogue.weights import find, installed
from seesay.errors import SeesayError
from seesay.models.pretrained import load


def test_scores_are_standardised_weighed_and_added_up() -> None:
    both = Ensemble((Member("a", 1.0, 1.0, 2.0), Member("b", 0.5, 0.0, 1.0), Member("c", 0.0, 0.0, 1.0)))
    joined = both.join([Scored(np.array(scores)) for scores in ([[3.0, 1.0]], [[4.0, 0.0]], [[np.inf, 0.0]])])
    np.testing.assert_allclose(joined, [[3.0, 0.0]])


def test_hubness_is_subtracted_by_its_own_weights() -> None:
    alone = Ensemble((Member("a", 1.0, 0.0, 2.0, of_images=0.5, of_texts=3.0),))
    joined = alone.join([Scored(np.array([[4.0, 4.0]]), np.array([2.0]), np.array([0.0, 2.0]))])
    np.testing.assert_allclose(joined, [[1.5, -1.5]])
    with pytest.raises(SeesayError, match=r"uses hubness correction, but a has no hubness\.safetensors"):
        alone.join([Scored(np.array([[4.0, 4.0]]))])


def test_a_folder_keeps_an_ensemble_as_it_was(tmp_path: Path) -> None:
    both = Ensemble((Member("vse", 1.0, 0.1, 0.2), Member("runs/dvsa/weights", 0.5, 0.0, 1.0)), "flickr8k/dev")
    both.write(tmp_path / "mine")
    assert read_ensemble(tmp_path / "mine") == both
    assert find(tmp_path / "mine").name == "mine"
    assert both.name == "vse + weights"


A_MEMBER = '{"members": [{"name": "a", "weight": %s, "mean": 0, "deviation": %s}]}'


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"members": []}', '{"members": [{"name": "a"}]}', A_MEMBER % ('"much"', 1), A_MEMBER % (1, 0),
     A_MEMBER % ("NaN", 1)],
)  # fmt: skip
def test_what_is_no_ensemble_is_refused_with_the_file_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "other.json"
    path.write_text(text)
    with pytest.raises(SeesayError, match=r"other\.json describes no ensemble"):
        read_ensemble(path)
    with pytest.raises(SeesayError, match=r"cannot read .*missing\.json"):
        read_ensemble(tmp_path / "missing.json")


def test_an_ensemble_json_of_an_older_version_still_opens(tmp_path: Path) -> None:
    path = tmp_path / "ensemble.json"
    path.write_text('{"members": [{"name": "vse", "weight": 1, "mean": 0.5, "deviation": 2}], "chosen_on": "toy/dev"}')
    assert read_ensemble(path) == Ensemble((Member("vse", 1.0, 0.5, 2.0),), "toy/dev")
    assert is_ensemble(path)


def test_the_shipped_one_has_a_folder_of_its_own_and_is_no_model() -> None:
    assert read_ensemble("shipped") == read_ensemble("ensemble")
    assert is_ensemble("shipped")
    assert not is_ensemble("vse")
    assert "ensemble" not in [weights.name for weights in installed()]
    with pytest.raises(SeesayError, match=r"is an ensemble, which can match and nothing else\n  allowed: dvsa"):
        load("ensemble")


def test_members_that_are_other_weights_than_those_it_was_chosen_for_are_refused_by_name(tmp_path: Path) -> None:
    Ensemble((Member("vse", 1.0, 0.0, 1.0),)).write(tmp_path / "mine")
    file = tmp_path / "mine" / "config.json"
    about = json.loads(file.read_text())
    file.write_text(json.dumps({**about, "tuned": {"members": {"weights": {"vse": "0" * 64}}}}))
    with pytest.raises(
        SeesayError, match=r"'members' was chosen with vse 000000000000.*\n  try: seesay tune .*mine --only ensemble"
    ):
        read_ensemble(tmp_path / "mine")
