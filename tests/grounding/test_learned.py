"""Learned boxes as a graph beside weights: the same answers as in torch, and refusal of what is not theirs."""

import hashlib
from pathlib import Path

import numpy as np
import pytest
import torch

from seesay.errors import SeesayError
from seesay.grounding.learned import FILE, FoundBoxes, LearnedBoxes
from seesay.metrics.grounding import box_iou
from seesay.settings.boxes import BoxSettings
from seesay.training.boxes.graph import graph_of
from seesay.training.boxes.network import BoxFinder, BoxFinderSizes

SIDE, DIM = 4, 3


@pytest.fixture(scope="module")
def finder() -> BoxFinder:
    torch.manual_seed(0)
    sizes = BoxFinderSizes(side=SIDE, phrase=2, shown=2, rank=4, groups=2, channels=3, hidden=4)
    return BoxFinder(torch.tensor([0.1, 0.2, 0.3]), sizes).eval()


@pytest.fixture(scope="module")
def graph(finder: BoxFinder) -> bytes:
    return graph_of(finder)


@pytest.fixture
def how(graph: bytes, tmp_path: Path) -> BoxSettings:
    (tmp_path / FILE).write_bytes(graph)
    return BoxSettings(FILE, hashlib.sha256(graph).hexdigest(), SIDE, DIM)


def test_the_graph_finds_what_torch_finds(finder: BoxFinder, how: BoxSettings, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    cells = rng.normal(size=(DIM, SIDE, SIDE)).astype(np.float32)
    vectors = rng.normal(size=(7, DIM)).astype(np.float32)
    found = LearnedBoxes(tmp_path, how).find(cells, vectors)
    with torch.no_grad():
        points, boxes, scores, presence = finder(torch.from_numpy(cells), torch.from_numpy(vectors))
    assert np.allclose(found.points, points)
    assert np.allclose(found.boxes, boxes, atol=1e-5)
    assert np.allclose(found.scores, scores, atol=1e-4)
    assert np.allclose(found.presence, presence, atol=1e-4)


def test_several_boxes_of_a_phrase_show_different_things(how: BoxSettings, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    found = LearnedBoxes(tmp_path, how).find(
        rng.normal(size=(DIM, SIDE, SIDE)).astype(np.float32), rng.normal(size=(2, DIM)).astype(np.float32)
    )
    boxes = found.best(1, 3)
    assert boxes.shape == (3, 4)
    assert boxes[0].tolist() == found.boxes[1].tolist() == found.best(1, 1)[0].tolist()
    overlaps = box_iou(boxes, boxes)
    assert overlaps[np.triu_indices(3, 1)].max() <= 0.5 + 1e-6


def test_the_best_box_goes_before_windows_whatever_they_score() -> None:
    box = np.array([[0.1, 0.1, 0.3, 0.3]])
    found = FoundBoxes(np.zeros((1, 2)), box, np.full((1, 1296), 9.0), np.zeros(1))
    assert found.best(0, 2)[0].tolist() == box[0].tolist()


def damage(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(bytes(content))


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (damage, "is damaged or truncated|is not the one"),
        (lambda path: path.write_bytes(path.read_bytes()[:100]), "is damaged or truncated|is not the one"),
        (lambda path: path.write_bytes(b""), "is damaged or truncated"),
        (Path.unlink, "cannot read the graph"),
    ],
)
def test_a_graph_that_is_not_the_one_that_was_learned_is_refused(
    spoil: object, said: str, how: BoxSettings, tmp_path: Path
) -> None:
    spoil(tmp_path / FILE)  # type: ignore[operator]
    with pytest.raises(SeesayError, match=said):
        LearnedBoxes(tmp_path, how)


def test_a_file_outside_of_the_folder_is_refused_before_it_is_opened(tmp_path: Path) -> None:
    with pytest.raises(SeesayError, match="a file of the same folder"):
        LearnedBoxes(tmp_path, BoxSettings("../boxes.onnx", "0", SIDE, DIM))


def test_places_of_another_size_are_refused(how: BoxSettings, tmp_path: Path) -> None:
    boxes = LearnedBoxes(tmp_path, how)
    with pytest.raises(SeesayError, match=r"reads places of shape \(3, 4, 4\), not \(3, 5, 5\)"):
        boxes.find(np.zeros((DIM, 5, 5), np.float32), np.zeros((1, DIM), np.float32))


def test_a_table_with_unknown_or_missing_keys_is_refused() -> None:
    table = {"file": FILE, "digest": "0", "side": 4, "dim": 3}
    assert BoxSettings.from_table(table, "config.json").n_photos == 0
    with pytest.raises(SeesayError, match=r"there is no key 'boxes.sides'"):
        BoxSettings.from_table({**table, "sides": 4}, "config.json")
    with pytest.raises(SeesayError, match=r"the key 'boxes.digest' is missing"):
        BoxSettings.from_table({"file": FILE, "side": 4, "dim": 3}, "config.json")
