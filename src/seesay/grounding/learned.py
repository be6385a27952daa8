"""Boxes by a small network that has learned from boxes which people drew (`seesay.training.boxes.network`).

It stands beside the weights as a graph, `boxes.onnx`, and needs an image that is looked at again in crops. Weights
without one, and regions that a user chooses from himself, have the boxes of `seesay.grounding.heat.box_overlaps`.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from seesay.catalogue.weights import Trained, tuned_table
from seesay.errors import SeesayError
from seesay.grounding.cells import Cells
from seesay.grounding.heat import Floats, best_boxes
from seesay.grounding.tuned import grounding_of
from seesay.images.regions import windows
from seesay.runtime.folder import check_opset, file_digest, inside
from seesay.runtime.graph_file import read_graph_file
from seesay.runtime.session import Session, open_session
from seesay.settings.boxes import BoxSettings

FILE = "boxes.onnx"


@dataclass(frozen=True, eq=False)
class FoundBoxes:
    """What was found for n phrases in one image.

    Attributes:
        points: (n, 2) x and y as fractions.
        boxes: (n, 4) left, top, right, bottom as fractions.
        scores: (n, N) of the windows that the search began with.
        presence: (n,) the logit that the image shows the phrase.
    """

    points: Floats
    boxes: Floats
    scores: Floats
    presence: Floats

    def best(self, row: int, n: int) -> Floats:
        """The n best boxes of a phrase, no two of which are nearly the same: (n, 4)."""
        first = self.boxes[row : row + 1]
        if n == 1:
            return first
        candidates = np.concatenate([first, windows(self.scores.shape[1]).astype(np.float64)])
        worth = np.concatenate([[np.inf], self.scores[row]])
        return candidates[best_boxes(worth, candidates.astype(np.float32), n)]


class LearnedBoxes:
    """An opened graph.

    Args:
        folder: Of the weights.
        how: Their table `boxes`.

    Raises:
        SeesayError: The file is not there, is damaged, or is not the one that was learned beside these weights.
    """

    def __init__(self, folder: Path, how: BoxSettings) -> None:
        self.how = how
        self._path = inside(folder, how.file, folder / "config.json")
        self._session = self._open()

    def _open(self) -> Session:
        again = "seesay tune WEIGHTS --only boxes"
        found = read_graph_file(self._path)
        if file_digest(self._path) != self.how.digest:
            raise SeesayError(f"the graph {self._path} is not the one that was learned for these weights", hint=again)
        check_opset(self._path, found.opset)
        if away := [name for name, stored in found.stored.items() if stored.location]:
            raise SeesayError(f"the graph {self._path} has numbers in another file: {away[0]}", hint=again)
        return open_session(self._path, 1)

    def find(self, cells: Cells, vectors: Cells) -> FoundBoxes:
        """Points and boxes of phrases in one image.

        Args:
            cells: (D, S, S) the vectors of its places (`seesay.grounding.cells`).
            vectors: (n, D) of the phrases, each read for itself.
        """
        wanted = (self.how.dim, self.how.side, self.how.side)
        if cells.shape != wanted:
            raise SeesayError(f"{self._path} reads places of shape {wanted}, not {cells.shape}")
        given = {"cells": np.asarray(cells, np.float32), "vectors": np.asarray(vectors, np.float32)}
        return FoundBoxes(*(part.astype(np.float64) for part in self._session(given)))


def learned_boxes(model: Trained) -> LearnedBoxes | None:
    """The learned boxes of a model's weights; None where it has none, or sees images as a whole alone."""
    table = tuned_table(model.weights, "boxes") if model.weights else None
    if table is None or model.weights is None or not grounding_of(model).closer:
        return None
    origin = model.weights.folder / "config.json"
    return LearnedBoxes(model.weights.folder, BoxSettings.from_table(table, str(origin)))
