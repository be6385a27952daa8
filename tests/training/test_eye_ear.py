"""The eye and the ear learn together: what learns, what stays, what a batch holds, and that runs can be resumed."""

import json
import os
import signal
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from seesay.errors import SeesayError
from seesay.models.eye_ear import EyeEar
from seesay.models.pretrained import find, load
from seesay.training.eye_ear import EyeEarTask
from seesay.training.loop import TrainingInterruptedError
from seesay.training.recipe import Recipe, apply_overrides
from seesay.training.run import prepare, run_recipe

pytestmark = pytest.mark.usefixtures("in_colours_cache")


def prepared(table: dict[str, Any], *overrides: str) -> EyeEarTask:
    task = prepare(Recipe.from_dict(apply_overrides(table, overrides)))
    assert isinstance(task, EyeEarTask)
    return task


def log_of(folder: Path) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    return [{key: value for key, value in line.items() if key != "seconds"} for line in lines]


@pytest.fixture(scope="module")
def eye_run(eye_recipe: dict[str, Any], colours_cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("eye")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SEESAY_CACHE", str(colours_cache))
        run_recipe(Recipe.from_dict(eye_recipe), folder)
    return folder


def test_colours_are_learned_and_known_in_other_pictures(eye_run: Path) -> None:
    assert find(eye_run / "weights").figures["colours/dev"]["sum"] > 550
    model = load(eye_run / "weights")
    pictures = [Image.new("RGB", (30, 30), colour) for colour in ("red", "blue", "yellow")]
    scores = model.match(pictures, ["a red picture.", "everything here is blue", "a yellow picture."])
    assert scores.argmax(1).tolist() == [0, 1, 2]


def test_a_run_stopped_in_the_middle_ends_with_the_same_log(
    eye_run: Path, eye_recipe: dict[str, Any], tmp_path: Path
) -> None:
    def interrupt(event: Any) -> None:
        if event.kind == "step" and event.step == 7:
            os.kill(os.getpid(), signal.SIGINT)

    recipe = Recipe.from_dict(eye_recipe)
    with pytest.raises(TrainingInterruptedError):
        run_recipe(recipe, tmp_path, on_event=interrupt)
    run_recipe(recipe, tmp_path)
    assert log_of(tmp_path) == log_of(eye_run)


def test_only_the_upper_parts_learn(eye_recipe: dict[str, Any]) -> None:
    task = prepared(eye_recipe)
    task.loss(task.batch(0, 0), 0, 1).total.backward()
    moved = {name.split(".")[0] for name, weight in task.model.named_parameters() if weight.grad is not None}
    assert moved == {"upper", "classifier", "ear", "project", "project_text", "log_temperature"}
    ear = {name for name, weight in task.model.ear.named_parameters() if weight.grad is not None}
    assert ear == {name for name, _ in task.model.ear.named_parameters() if name.startswith("blocks.1.")}


def test_a_frozen_eye_stays_as_it_was(eye_recipe: dict[str, Any]) -> None:
    task = prepared(eye_recipe, "config.learns_eye=false")
    loss = task.loss(task.batch(0, 0), 0, 1)
    loss.total.backward()
    assert all(weight.grad is None for weight in task.model.upper.parameters())
    assert "classes" not in loss.logs


def test_photos_come_with_captions_of_their_own(eye_recipe: dict[str, Any]) -> None:
    task = prepared(eye_recipe)
    batch = task.batch(0, 1)
    items = task.sources[batch.source].collection.items
    assert np.bincount(batch.owners).tolist() == [2] * len(batch.images)
    for text, owner in zip(batch.texts, batch.owners, strict=True):
        assert text in items[batch.images[owner]].sentences


def test_every_photo_comes_once_an_epoch(eye_recipe: dict[str, Any]) -> None:
    task = prepared(eye_recipe)
    photos = [task.batch(0, index).images for index in range(task.n_batches(0))]
    assert sorted(np.concatenate(photos).tolist()) == list(range(32))


def test_classes_are_those_of_the_network_as_it_started(eye_recipe: dict[str, Any]) -> None:
    task = prepared(eye_recipe)
    assert task.same_class() == 100
    with torch.no_grad():
        task.eye.classifier.weight.neg_()
    assert task.same_class() < 50


def test_a_classifier_that_lost_its_classes_finds_them_again(eye_recipe: dict[str, Any]) -> None:
    task = prepared(eye_recipe)
    with torch.no_grad():
        task.eye.classifier.weight.mul_(0.1)
        task.eye.classifier.bias.add_(torch.linspace(-1, 1, 1000))
    before = task.same_class()
    task.refit_classes()
    assert task.same_class() > before


def test_the_mean_over_all_dev_sets_decides(eye_recipe: dict[str, Any], colours: Path) -> None:
    table = deepcopy(eye_recipe)
    table["data"]["more_dev"] = [{"source": str(colours), "split": "test"}]
    task = prepared(table)
    assert len(task.devs) == 2
    figures = task.evaluate()
    assert figures["sum"] == pytest.approx(figures["sum_colours"], abs=60)


def test_other_models_have_one_dev_set(colours_recipe: dict[str, Any], colours: Path) -> None:
    table = deepcopy(colours_recipe)
    table["data"]["more_dev"] = [{"source": str(colours), "split": "test"}]
    with pytest.raises(SeesayError, match="one dev set"):
        prepare(Recipe.from_dict(table))


def test_a_missing_transformer_is_named_with_what_to_install(eye_recipe: dict[str, Any]) -> None:
    with pytest.raises(SeesayError, match="no text transformer 'nowhere'") as refused:
        prepared(eye_recipe, "config.start_from=nowhere")
    assert "pip install" in str(refused.value)


def test_parts_that_come_trained_learn_slower(eye_recipe: dict[str, Any]) -> None:
    from seesay.training.optimisation import build_optimiser

    task = prepared(eye_recipe)
    groups = build_optimiser(task.model, task.recipe.optimiser).param_groups
    scale_of = {id(weight): group["rate_scale"] for group in groups for weight in group["params"]}
    assert isinstance(task.model, EyeEar)
    assert scale_of[id(task.model.project.weight)] == 1.0
    assert scale_of[id(task.model.classifier.weight)] == 0.05
