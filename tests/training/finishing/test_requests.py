"""Which data a step of `seesay tune` chooses on."""

from pathlib import Path
from typing import Any

from seesay.catalogue.weights import Weights
from seesay.training.finishing.requests import usual_data


def weights(**about: Any) -> Weights:
    return Weights(Path("nowhere"), {"name": "own", **about})


def test_a_table_is_chosen_again_on_the_data_it_was_chosen_on() -> None:
    tuned = {"tags": {"data": "flickr8k + coco"}, "calibration": {"data": "iapr"}}
    assert usual_data(weights(tuned=tuned), "tags") == ["flickr8k", "coco"]
    assert usual_data(weights(tuned=tuned), "cascade.calibration") == ["iapr"]


def test_a_new_table_is_chosen_on_flickr8k_or_on_what_the_weights_learned_from() -> None:
    rows = [{"name": "sentences", "n_images": 0}, {"name": "iapr", "n_images": 9}, {"name": "coco", "n_images": 9}]
    assert usual_data(weights(), "hubness") == ("flickr8k",)
    assert usual_data(weights(data=rows), "captioning") == ["iapr"]
    recipe = {"data": {"dev": {"source": "mine/captions.csv"}}}  # a name alone would not find it
    assert usual_data(weights(data=rows, recipe=recipe), "captioning") == ["mine/captions.csv"]
    assert usual_data(weights(data=[*rows, {"name": "flickr8k", "n_images": 9}]), "captioning") == ("flickr8k",)
    assert usual_data(weights(data=rows), "tags", ("flickr8k", "coco")) == ("flickr8k", "coco")
