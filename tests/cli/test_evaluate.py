"""`seesay evaluate` from end to end, on weights and stored features made here: no network runs."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from seesay.cli.main import run
from seesay.images.extraction import FeatureStore, content_key
from seesay.images.features import FeatureSpec
from seesay.models import pretrained
from seesay.models.vse import VSE, VSEConfig
from seesay.text.vocabulary import Vocabulary

SPEC = FeatureSpec("efficientnet-lite0")
KINDS = ("dog", "bus", "boat", "tree")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with weights, a collection of four pictures and their stored features."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SEESAY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("SEESAY_DATA", str(tmp_path / "data"))
    folder = tmp_path / "data" / "pets"
    folder.mkdir(parents=True)
    rows = [("image", "sentence", "split")]
    for number, kind in enumerate(KINDS):
        Image.new("RGB", (8, 8), (60 * number, 0, 0)).save(folder / f"{kind}.png")
        rows += [(f"{kind}.png", f"a {kind}", "test"), (f"{kind}.png", f"one {kind} here", "test")]
    with (folder / "captions.csv").open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    keys = [content_key(folder / f"{kind}.png") for kind in KINDS]
    FeatureStore(SPEC).write(keys, {"pooled": np.random.default_rng(0).normal(size=(4, 1280))})
    config = VSEConfig(dim=8, word_dim=8, encoder="mean")
    vocabulary = Vocabulary.build([sentence for _, sentence, _ in rows[1:]], min_count=1)
    pretrained.save(tmp_path / "tiny", VSE(config, vocabulary, SPEC), {"name": "tiny"})
    return tmp_path


def refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as caught:
        run(arguments)
    assert caught.value.code == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    return printed.err


def evaluate(*options: str, weights: tuple[str, ...] = ("tiny",)) -> None:
    with pytest.raises(SystemExit) as caught:
        run(["evaluate", *weights, "--data", "pets", *options])
    assert caught.value.code == 0


def test_it_prints_the_table_and_writes_report_and_plots(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    evaluate()
    printed = capsys.readouterr()
    assert printed.out.startswith("pets, test: 4 images and 8 sentences\n")
    assert "\n  tiny " in printed.out
    folder = Path("seesay-report/tiny-pets-test")
    assert printed.err == f"report and plots are in {folder}\n"
    assert sorted(path.name for path in folder.iterdir()) == ["ranks.png", "recall.png", "report.json", "report.md"]
    report = json.loads((folder / "report.json").read_text())
    assert report["command"] == "seesay evaluate tiny --data pets --split test --protocol full"
    assert (folder / "report.md").read_text().startswith("### pets, test: 4 images and 8 sentences\n")


def test_json_is_the_report_and_nothing_else(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    evaluate("--json")
    printed = capsys.readouterr()
    report = json.loads(printed.out)
    assert printed.err == ""
    assert list(report)[:3] == ["i2t", "t2i", "sum"]
    assert set(report["i2t"]) == set(report["t2i"]) == {"r1", "r5", "r10", "median", "mean"}
    recalls = [report[direction][key] for direction in ("i2t", "t2i") for key in ("r1", "r5", "r10")]
    assert report["sum"] == pytest.approx(sum(recalls), abs=1e-3)
    assert not Path("seesay-report").exists()


def test_output_chooses_the_folder_with_json_too(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    evaluate("--json", "-o", "out/here")
    printed = json.loads(capsys.readouterr().out)
    assert json.loads(Path("out/here/report.json").read_text()) == printed
    assert not Path("seesay-report").exists()


def test_record_keeps_the_figures_with_the_weights(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert pretrained.find("tiny").figures == {}
    evaluate("--json", "--record")
    report = json.loads(capsys.readouterr().out)
    kept = pretrained.find("tiny").figures["pets/test"]
    assert (kept["sum"], kept["date"]) == (report["sum"], report["date"])
    assert "pets/test" in Path("tiny/card.md").read_text()
    assert str(place) not in Path("tiny/config.json").read_text()


class TestEnsembles:
    @pytest.fixture
    def second(self, place: Path) -> str:
        """Other weights for the same pictures."""
        config = VSEConfig(dim=8, word_dim=8, encoder="mean")
        vocabulary = Vocabulary.build([f"a {kind} one here" for kind in KINDS], min_count=1)
        pretrained.save(place / "other", VSE(config, vocabulary, SPEC), {"name": "other"})
        return "other"

    def test_weights_are_chosen_told_and_kept(self, second: str, capsys: pytest.CaptureFixture[str]) -> None:
        evaluate("--ensemble", second, "--choose-on", "test", "-o", "out")
        printed = capsys.readouterr()
        assert "tiny + other" in printed.out
        assert "weights chosen on test: tiny " in printed.err
        report = json.loads(Path("out/report.json").read_text())
        assert [member["name"] for member in report["model"]["members"]] == ["tiny", "other"]
        assert report["model"]["chosen_on"] == "pets/test"
        weights = [member["weight"] for member in report["model"]["members"]]
        assert min(weights) >= 0
        assert max(weights) > 0

    def test_a_kept_ensemble_measures_the_same_again(self, second: str, capsys: pytest.CaptureFixture[str]) -> None:
        evaluate("--ensemble", second, "--choose-on", "test", "-o", "out", "--json")
        first = json.loads(capsys.readouterr().out)
        evaluate("--ensemble", "out/ensemble", "--json")
        again = json.loads(capsys.readouterr().out)
        assert (again["i2t"], again["t2i"]) == (first["i2t"], first["t2i"])

    def test_members_may_all_be_named_together_and_count_once(
        self, second: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        evaluate("--ensemble", f"tiny,{second}", "--choose-on", "test", "--json", weights=())
        together = json.loads(capsys.readouterr().out)
        assert together["command"].startswith("seesay evaluate --data pets")
        evaluate("--ensemble", f"{second},tiny", "--choose-on", "test", "--json")
        named_twice = json.loads(capsys.readouterr().out)
        assert [member["name"] for member in named_twice["model"]["members"]] == ["tiny", second]
        assert named_twice["sum"] == together["sum"]

    def test_nothing_to_measure_is_refused(self, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert "there are no weights to measure" in refused(["evaluate", "--data", "pets"], capsys)
        assert "the ensemble has no members" in refused(["evaluate", "--data", "pets", "--ensemble", " , "], capsys)

    def test_a_misspelt_member_is_refused_before_anything_is_scored(
        self, place: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        told = refused(["evaluate", "tiny", "--data", "pets", "--ensemble", "dvza", "--choose-on", "test"], capsys)
        assert "there are no weights 'dvza'" in told
        assert "scores of" not in told

    def test_what_is_asked_of_one_is_not_asked_of_several(
        self, second: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        told = refused(["evaluate", "tiny", "--data", "pets", "--ensemble", second, "--task", "captions"], capsys)
        assert "--task is for single weights" in told

    def test_figures_are_kept_with_the_folder_of_an_ensemble(
        self, second: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        told = refused(["evaluate", "tiny", "--data", "pets", "--ensemble", second, "--record"], capsys)
        assert f"{second} is not the folder of an ensemble" in told
        evaluate("--ensemble", second, "--choose-on", "test", "-o", "out", "--json")
        capsys.readouterr()
        evaluate("--ensemble", "out/ensemble", "--record", "--json")
        report = json.loads(capsys.readouterr().out)
        about = json.loads(Path("out/ensemble/config.json").read_text())
        assert about["figures"]["pets/test"]["sum"] == report["sum"]
        assert f"| {report['sum']:.1f} |" in Path("out/ensemble/card.md").read_text()


def test_pictures_may_lie_elsewhere(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("photos").mkdir()
    for kind in KINDS:
        (place / "data" / "pets" / f"{kind}.png").rename(Path("photos") / f"{kind}.png")
    assert "4 of 4 images of pets are missing" in refused(["evaluate", "tiny", "--data", "pets"], capsys)
    evaluate("--json", "--images", "photos")
    assert json.loads(capsys.readouterr().out)["command"].endswith("--images photos --protocol full")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["tiny", "--data", "pets", "--protocol", "2k"], "there is no protocol '2k'\n  allowed: full, 1k, 5-fold, 5k"),
        (["tiny", "--data", "pets", "--protocol", "1k"], "protocol 1k needs 1,000 images, there are 4"),
        (["tiny", "--data", "pets", "--split", "dev"], "pets has no split 'dev'\n  allowed: test"),
        (["tiny", "--data", "cats"], "there is no collection 'cats'"),
        (["tinny", "--data", "pets"], "there are no weights 'tinny'"),
        (["tiny", "--data", "pets", "-o", "tiny/config.json"], "tiny/config.json is a file"),
    ],
)
def test_what_cannot_be_measured_is_refused_by_name(
    place: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert message in refused(["evaluate", *arguments], capsys)
    assert not Path("seesay-report").exists()


def test_both_engines_measure_the_same(
    colours_run: Path, colours: Path, in_colours_cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reports = {}
    for engine in ("torch", "runtime"):
        with pytest.raises(SystemExit) as caught:
            run(["evaluate", str(colours_run / "weights"), "--data", str(colours), "--task", "retrieval",
                 "--engine", engine, "--json"])  # fmt: skip
        assert caught.value.code == 0
        reports[engine] = json.loads(capsys.readouterr().out)
        assert reports[engine]["model"].get("engine", "torch") == engine
    assert reports["runtime"]["sum"] == reports["torch"]["sum"] > 0
    for direction in ("i2t", "t2i"):
        assert reports["runtime"][direction] == reports["torch"][direction]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--task", "retrieval", "--engine", "tpu"], "there is no engine 'tpu'\n  allowed: runtime, torch"),
        (["--engine", "runtime"], "tiny has no graphs, without which it needs torch\n  try: seesay export tiny"),
        (["--task", "retrieval", "--engine", "runtime", "--set", "config.dim=8"], "graphs are measured as they are"),
    ],
)
def test_an_engine_that_does_not_fit_is_refused(
    place: Path, capsys: pytest.CaptureFixture[str], options: list[str], said: str
) -> None:
    assert said in refused(["evaluate", "tiny", "--data", "pets", *options], capsys)
