"""From a recipe to weights: it learns, it goes on where it was, and it refuses before the first step."""

import json
import os
import shutil
import signal
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image
from safetensors.torch import load_file

from seesay.errors import SeesayError
from seesay.models.pretrained import find, load
from seesay.system.overrides import apply_overrides
from seesay.training.loop import TrainingInterruptedError
from seesay.training.recipe import Recipe
from seesay.training.run import prepare, run_recipe

pytestmark = pytest.mark.usefixtures("in_colours_cache")


def changed(table: dict[str, Any], *overrides: str) -> Recipe:
    return Recipe.from_dict(apply_overrides(table, overrides))


def log_of(folder: Path) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    return [{key: value for key, value in line.items() if key != "seconds"} for line in lines]


class TestLearning:
    def test_colours_are_learned(self, colours_run: Path) -> None:
        before = next(line for line in log_of(colours_run) if line["kind"] == "evaluation")
        figures = find(colours_run / "weights").figures["colours/dev"]
        assert before["sum"] < 400
        assert figures["sum"] > 580
        assert figures["i2t"]["r1"] >= 87.5  # at most one of eight is confused

    def test_the_weights_know_colours_that_they_have_not_seen(self, colours_run: Path) -> None:
        model = load(colours_run / "weights")
        pictures = [Image.new("RGB", (30, 30), colour) for colour in ("red", "blue", "yellow")]
        scores = model.match(pictures, ["a red picture", "everything here is blue", "yellow"])
        assert scores.argmax(1).tolist() == [0, 1, 2]

    def test_the_weights_say_how_they_were_made(self, colours_run: Path, colours_recipe: dict[str, Any]) -> None:
        about = find(colours_run / "weights").about
        recipe = Recipe.from_dict(colours_recipe)
        assert (about["name"], about["family"], about["seed"]) == ("colours", "vse", 0)
        assert about["recipe"] == recipe.to_dict()
        assert about["recipe_fingerprint"] == recipe.fingerprint()
        (data,) = about["data"]
        assert (data["name"], data["split"], data["n_images"], data["n_sentences"]) == ("colours", "train", 32, 64)
        assert about["features"]["backbone"] == "efficientnet-lite0"
        assert "| colours | train | 32 | 64 | as its owner says |" in (colours_run / "weights" / "card.md").read_text()

    def test_the_vocabulary_is_of_training_sentences_only(self, colours: Path, colours_recipe: dict[str, Any]) -> None:
        task = prepare(Recipe.from_dict(colours_recipe))
        assert "red" in task.model.vocabulary
        assert (
            task.model.vocabulary.counts[4] == 32
        )  # a word of one sentence of each training picture, and of no others

    def test_the_seed_decides_the_first_weights(self, colours_recipe: dict[str, Any]) -> None:
        models = [prepare(changed(colours_recipe, f"seed={seed}")).model for seed in (1, 1, 2)]
        weights = [model.project.weight for model in models]
        assert torch.equal(weights[0], weights[1])
        assert not torch.equal(weights[0], weights[2])

    def test_a_run_stopped_in_the_middle_ends_with_the_same_weights(
        self, colours_run: Path, colours_recipe: dict[str, Any], tmp_path: Path
    ) -> None:
        def interrupt(event: Any) -> None:
            if event.kind == "step" and event.step == 14:
                os.kill(os.getpid(), signal.SIGINT)

        recipe = Recipe.from_dict(colours_recipe)
        with pytest.raises(TrainingInterruptedError, match="after step 15 of 32"):
            run_recipe(recipe, tmp_path, on_event=interrupt)
        assert not (tmp_path / "weights").exists()
        torch.manual_seed(99)
        run_recipe(recipe, tmp_path)
        assert log_of(tmp_path) == log_of(colours_run)
        for name in ("best.safetensors", "weights/model.safetensors"):
            expected, found = load_file(colours_run / name), load_file(tmp_path / name)
            assert expected.keys() == found.keys()
            assert all(torch.equal(found[key], tensor) for key, tensor in expected.items()), name

    def test_an_embedding_has_hubness(self, colours_run: Path) -> None:
        model = load(colours_run / "weights")
        assert model.hubness is not None
        vectors = model.encode_texts(["a red square", "a blue square"])
        asked = model.hubness.images.centres @ vectors.T / model.hubness.temperature
        mean = (asked.exp() * model.hubness.images.shares[:, None]).sum(0)
        torch.testing.assert_close(model.hubness.of_texts(vectors), model.hubness.temperature * mean.log())

    def test_a_finished_run_gives_its_weights_again(
        self, colours_run: Path, colours_recipe: dict[str, Any], tmp_path: Path
    ) -> None:
        shutil.copytree(colours_run, tmp_path / "copy")
        shutil.rmtree(tmp_path / "copy" / "weights")
        events: list[Any] = []
        run_recipe(Recipe.from_dict(colours_recipe), tmp_path / "copy", on_event=events.append)
        assert [event.kind for event in events] == ["resumed", "finished"]
        tensors = (load_file(folder / "weights/model.safetensors") for folder in (colours_run, tmp_path / "copy"))
        one, other = tensors
        assert all(torch.equal(other[key], tensor) for key, tensor in one.items())

    def test_best_weights_that_were_damaged_since_are_refused(
        self, colours_run: Path, colours_recipe: dict[str, Any], tmp_path: Path
    ) -> None:
        shutil.copytree(colours_run, tmp_path / "copy")
        path = tmp_path / "copy" / "best.safetensors"
        path.write_bytes(path.read_bytes()[:-4])
        with pytest.raises(SeesayError, match=r"best\.safetensors is damaged"):
            run_recipe(Recipe.from_dict(colours_recipe), tmp_path / "copy")


class TestCaptioner:
    def test_the_names_of_colours_are_learned(self, captioner_run: Path) -> None:
        before, *_, last = (line for line in log_of(captioner_run) if line["kind"] == "evaluation")
        assert before["perplexity"] > 10
        assert last["perplexity"] < 3
        figures = find(captioner_run / "weights").figures["colours/dev"]
        assert figures["captions"]["perplexity"] == pytest.approx(last["perplexity"], rel=0.01)  # half precision
        assert figures["captions"]["bleu1"] > 0.9

    def test_what_is_kept_of_training_pictures_is_in_the_weights(self, captioner_run: Path) -> None:
        tensors = load_file(captioner_run / "weights/model.safetensors")
        assert tensors["marginal_images"].shape == (5, 24)
        assert len(tensors["marginal_images"].unique(dim=0)) == 5
        assert tensors["mean_image"].any()

    def test_sentences_without_pictures_are_refused_before_the_first_step(
        self, captioner_recipe: dict[str, Any], tmp_path: Path
    ) -> None:
        with pytest.raises(SeesayError, match="recipe colour-names: a captioner learns from images"):
            run_recipe(changed(captioner_recipe, "data.train.0.sentences_only=true"), tmp_path / "run")
        assert not (tmp_path / "run").exists()


class TestRefusals:
    """Everything is refused by `prepare`, which is over before the first step."""

    @pytest.mark.parametrize(
        ("override", "message"),
        [
            ("model=blip", r"there is no model family 'blip'\n  allowed: clip, dvsa"),
            ("config.dims=8", r"recipe colours \[config\]: there is no key 'dims'.*\n  allowed: dim, word_dim"),
            ("config.dim=0", r"recipe colours \[config\]: config\.dim is 0\n  allowed: 1 or more"),
            ("config.encoder=1", r"recipe colours \[config\]: encoder cannot be 1\n  allowed: text"),
            (
                "features.backbones=x",
                r"recipe colours \[features\]: there is no key 'backbones'.*\n  allowed: backbone",
            ),
            (
                "features.backbone=x",
                r"recipe colours \[features\]: there is no backbone 'x'\n  allowed: alexnet, efficientnet",
            ),
            ("features.backbone=vgg16", "vgg16 comes without weights"),
            ("features.size=20", "an input of 20 pixels is too small"),
            ("data.dev.split=val2", r"colours has no split 'val2'\n  allowed: train, dev, test"),
            ("data.dev.split=train", "32 of the dev images are also among the training images of colours"),
            ("data.min_count=1000", "no word occurs 1000 times or more"),
        ],
    )
    def test_impossible_recipes(
        self, colours_recipe: dict[str, Any], tmp_path: Path, override: str, message: str
    ) -> None:
        with pytest.raises(SeesayError, match=message):
            run_recipe(changed(colours_recipe, override), tmp_path / "run")
        assert not (tmp_path / "run").exists()

    def test_missing_data(self, colours_recipe: dict[str, Any], tmp_path: Path) -> None:
        with pytest.raises(SeesayError, match=r"there is no .*absent"):
            prepare(changed(colours_recipe, f"data.dev.source={tmp_path / 'absent'}"))

    def test_missing_pictures(self, colours: Path, colours_recipe: dict[str, Any], tmp_path: Path) -> None:
        copy = shutil.copytree(colours, tmp_path / "colours")
        (copy / "images" / "red_0.png").unlink()
        with pytest.raises(SeesayError, match=r"1 of 32 images of .*colours \(train\) are missing"):
            prepare(changed(colours_recipe, f"data.train.0.source={copy}"))

    def test_broken_pictures(self, colours: Path, colours_recipe: dict[str, Any], tmp_path: Path) -> None:
        copy = shutil.copytree(colours, tmp_path / "colours")
        (copy / "images" / "red_0.png").write_bytes(b"")
        with pytest.raises(SeesayError, match=r"1 of 32 photos cannot be used: .*red_0\.png.*0 bytes"):
            prepare(changed(colours_recipe, f"data.train.0.source={copy}"))

    def test_a_dev_picture_under_another_name_among_the_training_pictures(
        self, colours: Path, colours_recipe: dict[str, Any], tmp_path: Path
    ) -> None:
        copy = shutil.copytree(colours, tmp_path / "colours")
        shutil.copy(copy / "images" / "red_4.png", copy / "images" / "renamed.png")  # the red picture of dev
        with (copy / "captions.csv").open("a") as file:
            file.write("renamed.png,something red,train\n")
        with pytest.raises(SeesayError, match="1 of the dev images are also among the training images of colours"):
            prepare(changed(colours_recipe, f"data.train.0.source={copy}"))

    def test_the_sentences_of_dev_pictures_among_those_learned_without_pictures(
        self, colours: Path, colours_recipe: dict[str, Any]
    ) -> None:
        table = deepcopy(colours_recipe)
        table["data"]["train"].append({"source": str(colours), "split": "all", "sentences_only": True})
        with pytest.raises(SeesayError, match=r"8 of the dev images are also among .*\n  try: leave them out"):
            prepare(Recipe.from_dict(table))
        table["data"]["train"][1]["without"] = str(colours)
        task = prepare(Recipe.from_dict(table))
        assert [item.split for item in task.sources[1].collection.items] == ["train"] * 32
