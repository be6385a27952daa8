"""The search over steps in NumPy finds what the one in torch finds."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from seesay.captioning import beam as torch_beam
from seesay.captioning import decoding as torch_decoding
from seesay.captioning.captions import caption_images
from seesay.captioning.settings import Sampling as TorchSampling
from seesay.captioning.settings import Settings
from seesay.errors import SeesayError
from seesay.images.features import Features
from seesay.models.pretrained import load_captioner
from seesay.runtime.captions import Sampling, Search, write_captions
from seesay.runtime.decoding import Limits, beam, greedy, sample
from seesay.runtime.matching import Model
from seesay.runtime.network import ImageFeatures
from seesay.runtime.random import block_seeds, uniform

N_WORDS = 9


class Chain:
    """A toy: the next word depends on the row and on the last word; the state is the row's number."""

    def __init__(self, seed: int) -> None:
        scores = np.random.default_rng(seed).normal(0, 2, (3, N_WORDS, N_WORDS)).astype(np.float32)
        self.log_probs = torch.from_numpy(scores).log_softmax(-1).numpy()

    def step(self, state: Any, words: Any) -> tuple[Any, Any]:
        found = self.log_probs[np.asarray(state[0])[:, 0].astype(int), np.asarray(words)]
        return (torch.from_numpy(found), state) if isinstance(words, torch.Tensor) else (found, state)


ROWS = np.arange(3.0)[:, None]
CASES = st.fixed_dictionaries(
    {
        "min_length": st.integers(1, 3),
        "max_length": st.integers(4, 8),
        "no_repeat": st.integers(0, 3),
        "prefix": st.lists(st.integers(4, N_WORDS - 1), max_size=2),
    }
)


def same(found: list[list[Any]], wanted: list[list[Any]]) -> None:
    for own, theirs in zip(found, wanted, strict=True):
        assert [(each.words, each.finished) for each in own] == [(each.words, each.finished) for each in theirs]
        assert [each.log_prob for each in own] == pytest.approx([each.log_prob for each in theirs], abs=1e-4)


@settings(max_examples=60)
@given(seed=st.integers(0, 1000), case=CASES)
def test_greedy_takes_the_same_words(seed: int, case: dict[str, Any]) -> None:
    wanted = torch_decoding.greedy(Chain(seed), (torch.from_numpy(ROWS),), **case)
    same([greedy(Chain(seed), (ROWS,), Limits(**case))], [wanted])


@settings(max_examples=100)
@given(
    seed=st.integers(0, 1000), case=CASES, width=st.integers(1, 5), n_best=st.integers(1, 5),
    power=st.sampled_from([0.0, 0.7, 1.0]),
)  # fmt: skip
def test_the_beam_finds_the_same_sentences(
    seed: int, case: dict[str, Any], width: int, n_best: int, power: float
) -> None:
    how: dict[str, Any] = {"width": width, "n_best": min(width, n_best), "length_power": power}
    wanted = torch_beam.beam(Chain(seed), (torch.from_numpy(ROWS),), **how, **case)
    same(beam(Chain(seed), (ROWS,), **how, limits=Limits(**case)), wanted)


@settings(max_examples=60)
@given(
    seed=st.integers(0, 1000), case=CASES, top_k=st.integers(0, 4), temperature=st.sampled_from([0.5, 1.0, 1.7]),
    n=st.integers(1, 3),
)  # fmt: skip
def test_the_same_seed_draws_the_same_sentences(
    seed: int, case: dict[str, Any], top_k: int, temperature: float, n: int
) -> None:
    how: dict[str, Any] = {"seed": seed, "top_k": top_k, "temperature": temperature, "n": n}
    wanted = torch_decoding.sample(Chain(seed), (torch.from_numpy(ROWS),), **how, **case)
    same(sample(Chain(seed), (ROWS,), **how, limits=Limits(**case)), wanted)


@pytest.mark.parametrize("seed", [0, 1, 2**31, 2**61 + 7])
def test_random_numbers_are_those_of_torch(seed: int) -> None:
    numbers = torch.rand(50, generator=torch.Generator().manual_seed(seed)).double().tolist()
    assert uniform(seed, 50).tolist() == numbers
    seeds = torch.randint(2**62, (5,), generator=torch.Generator().manual_seed(seed)).tolist()
    assert block_seeds(seed, 5) == seeds


@pytest.mark.parametrize(
    ("changes", "refused"),
    [
        ({"max_length": 0}, "max_length is 0"),
        ({"min_length": 9, "max_length": 8}, "min_length is 9"),
        ({"no_repeat": -1}, "no_repeat is -1"),
        ({"prefix": [4, 5], "max_length": 2}, "2 first words"),
        ({"prefix": [3]}, "does not know"),
    ],
)
def test_limits_that_nothing_can_keep_to_are_refused(changes: dict[str, Any], refused: str) -> None:
    with pytest.raises(SeesayError, match=refused):
        Limits(**changes)


@pytest.fixture(scope="module")
def photos() -> Features:
    from seesay.export.exporting import SAMPLES

    return load_captioner("mrnn").features(sorted(SAMPLES.glob("*.jpg")))


@pytest.mark.parametrize(
    ("changes", "sampling"),
    [({"beam": 1}, None), ({"beam": 10}, None), ({}, {"temperature": 0.8, "top_k": 20, "seed": 3})],
)
def test_shipped_weights_write_the_same_captions(
    changes: dict[str, Any], sampling: dict[str, Any] | None, exported: Path, photos: Features
) -> None:
    model, graphs = load_captioner("mrnn"), Model(exported / "mrnn")
    features = ImageFeatures(photos.pooled.numpy())
    for start in ("", "a man"):
        wanted = caption_images(
            model, photos, n_best=2 if changes.get("beam") != 1 else 1, start=start,
            settings=Settings.of(model, **changes), sampling=TorchSampling(**sampling) if sampling else None,
        )  # fmt: skip
        found = write_captions(
            graphs, features, n_best=len(wanted[0]), start=start, search=Search.of(graphs, **changes),
            sampling=Sampling(**sampling) if sampling else None,
        )  # fmt: skip
        assert [[each.text for each in own] for own in found] == [[each.text for each in own] for own in wanted]
        assert all(own[0].text.startswith(start) for own in found)


def test_first_words_that_nobody_knows_are_named(exported: Path, photos: Features) -> None:
    with pytest.raises(SeesayError, match="'zzyzx'"):
        write_captions(Model(exported / "mrnn"), ImageFeatures(photos.pooled.numpy()), start="a zzyzx")
