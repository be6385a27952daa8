"""An added tower is a model like any other."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

import seesay
from seesay.catalogue.weights import added as added_weights
from seesay.catalogue.weights import find
from seesay.cli.commands import app
from seesay.errors import SeesayError
from seesay.explainers.explaining import explain_image
from seesay.library.library import Library
from seesay.runtime.matching import Model
from seesay.verbs.adding import remove_model
from seesay.verbs.regions import find_regions
from seesay.verbs.switching import models_of, use_model

SAMPLES = Path(seesay.__file__).parent / "samples"
CAT, COFFEE = SAMPLES / "cat.jpg", SAMPLES / "coffee.jpg"


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments))
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """A folder of six photos; random towers find many alike, so they are of very different colours."""
    folder = tmp_path / "photos"
    folder.mkdir()
    for path in sorted(SAMPLES.glob("*.jpg"))[:6]:
        shutil.copy(path, folder)
    return folder


def test_it_is_listed_found_and_removed(added: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert {"clip", "siglip"} <= {row["name"] for row in json.loads(run("models", "--json"))}
    assert find("clip").folder == added / "clip"
    other = tmp_path / "models"
    shutil.copytree(added / "clip", other / "clip")
    monkeypatch.setenv("SEESAY_MODELS", str(other))
    assert "removed" in run("models", "remove", "clip")
    assert added_weights() == []
    with pytest.raises(SeesayError, match="there are no weights 'clip'"):
        find("clip")
    with pytest.raises(SeesayError, match="no model 'clip' was added"):
        remove_model("clip")


def test_half_precision_takes_half_the_disk_and_turns_no_vector(added: Path) -> None:
    (network,) = (added / "siglip").glob("*/network.json")
    about = json.loads(network.read_text())
    assert about["precision"] == "fp16"
    assert about["cosine"]["least"] > 0.9999


def test_the_card_says_where_it_came_from(added: Path) -> None:
    card = (added / "clip" / "card.md").read_text()
    assert "added from a folder of the user's" in card


def test_matching_and_identifying(added: Path) -> None:
    scores = seesay.match([CAT, COFFEE], ["a cat", "a cup of coffee"], model="clip")
    graphs = Model("clip")
    texts = graphs.encode_texts(["a cat", "a cup of coffee"])
    own = graphs.score(graphs.encode_images(graphs.features([CAT, COFFEE])), texts)
    assert np.allclose(scores.scores, own, atol=1e-5)
    found = seesay.identify("a cat", [CAT, COFFEE], model="clip")
    assert abs(sum(row.choice for row in found) - 1) < 1e-6
    assert all(row.match is None for row in found)
    assert not found.is_none
    exponents = np.exp(own[:, 0] / Model("clip").temperature)
    wanted = dict(zip((str(CAT), str(COFFEE)), exponents / exponents.sum(), strict=True))
    assert {row.name: pytest.approx(row.choice, abs=1e-3) for row in found} == wanted


def test_what_was_identified_is_drawn_by_every_explainer_of_the_model(added: Path) -> None:
    for method in ("alignment", "crops"):
        found = seesay.identify("a cat", [CAT, COFFEE], model="clip", method=method)
        assert found.draw().width > 0


def test_an_explanation_lies_where_the_network_has_looked(added: Path) -> None:
    model = Model("clip")
    wide = Image.new("RGB", (400, 200), "green")
    wide.paste((200, 30, 30), (300, 0, 400, 200))  # outside of the square that the network is shown
    found = explain_image(model, wide, "a red bus", "alignment")
    assert found.map.shape == (4, 8)
    assert np.ptp(found.word_maps[:, :, [0, 1, 6, 7]], axis=(1, 2)).max() == 0  # type: ignore[index]
    assert found.boxes is not None
    assert found.boxes[:, 0].min() >= 0.25
    assert found.boxes[:, 2].max() <= 0.75
    crops = explain_image(model, wide, "a red bus", "crops")
    assert crops.map.shape == (12, 12)
    assert abs(crops.weights.sum() - 1) < 1e-9
    assert crops.boxes is not None
    assert crops.boxes.min() >= 0
    assert crops.boxes.max() <= 1.0001


def test_crops_find_the_part_that_fits(added: Path) -> None:
    """The heat of the sentence is highest where the crop with the best score lies."""
    model = Model("clip")
    photo = Image.open(CAT).convert("RGB")
    from seesay.explainers.crops import Crops

    seen = Crops().see(model, photo)
    assert seen.crops is not None
    assert seen.boxes is not None
    found = Crops().explain(model, seen, "cat")
    best = seen.crops[0] @ model.encode_texts(["cat"])[0]
    assert found.boxes is not None
    assert np.allclose(found.boxes[0], seen.boxes[0][best.argmax()])
    with pytest.raises(SeesayError, match="by the image itself"):
        Crops().explain(model, model.features([photo]), "cat")


def test_explaining_by_the_command_line(added: Path, tmp_path: Path) -> None:
    for method in ("alignment", "crops"):
        told = json.loads(run("explain", str(CAT), "a cat sits", "-m", "siglip", "--method", method, "--json"))
        assert [row["word"] for row in told["words"]] == ["a", "cat", "sits"]
        assert told["method"] == method


def test_regions_by_places_and_by_crops(added: Path, photos: Path) -> None:
    for crops in (False, True):
        found = find_regions(["a cat", "a rocket"], photos, model="clip", n=3, crops=crops)
        assert {len(rows) for rows in found.phrases.values()} == {3}
        scores = [row.score for row in found["a cat"]]
        assert scores == sorted(scores, reverse=True)
        assert all(0 <= edge <= 1.0001 for row in found["a cat"] for edge in row.box)
    with pytest.raises(SeesayError, match="regions of its own"):
        find_regions("a cat", photos, model="dvsa", crops=True)


def test_a_library_of_two_models_loses_neither(added: Path, photos: Path) -> None:
    run("index", str(photos))
    with Library() as opened:
        first = opened.search("a cat", top=3)
    switched = use_model("clip")
    assert (switched.n_photos, switched.n_missing) == (6, 6)
    assert switched.seconds is not None
    assert switched.seconds > 0
    run("index")
    with Library() as opened:
        assert opened.encoder.fingerprint.model == "clip"
        assert opened.status().counts.photos == 6
        assert opened.search("a cat", top=3)
    assert [(name, n, used) for name, _, n, used in models_of()] == [("eye", 6, False), ("clip", 6, True)]
    back = use_model("eye")
    assert (back.n_missing, back.seconds) == (0, None)
    with Library() as opened:
        again = opened.search("a cat", top=3)
    assert [(each.path, each.score) for each in again] == [(each.path, each.score) for each in first]
    assert use_model("clip").n_missing == 0


def test_what_indexing_will_cost_is_said(added: Path, photos: Path) -> None:
    run("index", str(photos))
    result = CliRunner().invoke(app, ["library", "use", "siglip"])
    assert "0 of 6 photos are indexed" in result.output
    assert "takes about" in result.output
    assert "* siglip  0 photos" in run("library", "use")


def test_a_model_that_is_no_first_stage_cannot_be_used(added: Path, photos: Path) -> None:
    run("index", str(photos))
    with pytest.raises(SeesayError, match="does not keep a photo as one vector"):
        use_model("dvsa")


def test_a_damaged_switch_is_named(added: Path, photos: Path, tmp_path: Path) -> None:
    run("index", str(photos))
    for text in ("{", "[]", '{"index": "../x"}', '{"index": 3}', '{"index": ""}', '{"index": "gone"}'):
        (tmp_path / "library" / "current.json").write_text(text)
        with pytest.raises(SeesayError, match=r"current\.json"):
            Library()


def test_a_library_whose_model_was_removed_can_be_used_with_another(
    added: Path, photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("index", str(photos))
    use_model("clip")
    monkeypatch.setenv("SEESAY_MODELS", str(tmp_path / "none"))
    with pytest.raises(SeesayError, match="was made with clip, which is not here any more") as caught:
        Library()
    assert "seesay library use eye" in str(caught.value.hint)
    assert use_model("eye").n_missing == 0
    with Library() as library:
        assert len(library.search("a dog")) > 0


def test_killed_before_the_other_index_is_there_the_library_is_as_it_was(
    added: Path, photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("index", str(photos))

    def kill(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("seesay.verbs.switching._prepare", kill)
    with pytest.raises(KeyboardInterrupt):
        use_model("clip")
    assert not (tmp_path / "library" / "current.json").exists()


def test_tags_of_any_words(added: Path) -> None:
    told = json.loads(run("tag", str(CAT), str(COFFEE), "-w", "cat, cup of coffee, rocket", "-n", "1", "--json"))
    assert [row["tags"][0]["word"] for row in told["photos"]] == ["cat", "cup of coffee"]  # by the eye
    told = json.loads(run("tag", str(CAT), "-w", "cat, dog", "-m", "clip", "--json"))
    assert sum(row["share"] for row in told["photos"][0]["tags"]) == pytest.approx(1, abs=1e-3)


def test_a_library_has_tags_without_a_classifier(added: Path, photos: Path) -> None:
    run("index", str(photos), "--model", "siglip")
    with Library() as opened:
        vectors, tags = opened.encoder.encode_photos([Image.open(CAT).convert("RGB")])
    assert vectors.shape[1] == 64
    assert len(tags[0]) <= 10
    assert all(0.01 <= share <= 1 for _, share in tags[0])


WITHOUT_TORCH = """
import sys
for name in ("torch", "onnx", "transformers"):
    sys.modules[name] = None
import seesay
print(seesay.match(sys.argv[1], ["a cat", "a dog"], model="clip").scores.shape)
print(seesay.explain(sys.argv[1], "a cat", model="clip", method="crops").explanation.method)
"""


def test_an_added_model_is_used_without_torch(added: Path) -> None:
    import subprocess
    import sys

    command = [sys.executable, "-c", WITHOUT_TORCH, str(CAT)]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    assert finished.stdout == "(1, 2)\ncrops\n", finished.stderr


def test_the_page_explains_what_a_tower_has_found(added: Path, photos: Path) -> None:
    from seesay.verbs.photos import PhotoModels

    run("index", str(photos), "--model", "clip")
    with Library() as opened:
        (photo, *_) = opened.latest(1)
        words = PhotoModels(opened).explain(photo, "a red bus")
    shown = [word for word in words if word.content]
    assert [word.text for word in shown] == ["red", "bus"]
    assert all(word.heat is not None and word.box is not None for word in shown)
