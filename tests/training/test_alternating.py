"""Learning in turns: when correspondences are looked for, what counts against what, and that a run can be resumed."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from seesay.data import Collection, Item
from seesay.data.examples import Examples
from seesay.grounding import phrases as phrase_bank
from seesay.grounding.phrases import PHRASES, read_phrases
from seesay.images.features import Features, FeatureSpec
from seesay.layers.alignment_score import sum_of_max
from seesay.layers.tree_plan import plan_readings
from seesay.models.hmlstm import HMLSTM, HMLSTMConfig
from seesay.models.pretrained import load
from seesay.scoring import find_correspondences
from seesay.text import readings as _readings
from seesay.text.tokens import tokenize
from seesay.text.trees import Tree
from seesay.text.vocabulary import Vocabulary
from seesay.training.alternating import AlternatingTask, PhraseBatch, pair_loss
from seesay.training.loop import train
from seesay.training.losses import batch_softmax, hinge_hardest, hinge_sum, ranking_loss
from seesay.training.ranking import Batch
from seesay.training.recipe import LossRecipe, Recipe
from seesay.training.run import run_recipe

THINGS = ["dog", "cat", "bus", "hat", "man"]


def pairs_of_things(sentences: list[str]) -> list[Tree]:
    """ "a dog sees a cat": two noun phrases around a verb; any other sentence has no phrases."""
    trees = []
    for sentence in sentences:
        leaves = [Tree.leaf(place, word) for place, word in enumerate(sentence.split())]
        if len(leaves) == 5:
            leaves = [Tree.join("NP", leaves[:2]), leaves[2], Tree.join("NP", leaves[3:])]
        trees.append(Tree.join("S", leaves))
    return trees


@pytest.fixture(autouse=True)
def toy_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_readings, "parse", pairs_of_things)


class Table:
    """Pictures of two regions and the whole, without a store."""

    def __init__(self, n: int, seed: int = 0) -> None:
        self.parts = torch.rand(n, 3, 6, generator=torch.Generator().manual_seed(seed))
        self.keys = [f"key{number}" for number in range(n)]

    def __len__(self) -> int:
        return len(self.parts)

    def rows(self, indices: Sequence[int]) -> Features:
        parts = self.parts[list(indices)]
        return Features(parts[:, 0], None, parts)


def source(n_images: int = 8, *, sentences_only: bool = False, seed: int = 0) -> Examples:
    generator = np.random.default_rng(seed)
    items = []
    for number in range(n_images):
        first, second = generator.choice(THINGS, 2, replace=False)
        sentences = (f"a {first} sees the {second}", f"the {second} near a {first}", "nothing here")
        items.append(Item(f"{number}.jpg", None, sentences, "train"))
    collection = Collection("made up", Path("nowhere"), "CSV or JSONL", tuple(items))
    table: Any = None if sentences_only else Table(n_images, seed)
    return Examples(collection, collection.sentences, np.repeat(np.arange(n_images), 3), table)


def make_task(sources: list[Examples] | None = None, loss: str = "softmax", **config: Any) -> AlternatingTask:
    sources = sources or [source(), source(seed=1, sentences_only=True)]
    recipe = Recipe.from_dict(
        {
            "name": "toy",
            "model": "hmlstm",
            "seed": 3,
            "data": {"train": [{"source": "made up"}], "dev": {"source": "made up"}},
            "batches": {"size": 7},
            "loss": {"name": loss},
            "optimiser": {"rate": 0.01, "ema": 0.9},
            "stop": {"epochs": 4},
        }
    )
    torch.manual_seed(0)
    vocabulary = Vocabulary.build((text for part in sources for text in part.sentences), min_count=1)
    small = {"dim": 8, "hidden": 6, "word_dim": 4, "image_dim": 6, "regions": "grid-1x2", "word_vectors": ""}
    small |= {"fixed_words": False, "coarse_epochs": 1, "round_epochs": 2, "dropout": 0.1}
    model = HMLSTM(HMLSTMConfig(**(small | config)), vocabulary, FeatureSpec())
    model.initialise(0)
    return AlternatingTask(model, sources, sources[0], recipe)


class TestRounds:
    def test_the_first_epochs_rank_sentences_alone(self) -> None:
        task = make_task()
        batches = [task.batch(0, index) for index in range(task.n_batches(0))]
        assert not any(isinstance(batch, PhraseBatch) for batch in batches)
        assert (task.model.matched_confidence == 0).all()
        assert set(task.loss(batches[0], 0, 1).logs) == {"loss"}

    def test_with_parts_only_no_phrase_takes_the_whole_image(self) -> None:
        for parts_only in (False, True):
            task = make_task(parts_only=parts_only)
            task.match()
            assert bool((task.model.matched_region == 0).any()) is not parts_only

    def test_correspondences_are_looked_for_at_the_beginning_of_every_round_only(self) -> None:
        task = make_task()
        assert [task.begins_round(epoch) for epoch in range(6)] == [False, True, False, True, False, True]
        looked: list[int] = []
        task.match = lambda: looked.append(1)  # type: ignore[method-assign]
        for epoch in range(3):
            for index in range(task.n_batches(epoch)):
                task.batch(epoch, index)
        assert len(looked) == 1

    def test_every_phrase_takes_the_best_region_of_its_own_picture(self) -> None:
        task = make_task()
        task.match()
        pictures, model = task.sources[0], task.model
        assert pictures.table is not None
        place = 0
        model.eval()
        for sentence, image in zip(pictures.sentences, pictures.image_of, strict=True):
            with torch.inference_mode():
                phrases = model.encode_trees([sentence]).phrases
                scores = model.encode_images(pictures.table.rows([int(image)]))[0] @ phrases.T  # (N, P)
            for row in scores.T:
                assert int(model.matched_region[place]) == int(row.argmax())
                assert float(model.matched_confidence[place]) == pytest.approx(max(0.0, float(row.max())), abs=1e-6)
                place += 1
        assert place == len(model.matched_region) == 8 * 4

    def test_blocks_of_any_size_find_the_same(self) -> None:
        task = make_task()
        whole, parts = (find_correspondences(task.model, task.sources[0], n_images=n) for n in (64, 3))
        assert torch.equal(whole[0], parts[0])
        torch.testing.assert_close(whole[1], parts[1])

    def test_by_heat_the_region_is_chosen_that_fits_what_is_warm(self) -> None:
        """The left half is warm throughout, its middle most of all: the cosine of a part would miss the rest."""
        task = make_task([source(1)])
        model = task.model.eval()
        with torch.inference_mode():
            wanted = model.encode_trees(task.sources[0].sentences).phrases.mean(0)  # (D,)

        def encode_regions(features: Features, boxes: np.ndarray) -> torch.Tensor:
            warmth = torch.tensor([2.0, 0.0]) if len(boxes) == 2 else torch.zeros(len(boxes))
            return (warmth[:, None] * wanted)[None]

        model.encode_regions = encode_regions  # type: ignore[method-assign]
        maps: Any = Table(1)
        maps.rows = lambda indices: Features(torch.zeros(1, 6), torch.zeros(1, 1, 2, 6))
        by_cosine = find_correspondences(model, task.sources[0])
        by_heat = find_correspondences(model, task.sources[0], maps)
        assert by_heat[0].tolist() == [1] * len(by_heat[0])
        same = by_cosine[0] == 1
        torch.testing.assert_close(by_heat[1][same], by_cosine[1][same])
        assert (by_heat[1] <= by_cosine[1] + 1e-6).all()

    def test_sentences_alone_have_no_phrases_to_match(self) -> None:
        task = make_task()
        alone = [batch for i in range(task.n_batches(1)) if (batch := task.batch(1, i)).source == 1]
        assert alone
        assert not any(isinstance(batch, PhraseBatch) for batch in alone)


class TestLoss:
    @pytest.mark.parametrize("loss", ["softmax", "hinge-sum", "hinge-hardest"])
    def test_phrases_are_added_to_sentences_with_their_weight(self, loss: str) -> None:
        logs = {}
        for weight in (0.0, 2.0):
            task = make_task(loss=loss, phrase_weight=weight, dropout=0.0)
            batches = [task.batch(1, index) for index in range(task.n_batches(1))]
            batch = next(batch for batch in batches if isinstance(batch, PhraseBatch))
            logs[weight] = task.loss(batch, 0, 1).logs
        for weight, log in logs.items():
            assert log["loss"] == pytest.approx(log["sentence_loss"] + weight * log["phrase_loss"], rel=1e-5)
        assert logs[0.0]["phrase_loss"] == pytest.approx(logs[2.0]["phrase_loss"], rel=1e-5)
        assert logs[2.0]["phrase_loss"] > 0

    @pytest.mark.parametrize("loss", ["softmax", "hinge-sum"])
    def test_pictures_are_also_ranked_by_what_sentences_name(self, loss: str) -> None:
        """Every phrase has the best region of every picture, its own picture and the others."""
        task = make_task(loss=loss, bag_weight=2.0, dropout=0.0, batch_norm=False)
        batches = [task.batch(1, index) for index in range(task.n_batches(1))]
        batch = next(batch for batch in batches if isinstance(batch, PhraseBatch))
        log = task.loss(batch, 0, 1).logs
        assert log["loss"] == pytest.approx(log["sentence_loss"] + log["phrase_loss"] + 2 * log["bag_loss"], rel=1e-5)
        pictures = task.sources[0].table
        assert pictures is not None
        model = task.model
        scores = sum_of_max(
            model.encode_images(pictures.rows(batch.images.tolist())), model.encode_trees(batch.texts).bags()
        )
        own = torch.from_numpy(batch.images)
        wanted = ranking_loss(task.recipe.loss)(scores, own.unsqueeze(1) == own)
        assert log["bag_loss"] == pytest.approx(float(wanted.detach()), rel=1e-5)

    def test_regions_that_are_left_out_change_with_the_batch_and_the_whole_picture_stays(self) -> None:
        task = make_task(regions="grid-3x3", bag_weight=1.0, region_dropout=0.5)
        shown = [task._show(Batch(0, np.array([number]), [])).tolist() for number in range(5)]
        assert all(some[0] == 0 and len(set(some)) == len(some) == 5 for some in shown)
        assert len({tuple(sorted(some)) for some in shown}) > 1
        assert len(make_task(bag_weight=0.0)._show(Batch(0, np.array([1]), []))) == 0

    def test_a_batch_whose_sentences_name_nothing_learns_from_sentences(self) -> None:
        task = make_task()
        nothing = np.flatnonzero([text == "nothing here" for text in task.sources[0].sentences])
        images = task.sources[0].image_of[nothing]
        batch = PhraseBatch(0, images, ["nothing here"] * len(nothing), examples=nothing)
        assert set(task.loss(batch, 0, 1).logs) == {"loss", "sentence_loss"}

    @pytest.mark.parametrize(
        ("choice", "reference"),
        [
            (LossRecipe("hinge-sum", margin=0.3), lambda s, p: hinge_sum(s, p, 0.3)),
            (LossRecipe("hinge-hardest", margin=0.3), lambda s, p: hinge_hardest(s, p, 0.3)),
            (LossRecipe("softmax", temperature=0.2), lambda s, p: batch_softmax(s, p, 0.2)),
        ],
        ids=lambda value: getattr(value, "name", ""),
    )
    def test_pairs_of_equal_confidence_cost_what_pictures_and_sentences_would(
        self, choice: LossRecipe, reference: Any
    ) -> None:
        scores = torch.randn(6, 6, generator=torch.Generator().manual_seed(0))
        own = torch.eye(6, dtype=torch.bool)
        found = pair_loss(scores, own, torch.full((6,), 0.4), choice)
        torch.testing.assert_close(found, reference(scores, own))

    @pytest.mark.parametrize("name", ["softmax", "hinge-sum", "hinge-hardest"])
    def test_neutral_pairs_push_nothing_away(self, name: str) -> None:
        scores = torch.randn(4, 4, generator=torch.Generator().manual_seed(0), requires_grad=True)
        neutral = torch.eye(4, dtype=torch.bool)
        neutral[0, 1] = neutral[1, 0] = True
        pair_loss(scores, neutral, torch.ones(4), LossRecipe(name, margin=5.0)).backward()  # type: ignore[no-untyped-call]
        assert scores.grad is not None
        assert scores.grad[0, 1] == scores.grad[1, 0] == 0
        assert scores.grad[0, 2:].sum() > 0
        everything = torch.ones(4, 4, dtype=torch.bool)
        assert pair_loss(scores, everything, torch.ones(4), LossRecipe(name)) == 0

    def test_a_pair_without_confidence_teaches_nothing_and_none_at_all_cost_nothing(self) -> None:
        scores = torch.randn(3, 3, requires_grad=True)
        own = torch.eye(3, dtype=torch.bool)
        weighted = pair_loss(scores, own, torch.tensor([1.0, 0.0, 3.0]), LossRecipe("hinge-sum", margin=2.0))
        single = [pair_loss(scores, own, weights, LossRecipe("hinge-sum", margin=2.0)) for weights in torch.eye(3)]
        torch.testing.assert_close(weighted, (single[0] + 3 * single[2]) / 4)
        assert pair_loss(scores, own, torch.zeros(3), LossRecipe()) == 0


class TestStatistics:
    def test_they_are_those_of_the_weights_that_are_measured(self) -> None:
        """As if all calibrating batches had been one, where they have the same size."""
        task = make_task([source(7)], dropout=0.0)
        model = task.model
        norm = model.W_t.norm
        assert norm is not None
        torch.nn.init.normal_(model.tree.W.weight)
        task.calibrate(n_batches=3)
        linear = [model.W_t.linear(_states(model, task.batch(0, index).texts)) for index in range(3)]
        torch.testing.assert_close(norm.running_mean, torch.stack([rows.mean(0) for rows in linear]).mean(0))
        torch.testing.assert_close(norm.running_var, torch.stack([rows.var(0) for rows in linear]).mean(0))
        assert norm.momentum == 0.1
        assert model.training

    def test_phrases_and_regions_count_once_they_are_learned_from(self) -> None:
        task = make_task()
        task.calibrate()
        before = [norm.running_mean.clone() for norm in (task.model.W_t.norm, task.model.W_m.norm)]  # type: ignore[union-attr]
        task.match()
        task.calibrate()
        after = [norm.running_mean for norm in (task.model.W_t.norm, task.model.W_m.norm)]  # type: ignore[union-attr]
        for one, other in zip(before, after, strict=True):
            assert (one - other).abs().max() > 1e-6


def _states(model: HMLSTM, texts: list[str]) -> torch.Tensor:
    words, plan = plan_readings(model.read(texts))
    with torch.no_grad():
        return model.tree(model.embedding(torch.from_numpy(words)), plan)[plan.roots]


class TestRuns:
    def test_a_resumed_run_goes_on_with_its_correspondences(self, tmp_path: Path) -> None:
        def run(folder: Path, stop_after: int | None) -> dict[str, torch.Tensor]:
            task = make_task()
            count = 0

            def interrupt(event: Any) -> None:
                nonlocal count
                count += event.kind == "step"
                if stop_after is not None and count == stop_after:
                    raise KeyboardInterrupt

            try:
                train(task, task.recipe, folder, on_event=interrupt, save_steps=1)
            except KeyboardInterrupt:
                return run(folder, None)
            return {name: tensor.clone() for name, tensor in task.model.state_dict().items()}

        through = run(tmp_path / "through", None)
        n_batches = make_task().n_batches(0)
        # In the middle of the first round, and right at the beginning of the second.
        for number, stop_after in enumerate((n_batches + 2, 3 * n_batches + 1)):
            resumed = run(tmp_path / str(number), stop_after)
            assert through.keys() == resumed.keys()
            for name, tensor in through.items():
                assert torch.equal(tensor, resumed[name]), name

    def test_correspondences_do_not_travel_with_the_weights(self) -> None:
        task = make_task()
        assert "matched_region" in task.model.state_dict()
        task.finalize()
        assert not any(name.startswith("matched") for name in task.model.state_dict())

    def test_a_recipe_is_learned_in_turns_and_leaves_weights_that_load(
        self, colours_recipe: dict[str, Any], in_colours_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def first_two_words(sentences: list[str]) -> list[Tree]:
            leaves = [[Tree.leaf(*pair) for pair in enumerate(tokenize(sentence))] for sentence in sentences]
            return [Tree.join("S", [Tree.join("NP", words[:2]), *words[2:]]) for words in leaves]

        monkeypatch.setattr(_readings, "parse", first_two_words)
        monkeypatch.setattr(phrase_bank, "parse", first_two_words)
        config = {"dim": 16, "hidden": 16, "word_dim": 8, "word_vectors": "", "fixed_words": False}
        config |= {"regions": "grid-1x2", "coarse_epochs": 6, "round_epochs": 2}
        recipe = colours_recipe | {"name": "colours", "model": "hmlstm", "config": config, "stop": {"epochs": 10}}
        weights = run_recipe(Recipe.from_dict(recipe), tmp_path / "run")
        model = load(weights.folder)
        assert isinstance(model, HMLSTM)
        assert {phrase.text for phrase in read_phrases(weights.folder / PHRASES)} >= {"a red"}
        assert not any(name.startswith("matched") for name in model.state_dict())
        assert weights.figures["colours/dev"]["sum"] > 500
        lines = [json.loads(line) for line in (tmp_path / "run/log.jsonl").read_text().splitlines()]
        steps = [line for line in lines if line["kind"] == "steps"]
        assert [("phrase_loss" in line) for line in steps] == [line["epoch"] > 6 for line in steps]
