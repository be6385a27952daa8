"""How a box finder learns: from the phrases of a few photos at a time.

Its losses, each a mean over phrases: that it points into a box, −log of the probability of the places inside; that it
knows which places belong to the thing; that of many boxes those win that overlap the phrase's own by half, −log of
their probability, the more they overlap the better; and that it knows which phrases are of another photo.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from seesay.training.boxes.examples import BoxedPhoto, covered
from seesay.training.boxes.network import BoxFinder, BoxFinderSizes, within_image

EPOCHS = 4
RATE = 2e-3
WEIGHT_DECAY = 0.02
AT_ONCE = 8
"""Photos of a step."""
N_WINDOWS, N_NEAR = 200, 24
"""Boxes that are judged in a step: windows that were moved a little, and boxes near the phrase's own."""
INSIDE = 0.6
"""The share of a place that a box has to cover so that one may point there."""
SHARPNESS = 12.0
"""How much more a box is worth that overlaps more."""
DECAY = 0.99
"""Of the running mean of the weights, which is what is kept."""
SEED = 1
TINY = 1e-6


@dataclass(frozen=True, eq=False)
class Losses:
    """Sums over the phrases of a photo."""

    total: Tensor
    weight: Tensor
    presence: Tensor


def learn(
    photos: Sequence[BoxedPhoto],
    common: Tensor,
    sizes: BoxFinderSizes,
    *,
    epochs: int = EPOCHS,
    seed: int = SEED,
    tell: Callable[[str], None] = lambda line: None,
) -> BoxFinder:
    """A box finder that has learned from photos; the same photos and the same seed give the same one."""
    with one_thread():
        torch.manual_seed(seed)
        rng = np.random.default_rng(seed)
        finder = BoxFinder(common, sizes)
        optimiser = torch.optim.AdamW(finder.parameters(), RATE, weight_decay=WEIGHT_DECAY)
        n_steps = epochs * math.ceil(len(photos) / AT_ONCE)
        schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, RATE, total_steps=max(2, n_steps), pct_start=0.15)
        kept = [each.detach().clone() for each in finder.parameters()]
        step = 0
        for epoch in range(epochs):
            order, sums = rng.permutation(len(photos)), [0.0, 0.0]
            for start in range(0, len(photos), AT_ONCE):
                some = [photos[place] for place in order[start : start + AT_ONCE]]
                found = [losses_of(finder, each, mirror=each.may_mirror and rng.random() < 0.5) for each in some]
                weight = torch.stack([each.weight for each in found]).sum()
                loss = torch.stack([each.total for each in found]).sum() / weight
                loss = loss + torch.stack([each.presence for each in found]).mean()
                optimiser.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                torch.nn.utils.clip_grad_norm_(finder.parameters(), 1.0)
                optimiser.step()
                schedule.step()
                step += 1
                decay = min(DECAY, (1 + step) / (10 + step))
                for mean, own in zip(kept, finder.parameters(), strict=True):
                    mean.mul_(decay).add_(own.detach(), alpha=1 - decay)
                sums = [sums[0] + float(loss.detach()) * len(some), sums[1] + len(some)]
            tell(f"boxes: epoch {epoch + 1} of {epochs}, loss {sums[0] / sums[1]:.3f}")
        with torch.no_grad():
            for mean, own in zip(kept, finder.parameters(), strict=True):
                own.copy_(mean)
    return finder.eval()


def losses_of(finder: BoxFinder, photo: BoxedPhoto, *, mirror: bool = False) -> Losses:
    """The losses of one photo's phrases, or of its mirror image's."""
    side, n = finder.sizes.side, len(photo)
    cells, own = photo.cells, photo.around
    inside = torch.from_numpy(np.stack([covered(boxes, side) for boxes in photo.boxes]))  # (n, S, S)
    if mirror:
        cells, inside = cells.flip(2), inside.flip(2)
        own = torch.stack([1 - own[:, 2], own[:, 1], 1 - own[:, 0], own[:, 3]], 1)
    looked = finder.look(cells, torch.cat([photo.vectors, photo.foreign]))
    r, m = looked.r[:n].flatten(1), looked.m[:n]
    may_point = (inside.flatten(1) > INSIDE).float()
    pointing = -torch.logsumexp(torch.log_softmax(r, 1) + (may_point + TINY).log(), 1)
    belonging = F.binary_cross_entropy_with_logits(m, inside, reduction="none").mean((1, 2))
    near = within_image(own[:, None] + 0.3 * (torch.rand(n, N_NEAR, 4) - 0.5))
    foreign = torch.zeros(len(photo.foreign), N_NEAR, 4) + torch.tensor([0.25, 0.25, 0.75, 0.75])
    boxes = torch.cat([_windows(finder, len(looked.r)), torch.cat([near, foreign])], 1)
    scores = finder.score(looked, boxes)
    overlaps, chances = iou(boxes[:n], own), torch.log_softmax(scores[:n], 1)
    halves = -torch.logsumexp(chances + ((overlaps >= 0.5).float() + TINY).log(), 1)
    best = -(torch.softmax(SHARPNESS * overlaps, 1) * chances).sum(1)
    weights = photo.counts.sqrt()
    total = ((pointing + belonging + halves + best / 2) * weights).sum()
    # Boxes near the phrase's own are known to the learner alone.
    logits = finder.is_there(looked, scores[:, :N_WINDOWS])
    is_own = (torch.arange(len(logits)) < n).float()
    return Losses(total, weights.sum(), F.binary_cross_entropy_with_logits(logits, is_own))


def _windows(finder: BoxFinder, n: int) -> Tensor:
    """Windows that were moved a little: (n, N_WINDOWS, 4)."""
    chosen = finder.windows[torch.randint(len(finder.windows), (n, N_WINDOWS))]
    return within_image(chosen + 0.125 * (torch.rand(n, N_WINDOWS, 4) - 0.5))


def iou(boxes: Tensor, own: Tensor) -> Tensor:
    """How much boxes overlap the one of their phrase: (n, N, 4), (n, 4) → (n, N)."""
    own = own[:, None]
    sides = (torch.minimum(boxes[..., 2:], own[..., 2:]) - torch.maximum(boxes[..., :2], own[..., :2])).clamp_min(0)
    shared = sides[..., 0] * sides[..., 1]
    areas = [(each[..., 2] - each[..., 0]) * (each[..., 3] - each[..., 1]) for each in (boxes, own)]
    return shared / (areas[0] + areas[1] - shared)


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute in one thread: how several divide a sum would decide what is learned."""
    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(n_threads)
