"""A published pair of ONNX files among graphs of our own: how it is opened, and how it becomes a weights folder."""

import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file

from seesay.catalogue.weights import FORMAT
from seesay.errors import SeesayError
from seesay.runtime.computed import INNER, UNIT
from seesay.runtime.folder import WEIGHTS, file_digest
from seesay.runtime.graph_file import read_graph_file, require_own_numbers
from seesay.system.files import prepare_folder
from seesay.text.pieces import Pieces
from seesay.towers.looking import Candidate
from seesay.towers.pair import Floats, VisionGraph, check_pair, open_run, run_text, run_vision

SCALE = 100.0
"""What cosines were multiplied by in the loss, about: neither file says so. That of OpenAI's CLIP."""


def add_pair(candidate: Candidate, files: tuple[Path, Path], target: Path, tell: Callable[[str], None]) -> None:
    """Make a weights folder of a published pair; it appears whole or not at all.

    Raises:
        SeesayError: A graph keeps its numbers elsewhere, asks for something else, or both do not fit.
    """
    towers, view, rule = candidate.towers, candidate.view, candidate.rule
    assert towers.text is not None
    assert rule is not None
    for path in files:
        _require_whole(path)
    tell(f"opening {files[0]} and {files[1].name}")
    outputs = check_pair(*files)
    pieces = Pieces(candidate.tokenizer, rule)
    graph = VisionGraph(view.mean, view.std, outputs[0])
    pixels = np.zeros((2, view.size, view.size, 3), np.uint8)
    dims = [
        _width(files[0], lambda: run_vision(open_run(files[0]), graph, pixels)[1]),
        _width(files[1], lambda: run_text(open_run(files[1]), outputs[1], *pieces.rows(["a dog", "two dogs run"]))),
    ]
    if dims[0] != dims[1]:
        raise SeesayError(f"images have {dims[0]} numbers, sentences {dims[1]}", allowed="two graphs of one model")
    digests = [file_digest(path) for path in files]
    network = f"tower-{view.size}-{view.crop}-{digests[0][:12]}"
    features = {"backbone": "tower", "size": view.size, "crop": view.crop, "weights": "", "digest": digests[0]}
    opset = read_graph_file(files[0]).opset
    about = {
        "format": FORMAT,
        "name": target.name,
        "family": "tower",
        "config": {
            "published": towers.family, "text": asdict(towers.text), "dim": dims[0], "scale": SCALE, "pair": True
        },
        "features": features,
        "vocabulary": pieces.fingerprint(),
        "search": {"stage": "first", "dim": dims[0]},
        "temperature": 1 / SCALE,
        "added": {"from": candidate.published.folder.name},
        "graphs": {
            "opset": 17, "precision": "as published", "network": network, "outputs": ["pooled"], "is_embedding": True,
            "weighs_regions": False, "explainers": ["crops"], "missing": {},
            "files": {
                "images": {"published": UNIT},
                "score": {"published": INNER},
                "texts": {"file": "texts.onnx", "digest": digests[1], "published": {"output": outputs[1]}},
            },
        },
    }  # fmt: skip
    with prepare_folder(target) as scratch:
        folder = scratch / target.name
        (folder / network).mkdir(parents=True)
        shutil.copyfile(files[0], folder / network / "network.onnx")
        shutil.copyfile(files[1], folder / "texts.onnx")
        described = {**features, "opset": opset, "precision": "fp32", "bytes": files[0].stat().st_size}
        _write(folder / network / "network.json", {**described, "published": graph.to_table()})
        numbers = np.frombuffer(bytes.fromhex("".join(digests)), np.uint8)
        save_file({"digests": numbers}, folder / WEIGHTS)
        (folder / pieces.file_name).write_text(pieces.to_json(), encoding="utf-8")
        (folder / "card.md").write_text(_CARD.format(name=target.name, family=towers.family), encoding="utf-8")
        _write(folder / "config.json", about)
        folder.rename(target)


def _width(path: Path, run: Callable[[], Floats]) -> int:
    """How many numbers the vectors of a graph have, by what it makes of two inputs."""
    try:
        return int(run().shape[1])
    except Exception as error:  # ONNX Runtime has an exception of its own for every status, and none above them
        raise SeesayError(f"the graph {path} cannot be run on two inputs: {str(error)[:300]}") from error


def _require_whole(path: Path) -> None:
    """Refuse a graph that is damaged, or that keeps its numbers elsewhere."""
    try:
        require_own_numbers(path)
    except SeesayError as error:
        raise SeesayError(error.what, allowed=error.allowed, hint="fetch the file again") from error


def _write(path: Path, table: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(table, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


_CARD = """# {name}

A published pair of ONNX files ({family}) that was added from a folder of the user's. What it learned from, and on which
terms it may be used, is said where it was published.
"""
