"""A box finder as an ONNX graph, with which it is used."""

import io
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch
from torch import Tensor

from seesay.errors import SeesayError
from seesay.runtime.folder import OPSETS
from seesay.runtime.session import open_session
from seesay.training.boxes.network import BoxFinder

INPUTS, OUTPUTS = ("cells", "vectors"), ("points", "boxes", "scores", "presence")
LIMIT = 1e-3
"""The largest difference between torch and the graph that is let through."""


def graph_of(finder: BoxFinder) -> bytes:
    """The file of a graph for any number of phrases, checked to give the same as the finder.

    Raises:
        SeesayError: It does not.
    """
    dim, side = len(finder.common), finder.sizes.side
    given = _example(dim, side, 3)
    written = io.BytesIO()
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            finder.eval(), given, written, dynamo=False, opset_version=OPSETS[-1],  # type: ignore[arg-type]
            input_names=list(INPUTS), output_names=list(OUTPUTS),
            dynamic_axes={name: {0: "n"} for name in ("vectors", *OUTPUTS)},
        )  # fmt: skip
    with TemporaryDirectory() as scratch:
        path = Path(scratch) / "boxes.onnx"
        path.write_bytes(written.getvalue())
        _check(finder, path)
    return written.getvalue()


def _example(dim: int, side: int, n: int) -> tuple[Tensor, Tensor]:
    rng = np.random.default_rng(n)
    return tuple(torch.from_numpy(rng.normal(0, 0.05, shape).astype(np.float32))
                 for shape in ((dim, side, side), (n, dim)))  # type: ignore[return-value]  # fmt: skip


@torch.no_grad()
def _check(finder: BoxFinder, path: Path) -> None:
    session = open_session(path, 1)
    for n in (1, 5):
        given = _example(len(finder.common), finder.sizes.side, n)
        found = session(dict(zip(INPUTS, (each.numpy() for each in given), strict=True)))
        for name, torch_side, graph_side in zip(OUTPUTS, finder(*given), found, strict=True):
            difference = float(np.abs(torch_side.numpy() - graph_side).max())
            if torch_side.shape != graph_side.shape or not difference <= LIMIT:
                raise SeesayError(f"the graph of boxes differs from torch by {difference:.1e} in {name}")
