"""Sweeps: every file in benchmarks/ablations says what can be trained, and a run of one trains each recipe once."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.ablations import sweep as program
from benchmarks.ablations.sweep import Measure, Sweep, Variant, choose_variants
from benchmarks.runs import train as train_for_real
from seesay.errors import SeesayError
from seesay.evaluation.replication.papers import rows as published_rows
from seesay.evaluation.tasks import TASKS
from seesay.models.base import Weights
from seesay.training.events import DivergedError
from seesay.training.recipe import Recipe, read_recipe

FILES = sorted((program.ROOT / "benchmarks/ablations").glob("*.toml"))


def test_there_is_a_file_for_each_recorded_sweep() -> None:
    results = {Sweep.read(path).result for path in FILES}
    assert results == {
        "alignment_ablations",
        "alignment_objectives",
        "attention_ablations",
        "caption_words",
        "eye_seeds",
        "hmlstm_ablations",
        "region_captions",
        "wirings",
        "wirings_sgd",
    }
    assert all((program.ROOT / f"benchmarks/results/{name}.json").is_file() for name in results)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_variant_is_a_recipe_and_every_measure_a_task(path: Path) -> None:
    sweep = Sweep.read(path)
    base = read_recipe(program.ROOT / f"recipes/{sweep.recipe}.toml")
    for variant in sweep.variants:
        recipe = read_recipe(program.ROOT / f"recipes/{sweep.recipe}.toml", variant.set)
        assert recipe.model == base.model
    assert len({variant.folder for variant in sweep.variants}) == len(sweep.variants)
    assert all(measure.task in (*TASKS, "phrase-perplexity") for measure in sweep.measures)
    groups = {variant.group for variant in sweep.variants}
    assert {group for measure in sweep.measures for group in measure.groups} <= groups
    published = {row.method for row in published_rows("captions", "flickr30k", ablations=True) if row.ablation}
    assert {variant.published for variant in sweep.variants if variant.published} <= published


@pytest.fixture
def recipes(
    colours_recipe: dict[str, Any], in_colours_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """Where sweeps find the recipe `colours`."""
    (tmp_path / "recipes").mkdir()
    (tmp_path / "recipes/colours.toml").write_text(Recipe.from_dict(colours_recipe).to_toml())
    monkeypatch.setattr(program, "ROOT", tmp_path)
    return tmp_path / "recipes"


def test_a_run_trains_each_recipe_once_and_measures_what_its_group_asks_for(
    recipes: Path, colours: Path, tmp_path: Path
) -> None:
    sweep = Sweep(
        recipe="colours",
        result="toy",
        data=str(colours),
        set=("stop.epochs=1",),
        measures=(
            Measure("dev", "retrieval", "dev"),
            Measure("mean", "retrieval", "dev", set=("config.text_pooling=mean",), groups=("a",)),
        ),
        variants=(Variant("base", group="a"), Variant("same", group="b"), Variant("small", ("config.dim=8",), "a")),
        together={"name": "both", "group": "a", "split": "test"},
    )
    rows = program.run(sweep, list(sweep.variants), tmp_path / "runs", [], None)
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == ["a-base", "a-small"]
    assert [row["variant"] for row in rows] == ["base", "same", "small", "both"]
    assert rows[0]["dev"] == rows[1]["dev"]
    assert ["mean" in row for row in rows] == [True, False, True, False]
    assert rows[3]["test"].keys() == {"i2t", "t2i", "sum"}
    assert rows[2]["changes"] == ["config.dim=8"]


def test_variants_start_from_what_was_trained_first(recipes: Path, colours: Path, tmp_path: Path) -> None:
    sweep = Sweep(
        recipe="colours",
        result="toy",
        data=str(colours),
        start={"recipe": "colours", "set": ("stop.epochs=2",)},
        set=("stop.epochs=1",),
        measures=(Measure("dev", "retrieval", "dev"),),
        variants=(Variant("one", group="a"), Variant("two", ("seed=2",), "a"), Variant("one", ("seed=0",), "b")),
    )
    rows = program.run(sweep, list(sweep.variants), tmp_path / "runs", [], None)
    runs = {path.name: read_recipe(path / "recipe.toml") for path in (tmp_path / "runs").iterdir()}
    assert {name: recipe.seed for name, recipe in runs.items()} == {"start": 0, "a-one": 0, "a-two": 2}
    assert runs["start"].stop.epochs == 2
    assert runs["a-two"].config["start_from"] == str(tmp_path / "runs/start/weights")
    assert rows[0]["dev"] == rows[2]["dev"]
    found = program.summarise_seeds(rows, "dev")["a"]
    sums = [row["dev"]["sum"] for row in rows[:2]]
    assert found == {"n": 2, "mean": sum(sums) / 2, "lowest": min(sums), "highest": max(sums)}


def test_seeds_of_captioners_are_compared_by_perplexity() -> None:
    rows = [{"group": "a", "captions": {"perplexity": value, "bleu1": 0.5}} for value in (18.0, 19.0, 20.0)]
    assert program.summarise_seeds(rows, "captions")["a"] == {"n": 3, "mean": 19.0, "lowest": 18.0, "highest": 20.0}


def test_figures_that_training_left_are_not_measured_again() -> None:
    figures = {"i2t": {"r1": 1.0}, "t2i": {"r1": 2.0}, "sum": 3.0}
    about = {"figures": {"flickr8k/dev": {**figures, "date": "2026-11-18"}}}
    weights = Weights(Path("nowhere"), about)
    sweep = Sweep("x", "x", "flickr8k", (), ())
    assert program._measured_in_training(Measure("dev", "retrieval", "dev"), weights, sweep) == figures
    for other in (
        Measure("dev", "retrieval", "test"),
        Measure("dev", "captions", "dev"),
        Measure("dev", "retrieval", "dev", set=("config.text_pooling=mean",)),
    ):
        assert program._measured_in_training(other, weights, sweep) is None


def test_a_finished_run_is_not_measured_again_unless_something_else_is_asked(
    recipes: Path, colours: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measures = (Measure("dev", "retrieval", "dev"), Measure("test", "retrieval", "test"))
    sweep = Sweep("colours", "toy", str(colours), measures, (Variant("base"),), set=("stop.epochs=1",))
    once = program.run(sweep, list(sweep.variants), tmp_path / "runs", [], None)
    measured = []
    real = Measure.of

    def of(measure: Measure, *arguments: Any) -> dict[str, Any]:
        measured.append(measure.name)
        return real(measure, *arguments)

    monkeypatch.setattr(Measure, "of", of)
    assert program.run(sweep, list(sweep.variants), tmp_path / "runs", [], None) == once
    assert measured == []
    fewer = replace(sweep, measures=measures[1:])
    (row,) = program.run(fewer, list(sweep.variants), tmp_path / "runs", [], None)
    assert row["test"] == once[0]["test"]
    assert measured == ["test"]


def test_runs_that_have_ended_are_recorded_without_training_the_others(
    recipes: Path, colours: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    variants = (Variant("one"), Variant("two", ("seed=2",)))
    sweep = Sweep(
        "colours", "toy", str(colours), (Measure("dev", "retrieval", "dev"),), variants, set=("stop.epochs=1",)
    )
    once = program.run(sweep, [variants[0]], tmp_path / "runs", [], None)

    def train(recipe: Recipe, folder: Path) -> Weights:
        raise AssertionError(folder)

    monkeypatch.setattr(program, "train", train)
    assert program.run(sweep, list(variants), tmp_path / "runs", [], None, only_finished=True) == once
    assert not (tmp_path / "runs/two").exists()


def test_a_run_that_diverges_is_a_result_of_a_variant_that_may(
    recipes: Path, colours: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    too_fast = ("optimiser.name=sgd",)

    tried = []

    def train(recipe: Recipe, folder: Path) -> Weights:
        tried.append(folder.name)
        if recipe.optimiser.name == "sgd":
            folder.mkdir(parents=True, exist_ok=True)
            raise DivergedError("the loss became inf in epoch 1; the last good state is kept")
        return train_for_real(recipe, folder)

    monkeypatch.setattr(program, "train", train)
    sweep = Sweep(
        recipe="colours",
        result="toy",
        data=str(colours),
        set=("stop.epochs=1",),
        measures=(Measure("dev", "retrieval", "dev"),),
        variants=(Variant("base", may_diverge=True), Variant("too fast", too_fast, may_diverge=True)),
    )
    base, diverged = program.run(sweep, list(sweep.variants), tmp_path / "runs", [], None)
    assert (base["finished"], diverged["finished"]) == (1, 0)
    assert "dev" in base
    assert "dev" not in diverged
    assert diverged["diverged"] == ["the loss became inf in epoch 1"]
    assert program.run(sweep, list(sweep.variants), tmp_path / "runs", [], None) == [base, diverged]
    assert tried == ["base", "too-fast"]  # neither is tried again
    with pytest.raises(DivergedError):
        program.run(sweep, [Variant("too fast", too_fast)], tmp_path / "again", [], None)


def test_runs_that_diverged_do_not_count_and_their_group_keeps_its_place() -> None:
    rows = [
        {"group": "slow", "captions": {"perplexity": 90.0}},
        {"group": "fast", "diverged": ["the loss became nan"]},
        {"group": "slow", "captions": {"perplexity": 80.0}},
        {"group": "middling", "captions": {"perplexity": 70.0}},
        {"group": "middling", "diverged": ["the loss became nan"]},
    ]
    assert program.summarise_seeds(rows, "captions") == {
        "slow": {"n": 2, "mean": 85.0, "lowest": 80.0, "highest": 90.0},
        "fast": {"n": 0},
        "middling": {"n": 1, "mean": 70.0, "lowest": 70.0, "highest": 70.0},
    }


def test_unknown_variants_and_keys_are_named(tmp_path: Path) -> None:
    sweep = Sweep.read(FILES[0])
    with pytest.raises(SeesayError, match=f"{sweep.result} has no 'nothing'"):
        choose_variants(sweep, ["nothing"], None)
    (tmp_path / "odd.toml").write_text(
        'recipe = "x"\nresult = "x"\ndata = "x"\nmeasures = []\nvariants = []\nodd = 1\n'
    )
    with pytest.raises(SeesayError, match=r"odd\.toml is no sweep.*odd"):
        Sweep.read(tmp_path / "odd.toml")
