"""`seesay match` on a model that knows colours."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

Call = Callable[..., Any]


@pytest.fixture
def photos(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder, which is also the current one, with a red and a blue photo."""
    for colour in ("red", "blue"):
        Image.new("RGB", (50, 40), colour).save(tmp_path / f"{colour}.jpg")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def match(seesay: Call, colours_run: Path, photos: Path) -> Call:
    return lambda *arguments: seesay("match", "-m", colours_run / "weights", *arguments)


def test_the_best_sentence_of_each_photo_comes_first(match: Call) -> None:
    code, out, err = match("red.jpg", "a blue picture", "a red picture", "blue.jpg")
    assert (code, err) == (0, "")
    header, *rows = (line.rstrip() for line in out.splitlines())
    assert header.split() == ["photo", "sentence", "score", "share"]
    assert [row.partition("picture")[0].split() for row in rows] == [
        ["red.jpg", "a", "red"], ["a", "blue"], ["blue.jpg", "a", "blue"], ["a", "red"],
    ]  # fmt: skip
    scores = [float(row.split("picture")[1].split()[0]) for row in rows]
    assert scores[0] > scores[1]
    assert scores[2] > scores[3]
    shares = [int(row.split()[-2]) for row in rows]
    assert shares[0] > 50
    assert shares[0] + shares[1] == pytest.approx(100, abs=1)


def test_json_gives_every_pair_in_the_order_of_the_call(match: Call, colours_run: Path) -> None:
    code, out, err = match("red.jpg", "blue.jpg", "a blue picture", "a red picture", "--json")
    assert (code, err) == (0, "")
    report = json.loads(out)
    assert report["model"] == str(colours_run / "weights")
    matches = report["matches"]
    assert [(row["photo"], row["sentence"]) for row in matches] == [
        ("red.jpg", "a blue picture"), ("red.jpg", "a red picture"),
        ("blue.jpg", "a blue picture"), ("blue.jpg", "a red picture"),
    ]  # fmt: skip
    assert matches[1]["score"] > matches[0]["score"]
    assert matches[2]["score"] > matches[3]["score"]
    for first, second in (matches[:2], matches[2:]):
        assert first["share"] + second["share"] == pytest.approx(1, abs=1e-3)
        assert -1 <= first["score"] <= 1


@pytest.mark.parametrize("sentence", ["", " ", "🐶🎉"])
def test_a_sentence_without_words_is_refused(match: Call, sentence: str) -> None:
    code, out, err = match("red.jpg", "a red picture", sentence)
    assert (code, out) == (2, "")
    assert err.startswith(f"seesay: the sentence {sentence!r} has no words")


def test_strange_and_very_long_sentences_have_scores(match: Call) -> None:
    sentences = ["zzyzx", "[bold]red[/bold]", "red " * 2000]
    code, out, err = match("red.jpg", *sentences, "--json")
    assert code == 0
    assert "has never learned 'zzyzx': the score means nothing" in err
    assert "has never learned 'bold': the score is that of the rest" in err
    assert len(err.splitlines()) == 2
    assert [row["sentence"] for row in json.loads(out)["matches"]] == sentences
    code, out, _ = match("red.jpg", "[bold]red[/bold]")
    assert code == 0
    assert "[bold]red[/bold]" in out
    assert "100 %" in out


def test_a_photo_that_does_not_exist_is_named(match: Call) -> None:
    code, out, err = match("gren.jpg", "a green picture")
    assert (code, out) == (2, "")
    assert err.startswith("seesay: cannot open gren.jpg: no such file")


def test_a_folder_without_photos_is_refused(match: Call, photos: Path) -> None:
    (photos / "holidays").mkdir()
    code, _, err = match("holidays", "a green picture")
    assert code == 2
    assert err == "seesay: there are no photos in holidays\n  allowed: images, and folders of images\n"


def test_a_file_that_is_no_picture_is_refused(match: Call, photos: Path) -> None:
    (photos / "notes.txt").write_text("a dog runs")
    code, _, err = match("notes.txt", "a dog runs")
    assert code == 2
    assert err.startswith("seesay: cannot open notes.txt: not an image of a known format\n  allowed: JPEG")


def test_sentences_alone_are_no_match(match: Call) -> None:
    code, _, err = match("a red picture", "a dog")
    assert code == 2
    assert "none of 'a red picture', 'a dog' is a photo file\n  try: seesay match photo.jpg" in err


def test_photos_alone_are_no_match(match: Call) -> None:
    code, _, err = match("red.jpg", "blue.jpg")
    assert code == 2
    assert 'there is no sentence to match\n  try: seesay match red.jpg "a dog runs"' in err


def test_an_unknown_model_is_answered_with_the_installed_ones(
    seesay: Call, photos: Path, colours_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("seesay.catalogue.weights.PACKAGED", colours_run)
    code, _, err = seesay("match", "red.jpg", "a dog", "-m", "vsee")
    assert code == 2
    assert err == (
        "seesay: there are no weights 'vsee'\n"
        "  allowed: colours, or a folder that holds a config.json\n"
        "  try: seesay models\n"
    )


def test_weights_are_found_by_the_name_that_they_are_installed_under(
    seesay: Call, photos: Path, colours_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("seesay.catalogue.weights.PACKAGED", colours_run)
    code, out, _ = seesay("match", "red.jpg", "a red picture", "--model", "weights")
    assert code == 0
    assert "a red picture" in out


def test_the_ensemble_that_ships_consists_of_weights_that_ship() -> None:
    pytest.importorskip("torch", reason="needs the extra [train]")
    from seesay.catalogue.ensembles import read_ensemble
    from seesay.catalogue.weights import find

    shipped = read_ensemble("shipped")
    assert [find(member.name).name for member in shipped.members] == ["eye", "hmlstm"]
    assert shipped.chosen_on == "flickr8k + coco-all + iapr/dev"
    assert all(member.weight > 0 for member in shipped.members)


def test_an_ensemble_adds_up_standardised_scores(match: Call, colours_run: Path) -> None:
    from seesay.catalogue.ensembles import Ensemble, Member

    weights = str(colours_run / "weights")
    Ensemble((Member(weights, 1.0, 0.0, 0.5), Member(weights, 1.0, 0.1, 1.0))).write(Path("both"))
    one, both = (
        json.loads(match("red.jpg", "a red picture", "a blue picture", *options, "--json").out)
        for options in ((), ("--ensemble", "both"))
    )
    assert both["model"] == "weights + weights"
    for alone, together in zip(one["matches"], both["matches"], strict=True):
        assert together["score"] == pytest.approx(3 * alone["score"] - 0.1, abs=1e-3)
