"""An explainer of somebody else's package: installed beside seesay, it explains without an edit in `src`."""

import json
from collections.abc import Callable
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import seesay
from seesay.cli.main import run
from seesay.errors import SeesayError
from seesay.evaluation.taking_away import maps_of
from seesay.explainers import registry
from seesay.explainers.explaining import explain
from seesay.explainers.explanation import Explanation
from seesay.explainers.registry import Explainer, explainer_names, explainers_of
from seesay.export.exporting import export_weights
from seesay.images.io import open_image
from seesay.library.library import Library
from seesay.models import registry as families
from seesay.models.pretrained import load
from seesay.models.registry import register_model
from seesay.models.vse import VSE
from seesay.runtime.matching import Model
from seesay.training.recipe import Recipe
from seesay.training.run import run_recipe
from seesay.verbs.photos import PhotoModels

PHOTO = Path(seesay.__file__).parent / "samples" / "cat.jpg"


class Longest(Explainer):
    """Says of every model that it looks at the corner, and reads the longest word."""

    def explains(self, model: Any) -> bool:
        return True

    def explain(self, model: Any, features: Any, sentence: str) -> Explanation:
        words = tuple(sentence.split())
        lengths = np.array([float(len(word)) for word in words])
        corner = np.zeros(features.map.shape[1:3])
        corner[-1, -1] = 1.0
        score = float(model.score(model.encode_images(features), model.encode_texts([sentence]))[0, 0])
        maps, boxes = np.stack([corner] * len(words)), np.tile([0.5, 0.5, 1.0, 1.0], (len(words), 1))
        return Explanation(self.name, words, lengths / lengths.sum(), corner, score, maps, boxes)


@pytest.fixture(autouse=True)
def _installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two packages beside seesay, as pip leaves them: one with this explainer, one that cannot be imported."""
    for package, entry in (("longest", f"longest = {__name__}:Longest"), ("broken", "broken = no_such_package:Broken")):
        about = tmp_path / "packages" / f"{package}-1.0.dist-info"
        about.mkdir(parents=True)
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        (about / "entry_points.txt").write_text(f"[seesay.explainers]\n{entry}\n")
    monkeypatch.syspath_prepend(tmp_path / "packages")
    for kept in ("_classes", "_failures"):
        monkeypatch.setattr(registry._REGISTRY, kept, dict(getattr(registry._REGISTRY, kept)))
    monkeypatch.chdir(tmp_path)


def call(*arguments: object) -> int:
    with pytest.raises(SystemExit) as end:
        run([str(argument) for argument in arguments])
    return int(end.value.code or 0)


def test_it_explains_in_python_and_the_model_keeps_its_own_default() -> None:
    model = Model("vse")
    features = model.features([PHOTO])
    found = explain(model, features, "a sleeping cat", "longest")
    assert (found.method, found.words[found.weights.argmax()]) == ("longest", "sleeping")
    assert found.score == pytest.approx(
        float(seesay.match(PHOTO, "a sleeping cat", model=model).scores[0, 0]), abs=1e-5
    )
    with pytest.warns(UserWarning, match="the explainer 'broken'"):
        assert explainers_of(model) == ["alignment", "longest"]
    assert explain(model, features, "a cat").method == "alignment"


def test_it_explains_on_the_command_line_and_is_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--method", "longest", "-m", "vse", "-o", "why.png")
    assert call("explain", PHOTO, "a sleeping cat", *options, "--json") == 0
    report = json.loads(capsys.readouterr().out)
    weights = {row["word"]: row["weight"] for row in report["words"]}
    assert (report["method"], max(weights, key=weights.__getitem__)) == ("longest", "sleeping")
    drawn, photo = np.asarray(open_image(Path("why.png"))).astype(int), open_image(PHOTO)
    height = round(800 * min(1, photo.height / photo.width))
    warmth = drawn[..., 0] - drawn[..., 2]
    corner, opposite = warmth[height - 20 : height, -20:].mean(), warmth[:20, :20].mean()
    assert corner > opposite + 50


def test_a_model_that_lists_it_is_trained_tuned_evaluated_explained_and_searched_with(
    colours_recipe: dict[str, Any], colours: Path, colours_cache: Path, tmp_path: Path,
    answer: Callable[..., Any], monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(families._REGISTRY, "_classes", dict(families._REGISTRY._classes))
    monkeypatch.setenv("SEESAY_CACHE", str(colours_cache))
    register_model("cornered")(type("Cornered", (VSE,), {"explainers": ("longest",)}))
    recipe = Recipe.from_dict(colours_recipe | {"name": "cornered", "model": "cornered"})
    folder = run_recipe(recipe, tmp_path / "run").folder
    export_weights(folder, precision="fp32")
    chosen = ("--only", "calibration", "--data", colours, "--entities", colours)
    (step,) = answer("tune", folder, *chosen, "--json")["steps"]
    assert step["changed"]
    assert answer("evaluate", folder, "--data", colours, "--split", "test", "--json")["sum"] > 450

    photo = colours / "images" / "red_5.png"
    trained = load(folder)
    assert maps_of(trained, trained.features([photo]), "a red picture").keys() == {"longest"}  # what is measured
    report = answer("explain", photo, "picture red", "-m", folder, "--json")  # no --method: the first it lists
    assert (report["method"], report["words"][0]["weight"]) == ("longest", pytest.approx(0.7))
    identified = ("identify", "a red picture", photo, "-m", folder, "--method", "longest", "-o", "which.png", "--json")
    assert answer(*identified)["photos"][0]["photo"] == str(photo)
    assert Path("which.png").is_file()

    with Library(tmp_path / "library", model=folder, stages=()) as library:
        library.index(photo.parent)
        (first, *_) = library.search("a red picture", top=1)
        assert first.path.name.startswith("red")
        explained = {word.text: word for word in PhotoModels(library).explain(first.photo, "a red picture")}
    heat = explained["picture"].heat
    assert heat is not None
    assert (heat[-1, -1], heat.sum()) == (1.0, 1.0)
    assert explained["picture"].box == (0.5, 0.5, 1.0, 1.0)


def test_weights_have_to_be_named_where_it_has_none_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("explain", PHOTO, "a cat", "--method", "longest") == 2
    assert "the explainer longest names no weights" in capsys.readouterr().err


def test_a_package_that_cannot_be_imported_is_named_and_the_others_work() -> None:
    with (
        pytest.warns(UserWarning, match="the explainer 'broken' .* cannot be imported"),
        pytest.raises(SeesayError, match=r"no explainer 'gaze'(.|\n)*allowed: alignment, .*longest"),
    ):
        registry.find_explainer("gaze")
    assert "broken" not in explainer_names()
    assert registry.find_explainer("longest").name == "longest"


def test_the_entry_point_is_read_as_pip_leaves_it() -> None:
    entry = registry._REGISTRY._entry_points()["longest"]
    assert isinstance(entry, EntryPoint)
    assert entry.load() is Longest
