"""Which explainers there are, whom they explain, and who is refused."""

from importlib.metadata import EntryPoint
from typing import Any

import pytest
import torch

from seesay.errors import SeesayError
from seesay.explainers import registry
from seesay.explainers.explanation import Explanation
from seesay.explainers.registry import Explainer, choose_explainer, explainer_names, explainers_of, find_explainer
from seesay.images.features import FeatureSpec
from seesay.models.identifier import Identifier, IdentifierConfig
from seesay.models.nic import NIC, NICConfig
from seesay.models.vse import VSE, VSEConfig
from seesay.text.vocabulary import Vocabulary

VOCABULARY = Vocabulary.build(["a dog"], min_count=1)


class Everywhere(Explainer):
    """Explains every model."""

    def explains(self, model: Any) -> bool:
        return True

    def explain(self, model: Any, features: Any, sentence: str) -> Explanation:
        raise NotImplementedError


@pytest.fixture
def vse() -> VSE:
    return VSE(VSEConfig(dim=8, word_dim=4, image_dim=5), VOCABULARY, FeatureSpec())


@pytest.fixture
def identifier() -> Identifier:
    torch.manual_seed(0)
    return Identifier(IdentifierConfig(dim=6, hidden=8, word_dim=4, image_dim=5), VOCABULARY, FeatureSpec())


@pytest.fixture
def everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Registered for one test."""
    monkeypatch.setattr(registry._REGISTRY, "_classes", dict(registry._REGISTRY._classes))
    registry.register_explainer("everywhere")(Everywhere)


def test_each_knows_its_name_and_the_weights_that_it_explains_by_default() -> None:
    weights = {name: find_explainer(name).weights for name in ("contrastive", "excitation", "alignment", "attention")}
    assert weights == {
        "contrastive": "identifier", "excitation": "identifier", "alignment": "vse", "attention": "smlstm",
    }  # fmt: skip
    assert [find_explainer(name).name for name in weights] == list(weights)


def test_an_unknown_explainer_is_answered_with_the_list() -> None:
    with pytest.raises(SeesayError) as caught:
        find_explainer("gaze")
    assert caught.value.what == "there is no explainer 'gaze'"
    assert {"alignment", "attention", "contrastive", "excitation"} <= set(str(caught.value.allowed).split(", "))
    assert caught.value.hint == "--method alignment"


def test_a_model_is_explained_by_those_that_it_lists_in_their_order(vse: VSE, identifier: Identifier) -> None:
    assert explainers_of(identifier) == ["contrastive", "excitation"]
    assert explainers_of(vse) == ["alignment"]


@pytest.mark.usefixtures("everywhere")
def test_an_explainer_may_explain_models_that_do_not_list_it(vse: VSE) -> None:
    assert explainers_of(vse) == ["alignment", "everywhere"]
    assert choose_explainer(vse).name == "alignment"
    assert choose_explainer(vse, "everywhere").name == "everywhere"


@pytest.mark.parametrize(
    ("method", "hint"),
    [
        ("excitation", "--method alignment, or --model identifier"),
        ("attention", "--method alignment, or --model smlstm"),
    ],
)
def test_a_model_that_cannot_be_explained_so_is_told_what_to_type(vse: VSE, method: str, hint: str) -> None:
    with pytest.raises(SeesayError, match=f"vse cannot be explained by {method}") as caught:
        choose_explainer(vse, method)
    assert (caught.value.allowed, caught.value.hint) == ("alignment", hint)


def test_a_model_without_any_explainer_is_refused() -> None:
    model = NIC(NICConfig(), VOCABULARY, FeatureSpec())
    with pytest.raises(SeesayError, match="no installed explainer explains nic") as caught:
        choose_explainer(model)
    assert caught.value.hint == "--model vse"


def test_an_explainer_that_a_model_lists_and_that_is_not_installed_is_named_with_those_that_are(
    vse: VSE, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(VSE, "explainers", ("rays",))
    with pytest.raises(SeesayError, match="vse is explained by rays, which is not installed") as caught:
        choose_explainer(vse)
    assert "alignment, attention, contrastive" in str(caught.value.allowed)
    assert caught.value.hint == "pip install the package that brings it, or --model vse"


@pytest.mark.usefixtures("everywhere")
def test_two_classes_cannot_have_one_name() -> None:
    with pytest.raises(SeesayError, match=r"registers the explainer 'everywhere', which is .*Everywhere"):
        registry.register_explainer("everywhere")(type("Other", (Everywhere,), {}))


def test_a_package_that_cannot_be_imported_is_named_and_the_others_work(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = EntryPoint("gaze", "no_such_package.gaze:Gaze", "seesay.explainers")
    own = EntryPoint("everywhere", f"{__name__}:Everywhere", "seesay.explainers")
    monkeypatch.setattr(EntryPoint, "load", lambda entry: Everywhere if entry is own else __import__("no_such_package"))
    monkeypatch.setattr("seesay.system.registry.entry_points", lambda group: [broken, own])
    for name in ("_classes", "_failures"):
        monkeypatch.setattr(registry._REGISTRY, name, dict(getattr(registry._REGISTRY, name)))
    with (
        pytest.warns(UserWarning, match="the explainer 'gaze' .* cannot be imported: ModuleNotFoundError"),
        pytest.raises(SeesayError, match="there is no explainer 'gaze'"),
    ):
        find_explainer("gaze")
    assert find_explainer("everywhere").name == "everywhere"
    assert find_explainer("alignment").name == "alignment"
    assert "gaze" not in explainer_names()
