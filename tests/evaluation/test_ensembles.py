"""An ensemble of one measures and matches as that one."""

import pytest
import torch

from seesay.catalogue.ensembles import Ensemble, Member
from seesay.evaluation import ensembles
from seesay.evaluation.ensembles import evaluate_ensemble
from seesay.evaluation.protocols import EvaluationSet
from seesay.evaluation.retrieval import evaluate_retrieval
from seesay.models import ensemble


def test_an_ensemble_of_one_measures_and_matches_as_that_one(three_images, monkeypatch: pytest.MonkeyPatch) -> None:
    model, collection, store = three_images
    for module in (ensembles, ensemble):
        monkeypatch.setattr(module, "load", lambda name: model)
    alone = Ensemble((Member("toy", 1.0, 0.0, 1.0),))
    expected = evaluate_retrieval(model, EvaluationSet(collection, store=store))
    found = evaluate_ensemble(alone, EvaluationSet(collection, store=store))
    assert found.figures == expected.figures
    assert (found.n_images, found.n_sentences) == (expected.n_images, expected.n_sentences)
    monkeypatch.setattr(type(model), "encode", lambda self, images, sentences: (None, None))
    monkeypatch.setattr(type(model), "score", lambda self, images, texts: torch.tensor([[3.0]]))
    both = Ensemble((Member("toy", 0.5, 1.0, 2.0), Member("toy", 1.0, 0.0, 1.0)))
    assert ensemble.match_together(both, "a", "b").item() == 3.5
