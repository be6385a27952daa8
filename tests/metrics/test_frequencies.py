from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file

from seesay.errors import SeesayError
from seesay.metrics.cider import CiderScorer, cider_d
from seesay.metrics.frequencies import DocumentFrequencies
from seesay.metrics.sentences import References

CAPTIONS = [["a dog runs on grass", "one dog runs"], ["a dog sits"], ["a cat", "a cat sits"], ["two cats"]]
sentences = st.lists(st.lists(st.sampled_from("abcd"), max_size=7), min_size=1, max_size=3)


def naive_counts(captions: list[list[list[str]]]) -> Counter[tuple[str, ...]]:
    counts: Counter[tuple[str, ...]] = Counter()
    for own in captions:
        counts.update({tuple(s[i : i + n]) for s in own for n in range(1, 5) for i in range(len(s) - n + 1)})
    return counts


@settings(deadline=None, max_examples=40)
@given(st.lists(sentences, min_size=1, max_size=6), st.integers(1, 3))
def test_counts_equal_dictionaries_and_rare_ngrams_are_gone(captions: list[list[list[str]]], least: int) -> None:
    table = DocumentFrequencies.build(captions, min_documents=least)
    kept = {ngram: n for ngram, n in naive_counts(captions).items() if n >= least}
    assert len(table) == len(kept)
    assert {ngram: table.count(ngram) for ngram in kept} == kept
    assert table.n_documents == len(captions)
    assert table.count("z") == table.count(["a", "z"]) == table.count(["z", "a"]) == 0


def test_a_table_of_the_references_changes_no_score() -> None:
    hypotheses = ["a dog sits on a zebra", "a dog", "cats", "two two cats"]
    scorer = CiderScorer(CAPTIONS, DocumentFrequencies.build(CAPTIONS))
    np.testing.assert_allclose(scorer.score(hypotheses).each, cider_d(hypotheses, CAPTIONS).each, rtol=0, atol=1e-12)


def test_a_table_of_a_larger_collection_weighs_as_that_collection_does() -> None:
    table = DocumentFrequencies.build(CAPTIONS)
    pairs = CiderScorer(CAPTIONS).pairs(["a dog sits", "a cat runs"], [0, 0, 1], [0, 2, 3])
    few = CiderScorer([CAPTIONS[0], CAPTIONS[1], CAPTIONS[2]], table)  # one image is missing
    np.testing.assert_allclose(few.pairs(["a dog sits", "a cat runs"], [0, 0, 1], [0, 2, 3]), pairs, atol=1e-12)


def test_hypotheses_are_weighed_by_ngrams_that_only_the_table_has() -> None:
    table = DocumentFrequencies.build([["a dog"], ["a zebra"], ["a zebra runs"], ["a cat"]])
    scorer = CiderScorer([["a dog"]], table)
    common, rare = scorer.pairs(["dog zebra", "dog okapi"], [0, 1], [0, 0])
    assert common > rare  # an unknown word weighs more than one that two images have


def test_what_a_pruned_table_does_not_hold_weighs_as_if_one_image_had_it() -> None:
    table = DocumentFrequencies.build(CAPTIONS, min_documents=2)
    assert (table.min_documents, table.count("dog"), table.count("runs")) == (2, 2, 0)
    packed = References([["a dog runs okapi"]], table.words).sentences
    n = np.log(4)
    weights = [(n - np.log(count)) ** 2 for count in (3, 2, 1, 1)]
    np.testing.assert_allclose(table.square_weights(packed)[0, :4], weights)
    assert table.square_weights(packed)[1, :2] == pytest.approx([(n - np.log(2)) ** 2, n**2])


def test_a_saved_table_is_the_same_when_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "frequencies.safetensors"
    for least in (1, 2):
        table = DocumentFrequencies.build(CAPTIONS, min_documents=least)
        table.save(path)
        again = DocumentFrequencies.load(path)
        assert (again.n_documents, again.min_documents, len(again)) == (4, least, len(table))
        ngrams = ["a", "dog", "runs", "a dog", "a dog runs", "a dog runs on", "cats two", "dog a", "zebra"]
        assert [again.count(ngram) for ngram in ngrams] == [table.count(ngram) for ngram in ngrams]


def test_a_table_of_real_captions_is_small_and_exact(shared_data: Path, tmp_path: Path) -> None:
    from seesay import data
    from seesay.text.tokens import tokenize

    items = data.load(shared_data / "flickr8k").split("dev").items
    captions = [[" ".join(tokenize(sentence)) for sentence in item.sentences] for item in items]
    whole, pruned = DocumentFrequencies.build(captions), DocumentFrequencies.build(captions, min_documents=5)
    whole.save(tmp_path / "whole"), pruned.save(tmp_path / "pruned")
    assert (tmp_path / "pruned").stat().st_size < 100_000 < (tmp_path / "whole").stat().st_size
    hypotheses = [own[0] for own in captions[1:] + captions[:1]]
    again = CiderScorer(captions, DocumentFrequencies.load(tmp_path / "whole")).score(hypotheses)
    np.testing.assert_allclose(again.each, cider_d(hypotheses, captions).each, rtol=0, atol=1e-12)
    near = CiderScorer(captions, DocumentFrequencies.load(tmp_path / "pruned")).score(hypotheses)
    assert np.corrcoef(near.each, again.each)[0, 1] > 0.99


def test_references_packed_over_other_words_are_refused() -> None:
    table = DocumentFrequencies.build(CAPTIONS)
    CiderScorer(References([["a dog"]], table.words), table)
    with pytest.raises(SeesayError, match=r"References\(sentences, frequencies.words\)"):
        CiderScorer(References([["a dog"]]), table)


def test_what_was_pruned_does_not_come_back() -> None:
    table = DocumentFrequencies.build(CAPTIONS, min_documents=2)
    assert len(table.prune(2)) == len(table)
    with pytest.raises(SeesayError, match="allowed: a whole number from 2 upwards"):
        table.prune(1)


@pytest.mark.parametrize("ngram", ["", "a dog runs on grass"])
def test_only_one_to_four_words_are_counted(ngram: str) -> None:
    with pytest.raises(SeesayError, match="words\n  allowed: 1 to 4"):
        DocumentFrequencies.build(CAPTIONS).count(ngram)


def test_damaged_and_foreign_files_are_named(tmp_path: Path) -> None:
    path = tmp_path / "frequencies.safetensors"
    with pytest.raises(SeesayError, match=r"cannot read .*: No such file"):
        DocumentFrequencies.load(path)
    path.write_bytes(b"not a table")
    with pytest.raises(SeesayError, match="is not a table of document frequencies"):
        DocumentFrequencies.load(path)
    save_file({"weights": np.zeros(3)}, path)
    with pytest.raises(SeesayError, match="its format is None"):
        DocumentFrequencies.load(path)


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("last2", [200] * 5, "its 2-grams do not belong"),
        ("longer3", [1, 2], "its 3-grams do not belong"),
        ("documents1", [1], "its 1-grams are not in order"),
        ("documents2", None, "documents2"),
    ],
)
def test_a_table_whose_parts_do_not_fit_is_refused(
    tmp_path: Path, name: str, values: list[int] | None, message: str
) -> None:
    path = tmp_path / "frequencies.safetensors"
    DocumentFrequencies.build(CAPTIONS).save(path)
    about = {"format": "seesay-document-frequencies-1", "n_documents": "4", "min_documents": "1"}
    about["words"] = "a dog runs on grass one sits cat two cats"
    tensors = load_file(path)
    if values is None:
        del tensors[name]
    else:
        tensors[name] = np.array(values, np.uint8)
    save_file(tensors, path, about)
    with pytest.raises(SeesayError, match=message):
        DocumentFrequencies.load(path)
