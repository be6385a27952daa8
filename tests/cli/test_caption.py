"""`seesay caption` on a model that has learned to name colours."""

import json
import shutil
from collections.abc import Callable
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any

import pytest

Call = Callable[..., Any]
RED = {"everything here is red", "a red picture"}
BLUE = {"everything here is blue", "a blue picture"}


@pytest.fixture(scope="module")
def captioner(captioner_recipe: dict[str, Any], colours_cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The weights of a captioner that has learned the colours of all pictures, not only of most."""
    pytest.importorskip("torch", reason="needs the extra [train]")
    from seesay.export.exporting import export_weights
    from seesay.training.recipe import Recipe
    from seesay.training.run import run_recipe

    recipe = captioner_recipe | {
        "config": {"embedding": 8, "recurrent": 16, "multimodal": 48, "n_marginal": 5},
        "optimiser": {"rate": 0.03},
        "stop": {"epochs": 30, "metric": "perplexity", "mode": "min", "evaluate_every": 100},
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SEESAY_CACHE", str(colours_cache))
        folder = run_recipe(Recipe.from_dict(recipe), tmp_path_factory.mktemp("run") / "colours").folder
        export_weights(folder, precision="fp32")
    return folder


@pytest.fixture
def photos(colours: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_colours_cache: Path) -> Path:
    """A folder, which is also the current one, with a red photo and, in a folder of their own, blue ones."""
    (tmp_path / "sea").mkdir()
    for name, original in (("red.jpg", "red_5"), ("sea/b.png", "blue_4"), ("sea/a.JPG", "blue_5")):
        shutil.copy(colours / "images" / f"{original}.png", tmp_path / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def caption(seesay: Call, captioner: Path, photos: Path) -> Call:
    return lambda *arguments: seesay("caption", "-m", captioner, *arguments)


def test_one_photo_gets_its_sentence(caption: Call) -> None:
    code, out, err = caption("red.jpg", "--no-rerank")
    assert (code, err) == (0, "")
    assert out.rstrip("\n") in RED


def test_a_photo_may_come_from_stdin(caption: Call, photos: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO((photos / "red.jpg").read_bytes())))
    code, out, err = caption("-", "--no-rerank")
    assert (code, err) == (0, "")
    assert out.rstrip("\n") in RED


def test_nobody_is_told_of_reranking_who_has_not_asked_for_it(caption: Call) -> None:
    code, out, err = caption("red.jpg", "sea/b.png")
    assert (code, err) == (0, "")
    assert len(out.splitlines()) == 2


def test_a_folder_is_walked_in_order(caption: Call, photos: Path) -> None:
    (photos / "notes.txt").write_text("no picture")
    (photos / ".hidden").mkdir()
    (photos / "red.jpg").replace(photos / "sea" / "c.jpg")
    (photos / ".hidden" / "d.jpg").write_bytes(b"")
    code, out, err = caption(".", "--no-rerank")
    assert (code, err) == (0, "")
    rows = [line.split(": ") for line in out.splitlines()]
    assert [name for name, _ in rows] == ["sea/a.JPG", "sea/b.png", "sea/c.jpg"]
    assert [text in allowed for (_, text), allowed in zip(rows, (BLUE, BLUE, RED), strict=True)] == [True] * 3


def test_an_unreadable_photo_does_not_stop_the_rest(caption: Call, photos: Path) -> None:
    (photos / "sea" / "a.JPG").write_bytes(b"\xff\xd8\xff damaged")
    code, out, err = caption("sea", "gone.jpg", "red.jpg", "--no-rerank")
    assert code == 1
    assert [line.split(": ")[0] for line in out.splitlines()] == ["sea/b.png", "red.jpg"]
    first, second = sorted(err.splitlines())
    assert first.startswith("seesay: cannot open sea/a.JPG: damaged")
    assert second == "seesay: cannot read gone.jpg: No such file or directory"
    code, out, err = caption("sea", "gone.jpg", "--no-rerank", "--json")
    assert (code, err) == (1, "")
    report = json.loads(out)
    assert [row["photo"] for row in report["photos"]] == ["sea/b.png"]
    assert set(report["failures"]) == {"sea/a.JPG", "gone.jpg"}


def test_a_folder_without_pictures_is_named(caption: Call, photos: Path) -> None:
    (photos / "empty").mkdir()
    code, out, err = caption("empty", "--no-rerank")
    assert (code, out, err) == (1, "", "seesay: there are no photos in empty\n")


def test_several_captions_come_with_their_log_probabilities_best_first(caption: Call) -> None:
    code, out, _ = caption("red.jpg", "-n", 4, "--no-rerank")
    assert code == 0
    rows = [line.split(maxsplit=1) for line in out.splitlines()]
    assert {text for _, text in rows[:2]} == RED
    assert [float(number) for number, _ in rows] == sorted((float(number) for number, _ in rows), reverse=True)
    assert len({text for _, text in rows}) == 4


def test_a_beam_of_one_is_greedy_and_has_one_caption(caption: Call) -> None:
    code, out, _ = caption("red.jpg", "--beam", 1, "--no-rerank")
    assert code == 0
    assert out.rstrip("\n") in RED
    code, _, err = caption("red.jpg", "--beam", 2, "-n", 3)
    assert (code, err) == (2, "seesay: a beam of 2 has no 3 captions\n  try: --beam 3\n")


def test_captions_continue_the_words_they_are_given(caption: Call) -> None:
    for words in ("a", "Everything"):
        _, out, _ = caption("red.jpg", "--start", words, "--no-rerank")
        assert out.rstrip("\n") in RED
        assert out.startswith(words.lower())


def test_unknown_first_words_are_named_before_anything_is_computed(caption: Call) -> None:
    code, out, err = caption("red.jpg", "--start", "a zebra in mauve")
    assert (code, out) == (2, "")
    assert err == (
        "seesay: colour-names does not know 'zebra', 'in', 'mauve', and cannot go on from 'a zebra in mauve'\n"
        "  allowed: the 13 words that it has learned\n"
    )


def test_a_caption_is_cut_at_the_maximum_length(caption: Call) -> None:
    _, out, _ = caption("red.jpg", "--start", "everything", "--max-length", 2, "--no-rerank", "--json")
    (row,) = json.loads(out)["photos"]
    assert row["captions"][0]["caption"] == "everything here"
    assert row["captions"][0]["cut"] is True


def test_drawn_captions_follow_the_seed(caption: Call) -> None:
    drawn = [caption("red.jpg", "--sample", "-n", 12, "--temperature", 3, "--seed", seed).out for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert len(drawn[0].splitlines()) == 12
    code, out, err = caption("red.jpg", "--sample", "--top-k", 1)
    assert (code, err) == (0, "")
    assert out == caption("red.jpg", "--beam", 1, "--no-rerank").out


def test_references_put_what_people_said_first(caption: Call, colours: Path) -> None:
    code, out, err = caption("red.jpg", "sea", "--references", colours, "--k", 4, "--m", 4, "-n", 3, "--json")
    assert (code, err) == (0, "")
    report = json.loads(out)
    assert report["reranked"] is True
    for row, allowed in zip(report["photos"], (RED, BLUE, BLUE), strict=True):
        assert {each["caption"] for each in row["captions"][:2]} == allowed
        scores = [each["consensus"] for each in row["captions"]]
        assert scores == sorted(scores, reverse=True)
        assert scores[1] > scores[2]
    _, out, _ = caption("red.jpg", "--references", colours, "--metric", "bleu", "--k", 4, "-n", 2)
    number, agreement, *words = out.splitlines()[0].split()
    assert float(number) < 0 < float(agreement) <= 1
    assert " ".join(words) in RED


def test_no_rerank_leaves_the_references_alone(caption: Call) -> None:
    code, out, err = caption("red.jpg", "--references", "does-not-exist", "--no-rerank", "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["reranked"] is False


def test_a_coco_result_file_has_the_best_caption_of_each_photo(caption: Call, photos: Path) -> None:
    (photos / "red.jpg").rename(photos / "COCO_val2014_000000000042.jpg")
    code, _, _ = caption(".", "--no-rerank", "--coco", "out/results.json", "-n", 2)
    assert code == 0
    rows = json.loads((photos / "out" / "results.json").read_text())
    assert [row["image_id"] for row in rows] == [42, "a.JPG", "b.png"]
    assert rows[0]["caption"] in RED
    assert rows[1]["caption"] in BLUE


def test_photos_that_would_share_a_coco_number_are_refused(caption: Call, photos: Path) -> None:
    for name in ("1.jpg", "sea/001.jpg"):
        shutil.copy(photos / "red.jpg", photos / name)
    code, out, err = caption(".", "--coco", "results.json")
    assert (code, out) == (2, "")
    assert err.startswith("seesay: several photos would be 1 in a COCO result file\n")
    assert not (photos / "results.json").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--temperature", 0.5), "--temperature needs --sample\n  try: --sample --temperature 0.5\n"),
        (("--seed", 3), "--seed needs --sample\n  try: --sample --seed 3\n"),
        (("--sample", "--beam", 3), "--beam searches and --sample draws\n  allowed: one of them\n"),
        (("--k", 3), "--k needs --references\n  try: --references DATA --k 3\n"),
        (("--references", ".", "--metric", "meteor"), "there is no similarity 'meteor'\n  allowed: cider, bleu\n"),
        (("--start", "everything here", "--max-length", 2), "there are 2 first words\n"),
    ],
)
def test_options_that_do_not_go_together_are_refused(caption: Call, options: tuple[object, ...], message: str) -> None:
    code, out, err = caption("red.jpg", *options)
    assert (code, out) == (2, "")
    assert f"seesay: {message}" in err


def test_weights_that_write_no_captions_are_refused(seesay: Call, photos: Path, colours_run: Path) -> None:
    code, _, err = seesay("caption", "red.jpg", "-m", colours_run / "weights")
    assert code == 2
    assert err.startswith("seesay: colours matches images and sentences and writes no captions\n")
