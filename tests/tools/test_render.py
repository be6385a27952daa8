"""The tables of tools/docs/render.py, from made-up figures: what stands in which row."""

import json
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

RECALLS = {"r1": 20.0, "r5": 45.25, "r10": 60.0, "median": 7.0, "mean": 30.0}
CAPTIONS = {
    "perplexity": 20.512, "bleu1": 0.6123, "bleu2": 0.43, "bleu3": 0.3, "bleu4": 0.2149, "cider": 0.557,
    "rouge_l": 0.4, "meteor": None, "novel": 0.7, "decoding": "beam 3",
}  # fmt: skip
RERANKING = {
    "references": "flickr8k",
    "n_references": 6000,
    "n_hypotheses": 10,
    "chosen_on": "dev",
    "rows": [
        {"name": "reranked by CIDEr", "k": 40, "m": 75, **CAPTIONS, "cider": 0.6},
        {"name": "oracle by CIDEr", **CAPTIONS, "cider": 1.0},
    ],
}


@pytest.fixture
def render(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Every table, reading results and weights from a folder that starts empty."""
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "tools/docs")
    tables, reading = import_module("tables"), import_module("tables.reading")
    folders = {name: tmp_path / name for name in ("RESULTS", "WEIGHTS")}
    for name, folder in folders.items():
        folder.mkdir()
        for module in (reading, *tables.PAGES):
            monkeypatch.setattr(module, name, folder, raising=False)
    return SimpleNamespace(**folders, **{name.replace("-", "_"): write for name, write in tables.TABLES.items()})


def write_weights(render: SimpleNamespace, name: str, figures: dict[str, Any]) -> None:
    folder = render.WEIGHTS / name
    folder.mkdir()
    reports = {key: {"date": "2026-01-02T03:04:05", "protocol": {}, **report} for key, report in figures.items()}
    (folder / "config.json").write_text(json.dumps({"name": name, "family": name, "figures": reports}))


def write_result(render: SimpleNamespace, name: str, **found: Any) -> None:
    (render.RESULTS / f"{name}.json").write_text(json.dumps({"date": "2026-01-02T03:04:05", **found}))


def write_ensemble(render: SimpleNamespace) -> None:
    report = {"i2t": RECALLS, "t2i": RECALLS, "sum": 260.5}
    write_weights(render, "ensemble", {f"flickr8k/{split}": report for split in ("dev", "test")})


def cells(text: str) -> list[list[str]]:
    return [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("|")]


def test_captioners_stand_below_the_papers_rows_of_the_same_test_set(render: SimpleNamespace) -> None:
    write_weights(render, "mrnn", {"flickr8k/test": {"captions": CAPTIONS}, "flickr8k/dev": {"captions": CAPTIONS}})
    write_weights(render, "vse", {"flickr8k/test": {"i2t": RECALLS, "t2i": RECALLS, "sum": 250.5}})
    header, _, *rows = cells(render.captions())
    assert header[:4] == ["test set", "captions by", "PPL", "B-1"]
    flickr8k = [row for row in rows if row[0] == "Flickr8K"]
    assert [row[1] for row in flickr8k] == ["m-RNN-AlexNet", "**`mrnn`, beam 3**"]
    assert flickr8k[0][2:7] == ["24.39", "0.565", "0.386", "0.256", "0.170"]
    assert flickr8k[1][2:] == ["20.51", ".612", ".430", ".300", ".215", ".557", ".400", "–", ".700", "2026-01-02"]
    assert any(row[:2] == ["IAPR TC-12", "RNN-Base"] for row in rows)


def test_weights_that_do_not_ship_stand_in_comparisons_and_not_among_those_that_do(render: SimpleNamespace) -> None:
    found = {"i2t": RECALLS, "t2i": RECALLS, "sum": 250.5}
    write_weights(render, "mrnn", {"flickr8k/test": {"captions": CAPTIONS, **found}})
    write_weights(render, "plain", {"flickr8k/test": {"captions": CAPTIONS, **found}})
    (render.RESULTS / "weights").mkdir()
    (render.WEIGHTS / "plain/config.json").rename(render.RESULTS / "weights/plain.json")
    for table in (render.captions(), render.likelihood_retrieval()):
        assert [row[1].strip("*").split("`")[1] for row in cells(table) if "`" in row[1]] == ["mrnn", "plain"]
    write_ensemble(render)
    assert [row[0] for row in cells(render.weights())[2:]] == ["`mrnn`", *["**`--ensemble shipped`**"] * 2]


def test_matchers_and_captioners_share_a_table_and_captions_alone_stay_out(
    render: SimpleNamespace,
) -> None:
    found = {"i2t": RECALLS, "t2i": RECALLS, "sum": 250.5}
    write_weights(
        render, "mrnn", {"flickr8k/test": {"captions": CAPTIONS, **found}, "iapr/test": {"captions": CAPTIONS}}
    )
    write_weights(render, "vse", {"flickr8k/test": found})
    write_ensemble(render)
    rows = cells(render.weights())[2:]
    assert [row[:2] for row in rows] == [
        ["`mrnn`", "flickr8k/test"],
        ["`vse`", "flickr8k/test"],
        *(["**`--ensemble shipped`**", f"flickr8k/{split}"] for split in ("dev", "test")),
    ]
    assert rows[0][2:] == ["20.0 / 45.2 / 60.0 / 7", "20.0 / 45.2 / 60.0 / 7", "250.5", "2026-01-02"]
    assert rows[3][4] == "260.5"


def test_likelihoods_are_compared_by_how_they_are_normalised(render: SimpleNamespace) -> None:
    found = {"i2t": RECALLS, "t2i": RECALLS, "sum": 250.5}
    figures = {
        "flickr8k/test": {"captions": CAPTIONS, **found},
        "flickr8k/test/normalise-none": {**found, "protocol": {"normalise": "none"}},
        "flickr8k/test/limit-100": found,
        "flickr8k/test/softmax-logits": {**found, "protocol": {"softmax": "logits"}},
    }
    write_weights(render, "mrnn", figures)
    write_weights(render, "vse", {"flickr8k/test": found})
    rows = [row for row in cells(render.likelihood_retrieval())[2:] if row[0] == "Flickr8K"]
    assert [row[1:4] for row in rows] == [
        ["m-RNN-AlexNet", "marginal", "exact"],
        ["**`mrnn`**", "marginal", "exact"],
        ["**`mrnn`**", "none", "exact"],
        ["**`mrnn`**", "marginal", "logits"],
    ]
    assert rows[0][4:6] == ["14.5 / 37.2 / 48.5 / 11", "11.5 / 31.0 / 42.4 / 15"]


def test_reranking_has_the_layout_of_the_paper_and_says_how_k_and_m_were_found(render: SimpleNamespace) -> None:
    write_weights(render, "mrnn", {"flickr8k/test": {"captions": CAPTIONS, "reranking": RERANKING}})
    text = render.reranking()
    rows = cells(text)[2:]
    assert [row[1:3] for row in rows[:3]] == [
        ["beam 3", "–"],
        ["reranked by CIDEr", "40 / 75"],
        ["oracle by CIDEr", "–"],
    ]
    assert [row[7] for row in rows[:3]] == [".557", ".600", "1.000"]
    assert rows[3][:2] == ["m-RNN, Table 8, val", "m-RNN-shared"]
    assert "`mrnn`, flickr8k/test: 10 hypotheses, references are 6,000 training images of flickr8k" in text
    assert "k and m chosen on dev" in text


def test_wirings_stand_beside_the_papers(render: SimpleNamespace) -> None:
    printed = {"bleu1": "0.600", "bleu2": "0.412", "bleu3": "0.278", "bleu4": "0.187"}
    captions = {**CAPTIONS, "decoding": "beam 3"}
    rows = [
        {"variant": "m-rnn", "captions": captions, "published": printed},
        {"variant": "rnn-base", "captions": captions},
    ]
    write_result(render, "wirings", data="flickr8k", epochs=6, recipe="mrnn-wirings", rows=rows)
    text = render.wirings()
    first, second = cells(text)[2:]
    assert first == ["`m-rnn`", "20.51", ".612 / .430 / .300 / .215", ".557", ".600 / .412 / .278 / .187"]
    assert second[-1] == "–"
    assert "6 epochs of `recipes/mrnn-wirings.toml` each, beam 3." in text
    assert "Measured 2026-01-02 by `python -m benchmarks.ablations.sweep benchmarks/ablations/wirings.toml`." in text


def test_decoding_says_what_one_caption_costs(render: SimpleNamespace) -> None:
    each = {"greedy": 4.2, "beam 10": 21.0, "beam 10, plain loop": 63.0}
    write_result(
        render, "decoding", data="50 photos of flickr8k test", weights="mrnn", words=5000, clock="CPU time",
        milliseconds_per_caption=each, milliseconds_per_caption_all_photos_at_once={"greedy": 1.0, "beam 10": 9.0},
        mean_words=dict.fromkeys(each, 9.5), plain_loop_takes_times=3.0,
    )  # fmt: skip
    text = render.decoding()
    assert cells(text)[2:] == [
        ["greedy", "4.2 ms", "1.0 ms", "9.5"],
        ["beam 10", "21.0 ms", "9.0 ms", "9.5"],
        ["beam 10, plain loop", "63.0 ms", "–", "9.5"],
    ]
    assert "The plain loop takes 3.0× as long as the batched beam." in text


def test_likelihood_says_what_share_of_the_machine_is_used(render: SimpleNamespace) -> None:
    row = {
        "gflops": {"exact": 60.0, "products": 80.0},
        "share_of_same_products": 0.755,
        "times_faster_than_pairs": 3.21,
        "processor_minutes_of_all_pairs": {"exact": 41.6, "logits": 1.25},
    }
    whole = {"exact": 1500.0, "logits": 42.0}
    write_result(
        render, "likelihood", data="all of flickr8k test", rows={"mrnn": row}, whole_split_seconds=whole,
        threads_of_the_whole_split=2,
    )  # fmt: skip
    text = render.likelihood()
    assert cells(text)[2] == ["mrnn", "60 GF/s", "80 GF/s", "76 %", "3.2×", "42 min", "75 s"]
    assert "Wall-clock time on 2 threads: 25.0 minutes exact, 42 s by logits." in text


def test_consensus_stands_beside_pycocoevalcap(render: SimpleNamespace) -> None:
    row = {
        "reranking_s": 2.34, "seesay_us_per_pair": 0.779, "pycocoevalcap_us_per_pair": 308.5, "ratio": 388.3,
        "largest_difference": 8.9e-16,
    }  # fmt: skip
    write_result(
        render, "consensus", data="flickr8k", n_images=1000, n_hypotheses=10, k=60, n_pairs=3_000_000,
        rows={"cider": row},
    )  # fmt: skip
    text = render.consensus()
    assert cells(text)[2] == ["CIDEr-D", "2.3 s", "0.78 µs", "308 µs", "388×", "9e-16"]
    assert "3.0 million pairs" in text


def test_grown_vectors_stand_beside_real_ones_and_each_number_of_links_has_its_figures(render: SimpleNamespace) -> None:
    shape = {"distance_1": [0.4, 0.5], "distance_10": [0.6, 0.7], "dimension": [7.0, 11.0]}
    growth = {
        "photos": 100, "quantiles": [0.05, 0.25], "real": shape, "made": shape | {"distance_1": [0.42, 0.51]},
        "largest_difference": 0.02, "largest_difference_of_all": 0.05,
        "thinned": {"real": [[100, 0.5, 0.7]], "made": [[100, 0.51, 0.71], [1000000, 0.4, 0.6]]},
    }  # fmt: skip
    found = {"sentences": 0.99, "photos": 1.0, "milliseconds": 6.04}
    built = {"building_cpu_seconds": 90.4, "index_bytes_per_photo": 4096, "m": 16}
    asked = {"n": 50, "index": {"R@1": 20.0, "R@10": 61.5}, "compared": {"R@1": 20.5, "R@10": 62.0}}
    links = {
        "photos": 100,
        "rows": [built | {"captions": asked, "breadths": [found | {"ef_search": n} for n in (40, 100)]}],
    }
    waits = {
        "breadth": 200,
        "rows": [
            {
                "library": name,
                "photos": 100,
                "waits": [{"clients": 8, "server_cpu_milliseconds": 6, "p50": 9, "p95": 12}],
            }
            for name in ("grown", "m8")
        ],
    }
    server = built | {
        "photos": 1000000, "seeds": 100, "building_seconds": 120.0, "building_megabytes": 4200, "breadth": 200,
        "table_bytes_per_photo": 2734, "exact_milliseconds": {"server_cpu_milliseconds": 2100.0},
        "recall": {"40": found, "200": found}, "filters": [found | {"filter": "date 5.0%"}],
    }  # fmt: skip
    sections = {"growth": growth, "links": links, "waits": waits, "grown_server": server}
    dated = {name: {**each, "date": "2026-01-02", "command": "grow"} for name, each in sections.items()}
    write_result(render, "scale", **dated)
    assert cells(render.scale_growth())[2:4] == [
        ["distance to the nearest", "real", "0.40", "0.50"],
        ["distance to the nearest", "grown", "0.42", "0.51"],
    ]
    assert "100 of each. The largest difference is 5 %, of the three middle columns 2 %." in render.scale_growth()
    assert cells(render.scale_thinned())[2:4] == [
        ["100", "0.50", "0.70", "0.51", "0.71"],
        ["1,000,000", "–", "–", "0.40", "0.60"],
    ]
    assert cells(render.scale_links())[2:4] == [
        ["16", "90 s", "4,096", "40", "0.990", "1.000", "6.0 ms"],
        ["100", "0.990", "1.000", "6.0 ms"],  # of the same index
    ]
    assert "20.0 % find their photo first and 61.5 % among ten by the index with `m` 16" in render.scale_links()
    assert [row[0] for row in cells(render.scale_waits())[2:4]] == ["grown, `m` 16", "real, `m` 8"]
    assert [row[:2] for row in cells(render.scale_grown_server())[2:5]] == [
        ["all", "40"], ["all", "200"], ["date 5.0%", "200"]
    ]  # fmt: skip
    assert "2 minutes of CPU time" in render.scale_grown_server()
    assert "4.2 GB of memory" in render.scale_grown_server()
    assert "Comparing all takes 2.1 s." in render.scale_grown_server()


def test_scale_shows_recall_with_and_without_filters_and_what_clients_wait(render: SimpleNamespace) -> None:
    both = {"sentences": 0.991, "photos": 0.999}
    waited = {"clients": 8, "p50": 6.4, "p95": 9.0, "server_cpu_milliseconds": 3.21}
    half = {
        "recall": {"200": both}, "building_cpu_seconds": 32.0, "latency": [waited], "index_bytes_per_photo": 4096,
        "exact_milliseconds": waited,
    }  # fmt: skip
    server = {
        "date": "2026-01-02", "command": "python -m benchmarks.scale.server", "photos": 50_000, "dim": 1281, "m": 16,
        "pgvector": "0.8.5", "breadth": 200, **half, "single_precision": half | {"index_bytes_per_photo": 8192},
        "filters": [{"filter": "date 5.0%", "share": 0.05, "milliseconds": 4, "compared_milliseconds": 39, **both}],
    }  # fmt: skip
    workers = {"photos": 200, "one_process_photos_per_second": 10.0, "two_workers_over_one_process": 1.8}
    write_result(render, "scale", server=server)
    sharing = {"photos": 1000, "equal": True, "bytes_per_photo": 2000}
    write_result(render, "sharing", cores=2, machine="x86_64", workers=workers, sharing=sharing)
    recall = cells(render.scale_recall())
    assert recall[2] == ["date 5.0%", "5.0 %", "0.991", "0.999", "4.0 ms", "39.0 ms"]
    precision = cells(render.scale_precision())
    assert precision[2] == ["`vector`", "200", "0.991", "0.999", "8,192", "32 s", "3 ms"]
    assert precision[3] == ["`halfvec`", "200", "0.991", "0.999", "4,096", "32 s", "3 ms"]
    assert "| `halfvec` | 8 | 3.2 ms | 6 ms | 9 ms |" in render.scale_latency()
    assert "Measured 2026-01-02 by `python -m benchmarks.scale.server`." in render.scale_latency()
    assert "| 1.80× |" in render.scale_sharing()


def test_capacity_is_what_plans_say(render: SimpleNamespace) -> None:
    rows = cells(render.scale_capacity())[2:5]
    assert [row[:3] for row in rows] == [
        ["50,000", "1", "SQLite"],
        ["1,000,000", "1", "SQLite"],
        ["100,000,000", "100", "PostgreSQL"],
    ]
    assert all(cell.endswith("*") for cell in rows[2][3:])


def test_the_readme_compares_the_best_published_row_with_the_packaged_weights(render: SimpleNamespace) -> None:
    report = {"i2t": RECALLS, "t2i": RECALLS, "sum": 250.5}
    write_weights(render, "vse", {"flickr8k/test": report, "flickr8k/dev": report, "flickr8k/test/limit-9": report})
    write_ensemble(render)
    rows = cells(render.headline())[2:]
    ours = ["20.0 / 45.2 / 60.0 / 7"] * 2
    assert rows == [
        ["HM-LSTM, Table 1 (published)", "27.7 / – / 68.6 / 5", "24.4 / – / 68.1 / 4", *["–"] * 3],
        ["`vse`", *ours, "250.5", "–", "–"],
        ["**`--ensemble shipped`**", *ours, "260.5", "–", "–"],
    ]


def test_each_paper_has_its_figure_beside_ours_as_published_improved_and_shipped(render: SimpleNamespace) -> None:
    found = {"i2t": RECALLS, "t2i": RECALLS, "sum": 250.5}
    write_weights(render, "dvsa", {"flickr8k/test": found})
    write_weights(render, "mrnn-flickr8k", {"flickr8k/test": {"captions": CAPTIONS}})
    rows = [{"variant": "as published", "test": found}]
    write_result(render, "hmlstm_ablations", rows=rows)
    by_paper = {(row[0], row[1].partition(":")[0]): row[2:] for row in cells(render.overview())[2:]}
    assert by_paper["DVSA", "retrieval"] == ["16.5 / 11.8", "–", "–", "20.0 / 20.0"]
    assert by_paper["m-RNN", "captions"] == [".170", "–", ".215", "–"]
    assert by_paper["HM-LSTM", "retrieval"] == ["27.7 / 24.4", "20.0 / 20.0", "–", "–"]
    assert by_paper["sm-LSTM", "retrieval"][0] == "42.4 / 28.2 (Flickr30K)"
    assert cells(render.verdicts())[2][0] == "[mrnn](mrnn.md)"


def test_runs_of_several_seeds_are_a_mean_with_a_range_and_those_that_diverged_are_counted(
    render: SimpleNamespace,
) -> None:
    seeds = {
        "m-rnn, rate 0.1": {"n": 2, "mean": 100.0, "lowest": 90.0, "highest": 110.0},
        "m-rnn, rate 1.0": {"n": 0},
        "vis-in-rnn, rate 0.1": {"n": 1, "mean": 80.0, "lowest": 80.0, "highest": 80.0},
        "vis-in-rnn, rate 1.0": {"n": 0},
    }
    rows = [{"variant": seed, "group": group} for seed in ("seed 1", "seed 2") for group in seeds]
    write_result(render, "wirings_sgd", data="flickr8k", epochs=1, seeds=seeds, rows=rows)
    text = render.wirings_sgd()
    assert cells(text)[2:] == [
        ["`m-rnn`", "100.0 (90.0 to 110.0)", "2 of 2 diverged"],
        ["`vis-in-rnn`", "80.0 (80.0 to 80.0), 1 of 2 diverged", "2 of 2 diverged"],
    ]
    assert "the mean of 2 seeds and their range" in text
    alone = {group: {**found, "n": min(1, int(found["n"]))} for group, found in seeds.items()}
    write_result(render, "wirings_sgd", data="flickr8k", epochs=1, seeds=alone, rows=rows[:4])
    text = render.wirings_sgd()
    assert cells(text)[2:] == [["`m-rnn`", "100.0", "diverged"], ["`vis-in-rnn`", "80.0", "diverged"]]
    assert 'wirings_sgd.toml --variants "seed 1" --finished`' in text


def test_maps_of_alignment_and_proposed_regions_say_by_what_they_were_measured(render: SimpleNamespace) -> None:
    row = {"pointing": {"mean": 66.04, "low": 60.0, "high": 71.0}, "dependence": 0.2253}
    part = {"date": "2026-01-02T03", "n_photos": 200, "n_phrases": 2500, "n_sentences": 50, "rows": {"vse, drawn": row}}
    write_result(render, "heat", splits={"dev": part})
    text = render.heat()
    assert cells(text)[2] == ["`vse`", "drawn", "66.0 % (60.0–71.0)", "0.225"]
    assert "`python -m benchmarks.quality.heat vse --split dev --photos 200`" in text
    found = {"correct": 18.6, "correct_30": 36.0, "centred": 61.04, "whole_chosen": 0.0, "random": 5.0}
    found |= {"upper_bound": 69.1, "n_phrases": 2600}
    write_result(
        render, "proposed_regions", weights="hmlstm", data="flickr8k", split="train", n_images=200,
        rows={"cosine, search-20": found},
    )  # fmt: skip
    text = render.proposed_regions()
    assert cells(text)[2] == ["cosine, search-20", "18.6 %", "36.0 %", "61.0 %", "0.0 %", "5.0 %", "69.1 %"]
    assert "`python -m benchmarks.quality.proposed_regions hmlstm --photos 200`" in text
