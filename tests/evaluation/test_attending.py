"""Where steps look, counted by hand on pictures of two halves."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from seesay.data import Box, Collection, Item, Phrase
from seesay.errors import SeesayError
from seesay.evaluation.attending import Selectivity, evaluate_attention, measure_selectivity
from seesay.images.arrays import Looked
from seesay.images.extraction import FeatureStore, content_key
from seesay.images.features import FeatureSpec
from seesay.layers.pair_sides import share_evenly, share_out, share_shuffled
from seesay.models.smlstm import SMLSTM, SMLSTMConfig
from seesay.text.vocabulary import Vocabulary

SPEC = FeatureSpec("efficientnet-lite0", 64)
SENTENCE = "a dog chases one cat"  # the dog is on the left, the cat on the right


@pytest.fixture
def collection(tmp_path: Path) -> Collection:
    """Two pictures of 2 × 4 cells; of the second nothing has a box."""
    boxes = (Box("1", 0.0, 0.0, 0.45, 1.0), Box("2", 0.55, 0.0, 1.0, 1.0))
    phrases = (Phrase(0, 0, 2, "a dog", "1", ("animals",)), Phrase(0, 3, 5, "one cat", "2", ("animals",)))
    items = []
    for number in (1, 2):
        path = tmp_path / f"{number}.jpg"
        path.write_bytes(b"%d" % number)
        items.append(Item(path.name, path, (SENTENCE,), "test"))
    items[0] = replace(items[0], boxes=boxes, phrases=phrases)
    rows = {"pooled": np.ones((2, 5), np.float16), "map": np.ones((2, 2, 4, 5), np.float16)}
    FeatureStore(SPEC, root=tmp_path / "store", outputs=("pooled", "map")).write(
        [content_key(tmp_path / item.name) for item in items], rows
    )
    return Collection("pets", tmp_path, "CSV or JSONL", tuple(items))


def build(**config: Any) -> SMLSTM:
    small = {"dim": 8, "hidden": 4, "units": 4, "similarity_dim": 4, "image_dim": 5, "map_dim": 5, "n_steps": 2}
    return SMLSTM(SMLSTMConfig(**(small | config)), Vocabulary.build([SENTENCE], min_count=1), SPEC).eval()


def test_a_step_that_reads_a_word_and_looks_at_its_box_points_right(
    collection: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left, right = torch.zeros(2, 8)
    left[0], right[7] = 1.0, 1.0
    #                     a    dog  chases one  cat
    words = torch.tensor([[0.2, 0.5, 0.3, 0.0, 0.0], [0.0, 0.3, 0.0, 0.0, 0.7]])
    looked = Looked(torch.zeros(1, 1), torch.stack([left, left])[:, None, None], words[:, None, None])
    monkeypatch.setattr(SMLSTM, "look", lambda self, images, texts: looked)
    found = evaluate_attention(build(), collection, store=tmp_path / "store")
    # Step 1 reads "dog" and the unboxed "chases", step 2 "cat" and "dog"; both look at the left.
    assert found.n_words.tolist() == [1, 2]
    assert found.pointing.tolist() == [100.0, 50.0]
    assert found.centre.tolist() == [0.0, 0.0]
    assert found.boxed.tolist() == [25.0, 50.0]  # of four words that two sentences read
    assert found.change.tolist() == [0.0]
    np.testing.assert_allclose(found.maps[0], left.view(2, 4))


def test_a_real_model_looks_with_all_its_weight_and_says_so_in_plain_numbers(
    collection: Collection, tmp_path: Path
) -> None:
    seen: list[tuple[int, int]] = []
    found = evaluate_attention(
        build(), collection, store=tmp_path / "store", on_progress=lambda done, total: seen.append((done, total))
    )
    np.testing.assert_allclose(found.maps.sum(axis=(1, 2)), 1, rtol=1e-5)
    assert seen == [(1, 2), (2, 2)]
    assert np.shape(found.to_dict()["maps"]) == (2, 2, 4)


def test_without_attention_or_boxes_there_is_nothing_to_measure(collection: Collection, tmp_path: Path) -> None:
    with pytest.raises(SeesayError, match="the variant ctx does not attend"):
        evaluate_attention(build(variant="ctx"), collection, store=tmp_path / "store")
    plain = replace(collection, items=collection.items[1:])
    with pytest.raises(SeesayError, match="no phrase of pets has a box"):
        evaluate_attention(build(), plain, store=tmp_path / "store")


class TestSelectivity:
    @pytest.fixture
    def found(self, collection: Collection, tmp_path: Path) -> Selectivity:
        torch.manual_seed(0)
        return measure_selectivity(build(), collection, store=tmp_path / "store")

    def test_entropy_is_a_share_of_what_equal_weights_have(self, found: Selectivity) -> None:
        assert found.entropy["regions"] == pytest.approx([1, 1])  # all cells of these pictures are equal
        assert found.correlation["regions"] == [None]
        assert all(value and 0.9 < value < 1 for value in found.entropy["words"])
        assert [len(row) for row in found.entropy.values()] == [2, 2]
        assert found.sums.keys() == {"attention", "uniform", "shuffled"}
        assert found.n_ranked == 2

    def test_without_saliences_it_is_one_and_replacing_changes_nothing(
        self, collection: Collection, tmp_path: Path
    ) -> None:
        model = build()
        for attention in (model.pairs.image_attention, model.pairs.text_attention):
            attention.w_p.weight.data.zero_()
        found = measure_selectivity(model, collection, store=tmp_path / "store")
        np.testing.assert_allclose([value for row in found.entropy.values() for value in row], 1, rtol=1e-5)  # type: ignore[arg-type]
        assert len(set(found.sums.values())) == 1

    def test_the_model_attends_again_afterwards(self, collection: Collection, tmp_path: Path) -> None:
        model = build()
        measure_selectivity(model, collection, store=tmp_path / "store")
        assert model.pairs.share is share_out


def test_shuffled_attention_has_the_same_weights_on_other_candidates_and_none_on_padding() -> None:
    mask = torch.tensor([[True] * 5 + [False], [True] * 6])
    logits = torch.arange(12.0).view(2, 6)
    plain, shuffled = share_out(logits, mask), share_shuffled(logits, mask)
    torch.testing.assert_close(plain.sort(-1).values, shuffled.sort(-1).values)
    assert not torch.equal(plain, shuffled)
    assert shuffled[0, 5] == 0
    torch.testing.assert_close(share_evenly(logits, mask)[0], torch.tensor([0.2] * 5 + [0.0]))
