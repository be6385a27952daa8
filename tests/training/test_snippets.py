"""Snippets: which phrases are learned, and that each is shown the region it speaks of."""

from pathlib import Path
from typing import Any

import pytest
import torch

from seesay.errors import SeesayError
from seesay.images.features import FeatureSpec
from seesay.text.trees import noun_snippets, parse
from seesay.training.recipe import Recipe, SourceRecipe
from seesay.training.run import prepare
from seesay.training.snippets import read_snippets

SPEC = FeatureSpec("efficientnet-lite0", 128)


@pytest.fixture
def things(halves: Path, tmp_path: Path) -> Path:
    """The pictures of two colours, with sentences of noun phrases."""
    rows = ["image,sentence,split"]
    for path in sorted((halves / "images").iterdir()):
        left, right = path.stem.split("_")
        split = "dev" if "white" in path.stem else "train"
        rows.append(f"{path},something {left} and something {right},{split}")
    (tmp_path / "things.csv").write_text("\n".join(rows) + "\n")
    return tmp_path / "things.csv"


@pytest.mark.parametrize(
    ("sentence", "snippets"),
    [
        ("a man in a red shirt walks two dogs", ["a man in a red shirt", "a man", "a red shirt", "two dogs"]),
        ("a dog that is running sees it", ["a dog"]),  # a clause tells a story, and "it" names nothing
        ("two dogs play", ["two dogs"]),
        ("", []),
    ],
)
def test_snippets_are_noun_phrases_that_name_something(sentence: str, snippets: list[str]) -> None:
    (tree,) = parse([sentence])
    found = [" ".join(tree.words[first:last]) for first, last in noun_snippets(tree)]
    assert found == snippets


def test_each_snippet_is_shown_its_own_side_beside_the_whole(
    things: Path, aligner_run: Path, in_colours_cache: Path
) -> None:
    source = read_snippets(SourceRecipe(str(things), snippets=str(aligner_run / "weights"), weight=0.5), SPEC)
    assert source.weight == 0.5
    assert source.table is not None
    assert len(source.sentences) == len(source.table) == len(source.image_of)
    first = source.collection.items[0].name
    sides = {text: row for row, text in enumerate(source.sentences[:3])}
    rows = source.table.rows(list(sides.values()))
    assert rows.parts is not None
    assert (rows.parts.shape[1], rows.pooled.shape) == (1, (3, 1280))
    assert torch.equal(rows.pooled[0], rows.pooled[1]), first  # of one picture
    assert not torch.allclose(rows.parts[1], rows.parts[2])  # but other parts of it


def test_a_captioner_learns_from_both_and_counts_words_once(
    things: Path, aligner_run: Path, in_colours_cache: Path
) -> None:
    weights = str(aligner_run / "weights")
    recipe: dict[str, Any] = {
        "name": "both", "model": "dvsa-captions", "config": {"embedding": 4, "hidden": 4},
        "features": {"backbone": "efficientnet-lite0", "size": 128},
        "data": {
            "min_count": 1, "dev": {"source": str(things)},
            "train": [{"source": str(things)}, {"source": str(things), "snippets": weights}],
        },
        "stop": {"epochs": 1, "metric": "perplexity", "mode": "min"},
    }  # fmt: skip
    task = prepare(Recipe.from_dict(recipe))
    whole, snippets = task.sources
    assert task.model.vocabulary.counts[task.model.vocabulary.encode("red")[0]] == sum(
        "red" in text for text in whole.sentences
    )
    assert set(snippets.sentences) != set(whole.sentences)
    for place in range(task.n_batches(0)):
        assert torch.isfinite(task.loss(task.batch(0, place), 0, 1).total)  # type: ignore[arg-type]


def test_an_aligner_that_sees_other_features_is_refused(
    things: Path, aligner_run: Path, in_colours_cache: Path
) -> None:
    recipe = SourceRecipe(str(things), snippets=str(aligner_run / "weights"))
    with pytest.raises(SeesayError, match="sees efficientnet-lite0-128"):
        read_snippets(recipe, FeatureSpec("efficientnet-lite0", 64))
    with pytest.raises(SeesayError, match="need images"):
        read_snippets(SourceRecipe(str(things), sentences_only=True, snippets="x"), SPEC)


def test_recipes_without_snippets_keep_their_fingerprints() -> None:
    table = {
        "name": "x", "model": "vse", "data": {"train": [{"source": "a"}], "dev": {"source": "a"}},
        "stop": {"epochs": 1},
    }  # fmt: skip
    plain = Recipe.from_dict(table)
    assert "snippets" not in plain.to_dict()["data"]["train"][0]
    table["data"] = {"train": [{"source": "a", "snippets": "dvsa"}], "dev": {"source": "a"}}
    assert Recipe.from_dict(table).to_dict()["data"]["train"][0]["snippets"] == "dvsa"
    assert Recipe.from_dict(table).fingerprint() != plain.fingerprint()
