"""Windows and mirror images of activations, and the sentences that go with them."""

import numpy as np
import pytest
import torch

from seesay.training.eye.views import View, draw_view, mirror_words

ACTIVATIONS = torch.arange(2 * 5 * 5 * 1).reshape(2, 5, 5, 1).half()


def test_whole_view_changes_nothing() -> None:
    view = draw_view(np.random.default_rng(0), 2, mirrors=False, smallest=1.0)
    assert torch.equal(view.of(ACTIVATIONS), ACTIVATIONS)


def test_window_keeps_its_share_and_its_place() -> None:
    view = View(0.6, top=0.0, left=1.0, mirrored=np.zeros(2, bool))
    assert torch.equal(view.of(ACTIVATIONS), ACTIVATIONS[:, :3, 2:])


def test_mirror_turns_only_the_photos_that_were_drawn() -> None:
    view = View(1.0, 0.0, 0.0, np.array([False, True]))
    seen = view.of(ACTIVATIONS)
    assert torch.equal(seen[0], ACTIVATIONS[0])
    assert torch.equal(seen[1], ACTIVATIONS[1].flip(1))


def test_processes_share_the_view_of_a_batch() -> None:
    view = View(0.8, 0.5, 0.5, np.array([True, False]))
    whole = view.of(ACTIVATIONS)
    assert torch.equal(view.of(ACTIVATIONS[1::2], slice(1, None, 2)), whole[1::2])


@pytest.mark.parametrize("smallest", [0.5, 0.75, 1.0])
def test_drawn_windows_lie_between_smallest_and_whole(smallest: float) -> None:
    rng = np.random.default_rng(3)
    shares = [draw_view(rng, 4, mirrors=True, smallest=smallest).share for _ in range(200)]
    assert smallest <= min(shares) <= max(shares) <= 1
    assert max(shares) - min(shares) >= 0.8 * (1 - smallest)


def test_same_seed_draws_the_same_view() -> None:
    views = [draw_view(np.random.default_rng([1, 2]), 8, mirrors=True, smallest=0.75) for _ in range(2)]
    assert (views[0].share, views[0].top, views[0].left) == (views[1].share, views[1].top, views[1].left)
    assert views[0].mirrored.tolist() == views[1].mirrored.tolist()


def test_sides_change_over_in_a_sentence() -> None:
    assert (
        mirror_words("Left: a brightly lit man with his right hand up.")
        == "right: a brightly lit man with his left hand up."
    )
