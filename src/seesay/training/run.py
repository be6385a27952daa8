"""From a recipe to a folder of trained weights."""

import platform
from collections.abc import Callable
from dataclasses import fields, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import torch

from seesay.data.examples import Examples, same_photo
from seesay.errors import SeesayError
from seesay.images.extraction import features_of
from seesay.images.features import FeatureSpec
from seesay.images.tower import find_tower
from seesay.models import pretrained
from seesay.models.base import Matcher, Weights
from seesay.models.registry import family_class
from seesay.system.progress import Progress
from seesay.system.tables import read_table
from seesay.system.version import VERSION
from seesay.text.vocabulary import Vocabulary
from seesay.training.checkpoint import load_weights
from seesay.training.distributed import gather_json, process_group
from seesay.training.loop import Event, train
from seesay.training.recipe import Recipe
from seesay.training.snippets import read_snippets
from seesay.training.sources import read_source
from seesay.training.task import MoreDev, Task, task_class


def prepare(recipe: Recipe, *, on_progress: Progress | None = None) -> Task:
    """Read the data, compute what features are missing, and build the untrained model.

    Everything that can be refused is refused here, before the first step.
    """
    kind = family_class(recipe.model)
    recipe = _with_eye(recipe, kind) if recipe.eye else recipe
    config = read_table(kind.config_type, recipe.config, f"recipe {recipe.name} [config]")
    learning_task = task_class(kind.task_for(config))
    if recipe.data.more_dev and not issubclass(learning_task, MoreDev):
        raise SeesayError(f"recipe {recipe.name}: a {recipe.model} is measured on one dev set", allowed="no more_dev")
    spec = read_table(FeatureSpec, recipe.features, f"recipe {recipe.name} [features]")
    outputs = kind.outputs_for(config)
    read = partial(read_source, read_features=partial(features_of, spec=spec, outputs=outputs, on_progress=on_progress))
    sources = [read_snippets(source, spec) if source.snippets else read(source) for source in recipe.data.train]
    dev, more_dev = read(recipe.data.dev), [read(source) for source in recipe.data.more_dev]
    for measured in (dev, *more_dev):
        _refuse_leaks(sources, measured)
    tokenizer = (
        kind.tokenizer_for(config)
        or kind.tokenizer_from(config, _sentences(sources))
        or Vocabulary.build(_sentences(sources), recipe.data.min_count)
    )
    torch.manual_seed(recipe.seed)
    model = kind(config, tokenizer, spec)
    model.initialise(recipe.seed)
    task = learning_task(model, sources, dev, recipe)
    if isinstance(task, MoreDev):
        task.more_dev = more_dev
    return task


def _with_eye(recipe: Recipe, kind: type[Matcher]) -> Recipe:
    """A recipe whose features are those of the tower that it names as its eye."""
    spec = FeatureSpec("tower", weights=str(find_tower(recipe.eye)))
    backbone = spec.load_backbone()
    maps, vectors = backbone(torch.zeros(1, spec.size, spec.size, 3, dtype=torch.uint8))
    own = {"image_dim": vectors.shape[1], "map_dim": maps.shape[3]}
    keys = {field.name for field in fields(kind.config_type)}
    config = {**recipe.config, **{key: width for key, width in own.items() if key in keys}}
    return replace(recipe, config=config, features={"backbone": "tower", "weights": spec.weights})


def _sentences(sources: list[Examples]) -> list[str]:
    """The sentences of all sources; those of a collection that is learned from in two ways once."""
    distinct = {source.collection.fingerprint(): source.collection.sentences for source in sources}
    return [text for sentences in distinct.values() for text in sentences]


def _refuse_leaks(sources: list[Examples], dev: Examples) -> None:
    """A photo that is measured on is never learned from, whatever it is called; nor are its sentences alone."""
    assert dev.table is not None
    dev_images = set(dev.table.keys)
    names = {same_photo(item.name) for item in dev.collection.items}
    for source in sources:
        if source.table is not None:
            leaked = dev_images.intersection(source.table.keys)
        else:
            leaked = names.intersection(same_photo(item.name) for item in source.collection.items)
        if leaked:
            raise SeesayError(
                f"{len(leaked)} of the dev images are also among the training images of {source.collection.name}",
                hint="leave them out (without = ...), or choose another dev split",
            )


def run_recipe(
    recipe: Recipe,
    run_dir: Path,
    *,
    resume: bool = True,
    on_event: Callable[[Event], None] | None = None,
    on_progress: Progress | None = None,
) -> Weights:
    """Train as a recipe says and leave the weights, in half precision and measured on dev, in `run_dir/weights`."""
    return run_task(prepare(recipe, on_progress=on_progress), run_dir, resume=resume, on_event=on_event)


def run_task(
    task: Task, run_dir: Path, *, resume: bool = True, on_event: Callable[[Event], None] | None = None
) -> Weights:
    """The part of `run_recipe` that comes after `prepare`."""
    folder = run_dir / "weights"
    with process_group() as (rank, world):
        result = train(task, task.recipe, run_dir, resume=resume, on_event=on_event)
        if rank == 0:
            load_weights(result.weights, task.model)
            task.finalize()
            pretrained.save(folder, task.model, describe(task.recipe, task.sources, result.best_epoch))
            task.save_extras(folder)
            date = datetime.now(UTC).isoformat(timespec="seconds")
            finished = pretrained.load(folder)
            pretrained.record_figures(folder, _key(task.dev), {**task.measure(finished), "date": date})
            if isinstance(task, MoreDev):
                for dev in task.more_dev:
                    pretrained.record_figures(folder, _key(dev), {**task.measure_on(finished, dev), "date": date})
        gather_json(None, world)  # the others wait here until the folder is there
    return pretrained.read_about(folder)


def describe(recipe: Recipe, sources: list[Examples], epochs: int) -> dict[str, Any]:
    """What travels with the weights about how they were made; where images lay on the machine does not."""
    table = recipe.to_dict()
    for source in (*table["data"]["train"], table["data"]["dev"], *table["data"].get("more_dev", ())):
        source["images"] = ""
    if "weights" in table["features"]:
        table["features"] = {**table["features"], "weights": ""}
    recipe = replace(Recipe.from_dict(table), eye=Path(recipe.eye).name)
    data = [
        {
            "name": source.collection.name,
            "split": recipe.data.train[place].split,
            "n_images": 0 if source.table is None else len(source.collection),
            "n_sentences": len(source.sentences),
            "fingerprint": source.collection.fingerprint(),
        }
        for place, source in enumerate(sources)
    ]
    return {
        "name": recipe.name,
        "data": _with_earlier(data, recipe),
        "recipe": recipe.to_dict(),
        "recipe_fingerprint": recipe.fingerprint(),
        "seed": recipe.seed,
        "epochs": epochs,
        "trained": datetime.now(UTC).date().isoformat(),
        "versions": {"seesay": VERSION, "torch": torch.__version__, "python": platform.python_version()},
    }


def _with_earlier(data: list[dict[str, Any]], recipe: Recipe) -> list[dict[str, Any]]:
    """What was learned from, with what the weights learned from that the run went on from: of each split the most."""
    kind = family_class(recipe.model)
    earlier = kind.earlier_data(read_table(kind.config_type, recipe.config, f"recipe {recipe.name} [config]"))
    larger = {(row["name"], row["split"]): dict(row) for row in earlier}
    for row in data:
        place = (row["name"], row["split"])
        if place in larger and row["n_sentences"] >= larger[place]["n_sentences"]:
            del larger[place]
    return [*(larger.pop((row["name"], row["split"]), row) for row in data), *larger.values()]


def _key(source: Examples) -> str:
    return f"{source.collection.name}/{source.collection.items[0].split}"
