"""What a new user has after `pip install`: trained weights that do on real photos what their cards say."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import seesay
from seesay.metrics.bleu import bleu
from seesay.models.pretrained import PACKAGED

ROOT = Path(__file__).parents[2]
WEIGHTS = ["vse", "dvsa", "hmlstm", "smlstm"]
QUICK = WEIGHTS[:3]  # sm-LSTM looks at every pair for itself, which takes minutes for a whole test set
CARDS = ROOT / "benchmarks/results/weights"  # of weights that are compared with and do not ship


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "seesay", *map(str, arguments)], capture_output=True, text=True)


@pytest.mark.parametrize("options", [*(("-m", name) for name in WEIGHTS), ("--ensemble", "shipped")])
def test_the_cat_of_the_readme_is_a_cat(options: tuple[str, str]) -> None:
    sentences = ("a red bus", "a close up of a cat", "two dogs in the snow")
    result = run("match", "--json", *options, ROOT / "docs/pictures/cat.jpg", *sentences)
    assert result.returncode == 0, result.stderr
    matches = json.loads(result.stdout)["matches"]
    assert max(matches, key=lambda match: match["score"])["sentence"] == "a close up of a cat"


def test_the_table_names_the_best_sentence_first() -> None:
    result = run("match", ROOT / "docs/pictures/cat.jpg", "a red bus", "a close up of a cat")
    assert result.returncode == 0, result.stderr
    assert result.stdout.index("a close up of a cat") < result.stdout.index("a red bus")


@pytest.mark.parametrize("name", QUICK)
def test_evaluation_gives_the_figures_of_the_card(name: str, shared_data: Path) -> None:
    result = run("evaluate", name, "--data", "flickr8k", "--split", "test", "--json")
    assert result.returncode == 0, result.stderr
    report = json.loads(result.stdout)
    recorded = json.loads((PACKAGED / name / "config.json").read_text())["figures"]["flickr8k/test"]
    for direction in ("i2t", "t2i"):
        for key in ("r1", "r5", "r10"):
            # Another machine's arithmetic may swap a few near ties.
            assert report[direction][key] == pytest.approx(recorded[direction][key], abs=0.4)
    assert f"{recorded['sum']:.1f}" in (PACKAGED / name / "card.md").read_text()


def test_shipped_weights_learned_more_than_those_of_one_collection() -> None:
    for name in WEIGHTS:
        shipped, compared = (
            json.loads(card.read_text())["figures"]["flickr8k/test"]["sum"]
            for card in (PACKAGED / name / "config.json", CARDS / f"{name}-flickr8k.json")
        )
        assert shipped > compared


@pytest.mark.parametrize("name", WEIGHTS)
def test_captions_of_real_photos_find_their_photos(name: str, shared_data: Path) -> None:
    photos = seesay.load_data("flickr8k").split("test").items[:8]
    scores = seesay.load(name).match([photo.image for photo in photos], [photo.sentences[0] for photo in photos])
    assert (scores.argmax(0) == scores.new_tensor(range(8)).long()).sum() >= 6


def test_captions_of_real_photos_speak_of_what_people_spoke_of(shared_data: Path) -> None:
    photos = seesay.load_data("flickr8k").split("test").items[:16]
    result = run("caption", "--no-rerank", "--json", *(photo.image for photo in photos if photo.image))
    assert result.returncode == 0, result.stderr
    captions = [row["captions"][0]["caption"] for row in json.loads(result.stdout)["photos"]]
    own = bleu(captions, [photo.sentences for photo in photos]).corpus[0]
    others = bleu(captions, [photo.sentences for photo in photos[1:] + photos[:1]]).corpus[0]
    assert own > 1.2 * others
    assert not any("<" in caption for caption in captions)


@pytest.mark.parametrize(("photo", "word"), [("cat.jpg", "cat"), ("coffee.jpg", "coffee")])
def test_photos_that_no_collection_has_are_called_what_they_show(photo: str, word: str) -> None:
    result = run("caption", "--no-rerank", "--json", Path(seesay.__file__).parent / "samples" / photo)
    assert result.returncode == 0, result.stderr
    (row,) = json.loads(result.stdout)["photos"]
    assert word in row["captions"][0]["caption"].split()


@pytest.mark.parametrize(("sentence", "photo"), [("a close up of a cat", "cat"), ("a cup of coffee", "coffee")])
def test_a_description_finds_its_photo(sentence: str, photo: str) -> None:
    samples = Path(seesay.__file__).parent / "samples"
    photos = [samples / f"{name}.jpg" for name in ("coffee", "astronaut", "cat", "rocket")]
    result = run("identify", "--json", sentence, *photos)
    assert result.returncode == 0, result.stderr
    best = json.loads(result.stdout)["photos"][0]
    assert (Path(best["photo"]).stem, best["choice"] > 0.5) == (photo, True)


def test_every_look_at_a_photo_has_a_map_and_words_of_the_sentence() -> None:
    photo = Path(seesay.__file__).parent / "samples/cat.jpg"
    result = run("explain", "--json", "--method", "attention", photo, "a close up of a cat")
    assert result.returncode == 0, result.stderr
    steps = json.loads(result.stdout)["steps"]
    assert len(steps) == 3
    for step in steps:
        assert sum(map(sum, step["map"])) == pytest.approx(1, abs=1e-2)
        assert set(step["words"]) <= {"a", "close", "up", "of", "cat"}


def test_the_identifier_that_learned_from_everything_identifies_better() -> None:
    shipped, compared = (
        json.loads(card.read_text())["figures"]["flickr8k/dev"]["identification"]
        for card in (PACKAGED / "identifier/config.json", CARDS / "identifier-flickr8k.json")
    )
    assert shipped["of_10"] > compared["of_10"]


def test_weights_fit_the_package() -> None:
    sizes = [path.stat().st_size for path in PACKAGED.rglob("*") if path.is_file()]
    assert sum(sizes) <= 80_000_000
    assert {path.suffix for path in PACKAGED.rglob("*") if path.is_file()} <= {".safetensors", ".onnx", ".json", ".md"}
