"""A small network that learns from boxes which people drew how the heat of a phrase becomes a point and a box.

An aligner has a vector for every place of an image and one for a phrase, and their product is the heat of the phrase
there. What heat alone does not say is how large things are: a face is hotter than the whole man whom the phrase means,
grass is wide and a hat is small. The network looks at the heat, at what each place shows and at the phrase, and gives

    r   how good a place is to point at
    m   whether a place belongs to the thing, p = σ(m)
    g   a map that it is free to use

A candidate box is judged by the means of these inside of it and in a rim around it, by its overlap with p
(`seesay.grounding.heat.box_overlaps`, which needs no box to learn from), by its size, shape and height in the image,
and by the phrase. The best of many windows is then moved edge by edge while that makes it better.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from seesay.images.regions import windows

WINDOWS = 1296
"""All boxes whose corners lie on an 8 × 8 grid."""
STEPS = (1 / 16, 1 / 32)
"""By how much edges are moved, one after the other, as shares of the image."""
NARROWEST = 0.04
RIM = 0.2
"""How far the rim reaches beyond a box, as a share of its sides, and a little more."""
AREA_POWER = 0.8
N_MAPS = 4


@dataclass(frozen=True)
class BoxFinderSizes:
    """The sizes of the network.

    Attributes:
        side: Places along a side of the map.
        phrase: Numbers that it keeps of a phrase.
        shown: Numbers that it keeps of what a place shows, whatever the phrase.
        rank: Numbers by which phrase and place are compared anew, in `groups`.
        channels: Of its convolutions.
        hidden: Of what judges a box.
    """

    side: int = 20
    phrase: int = 12
    shown: int = 16
    rank: int = 64
    groups: int = 16
    channels: int = 24
    hidden: int = 24


class BoxFinder(nn.Module):
    """From the vectors of an image's places and of phrases to points and boxes.

    Args:
        common: (D,) the mean vector of common words, whose heat is of things that are striking whatever is asked for.
    """

    common: Tensor
    places: Tensor
    windows: Tensor
    moves: Tensor
    lines: Tensor

    def __init__(self, common: Tensor, sizes: BoxFinderSizes) -> None:
        super().__init__()
        self.sizes = sizes
        dim, side, channels = len(common), sizes.side, sizes.channels
        self.phrase = nn.Linear(dim, sizes.phrase)
        self.shown = nn.Linear(dim, sizes.shown, bias=False)
        self.of_place = nn.Linear(dim, sizes.rank, bias=False)
        self.of_phrase = nn.Linear(dim, sizes.rank, bias=False)
        n_in = sizes.groups + sizes.shown + 8
        self.near = nn.Conv2d(n_in, channels, 3, padding=1)
        self.suited = nn.Linear(sizes.phrase, 2 * channels)
        self.farther = nn.Conv2d(channels, channels, 3, padding=2, dilation=2)
        self.farthest = nn.Conv2d(channels, channels, 3, padding=4, dilation=4)
        self.maps = nn.Conv2d(channels + n_in, 3, 1)
        self.judge = nn.Linear(2 * N_MAPS + 7 + sizes.phrase, sizes.hidden)
        self.verdict = nn.Linear(sizes.hidden, 1)
        self.presence = nn.Linear(8 + sizes.phrase, 1)
        nn.init.zeros_(self.suited.weight)
        nn.init.zeros_(self.suited.bias)
        middles = (torch.arange(side) + 0.5) / side
        y, x = torch.meshgrid(middles, middles, indexing="ij")
        self.register_buffer("common", common.float(), persistent=False)
        self.register_buffer("places", torch.stack([x, y]), persistent=False)
        self.register_buffer("windows", torch.from_numpy(windows(WINDOWS)), persistent=False)
        one = torch.tensor([-1.0, 0.0, 1.0])
        self.register_buffer("moves", torch.cartesian_prod(one, one, one, one), persistent=False)
        self.register_buffer("lines", torch.arange(side + 1) / side, persistent=False)

    def look(self, cells: Tensor, vectors: Tensor) -> "Looked":
        """What it makes of the places of one image (D, S, S) and of phrases (n, D)."""
        side = self.sizes.side
        flat = cells.flatten(1)  # (D, S²)
        heat = vectors @ flat  # (n, S²)
        mean, deviation = heat.mean(1, keepdim=True), heat.std(1, keepdim=True).clamp_min(1e-6)
        z = (heat - mean) / deviation
        lengths = flat.norm(dim=0).clamp_min(1e-6)
        # Places that look like the hottest ones are likely to belong to the same thing.
        hottest = F.normalize(F.softmax(3 * z, 1) @ flat.T, dim=1)
        alike = hottest @ flat / lengths
        striking = self.common @ flat
        striking = (striking - striking.mean()) / striking.std().clamp_min(1e-6)
        sizes = vectors.norm(dim=1, keepdim=True).clamp_min(1e-6)
        peak, level = 5 * heat.amax(1, keepdim=True) / sizes, 5 * mean / sizes
        each = torch.ones_like(peak)[:, :, None]  # (n, 1, 1)
        again = self.of_phrase(vectors)[:, :, None] * (self.of_place.weight @ flat)  # (n, rank, S²)
        again = again.reshape(-1, self.sizes.groups, self.sizes.rank // self.sizes.groups, side * side).sum(2)
        seen = [
            (z / 2)[:, None], (4 * alike - 2)[:, None], each * (striking / 2), each * (4 * lengths - 3),
            each * (2 * self.places.flatten(1) - 1), each * peak[:, :, None] * torch.ones_like(lengths),
            each * level[:, :, None] * torch.ones_like(lengths), again, each * (3 * (self.shown.weight @ flat)),
        ]  # fmt: skip
        seen_map = torch.cat(seen, 1).reshape(-1, self.near.in_channels, side, side)
        phrase = torch.tanh(self.phrase(5 * vectors / sizes))  # (n, P)
        gain, offset = self.suited(phrase)[:, :, None, None].chunk(2, 1)
        read = F.relu(self.near(seen_map) * (1 + gain) + offset)
        read = read + F.relu(self.farther(read))
        read = read + F.relu(self.farthest(read))
        found = self.maps(torch.cat([read, seen_map], 1))  # (n, 3, S, S)
        z = z.reshape(-1, side, side)
        r, m = found[:, 0] + z / 2, found[:, 1] + z / 2
        judged = torch.stack([torch.sigmoid(m), (z + 0.25).clamp(0, 1), torch.tanh(found[:, 2]), z / 3], 1)
        return Looked(r, m, judged, phrase, torch.cat([peak, level], 1))

    def score(self, looked: "Looked", boxes: Tensor) -> Tensor:
        """How well boxes suit phrases, as logits among the boxes of a phrase: (n, N, 4) → (n, N)."""
        rims = _around(boxes)
        inside, within = self._sums(looked.judged, boxes), self._sums(looked.judged, rims)  # (n, N, 4)
        all_of_it = looked.judged.mean((2, 3))[:, None]
        sides, outer = boxes[..., 2:] - boxes[..., :2], rims[..., 2:] - rims[..., :2]
        area = sides[..., :1] * sides[..., 1:]
        beyond = (outer[..., :1] * outer[..., 1:] - area).clamp_min(1e-4)
        overlaps = inside[..., :2] / (area**AREA_POWER + all_of_it[..., :2] - inside[..., :2])
        shape = [
            3 * overlaps, 2 * sides.sqrt() - 1, area.log() / 2, (sides[..., :1] / sides[..., 1:]).log(),
            boxes[..., 1:2] + boxes[..., 3:] - 1,
        ]  # fmt: skip
        phrase = looked.phrase[:, None] * torch.ones_like(area)
        seen = torch.cat([inside / area, (within - inside) / beyond, *shape, phrase], -1)
        verdict: Tensor = self.verdict(F.relu(self.judge(seen)))[..., 0] + 3 * overlaps[..., 0]
        return verdict

    def is_there(self, looked: "Looked", scores: Tensor) -> Tensor:
        """The logit that the image shows a phrase at all: (n,)."""
        r, m = looked.r.flatten(1), looked.m.flatten(1)
        signs = [
            r.amax(1, keepdim=True) / 4, torch.logsumexp(r, 1, keepdim=True) / 4 - 1, m.amax(1, keepdim=True) / 4,
            torch.sigmoid(m).mean(1, keepdim=True), scores.amax(1, keepdim=True) / 4,
            looked.judged[:, 3].flatten(1).amax(1, keepdim=True),
        ]  # fmt: skip
        logit: Tensor = self.presence(torch.cat([*signs, looked.level, looked.phrase], 1))[:, 0]
        return logit

    def forward(self, cells: Tensor, vectors: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Points (n, 2), boxes (n, 4), the scores of all windows (n, N), and the logits that phrases are there (n,)."""
        looked = self.look(cells, vectors)
        points = self.places.flatten(1).T[looked.r.flatten(1).argmax(1)]
        scores = self.score(looked, torch.ones_like(vectors[:, :1, None]) * self.windows)
        best = self.windows[scores.argmax(1)]
        for step in STEPS:
            moved = within_image(best[:, None] + step * self.moves)
            places = self.score(looked, moved).argmax(1)
            best = moved.gather(1, places[:, None, None] * torch.ones_like(moved[:, :1]).long())[:, 0]
        return points, best, scores, self.is_there(looked, scores)

    def _sums(self, maps: Tensor, boxes: Tensor) -> Tensor:
        """The sum of each map inside of boxes, the sum of a map of ones over the image being 1: (n, N, M)."""
        across = self.shares(boxes[..., 0], boxes[..., 2])  # (n, N, S)
        down = self.shares(boxes[..., 1], boxes[..., 3])
        rows = down[:, None] @ maps  # (n, M, N, S)
        return (rows * across[:, None]).sum(-1).transpose(1, 2)

    def shares(self, start: Tensor, end: Tensor) -> Tensor:
        """How much of the image's side intervals share with each of the S places along it."""
        nearer, farther = self.lines[:-1], self.lines[1:]
        return (torch.minimum(end[..., None], farther) - torch.maximum(start[..., None], nearer)).clamp_min(0)


@dataclass(frozen=True, eq=False)
class Looked:
    """What the network makes of n phrases in one image.

    Attributes:
        r: (n, S, S) how good a place is to point at, as logits.
        m: (n, S, S) whether a place belongs to the thing, as logits.
        judged: (n, 4, S, S) the maps whose means judge a box.
        phrase: (n, P) what is kept of each phrase.
        level: (n, 2) how hot it is at the peak and in the mean.
    """

    r: Tensor
    m: Tensor
    judged: Tensor
    phrase: Tensor
    level: Tensor


def within_image(boxes: Tensor) -> Tensor:
    """Boxes that were moved, back inside of the image and no narrower than `NARROWEST`.

    Example:
        >>> within_image(torch.tensor([[-0.1, 0.5, 0.5, 0.4]]))
        tensor([[0.0000, 0.3600, 0.5000, 0.4000]])
    """
    boxes = boxes.clamp(0, 1)
    starts = torch.minimum(boxes[..., :2], boxes[..., 2:] - NARROWEST).clamp_min(0)
    ends = torch.maximum(boxes[..., 2:], starts + NARROWEST)
    return torch.cat([starts, ends], -1)


def _around(boxes: Tensor) -> Tensor:
    reach = RIM * (boxes[..., 2:] - boxes[..., :2]) + RIM / 10
    return torch.cat([(boxes[..., :2] - reach).clamp_min(0), (boxes[..., 2:] + reach).clamp_max(1)], -1)
