"""The eye learns with a sentence encoder over whole words: what learns, what a batch is, and that runs are resumed."""

import json
import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from seesay.models.pretrained import find, load
from seesay.training.eye.words import EyeWordsTask
from seesay.training.loop import TrainingInterruptedError
from seesay.training.recipe import Recipe, apply_overrides
from seesay.training.run import prepare, run_recipe

pytestmark = pytest.mark.usefixtures("in_colours_cache")


@pytest.fixture(scope="module")
def recipe(colours_recipe: dict[str, Any]) -> dict[str, Any]:
    """A recipe in which an eye learns the colours with words that start from nothing, and words with each other."""
    source = colours_recipe["data"]["train"][0]["source"]
    config = {"dim": 16, "word_dim": 8, "dropout": 0.1, "eye_rate": 0.05, "n_captions": 2, "mirrors": True}
    return colours_recipe | {
        "name": "eye-colours",
        "model": "eye-words",
        "config": {**config, "smallest_view": 0.75},
        "data": {**colours_recipe["data"], "train": [{"source": source}, {"source": source, "sentences_only": True}]},
        "optimiser": {"name": "adamw", "rate": 0.01, "clip_norm": 2.0, "ema": 0.8},
        "stop": {"epochs": 30, "evaluate_every": 15},
    }


def prepared(table: dict[str, Any], *overrides: str) -> EyeWordsTask:
    task = prepare(Recipe.from_dict(apply_overrides(table, overrides)))
    assert isinstance(task, EyeWordsTask)
    return task


def of_source(task: EyeWordsTask, source: int) -> Any:
    """The first batch of a source."""
    found = (task.batch(0, index) for index in range(task.n_batches(0)))
    return next(batch for batch in found if batch.source == source)


def log_of(folder: Path) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    return [{key: value for key, value in line.items() if key != "seconds"} for line in lines]


def test_colours_are_learned_and_known_in_other_pictures(recipe: dict[str, Any], tmp_path: Path) -> None:
    run_recipe(Recipe.from_dict(recipe), tmp_path)
    assert find(tmp_path / "weights").figures["colours/dev"]["sum"] > 550
    pictures = [Image.new("RGB", (30, 30), colour) for colour in ("red", "blue", "yellow")]
    scores = load(tmp_path / "weights").match(
        pictures, ["a red picture.", "everything here is blue", "a yellow picture."]
    )
    assert scores.argmax(1).tolist() == [0, 1, 2]


def test_a_run_stopped_in_the_middle_ends_with_the_same_log_and_weights(recipe: dict[str, Any], tmp_path: Path) -> None:
    def interrupt(event: Any) -> None:
        if event.kind == "step" and event.step == 7:
            os.kill(os.getpid(), signal.SIGINT)

    short = Recipe.from_dict(apply_overrides(recipe, ["stop.epochs=4", "stop.evaluate_every=2"]))
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    run_recipe(short, whole)
    with pytest.raises(TrainingInterruptedError):
        run_recipe(short, stopped, on_event=interrupt)
    run_recipe(short, stopped)
    assert log_of(stopped) == log_of(whole)
    first, second = ((run / "weights/model.safetensors").read_bytes() for run in (whole, stopped))
    assert first == second


@pytest.mark.parametrize("learns", [True, False])
def test_photos_teach_the_eye_where_it_learns(recipe: dict[str, Any], learns: bool) -> None:
    task = prepared(recipe, f"config.learns_eye={str(learns).lower()}")
    task.loss(of_source(task, 0), 0, 1).total.backward()
    moved = {name.split(".")[0] for name, weight in task.model.named_parameters() if weight.grad is not None}
    assert moved == {"embedding", "encoder", "project"} | ({"upper"} if learns else set())


def test_a_frozen_eye_sees_the_same_batches(recipe: dict[str, Any]) -> None:
    learning, frozen = prepared(recipe), prepared(recipe, "config.learns_eye=false")
    for index in range(learning.n_batches(0)):
        one, other = learning.batch(0, index), frozen.batch(0, index)
        assert one.texts == other.texts
        assert (one.images == other.images).all()
        assert one.view.share == other.view.share
    logs = []
    for task in (learning, frozen):
        torch.manual_seed(0)
        logs.append(task.loss(of_source(task, 0), 0, 1).logs)
    assert logs[0] == logs[1]


def test_captions_alone_find_the_others_of_their_photo(recipe: dict[str, Any]) -> None:
    task = prepared(recipe)
    task.model.eval()
    batch = of_source(task, 1)
    first, rest = batch.without_first_captions()
    assert first == batch.texts[::2]
    assert rest.texts == batch.texts[1::2]
    assert rest.owners.tolist() == list(range(len(batch.images)))
    scores = task.eye.encode_texts(first) @ task.eye.encode_texts(rest.texts).T
    own = np.arange(len(first))
    wanted = task._loss(scores, torch.from_numpy(own[:, None] == own))
    assert task.loss(batch, 0, 1).logs["loss"] == pytest.approx(float(wanted.detach()), rel=1e-5)


def test_hubness_stands_beside_the_weights(recipe: dict[str, Any], tmp_path: Path) -> None:
    task = prepared(recipe)
    task.save_extras(tmp_path)
    assert list(tmp_path.iterdir())
