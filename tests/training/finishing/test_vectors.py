"""How much the embedding beside an eye counts, and how much hubness."""

from pathlib import Path

import numpy as np
import torch

from seesay.data.collection import Collection, Item
from seesay.layers.hub_bank import HubBank
from seesay.training.finishing.vectors import (
    Dev,
    ShortScores,
    choose_correction,
    choose_shares,
    choose_weight,
    draw_bank,
    short_queries,
)


def unit(rng: np.random.Generator, n: int, dim: int) -> torch.Tensor:
    return torch.nn.functional.normalize(torch.from_numpy(rng.normal(size=(n, dim))).float(), dim=1)


def dev(name: str, good: str, seed: int) -> Dev:
    """One side knows which sentence is whose, the other one does not."""
    rng = np.random.default_rng(seed)
    known, noise = unit(rng, 30, 16), (unit(rng, 30, 16), unit(rng, 30, 16))
    sides = {"own": noise, "beside": noise, good: (known, known)}
    return Dev(name, sides["own"], sides["beside"], np.arange(30))


def test_the_side_that_knows_gets_the_weight() -> None:
    weight, sums = choose_weight([dev("a", "beside", 1), dev("b", "beside", 2)])
    assert weight > 0.5
    assert sums["1.0"]["a"] == 600
    assert choose_weight([dev("a", "own", 1)])[0] < 0.5


def test_a_hub_is_corrected_for_and_nothing_else() -> None:
    scores = np.eye(10, dtype=np.float32) * 0.5
    scores[0] = 0.6  # near to everything
    hubness = np.zeros(10, np.float32)
    hubness[0] = 0.3
    devs = [dev("a", "own", 1)]
    devs[0] = Dev("a", devs[0].own, devs[0].beside, np.arange(10))
    weight, table = choose_correction([scores], [hubness], devs)
    assert weight > 0.3
    assert table[str(weight)]["a"] == 300
    assert table["0.0"]["a"] < 300


def test_a_correction_under_which_one_collection_loses_is_not_taken() -> None:
    scores = np.eye(10, dtype=np.float32) * 0.5
    hubness = np.zeros(10, np.float32)
    hubness[3] = 2.0
    plain = Dev("a", dev("a", "own", 1).own, dev("a", "own", 1).beside, np.arange(10))
    assert choose_correction([scores], [hubness], [plain])[0] == 0.0


def test_bank_has_as_many_sentences_of_each_collection() -> None:
    def collection(name: str, n: int) -> Collection:
        items = [Item(f"{place}.jpg", None, (f"{name} {place}",), split="train") for place in range(n)]
        return Collection(name, Path(), "table", tuple(items))

    drawn = draw_bank([collection("a", 50), collection("b", 500)], n=40)
    assert sum(text.startswith("a ") for text in drawn) == sum(text.startswith("b ") for text in drawn) == 20
    assert drawn == draw_bank([collection("a", 50), collection("b", 500)], n=40)


def test_bank_gives_the_inverted_softmax() -> None:
    rng = np.random.default_rng(0)
    sentences, photos = unit(rng, 200, 12), unit(rng, 5, 12)
    bank = HubBank(200, 12, 12, 0.05)
    bank.fill(sentences)
    wanted = 0.05 * ((photos @ sentences.T / 0.05).exp().mean(1)).log()
    torch.testing.assert_close(bank(photos), wanted, rtol=1e-4, atol=1e-5)


def short_scores(name: str, n_words: int, hub_fits: bool) -> ShortScores:
    """Ten photos of which one is a hub that every query is nearest to, and which fits them or does not."""
    plain = np.zeros((10, 4), np.float32)
    plain[0], plain[1] = 0.6, 0.5
    correction = np.zeros((10, 4), np.float32)
    correction[0] = -0.3
    fits = np.zeros((10, 4), bool)
    fits[0 if hub_fits else 1] = True
    return ShortScores(name, plain, correction, np.full(4, n_words), fits)


def test_short_texts_keep_no_more_of_hubness_than_helps_each_collection() -> None:
    hub, other = (ShortScores.precision(short_scores("a", 1, fits), 1, 1.0) for fits in (True, False))
    assert (hub, other) == (50.0, 100.0)
    found, table = choose_shares([short_scores("a", 1, True), short_scores("b", 1, True)])
    assert found.shares == (0.25, 1.0, 1.0)  # of equally good shares the largest
    assert table["1"]["0.0"] == {"a": 100.0, "b": 100.0}
    assert choose_shares([short_scores("a", 1, True), short_scores("b", 1, False)])[0].shares == (1.0, 1.0, 1.0)


def test_fewer_words_have_no_larger_share_than_more() -> None:
    found, _ = choose_shares([short_scores("a", 3, True), short_scores("b", 1, False)])
    assert found.shares == (0.25, 0.25, 0.25)


def test_short_queries_are_phrases_of_several_photos_and_short_sentences() -> None:
    told = [("A dog is in the snow .",), ("The dog is on a red couch .",), ("Two very large cats sleep there",)]
    items = [Item(f"{place}.jpg", None, own, split="dev") for place, own in enumerate(told)]
    queries = short_queries(Collection("a", Path(), "table", tuple(items)))
    assert queries["dog"] == [0, 1]
    assert queries["A dog is in the snow ."] == [0]
    assert not {"snow", "red couch"} & set(queries)  # of one photo only
