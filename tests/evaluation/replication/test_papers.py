"""The printed tables: cells against the papers' pages, and every row against the arithmetic of ranks."""

from pathlib import Path

import pytest

from seesay.data import Collection
from seesay.evaluation.replication import papers
from seesay.evaluation.replication.papers import Row, all_rows, data_name, rows

RECALLS = ("r1", "r5", "r10")


def find(paper: str, where: str, data: str, method: str) -> Row:
    (found,) = (r for r in all_rows() if (r.paper, r.where, r.data, r.method) == (paper, where, data, method))
    return found


def cells(row: Row) -> list[str | None]:
    return list(row.printed.values())


@pytest.mark.parametrize(
    ("place", "printed"),
    [
        (("m-RNN", "Table 2", "iapr", "m-RNN"), "20.9 43.8 54.4 8 13.2 31.2 40.8 21"),
        (("m-RNN", "Table 3", "flickr8k", "m-RNN-AlexNet"), "14.5 37.2 48.5 11 11.5 31.0 42.4 15"),
        (("m-RNN", "Table 4", "flickr30k", "RVR"), "12.1 27.8 47.8 11 12.7 33.1 44.9 12.5"),
        (("m-RNN", "Table 4", "flickr30k", "m-RNN-VggNet"), "35.4 63.8 73.7 3 22.8 50.7 63.1 5"),
        (("m-RNN", "Table 4", "coco", "m-RNN-VggNet"), "41.0 73.0 83.5 2 29.0 42.2 77.0 3"),
        (("m-RNN", "Table 1", "iapr", "m-RNN-AlexNet"), "6.92 0.482 0.357 0.269 0.208"),
        (("m-RNN", "Section 7.4", "flickr8k", "m-RNN-AlexNet"), "24.39 0.565 0.386 0.256 0.170"),
        (("m-RNN", "Table 5", "flickr30k", "m-RNN-VggNet"), "20.72 0.60 0.41 0.28 0.19"),
        (("m-RNN", "Table 5", "coco", "m-RNN-VggNet"), "13.60 0.67 0.49 0.35 0.25"),
        (("m-RNN", "Table 7", "coco", "m-RNN-beam-c40"), "0.865 0.760 0.641 0.529 0.789 0.640 0.304"),
        (("m-RNN", "Table 8, val", "coco", "m-RNN-shared-NNref-CIDEr"), "0.714 0.543 0.406 0.304 0.938 0.519 0.239"),
        (("m-RNN", "Table 9", "flickr30k", "m-RNN-visInRnn-both"), "0.546 0.333 0.191 0.120"),
        (("DVSA", "Table 2", "flickr8k", "DVSA: BRNN"), "16.5 40.6 54.2 7.6 11.8 32.1 44.7 12.4"),
        (("DVSA", "Table 2", "flickr8k", "DVSA: DepTree edges"), "14.8 37.9 50.0 9.4 11.6 31.4 43.8 13.2"),
        (("HM-LSTM", "Table 1", "flickr8k", "HM-LSTM"), "27.7 68.6 5 24.4 68.1 4"),
        (("HM-LSTM", "Table 1", "flickr8k", "NIC"), "20 61 6 19 64 5"),
        (("HM-LSTM", "Table 2", "flickr30k", "HM-LSTM"), "38.1 76.5 3 27.7 68.8 4"),
        (("HM-LSTM", "Table 3", "coco", "HM-LSTM"), "43.9 87.8 2 36.1 86.7 3"),
        (("HM-LSTM", "Table 4", "coco", "HM-LSTM"), "10.8 22.6 30.7 42"),
        (("sm-LSTM", "Table 1", "flickr30k", "sm-LSTM"), "42.4 67.5 79.9 2 28.2 57.0 68.4 4 343.4"),
        (("sm-LSTM", "Table 1", "flickr30k", "sm-LSTM*"), "42.5 71.9 81.5 2 30.2 60.4 72.3 3 358.7"),
        (("sm-LSTM", "Table 2", "coco", "sm-LSTM"), "52.4 81.7 90.8 1 38.6 73.4 84.6 2 421.5"),
        (("sm-LSTM", "Table 4", "flickr30k", "λ = 1000"), "40.2 67.1 78.6 27.8 56.9 67.9"),
        (("Identifier", "Section 3.3", "coco", "baseline"), "91.1"),
        (("Identifier", "Section 3.3", "coco", "proposed"), "93.5"),
    ],
)
def test_cells_are_those_on_the_page(place: tuple[str, str, str, str], printed: str) -> None:
    assert cells(find(*place)) == printed.split()


def test_what_is_not_printed_stays_missing() -> None:
    lrcn = find("m-RNN", "Table 4", "flickr30k", "LRCN")
    assert lrcn.figure("i2t.r1") == 14.0
    assert [lrcn.figure(f"t2i.{key}") for key in (*RECALLS, "median")] == [None] * 4
    hmlstm = find("HM-LSTM", "Table 1", "flickr8k", "HM-LSTM")
    assert hmlstm.figure("i2t.r5") is None
    assert find("m-RNN", "Table 1", "iapr", "Gupta et al.").figure("perplexity") is None
    assert find("sm-LSTM", "Table 2", "coco", "OEM").figure("sum") is None


def test_every_row_names_its_paper_table_kind_and_data() -> None:
    for row in all_rows():
        assert row.paper in {"m-RNN", "DVSA", "HM-LSTM", "sm-LSTM", "Identifier"}
        assert row.where.startswith(("Table ", "Section "))
        assert row.kind in papers.KINDS
        assert row.data in papers.TITLES
        assert row.measured_on


def test_no_row_stands_twice() -> None:
    places = [(row.paper, row.where, row.data, row.method) for row in all_rows()]
    assert len(places) == len(set(places)) == 146


def test_a_paper_measured_its_own_rows_and_quotes_the_others() -> None:
    own = [row.method for row in rows("retrieval", "flickr8k") if row.own]
    assert own == ["m-RNN-AlexNet", "DeFrag (DVSA's own)", "DVSA: DepTree edges", "DVSA: BRNN", "HM-LSTM"]


def test_a_recall_that_falls_or_contradicts_its_median_carries_a_doubt() -> None:
    suspicious = set()
    for row in rows("retrieval", ablations=True):
        for direction in ("i2t", "t2i"):
            recalls = {k: row.figure(f"{direction}.r{k}") for k in (1, 5, 10)}
            given = [value for value in recalls.values() if value is not None]
            assert given == sorted(given)
            median = row.figure(f"{direction}.median")
            if median is None:
                continue
            for k, recall in recalls.items():
                # DVSA's medians are means over runs, so that half a query more or less is no contradiction.
                if recall is not None and (recall < 48 if median <= k else recall > 50.5):
                    suspicious.add((row.paper, row.method, direction))
                    assert any(key.startswith(direction) for key in row.doubts), row
    assert suspicious == {("m-RNN", "m-RNN-VggNet", "t2i"), ("sm-LSTM", "m-RNN", "t2i"), ("sm-LSTM", "DVSA", "i2t")}


def test_printed_sums_add_up() -> None:
    with_sum = [row for row in rows("retrieval") if row.figure("sum") is not None]
    assert len(with_sum) == 29
    for row in with_sum:
        recalls = [row.figure(f"{direction}.{key}") for direction in ("i2t", "t2i") for key in RECALLS]
        assert sum(value for value in recalls if value is not None) == pytest.approx(row.figure("sum"), abs=0.11)


def test_the_impossible_recall_of_mrnn_is_quoted_with_a_mark_in_both_papers() -> None:
    first = find("m-RNN", "Table 4", "coco", "m-RNN-VggNet")
    copied = find("sm-LSTM", "Table 2", "coco", "m-RNN")
    assert first.figure("t2i.r5") == copied.figure("t2i.r5") == 42.2
    assert first.doubts["t2i.r5"] == copied.doubts["t2i.r5"] == copied.doubts["sum"]
    assert "i2t.r5" not in first.doubts


def test_devise_and_sdt_rnn_stand_once_per_paper_and_are_doubted_as_rows() -> None:
    rows_of = {row.paper: row for row in rows("retrieval", "flickr8k") if row.method.startswith("DeViSE")}
    assert {paper: row.figure("i2t.r1") for paper, row in rows_of.items()} == {
        "m-RNN": 4.8,
        "DVSA": 4.5,
        "HM-LSTM": 4.8,
    }
    assert all("" in row.doubts for row in rows_of.values())
    assert find("HM-LSTM", "Table 2", "flickr30k", "SDT-RNN").figure("i2t.r1") == 9.6
    assert find("DVSA", "Table 2", "flickr8k", "SDT-RNN").figure("i2t.r1") == 9.6


def test_tables_of_variants_are_left_out_unless_asked_for() -> None:
    assert not any(row.method.startswith(("T =", "λ =")) for row in rows("retrieval", "flickr30k"))
    sweeps = [row for row in rows("retrieval", "flickr30k", ablations=True) if row.ablation]
    assert len(sweeps) == 10


def test_a_doubt_about_a_row_that_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(papers, "_read_doubts", lambda: {"m-RNN / Table 99 / coco / m-RNN": {"": "no such table"}})
    with pytest.raises(ValueError, match="Table 99"):
        all_rows.__wrapped__()


@pytest.mark.parametrize(
    ("name", "kind", "expected"),
    [
        ("my-photos", "Flickr8K", "flickr8k"),
        ("flickr30k_entities", "Flickr30k Entities", "flickr30k"),
        ("dataset_flickr8k", "Karpathy split", "flickr8k"),
        ("coco", "CSV or JSONL", "coco"),
        ("mscoco-2014", "CSV or JSONL", "coco"),
        ("annotations", "COCO captions", "coco"),
        ("iaprtc12", "IAPR TC-12", "iapr"),
        ("coconut-island", "CSV or JSONL", None),
        ("holidays", "CSV or JSONL", None),
    ],
)
def test_a_collection_is_recognised_by_its_format_or_its_name(name: str, kind: str, expected: str | None) -> None:
    assert data_name(Collection(name, Path(name), kind, ())) == expected
