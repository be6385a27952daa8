import tomllib
from dataclasses import replace

import pytest

from seesay.errors import SeesayError
from seesay.system.overrides import apply_overrides
from seesay.training.recipe import Recipe, read_recipe

TEXT = """
name = "vse-flickr8k"
model = "vse"
seed = 3

[config]
dim = 512
words = { source = "glove", dims = [50, 300] }

[features]
backbone = "efficientnet-lite2"

[[data.train]]
source = "flickr8k"

[[data.train]]
source = "coco"
images = "pictures/coco"
weight = 1

[data.dev]
source = "flickr8k"

[optimiser]
name = "adamw"
rate = 2e-4
schedule = "cosine"

[stop]
epochs = 15
patience = 3
"""


def table(*overrides):
    return apply_overrides(tomllib.loads(TEXT), overrides)


@pytest.fixture
def recipe_file(tmp_path):
    path = tmp_path / "vse.toml"
    path.write_text(TEXT)
    return path


def test_a_recipe_is_read_with_its_defaults_filled_in(recipe_file):
    recipe = read_recipe(recipe_file)
    assert (recipe.name, recipe.model, recipe.seed) == ("vse-flickr8k", "vse", 3)
    assert recipe.config == {"dim": 512, "words": {"source": "glove", "dims": [50, 300]}}
    assert [source.source for source in recipe.data.train] == ["flickr8k", "coco"]
    assert (recipe.data.train[1].images, recipe.data.train[1].split) == ("pictures/coco", "train")
    assert (recipe.data.dev.split, recipe.data.min_count) == ("dev", 5)
    assert (recipe.optimiser.rate, recipe.optimiser.clip_norm) == (2e-4, 0.0)
    assert (recipe.stop.epochs, recipe.stop.metric, recipe.stop.mode) == (15, "sum", "max")


def test_a_written_recipe_reads_back_as_the_same_recipe(recipe_file, tmp_path):
    recipe = read_recipe(recipe_file)
    copy = tmp_path / "copy.toml"
    copy.write_text(recipe.to_toml())
    assert read_recipe(copy) == recipe
    assert read_recipe(copy).fingerprint() == recipe.fingerprint()


def test_the_fingerprint_ignores_key_order_and_written_defaults_and_sees_every_value():
    plain = Recipe.from_dict(table())
    reversed_keys = dict(reversed(list(table("batches.size=128", "data.train.1.weight=1.0").items())))
    assert Recipe.from_dict(reversed_keys).fingerprint() == plain.fingerprint()
    assert Recipe.from_dict(table("config.words.dims=[50, 301]")).fingerprint() != plain.fingerprint()


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("optimiser.rte=1e-3", "there is no key 'optimiser.rte'; did you mean 'optimiser.rate'?"),
        ("optimizer.rate=1e-3", "there is no key 'optimizer'; did you mean 'optimiser'?"),
        ("data.train.1.wieght=2", "there is no key 'data.train.1.wieght'; did you mean 'data.train.1.weight'?"),
        ("optimiser.rate=-0.1", "optimiser.rate cannot be -0.1\n  allowed: a number above 0"),
        ("optimiser.rate=nan", "optimiser.rate cannot be nan"),
        ("optimiser.rate=inf", "optimiser.rate cannot be inf"),
        ("optimiser.rate=1e-", "optimiser.rate cannot be '1e-'\n  allowed: a number above 0"),
        ("optimiser.name=sdg", "optimiser.name cannot be 'sdg'\n  allowed: sgd, rmsprop, adam, adamw"),
        ("optimiser.momentum=0.9", "optimiser.momentum has no effect on adamw"),
        ("optimiser.ema=1.0", "optimiser.ema cannot be 1.0\n  allowed: a number at least 0 below 1"),
        ("optimiser.schedule=step", "optimiser.schedule is 'step' and step_every is 0"),
        ("stop.epochs=0", "stop.epochs cannot be 0\n  allowed: a whole number at least 1"),
        ("stop.epochs=1.5", "stop.epochs cannot be 1.5"),
        ("stop.epochs=true", "stop.epochs cannot be True"),
        ("stop=3", "stop is a table of keys, not 3"),
        ("batches.bucket_by_length=1", "batches.bucket_by_length cannot be 1\n  allowed: true or false"),
        ("loss.name=triplet", "loss.name cannot be 'triplet'\n  allowed: hinge-sum, hinge-hardest, softmax"),
        ("data.train=[]", "data.train cannot be ()\n  allowed: a list of tables that is not empty"),
        ('model="  "', "model cannot be '  '\n  allowed: text that is not empty"),
        ("config.when=2015-06-07", "config.when cannot be datetime.date(2015, 6, 7)"),
    ],
)
def test_a_wrong_key_or_value_is_refused_with_its_file_its_key_and_what_is_allowed(recipe_file, override, message):
    with pytest.raises(SeesayError) as caught:
        read_recipe(recipe_file, [override])
    assert str(caught.value).startswith(f"{recipe_file}: {message}")


@pytest.mark.parametrize("missing", ["name", "model", "data", "stop"])
def test_a_recipe_without_a_required_key_is_refused(missing):
    incomplete = table()
    del incomplete[missing]
    with pytest.raises(SeesayError, match=f"the key '{missing}' is missing"):
        Recipe.from_dict(incomplete)


def test_a_file_that_is_missing_or_not_toml_is_refused_by_name(tmp_path):
    with pytest.raises(SeesayError, match=r"cannot read the recipe .*none\.toml: No such file"):
        read_recipe(tmp_path / "none.toml")
    for content in (b"name = ", b"name = '\xff'"):
        (tmp_path / "broken.toml").write_bytes(content)
        with pytest.raises(SeesayError, match=r"broken\.toml is not TOML"):
            read_recipe(tmp_path / "broken.toml")


def test_overrides_leave_the_given_table_alone():
    original = tomllib.loads(TEXT)
    changed = apply_overrides(original, ["config.words.source=mine", "data.train.0.source=flickr30k"])
    assert changed["config"]["words"]["source"] == "mine"
    assert changed["data"]["train"][0]["source"] == "flickr30k"
    assert original == tomllib.loads(TEXT)


def test_an_override_may_hold_any_toml_value():
    changed = apply_overrides({}, ["a.b=[1, 2]", "a.c={ d = 'x=y' }", "a.e=true", 'a.f="1"', "a.g=some/path"])
    assert changed == {"a": {"b": [1, 2], "c": {"d": "x=y"}, "e": True, "f": "1", "g": "some/path"}}


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("optimiser.rate", "cannot read the override 'optimiser.rate'"),
        ("=3", "cannot read the override '=3'"),
        ("name.first=x", "name is a value and has no keys"),
        ("data.train.2.weight=1", "data.train has 2 entries"),
        ("data.train.first.weight=1", "data.train has 2 entries"),
    ],
)
def test_an_override_that_leads_nowhere_is_refused(override, message):
    with pytest.raises(SeesayError, match=message):
        table(override)


def test_differences_name_each_key_with_both_values():
    recipe = Recipe.from_dict(table())
    other = Recipe.from_dict(table("optimiser.rate=1e-3", "config.depth=2", "data.train.1.source=iapr"))
    assert recipe.differences(other) == [
        ("data.train.1.source", "coco", "iapr"),
        ("optimiser.rate", 2e-4, 1e-3),
        ("config.depth", None, 2),
    ]
    assert recipe.differences(replace(recipe)) == []


def test_a_cooldown_goes_with_the_trapezoid_and_stands_in_no_other_recipe(recipe_file):
    with pytest.raises(SeesayError, match="cooldown is 0"):
        read_recipe(recipe_file, ["optimiser.schedule=trapezoid"])
    with pytest.raises(SeesayError, match="cooldown is 5"):
        read_recipe(recipe_file, ["optimiser.cooldown=5"])
    cooled = read_recipe(recipe_file, ["optimiser.schedule=trapezoid", "optimiser.cooldown=5"])
    assert cooled.to_dict()["optimiser"]["cooldown"] == 5
    assert "cooldown" not in read_recipe(recipe_file).to_dict()["optimiser"]
    assert Recipe.from_dict(cooled.to_dict()) == cooled


def test_further_dev_sets_survive_and_are_absent_where_there_are_none(recipe_file):
    several = read_recipe(recipe_file, ['data.more_dev=[{source="coco"}, {source="iapr"}]'])
    assert [dev.source for dev in several.data.more_dev] == ["coco", "iapr"]
    assert Recipe.from_dict(several.to_dict()) == several
    assert "more_dev" not in read_recipe(recipe_file).to_dict()["data"]
