"""What model families say about themselves, and that folders of older releases still open."""

import json
import shutil
from pathlib import Path

import pytest

from seesay.catalogue.weights import find, installed
from seesay.errors import SeesayError
from seesay.models.base import Captioner
from seesay.models.pretrained import PACKAGED, load
from seesay.models.registry import families, family_class, search_role
from seesay.training.task import task_class

OUR_FAMILIES = ("dvsa", "dvsa-captions", "eye-ear", "eye-words", "hmlstm", "identifier", "mrnn", "nic", "smlstm", "vse")
TASKS = {"retrieval", "captions", "grounding", "identification", "phrases", "attention", "correspondences"}
TABLES = Path(__file__).parents[2] / "src/seesay/evaluation/replication/tables"


def test_our_families_are_found_without_a_list_of_them() -> None:
    assert set(OUR_FAMILIES) <= set(families())


def test_an_unknown_family_is_answered_with_what_is_installed() -> None:
    with pytest.raises(SeesayError, match=r"there is no model family 'blip'\n  allowed: clip, dvsa, ") as caught:
        family_class("blip")
    assert caught.value.allowed == ", ".join(families())


@pytest.mark.parametrize("family", OUR_FAMILIES)
class TestDeclarations:
    def test_a_family_knows_its_name_and_its_configuration_has_defaults(self, family: str) -> None:
        assert family_class(family).family == family
        assert family_class(family).config_type() is not None

    def test_its_learning_task_exists(self, family: str) -> None:
        kind = family_class(family)
        assert task_class(kind.learning_task).name == kind.learning_task
        assert (kind.learning_task == "captioning") == issubclass(kind, Captioner)

    def test_what_can_be_measured_is_a_task_of_evaluation(self, family: str) -> None:
        kind = family_class(family)
        assert kind.tasks
        assert set(kind.tasks) <= TASKS
        assert ("captions" in kind.tasks) == issubclass(kind, Captioner)

    def test_its_papers_tables_exist(self, family: str) -> None:
        kind = family_class(family)
        assert not kind.paper or (TABLES / f"{kind.paper}.toml").is_file()

    def test_what_it_starts_from_are_keys_of_its_configuration_and_families(self, family: str) -> None:
        kind = family_class(family)
        for key, source in kind.starts_from.items():
            assert getattr(kind.config_type(), key) == ""
            assert source in OUR_FAMILIES


def test_weights_say_which_stage_of_search_they_can_be() -> None:
    stages = {weights.name: search_role(weights) for weights in installed()}
    assert stages["vse"] == {"stage": "first", "dim": 768}
    assert stages["mrnn"] == {"stage": "captions", "dim": 512}
    assert stages["dvsa"] == {"stage": "regions", "dim": 768}
    assert stages["identifier"] is None
    for name, search in stages.items():
        kind = family_class(find(name).about["family"])
        assert (search or {}).get("stage") == kind.stage


def copy_as_written_before(name: str, folder: Path) -> Path:
    """A copy of packaged weights under the names that config.json had in the first release."""
    copy = shutil.copytree(PACKAGED / name, folder / name)
    about = json.loads((copy / "config.json").read_text())
    del about["search"]
    if "source_weights" in about:
        about["borrowed"] = about.pop("source_weights")
    (copy / "config.json").write_text(json.dumps(about))
    return copy


def test_a_folder_that_shares_parts_under_the_older_name_opens(tmp_path: Path) -> None:
    folder = copy_as_written_before("smlstm", tmp_path)
    weights = find(folder)
    assert set(weights.about["source_weights"]) == {"vse"}
    assert "borrowed" not in weights.about
    assert search_role(weights) is None
    older, shipped = load(folder).state_dict(), load("smlstm").state_dict()
    assert older.keys() == shipped.keys()
    assert all(tensor.equal(shipped[name]) for name, tensor in older.items())


def test_the_stage_of_an_older_folder_is_that_of_its_class(tmp_path: Path) -> None:
    assert search_role(find(copy_as_written_before("mrnn", tmp_path))) == {"stage": "captions", "dim": 512}


def test_the_published_attention_opens_under_its_older_name() -> None:
    config = family_class("smlstm").config_type
    assert config(attention="printed") == config(attention="paper")
