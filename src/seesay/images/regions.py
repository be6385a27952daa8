"""Which parts of an image a model looks at, and how a feature map is averaged over them.

A region is a box: left, top, right, bottom as fractions of the image's width and height. Every scheme gives an
(N, 4) float32 array whose row 0 is the whole image, so a model that wants one vector per image takes row 0.

Of many candidate boxes the few that are kept stand for all the others: each step takes the box that adds most to
Σ_j side_j · max_i IoU(kept_i, candidate_j), where a candidate counts with its side √(width · height), since sentences
speak of large things first. The sum is submodular, so the greedy choice is near the best one, and the first n boxes of
a longer list are the list of n. Selective search gives its own order at random; this one needs no random numbers and
finds more of the annotated boxes (`benchmarks/quality/regions.py`).
"""

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seesay.errors import SeesayError
from seesay.system import ranges

if TYPE_CHECKING:
    from PIL import Image

Boxes = NDArray[np.float32]

_WHOLE: Final = np.array([[0.0, 0.0, 1.0, 1.0]])
_WINDOW_GRID: Final = 8
_N_WINDOWS: Final = (_WINDOW_GRID * (_WINDOW_GRID + 1) // 2) ** 2
_NEAR_DUPLICATE: Final = 0.9  # IoU from which two boxes show the same
_SMALLEST_SEARCHED: Final = 16  # pixels; thinner images are stretched, as fractions do not mind


def whole_and_grid(rows: int, columns: int) -> Boxes:
    """The whole image, then the cells of a grid row by row.

    Example:
        >>> whole_and_grid(1, 2).tolist()
        [[0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 0.5, 1.0], [0.5, 0.0, 1.0, 1.0]]
    """
    if rows < 1 or columns < 1:
        raise SeesayError(f"a grid of {rows} x {columns} cells", allowed="one row and one column or more")
    if rows * columns > ranges.CELLS:
        raise SeesayError(f"a grid of {rows} x {columns} cells", allowed=f"up to {ranges.CELLS:,} cells")
    row, column = (index.ravel() for index in np.indices((rows, columns)))
    cells = np.stack([column / columns, row / rows, (column + 1) / columns, (row + 1) / rows], axis=1)
    return np.concatenate([_WHOLE, cells]).astype(np.float32)


def windows(n: int = 20) -> Boxes:
    """The whole image and n - 1 fixed windows of many sizes and shapes.

    The candidates are all 1,296 boxes whose corners lie on an 8 x 8 grid; which ones follows from geometry alone.
    `windows(10)` are the first ten rows of `windows(50)`.

    Example:
        >>> (windows(5) * 8).astype(int).tolist()
        [[0, 0, 8, 8], [1, 1, 6, 6], [2, 4, 7, 8], [4, 1, 8, 6], [0, 1, 3, 7]]
    """
    if not 1 <= n <= _N_WINDOWS:
        raise SeesayError(f"{n} windows were asked for", allowed=f"1 to {_N_WINDOWS:,}")
    return _windows(n).copy()


def fixed_regions(scheme: str) -> Boxes:
    """The boxes of a scheme that is the same for every image, by the name under which configurations keep it.

    Args:
        scheme: `whole`, `windows-N` (see `windows`), or `grid-RxC` (see `whole_and_grid`).

    Example:
        >>> len(fixed_regions("windows-20")), len(fixed_regions("grid-3x4")), fixed_regions("whole").tolist()
        (20, 13, [[0.0, 0.0, 1.0, 1.0]])
    """
    if scheme == "whole":
        return windows(1)
    if found := re.fullmatch(r"windows-([0-9]{1,9})", scheme):
        return windows(int(found[1]))
    if found := re.fullmatch(r"grid-([0-9]{1,9})x([0-9]{1,9})", scheme):
        return whole_and_grid(int(found[1]), int(found[2]))
    raise SeesayError(f"there is no region scheme {scheme!r}", allowed="whole, windows-N, grid-RxC")


def selective_search(image: "Image.Image", n: int = 20, *, working_side: int = 200) -> Boxes:
    """The whole image and the n - 1 selective search proposals that stand best for all of them.

    Selective search (Uijlings et al. 2013) in OpenCV's fast mode on a copy whose longer side has `working_side`
    pixels. The same image gives the same boxes. Where an image has fewer proposals than asked for (a blank wall),
    fixed windows fill the rows, so there are always n.
    """
    if not 1 <= n <= _N_WINDOWS:
        raise SeesayError(f"{n} regions were asked for", allowed=f"1 to {_N_WINDOWS:,}")
    # Sorted, because the order in which they come is not the same twice.
    proposals = np.unique(propose(image, working_side=working_side).astype(np.float64), axis=0)
    kept = _representatives(np.concatenate([_WHOLE, proposals]), n)
    if len(kept) == n:
        return kept.astype(np.float32)
    filled = np.concatenate([kept, windows(n)]).astype(np.float32)
    _, first = np.unique(filled, axis=0, return_index=True)
    return filled[np.sort(first)[:n]]


def propose(image: "Image.Image", *, working_side: int = 200) -> Boxes:
    """All proposals of selective search, usually several hundred, as OpenCV gives them.

    OpenCV orders them by their height in the hierarchy times C's `rand()`, which nobody can seed from here: the boxes
    are the same each time, their order is not.
    """
    import cv2
    from PIL import Image

    scale = working_side / max(image.size)
    width, height = (max(round(side * scale), _SMALLEST_SEARCHED) for side in image.size)
    small = np.asarray(image.convert("RGB").resize((width, height), Image.Resampling.BILINEAR))
    search = cv2.ximgproc.segmentation.createSelectiveSearchSegmentation()
    search.setBaseImage(np.ascontiguousarray(small[:, :, ::-1]))
    search.switchToSelectiveSearchFast()
    left, top, wide, high = np.asarray(search.process()).reshape(-1, 4).T
    proposals = np.stack([left / width, top / height, (left + wide) / width, (top + high) / height], axis=1)
    return proposals.astype(np.float32)


def region_weights(boxes: ArrayLike, height: int, width: int) -> Boxes:
    """Average pooling over regions of a feature map, as one matrix.

    Each cell of the map counts with the exact area that the box covers of it, so a box smaller than a cell takes that
    cell's value and nothing is rounded to the grid. `weights @ features` with features of shape (height * width,
    channels), row by row, gives one vector per region.

    Args:
        boxes: (N, 4) fractions left, top, right, bottom.
        height: Rows of the feature map.
        width: Columns of the feature map.

    Returns:
        (N, height * width) weights whose rows sum to one.

    Raises:
        SeesayError: A box is empty, reaches outside the image, or is not a number.

    Example:
        >>> region_weights([[0, 0, 1, 1], [0.125, 0, 0.625, 1]], height=1, width=4).tolist()
        [[0.25, 0.25, 0.25, 0.25], [0.25, 0.5, 0.25, 0.0]]
    """
    if height < 1 or width < 1:
        raise SeesayError(f"a feature map of {height} x {width} cells", allowed="one row and one column or more")
    left, top, right, bottom = _checked(boxes).T
    across = _shares(left, right, width)  # (N, W)
    down = _shares(top, bottom, height)  # (N, H)
    weights = down[:, :, None] * across[:, None, :]  # (N, H, W)
    return weights.reshape(-1, height * width).astype(np.float32)


@lru_cache(maxsize=16)
def _windows(n: int) -> Boxes:
    first, last = np.triu_indices(_WINDOW_GRID + 1, 1)  # every interval between two lines of the grid
    x, y = (index.ravel() for index in np.indices((len(first), len(first))))
    candidates = np.stack([first[x], first[y], last[x], last[y]], axis=1) / _WINDOW_GRID
    return _representatives(np.concatenate([_WHOLE, candidates]), n).astype(np.float32)


def _representatives(boxes: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    """Up to n of the boxes, row 0 first, that stand best for all of them; near duplicates are left out."""
    area = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    overlap = np.ones((len(boxes), len(boxes)))
    for near, far in ((0, 2), (1, 3)):
        start = np.maximum(boxes[:, None, near], boxes[None, :, near])
        end = np.minimum(boxes[:, None, far], boxes[None, :, far])
        overlap *= np.maximum(end - start, 0)
    iou = overlap / (area[:, None] + area - overlap)
    # Whole numbers: mirrored boxes gain exactly the same, and the order of a sum must not decide between them.
    worth = np.rint(iou * np.sqrt(area) * 2**20).astype(np.int64)  # (i, j): how well i stands for j

    kept: list[int] = []
    reached = np.zeros(len(boxes), np.int64)
    most = np.full(len(boxes), np.iinfo(np.int64).max)  # no box can gain more than it could at an earlier step
    best = 0
    while True:
        kept.append(best)
        reached = np.maximum(reached, worth[best])
        most[iou[best] >= _NEAR_DUPLICATE] = -1
        if len(kept) == n or most.max() < 0:
            return boxes[kept]
        while True:
            best = int(most.argmax())
            most[best] = np.maximum(worth[best] - reached, 0).sum()
            if most[best] == most.max():
                break


def _checked(boxes: ArrayLike) -> NDArray[np.float64]:
    checked = np.asarray(boxes, np.float64)
    if checked.ndim != 2 or checked.shape[1] != 4:
        raise SeesayError(f"boxes of shape {checked.shape}", allowed="(N, 4): left, top, right, bottom")
    left, top, right, bottom = checked.T
    inside = (checked >= -1e-6) & (checked <= 1 + 1e-6)  # false for NaN too
    fine = inside.all(axis=1) & (left < right) & (top < bottom)
    if not fine.all():
        row = int(np.argmin(fine))
        raise SeesayError(
            f"box {row} is {checked[row].tolist()}",
            allowed="left < right and top < bottom, as fractions of the image between 0 and 1",
        )
    return checked.clip(0, 1)


def _shares(start: NDArray[np.float64], end: NDArray[np.float64], cells: int) -> NDArray[np.float64]:
    """(N, cells): which share of each interval lies in each cell."""
    edges = np.arange(cells + 1)
    covered = np.minimum(end[:, None] * cells, edges[1:]) - np.maximum(start[:, None] * cells, edges[:-1])
    covered = np.maximum(covered, 0)
    shares: NDArray[np.float64] = covered / covered.sum(axis=1, keepdims=True)
    return shares
