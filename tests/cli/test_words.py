"""`seesay words` on vectors that were put where they are."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from seesay.images.features import FeatureSpec
from seesay.models import pretrained
from seesay.models.mrnn import MRNN, MRNNConfig
from seesay.text.vocabulary import SPECIAL, Vocabulary

Call = Callable[..., Any]
PLACES = {"dog": (0, 0), "puppy": (0, 0.25), "cat": (0.75, 1), "kitten": (0.75, 1.5), "car": (-4, -3)}


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A captioner whose second embedding layer gives the words the places above."""
    vocabulary = Vocabulary.build([" ".join(PLACES)], min_count=1)
    config = MRNNConfig(embedding=2, recurrent=2, multimodal=2, image_dim=4, n_marginal=1)
    model = MRNN(config, vocabulary, FeatureSpec("efficientnet-lite0", 64))
    with torch.no_grad():
        model.embedding.weight.zero_()
        for row, word in enumerate(vocabulary.words[len(SPECIAL) :], len(SPECIAL)):
            model.embedding.weight[row] = torch.tensor(PLACES[word]) / 2
        model.second.weight.copy_(2 * torch.eye(2))  # what is compared is the second layer
        model.second.bias.fill_(1)
    folder = tmp_path_factory.mktemp("weights") / "pets"
    pretrained.save(folder, model, {"name": "pets", "data": [], "figures": {}})
    return folder


@pytest.fixture
def words(seesay: Call, weights: Path) -> Call:
    return lambda *arguments: seesay("words", "-m", weights, *arguments)


def test_each_word_has_its_nearest_in_a_line_of_its_own(words: Call) -> None:
    code, out, err = words("dog", "cat", "-n", 2)
    assert (code, err) == (0, "")
    rows = [line.split() for line in out.splitlines()]
    assert rows == [["dog", "puppy", "0.25", "cat", "1.25"], ["cat", "kitten", "0.50", "puppy", "1.06"]]


def test_json_holds_words_with_their_distances(words: Call, weights: Path) -> None:
    code, out, err = words("Dog!", "--n", 1, "--json")
    assert (code, err) == (0, "")
    assert json.loads(out) == {
        "model": str(weights),
        "words": [{"word": "Dog!", "nearest": [{"word": "puppy", "distance": 0.25}]}],
    }


def test_an_unknown_word_is_answered_with_close_spellings_beside_the_others(words: Call, weights: Path) -> None:
    code, out, err = words("dog", "kiten", "okapi")
    assert code == 1
    assert out.split()[:3] == ["dog", "puppy", "0.25"]
    assert err == (
        f"seesay: {weights} does not know 'kiten'; close spellings: kitten\nseesay: {weights} does not know 'okapi'\n"
    )
    code, out, err = words("kiten", "--json")
    assert (code, err) == (1, "")
    assert json.loads(out)["words"] == [{"word": "kiten", "nearest": [], "close_spellings": ["kitten"]}]


def test_several_words_in_one_are_refused_with_what_to_type(words: Call) -> None:
    code, out, err = words("hot dog")
    assert (code, out) == (2, "")
    assert err == "seesay: 'hot dog' has 2 words\n  allowed: single words\n  try: seesay words hot dog\n"
    assert words("?!")[0] == 2


def test_a_model_without_word_vectors_is_refused(seesay: Call) -> None:
    code, out, err = seesay("words", "-m", "vse", "dog")
    assert (code, out) == (2, "")
    assert "vse keeps no word vectors that could be compared\n  allowed: " in err
    assert "mrnn" in err
