"""The ear learns on from vectors of both networks: what it starts from, what learns, and that the eye stays."""

import json
import os
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from seesay.catalogue.weights import PACKAGED, UPPER, weights_digest
from seesay.errors import SeesayError
from seesay.models.eye_ear import EyeEar
from seesay.models.pretrained import find, load
from seesay.training.eye.ear import EarTask
from seesay.training.finishing.vectors import alone
from seesay.training.loop import TrainingInterruptedError
from seesay.training.recipe import Recipe, apply_overrides
from seesay.training.run import prepare, run_recipe

pytestmark = pytest.mark.usefixtures("in_colours_cache")
TEXTS = ["a dog runs through the snow", "two men", "everything here is red"]


@pytest.fixture(scope="module")
def recipe(colours_recipe: dict[str, Any]) -> dict[str, Any]:
    """The shipped ear learns on from the coloured pictures."""
    return colours_recipe | {
        "name": "ear-colours",
        "model": "eye-ear",
        "features": {"backbone": "eye-imagenet", "size": 64},
        "config": {
            "start_from": "eye",
            "n_subwords": len(EyeEar.tokenizer_for(load_config()).tokens),
            "frozen_layers": 5,
            "learns_eye": False,
            "reads_both": True,
            "on_vectors": True,
            "more_photos": 6,
        },
        "optimiser": {"name": "adamw", "rate": 1e-3, "clip_norm": 2.0, "ema": 0.8},
        "batches": {"size": 16},
        "stop": {"epochs": 3, "evaluate_every": 3},
    }


def load_config() -> Any:
    from seesay.settings.eye_ear import EyeEarConfig

    return EyeEarConfig(start_from="eye")


def prepared(table: dict[str, Any], *overrides: str) -> EarTask:
    task = prepare(Recipe.from_dict(apply_overrides(table, overrides)))
    assert isinstance(task, EarTask)
    return task


def log_of(folder: Path) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    return [{key: value for key, value in line.items() if key != "seconds"} for line in lines]


def test_it_starts_as_the_shipped_eye_reads_and_sees(recipe: dict[str, Any]) -> None:
    task = prepared(recipe)
    shipped = load("eye")
    assert isinstance(shipped, EyeEar)
    model, wanted = task.eye.eval(), alone(shipped, shipped.feature_spec)
    torch.testing.assert_close(model.encode_texts(TEXTS), wanted.encode_texts(TEXTS))
    pooled = torch.rand(3, 2 * model.config.image_dim)
    given = pooled[:, : wanted.pooled_dim]
    torch.testing.assert_close(model.encode_pooled(pooled), wanted.encode_pooled(given))


def test_neither_network_learns(recipe: dict[str, Any]) -> None:
    task = prepared(recipe)
    task.loss(task.batch(0, 0), 0, 1).total.backward()
    moved = {name.split(".")[0] for name, weight in task.model.named_parameters() if weight.grad is not None}
    assert moved == {"ear", "project", "project_text", "log_temperature"}


def test_sentences_are_compared_with_more_photos_of_their_collection(recipe: dict[str, Any]) -> None:
    task = prepared(recipe)
    batch = task.batch(0, 0)
    more = task.more_photos(batch)
    assert len(set(more.tolist())) == 6
    assert not set(more.tolist()) & set(batch.images.tolist())
    assert more.max() < len(task.sources[0].collection)
    assert np.array_equal(more, task.more_photos(batch))
    with_more = task.loss(batch, 0, 1).logs["loss"]
    without = prepared(recipe, "config.more_photos=0", "config.image_dropout=0", "config.text_dropout=0")
    assert len(without.more_photos(batch)) == 0
    assert with_more > 0


def test_wrong_sentences_come_after_the_captions_of_a_batch(recipe: dict[str, Any]) -> None:
    plain, taught = prepared(recipe), prepared(recipe, "config.n_wrong=1")
    batch, without = taught.batch(0, 0), plain.batch(0, 0)
    n = len(without.texts)
    assert not without.wrong.any()
    assert batch.texts[:n] == without.texts
    assert batch.wrong.tolist() == [False] * n + [True] * (len(batch.texts) - n)
    assert len(batch.texts) > n
    items = taught.sources[0].collection.items
    for place in range(n, len(batch.texts)):
        assert batch.texts[place] not in items[batch.images[batch.owners[place]]].sentences
    assert taught.batch(0, 0).texts == batch.texts


def test_a_wrong_sentence_counts_for_its_own_photo_alone(recipe: dict[str, Any]) -> None:
    task = prepared(recipe, "config.image_dropout=0", "config.text_dropout=0")
    task.eye.eval()
    batch = task.batch(0, 0)
    assert task.sources[0].table is not None
    images = task.eye.embed_images(task.sources[0].table.rows(batch.images.tolist()).pooled)

    def loss(texts: list[str], owners: list[int]) -> float:
        more = replace(
            batch,
            texts=[*batch.texts, *texts],
            owners=np.array([*batch.owners, *owners]),
            wrong=np.array([False] * len(batch.texts) + [True] * len(texts)),
        )
        return float(task.rank(more, images, np.arange(len(batch.images)), 0, 1)[0])

    temperature = task.eye.temperature
    wrong = batch.texts[batch.owners.tolist().index(2)]  # as hard to refuse as can be
    with torch.no_grad():
        scores = images @ task.eye.encode_texts([*batch.texts, wrong]).T / temperature
        own = torch.from_numpy(batch.owners == 2)
        others = torch.cat([scores[2, :-1][~own], scores[2, -1:]]).logsumexp(0)
        before = torch.nn.functional.softplus(scores[2, :-1][~own].logsumexp(0) - scores[2, :-1][own]).mean()
        after = torch.nn.functional.softplus(others - scores[2, :-1][own]).mean()
        added = loss([wrong], [2]) - loss([], [])
    assert added == pytest.approx(float(after - before) / len(images) / 2, rel=1e-3)


def test_the_run_leaves_an_eye_that_others_see_through_as_before(recipe: dict[str, Any], tmp_path: Path) -> None:
    run_recipe(Recipe.from_dict(recipe), tmp_path)
    folder = tmp_path / "weights"
    assert weights_digest(folder, UPPER) == weights_digest(PACKAGED / "eye", UPPER)
    model = load(folder)
    assert isinstance(model, EyeEar)
    assert model.outputs == ("pooled", "lower")
    assert find(folder).figures["colours/dev"]["sum"] > 300


def test_a_photo_has_the_vector_that_its_stored_vectors_give(
    recipe: dict[str, Any], colours: Path, tmp_path: Path
) -> None:
    from seesay.training.eye.shrinking import pack

    task = prepared(recipe)
    with torch.no_grad():
        torch.nn.init.normal_(task.eye.project.weight, std=0.02)
    packed = pack(task.eye)
    items = task.dev.collection.items[:3]
    by_pixels = packed.encode_images(packed.features([item.image for item in items if item.image]))
    assert task.dev.table is not None
    by_vectors = packed.encode_images(task.dev.table.rows(range(3)))
    assert torch.nn.functional.cosine_similarity(by_pixels, by_vectors).min() > 0.999


def test_a_run_stopped_in_the_middle_ends_with_the_same_log(recipe: dict[str, Any], tmp_path: Path) -> None:
    def interrupt(event: Any) -> None:
        if event.kind == "step" and event.step == 3:
            os.kill(os.getpid(), signal.SIGINT)

    made, whole, stopped = Recipe.from_dict(recipe), tmp_path / "whole", tmp_path / "stopped"
    run_recipe(made, whole)
    with pytest.raises(TrainingInterruptedError):
        run_recipe(made, stopped, on_event=interrupt)
    run_recipe(made, stopped)
    assert log_of(stopped) == log_of(whole)


@pytest.mark.parametrize(
    ("override", "named"),
    [
        ("config.learns_eye=true", "on_vectors"),
        ("features.backbone=efficientnet-lite2", "eye-imagenet"),
        ("config.on_vectors=false", "eye-imagenet"),
    ],
)
def test_what_cannot_be_learned_is_refused(recipe: dict[str, Any], override: str, named: str) -> None:
    with pytest.raises(SeesayError, match=named):
        prepared(recipe, override)


def test_a_start_without_an_eye_is_refused(recipe: dict[str, Any], eye_recipe: dict[str, Any]) -> None:
    own = {key: eye_recipe["config"][key] for key in ("start_from", "n_subwords", "text_dim", "n_layers", "heads")}
    overrides = [f"config.{key}={value}" for key, value in own.items()]
    with pytest.raises(SeesayError, match="weights of an eye"):
        prepared(recipe, *overrides, "config.inner=32", "config.frozen_layers=1")
