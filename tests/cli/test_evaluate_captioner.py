"""`seesay evaluate` of weights that write: captions, reranking and likelihoods, on weights and features made here."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from seesay.evaluation.report import read_report
from seesay.images.extraction import FeatureStore, content_key
from seesay.images.features import Features, FeatureSpec
from seesay.metrics import captions
from seesay.models import pretrained
from seesay.models.mrnn import MRNN, MRNNConfig
from seesay.models.vse import VSE, VSEConfig
from seesay.text.vocabulary import Vocabulary

Call = Callable[..., Any]
SPEC = FeatureSpec("efficientnet-lite0")
SPLITS = {"train": 6, "dev": 3, "test": 4}
ANIMALS = ("cow", "hen", "pig", "dog")


@pytest.fixture
def farm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a captioner, a matcher, and a collection of three splits with stored features."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SEESAY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("SEESAY_DATA", str(tmp_path / "data"))
    monkeypatch.setattr(captions, "why_no_meteor", lambda: "Java takes its time to start")
    folder = tmp_path / "data" / "farm"
    folder.mkdir(parents=True)
    rows, keys = [("image", "sentence", "split")], []
    for split, n in SPLITS.items():
        for number in range(n):
            path, animal = folder / f"{split}{number}.png", ANIMALS[number % 4]
            Image.new("RGB", (8, 8), (len(keys) * 10, 0, 0)).save(path)
            keys.append(content_key(path))
            rows += [(path.name, f"a {animal} on a farm", split), (path.name, f"the {animal} eats", split)]
    with (folder / "captions.csv").open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    pooled = np.random.default_rng(0).normal(size=(len(keys), 1280)).astype(np.float32)
    FeatureStore(SPEC).write(keys, {"pooled": pooled})
    vocabulary = Vocabulary.build([sentence for _, sentence, _ in rows[1:]], min_count=1)
    torch.manual_seed(0)
    for name, wiring in (("writer", "m-rnn"), ("blind", "rnn-base")):
        config = MRNNConfig(embedding=4, recurrent=5, multimodal=6, n_marginal=3, wiring=wiring)
        model = MRNN(config, vocabulary, SPEC).eval()
        model.finalize(Features(torch.from_numpy(pooled)))
        recipe = {
            "name": name,
            "model": "mrnn",
            "data": {"train": [{"source": "farm"}], "dev": {"source": "farm"}},
            "stop": {"epochs": 1},
        }
        pretrained.save(tmp_path / name, model, {"name": name, "recipe": recipe, "captioning": {"beam": 2}})
    pretrained.save(tmp_path / "matcher", VSE(VSEConfig(dim=8, word_dim=8), vocabulary, SPEC), {"name": "matcher"})
    return tmp_path


def measure(seesay: Call, *options: object, weights: str = "writer") -> dict[str, Any]:
    code, out, err = seesay("evaluate", weights, "--data", "farm", "--json", *options)
    assert (code, err) == (0, "")
    report: dict[str, Any] = json.loads(out)
    return report


def test_captions_and_retrieval_are_measured_and_shown_one_after_the_other(seesay: Call, farm: Path) -> None:
    code, out, err = seesay("evaluate", "writer", "--data", "farm")
    assert code == 0
    first, second = (part for part in out.split("farm, test: 4 images and 8 sentences\n") if part)
    assert "PPL" in first
    assert "\n  writer, beam 2 " in first
    assert "sentences for an image" in second
    assert "writer: likelihoods are divided by the sentence's mean likelihood over training images" in " ".join(
        second.split()
    )
    folder = Path("seesay-report/writer-farm-test")
    assert err == f"report and plots are in {folder}\n"
    written = ["captions.json", "ranks.png", "recall.png", "report.json", "report.md"]
    assert sorted(path.name for path in folder.iterdir()) == written
    report = read_report(folder / "report.json")
    assert report["command"] == "seesay evaluate writer --data farm --split test --protocol full"
    assert (folder / "report.md").read_text().count("### farm, test: 4 images") == 2
    captions = json.loads((folder / "captions.json").read_text())
    assert [row["image"] for row in captions] == [f"test{number}.png" for number in range(4)]
    assert all(row["caption"] for row in captions)


def test_json_has_the_figures_of_both(seesay: Call, farm: Path) -> None:
    report = measure(seesay)
    assert list(report)[:4] == ["captions", "i2t", "t2i", "sum"]
    figures = {"perplexity", "bleu1", "bleu2", "bleu3", "bleu4", "cider", "rouge_l", "meteor", "novel", "decoding"}
    assert report["captions"].keys() == figures
    assert report["captions"]["decoding"] == "beam 2"
    assert report["captions"]["meteor"] is None
    assert 0 <= report["captions"]["novel"] <= 1  # the training sentences were found
    assert report["protocol"]["normalise"] == "marginal"
    assert set(report["seconds"]) == {"features", "perplexity", "captions", "metrics", "scores", "ranks"}


def test_a_task_alone_is_measured_alone(seesay: Call, farm: Path) -> None:
    captions, retrieval = (measure(seesay, "--task", task) for task in ("captions", "retrieval"))
    assert ("captions" in captions, "sum" in captions) == (True, False)
    assert ("captions" in retrieval, "sum" in retrieval) == (False, True)
    assert "normalise" not in captions["protocol"]
    seesay("evaluate", "writer", "--data", "farm", "--task", "captions", "-o", "out")
    assert sorted(path.name for path in Path("out").iterdir()) == ["captions.json", "report.json", "report.md"]
    assert read_report(Path("out/report.json"))["captions"]["bleu1"] == captions["captions"]["bleu1"]


def test_a_matcher_has_retrieval_and_no_captions(seesay: Call, farm: Path) -> None:
    report = measure(seesay, weights="matcher")
    assert "captions" not in report
    assert "normalise" not in report["protocol"]
    for option in (["--task", "captions"], ["--beam", 3], ["--normalise", "none"], ["--references", "farm"]):
        code, out, err = seesay("evaluate", "matcher", "--data", "farm", *option)
        assert (code, out) == (2, "")
        assert "matcher matches images and sentences and writes no captions" in err or "is no captioner" in err


def test_a_language_model_without_pictures_has_captions_and_no_retrieval(seesay: Call, farm: Path) -> None:
    assert "sum" not in measure(seesay, weights="blind")
    code, _, err = seesay("evaluate", "blind", "--data", "farm", "--task", "retrieval")
    assert code == 2
    assert "blind cannot compare images with sentences" in err


def test_the_beam_is_the_weights_own_or_the_one_asked_for(seesay: Call, farm: Path) -> None:
    decodings = [measure(seesay, "--task", "captions", *beam)["captions"]["decoding"] for beam in ((), ("--beam", 1))]
    assert decodings == ["beam 2", "greedy"]


def test_sampled_captions_depend_on_their_seed_and_are_recorded_by_it(seesay: Call, farm: Path) -> None:
    first, again, other = (
        measure(seesay, "--task", "captions", "--sample", seed, "--record")["captions"] for seed in (1, 1, 2)
    )
    assert first == again
    assert (first["decoding"], other["decoding"]) == ("sampled, seed 1", "sampled, seed 2")
    assert first["bleu1"] != other["bleu1"]
    assert list(pretrained.find("writer").figures) == ["farm/test/sample-1", "farm/test/sample-2"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--sample", 1, "--beam", 3), "--sample draws captions, and --beam searches for the best"),
        (("--sample", 1, "--task", "retrieval"), "--sample is for the captions of a captioner"),
        (("--protocol", "shortlist-2"), "shortlist-2 is for retrieval alone"),
        (("--protocol", "shortlist-0"), "there is no protocol 'shortlist-0'"),
    ],
)
def test_what_samples_and_shortlists_do_not_go_with_is_refused(
    seesay: Call, farm: Path, options: tuple[Any, ...], message: str
) -> None:
    code, out, err = seesay("evaluate", "writer", "--data", "farm", *options)
    assert (code, out) == (2, "")
    assert message in err


def test_a_shortlist_is_recorded_under_its_own_name(seesay: Call, farm: Path) -> None:
    report = measure(seesay, "--task", "retrieval", "--protocol", "shortlist-2", "--record")
    assert "t2i" not in report
    assert report["shortlist"]["n_candidates"] == 4.0  # two images with two sentences each
    assert list(pretrained.find("writer").figures) == ["farm/test/shortlist-2"]
    code, out, _ = seesay("evaluate", "writer", "--data", "farm", "--task", "retrieval", "--protocol", "shortlist-2")
    assert code == 0
    assert "sentences of its nearest images by the network's vectors, its own among them: 4 on average" in " ".join(
        out.split()
    )


def test_novelty_is_left_out_where_the_training_sentences_are_not_here(seesay: Call, farm: Path) -> None:
    about = json.loads((farm / "writer" / "config.json").read_text())
    about["recipe"]["data"]["train"][0]["source"] = "elsewhere"
    (farm / "writer" / "config.json").write_text(json.dumps(about))
    assert measure(seesay, "--task", "captions")["captions"]["novel"] is None


class TestLimit:
    def test_a_quick_look_never_stands_under_the_name_of_the_whole_split(self, seesay: Call, farm: Path) -> None:
        report = measure(seesay, "--limit", 2, "--record")
        assert (report["protocol"]["name"], report["protocol"]["n_images"]) == ("limit-2", 2)
        assert report["command"] == "seesay evaluate writer --data farm --split test --limit 2"
        assert list(pretrained.find("writer").figures) == ["farm/test/limit-2"]

    def test_more_images_than_there_are_cannot_be_looked_at(self, seesay: Call, farm: Path) -> None:
        code, _, err = seesay("evaluate", "writer", "--data", "farm", "--limit", 5)
        assert code == 2
        assert "protocol limit-5 needs 5 images, there are 4" in err


class TestRecord:
    def test_captions_and_retrieval_may_be_recorded_one_after_the_other(self, seesay: Call, farm: Path) -> None:
        captions = measure(seesay, "--task", "captions", "--references", "farm", "--record")
        retrieval = measure(seesay, "--task", "retrieval", "--record")
        again = measure(seesay, "--task", "captions", "--beam", 1, "--record")
        figures = pretrained.find("writer").figures
        kept = figures["farm/test"]
        assert kept["captions"] == captions["captions"] != again["captions"]
        assert figures["farm/test/beam-1"]["captions"] == again["captions"]  # beside the weights' own way to decode
        assert kept["reranking"] == captions["reranking"]
        assert (kept["i2t"], kept["sum"]) == (retrieval["i2t"], retrieval["sum"])
        assert kept["protocol"]["normalise"] == "marginal"
        card = (farm / "writer" / "card.md").read_text()
        assert "| farm/test/beam-1 | greedy |" in card
        assert str(farm) not in (farm / "writer" / "config.json").read_text()

    def test_figures_of_other_data_are_replaced(self, seesay: Call, farm: Path) -> None:
        measure(seesay, "--task", "captions", "--record")
        with (farm / "data" / "farm" / "captions.csv").open("a") as file:
            file.write("test0.png,something else,test\n")
        measure(seesay, "--task", "retrieval", "--record")
        assert "captions" not in pretrained.find("writer").figures["farm/test"]

    def test_another_normalisation_has_a_name_of_its_own(self, seesay: Call, farm: Path) -> None:
        reports = {
            way: measure(seesay, "--task", "retrieval", "--normalise", way, "--record")
            for way in ("marginal", "mean-image", "none")
        }
        figures = pretrained.find("writer").figures
        assert list(figures) == ["farm/test", "farm/test/normalise-mean-image", "farm/test/normalise-none"]
        assert figures["farm/test/normalise-none"]["i2t"] == reports["none"]["i2t"]
        assert reports["none"]["protocol"]["softmax"] == "exact"
        # Among the images of one sentence all three give the same order.
        assert len({json.dumps(report["t2i"]) for report in reports.values()}) == 1


class TestReranking:
    def test_the_table_has_both_similarities_and_their_oracles(self, seesay: Call, farm: Path) -> None:
        reranking = measure(seesay, "--task", "captions", "--references", "farm")["reranking"]
        names = ["reranked by BLEU", "reranked by CIDEr", "oracle by BLEU", "oracle by CIDEr"]
        assert [row["name"] for row in reranking["rows"]] == names
        assert [(row.get("k"), row.get("m")) for row in reranking["rows"]] == [
            (60, 175), (60, 125), (None, None), (None, None),
        ]  # fmt: skip
        assert (reranking["references"], reranking["n_references"], reranking["chosen_on"]) == ("farm", 6, None)
        by = {row["name"]: row for row in reranking["rows"]}
        assert by["oracle by CIDEr"]["cider"] >= by["reranked by CIDEr"]["cider"]

    def test_k_and_m_may_be_given_or_chosen_on_dev(self, seesay: Call, farm: Path) -> None:
        given = measure(seesay, "--task", "captions", "--references", "farm", "--k", 2, "--m", 3)["reranking"]
        assert [(row["k"], row["m"]) for row in given["rows"][:2]] == [(2, 3), (2, 3)]
        options = ("--task", "captions", "--references", "farm", "--choose-on", "dev")
        chosen = measure(seesay, *options)["reranking"]
        assert chosen["chosen_on"] == "dev"
        out = " ".join(seesay("evaluate", "writer", "--data", "farm", *options).out.split())
        for row in chosen["rows"][:2]:
            assert f"by {row['name'].split()[-1]} the {row['m']} best captions of {row['k']} images" in out
        assert "chosen on dev" in out

    def test_measured_pictures_are_no_references(self, seesay: Call, farm: Path) -> None:
        measured = measure(seesay, "--split", "train", "--task", "captions", "--limit", 4, "--references", "farm")
        assert measured["reranking"]["n_references"] == 2
        code, _, err = seesay("evaluate", "writer", "--data", "farm", "--split", "train", "--references", "farm")
        assert code == 2
        assert "all images of the references farm are measured on" in err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--task", "counting"], "there is no task 'counting'\n  allowed: captions, retrieval, grounding, "),
        (["--limit", "2", "--protocol", "1k"], "--limit and --protocol both say which images are measured"),
        (["--references", "farm", "--choose-on", "dev", "--k", "3"], "k and m are either given or chosen"),
        (["--choose-on", "dev"], "--choose-on is for reranking, which needs captioned photos\n  try: --references"),
        (["--m", "3"], "--m is for reranking"),
        (["--references", "farm", "--choose-on", "val2"], "farm has no split 'val2'"),
        (["--references", "barn"], "there is no collection 'barn'"),
        (["--normalise", "mean"], "there is no normalisation 'mean'\n  allowed: marginal, mean-image, none"),
        (["--task", "captions", "--normalise", "none"], "--normalise is for the retrieval of a captioner"),
        (
            ["--task", "retrieval", "--beam", "3"],
            "--beam is for the captions and identification of a captioner; writer measures",
        ),
        (["--beam", "0"], "--beam"),
    ],
)
def test_what_cannot_be_measured_is_refused_by_name(seesay: Call, farm: Path, options: list[str], message: str) -> None:
    code, out, err = seesay("evaluate", "writer", "--data", "farm", *options)
    assert (code, out) == (2, "")
    assert message in err
    assert not Path("seesay-report").exists()
